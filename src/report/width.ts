const WIDE =
  /[\p{Emoji_Presentation}\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Yi}\u3000-\u303e\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{1f000}-\u{1faff}]/u;
const NOTHING = /[\p{Mn}\p{Me}\p{Cf}]/u;
const EMOJI_STYLE = '\ufe0f';

/** Cells that a text without colours takes in a terminal; in doubt too many, so that a line never wraps. */
export function cells(text: string): number {
  let sum = 0;
  for (const char of text) sum += cellsOf(char);
  return sum;
}

function cellsOf(char: string): number {
  if (char < '\u0300') return 1;
  if (char === EMOJI_STYLE) return 1;
  if (NOTHING.test(char)) return 0;
  return WIDE.test(char) ? 2 : 1;
}

/** The text if it fits into so many cells, else as much of its beginning as fits with an ellipsis. */
export function cut(text: string, most: number): string {
  if (cells(text) <= most) return text;
  if (most <= 0) return '';
  let used = 0;
  let kept = '';
  for (const char of text) {
    used += cellsOf(char);
    if (used > most - 1) break;
    kept += char;
  }
  return `${kept.trimEnd()}…`;
}

/** Facts in one line, or in as many as the width needs; none is broken in two. */
export function joined(facts: readonly string[], width = Number.POSITIVE_INFINITY): string {
  const lines: string[] = [];
  // Usage is two facts in one.
  for (const fact of facts.flatMap((each) => each.split(SEPARATOR)))
    if (lines.length > 0 && cells(`${lines.at(-1)}${SEPARATOR}${fact}`) <= width)
      lines.push(`${lines.pop()}${SEPARATOR}${fact}`);
    else lines.push(fact);
  return lines.join('\n');
}

const SEPARATOR = ' · ';

/** Exactly so many cells. */
export function spread(text: string, width: number, align: 'left' | 'right' = 'left'): string {
  const short = cut(text, width);
  const space = ' '.repeat(Math.max(0, width - cells(short)));
  return align === 'left' ? short + space : space + short;
}
