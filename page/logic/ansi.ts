/** A piece of text and the classes of its colours. */
export interface Coloured {
  text: string;
  classes: string;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the point
const COLOUR = /\u001b\[([\d;:]*)m/g;
const COLOURS = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white'];

interface Pen {
  colour: string;
  back: string;
  bold: boolean;
  dim: boolean;
  italic: boolean;
  underline: boolean;
}

const PLAIN: Pen = { colour: '', back: '', bold: false, dim: false, italic: false, underline: false };

/** Splits text with ANSI colours. Colours that are not of the sixteen are shown as the default one. */
export function coloured(text: string): Coloured[] {
  const pieces: Coloured[] = [];
  let pen = PLAIN;
  let from = 0;
  const add = (to: number) => {
    if (to > from) pieces.push({ text: text.slice(from, to), classes: classesOf(pen) });
  };
  for (const match of text.matchAll(COLOUR)) {
    add(match.index);
    pen = after(pen, match[1] ?? '');
    from = match.index + match[0].length;
  }
  add(text.length);
  return pieces;
}

function classesOf({ colour, back, bold, dim, italic, underline }: Pen): string {
  return [
    colour && `c-${colour}`,
    back && `b-${back}`,
    bold && 'c-bold',
    dim && 'c-dim',
    italic && 'c-italic',
    underline && 'c-underline',
  ]
    .filter(Boolean)
    .join(' ');
}

function after(pen: Pen, codes: string): Pen {
  const all = codes.split(/[;:]/).map(Number);
  let next = pen;
  for (let at = 0; at < all.length; at++) {
    const code = all[at] ?? 0;
    // 38;5;n and 38;2;r;g;b
    if (code === 38 || code === 48) {
      const isIndexed = all[at + 1] === 5;
      const index = all[at + 2] ?? 0;
      const name = isIndexed && index < 16 ? (COLOURS[index % 8] ?? '') : '';
      next = code === 38 ? { ...next, colour: name } : { ...next, back: name };
      at += isIndexed ? 2 : 4;
    } else next = withCode(next, code);
  }
  return next;
}

function withCode(pen: Pen, code: number): Pen {
  if (code === 0) return PLAIN;
  if (code === 1) return { ...pen, bold: true };
  if (code === 2) return { ...pen, dim: true };
  if (code === 3) return { ...pen, italic: true };
  if (code === 4) return { ...pen, underline: true };
  if (code === 22) return { ...pen, bold: false, dim: false };
  if (code === 23) return { ...pen, italic: false };
  if (code === 24) return { ...pen, underline: false };
  if (code === 39) return { ...pen, colour: '' };
  if (code === 49) return { ...pen, back: '' };
  const decade = Math.floor(code / 10) * 10;
  const name = COLOURS[code % 10];
  if (name === undefined) return pen;
  if (decade === 30 || decade === 90) return { ...pen, colour: name };
  if (decade === 40 || decade === 100) return { ...pen, back: name };
  return pen;
}
