import { indentOf } from './lines.ts';

/** The first inline code of a value, else all of it. */
export function command(value: string): string {
  return /`([^`]+)`/.exec(value)?.[1] ?? value;
}

/** A code block without the space that all of its lines begin with. */
export function dedent(lines: readonly string[]): string {
  const least = Math.min(...lines.filter((line) => line.trim() !== '').map(indentOf));
  return lines.map((line) => behind(line, least).trimEnd()).join('\n');
}

/** The line without so many columns of space. */
function behind(line: string, columns: number): string {
  let [cut, at] = [0, 0];
  for (; at < columns && /[ \t]/.test(line[cut] ?? ''); cut += 1) at += line[cut] === '\t' ? 4 - (at % 4) : 1;
  return line.slice(cut);
}
