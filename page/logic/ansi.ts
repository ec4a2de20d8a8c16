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

/** Splits text with ANSI colours. Colours that are not of the sixteen are shown as the nearest one, which can be read in both themes. */
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
      const [first = 0, green = 0, blue = 0] = all.slice(at + 2);
      const name = isIndexed ? indexed(first) : nearest(first, green, blue);
      next = code === 38 ? { ...next, colour: name } : { ...next, back: name };
      at += isIndexed ? 2 : 4;
    } else next = withCode(next, code);
  }
  return next;
}

/** The sixteen, a cube of six steps for each of red, green and blue, and greys. */
function indexed(index: number): string {
  if (index < 16) return COLOURS[index % 8] ?? '';
  const step = (size: number) => (Math.floor((index - 16) / size) % 6) * 51;
  return index < 232 ? nearest(step(36), step(6), step(1)) : '';
}

/** The colour whose red, green and blue are on where these are strong; none for greys. */
function nearest(...channels: [red: number, green: number, blue: number]): string {
  const [least, most] = [Math.min(...channels), Math.max(...channels)];
  if (most - least < 50) return '';
  const bits = channels.map((each, at) => (each > (least + most) / 2 ? 1 << at : 0));
  return COLOURS[bits.reduce((sum, bit) => sum + bit, 0)] ?? '';
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
