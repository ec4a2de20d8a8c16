const WIDE =
  /[\p{Emoji_Presentation}\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Yi}\u3000-\u303e\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{1f000}-\u{1faff}]/u;
const NOTHING = /[\p{Mn}\p{Me}\p{Cf}]/u;
const EMOJI_STYLE = '\ufe0f';

/** The width of a text without colours in a terminal. In doubt it is too large, so that a line never wraps. */
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

/** Cuts a text to a width, with an ellipsis. */
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

/** Joins facts in one line, or in several where the width needs it; no fact is broken. */
export function joined(facts: readonly string[], width = Number.POSITIVE_INFINITY): string {
  const lines: string[] = [];
  // The text of usage has two facts.
  for (const fact of facts.flatMap((each) => each.split(SEPARATOR)))
    if (lines.length > 0 && cells(`${lines.at(-1)}${SEPARATOR}${fact}`) <= width)
      lines.push(`${lines.pop()}${SEPARATOR}${fact}`);
    else lines.push(fact);
  return lines.join('\n');
}

const SEPARATOR = ' · ';

/** Pads or cuts a text to exactly this width. */
export function spread(text: string, width: number, align: 'left' | 'right' = 'left'): string {
  const short = cut(text, width);
  const space = ' '.repeat(Math.max(0, width - cells(short)));
  return align === 'left' ? short + space : space + short;
}
