import { cleanText } from '../sources/text.ts';

const FENCE = /^ {0,3}(`{3,}|~{3,})(.*)$/;
const CLOSING =
  /\b(clos(?:e|es|ed)|fix(?:es|ed)?|resolv(?:e|es|ed))(:?\s+)(?=[\w./-]*#\d|gh-\d|https?:\/\/)/gi;

/**
 * Text of an issue or an agent, fit for a pull request: it is shown as Markdown, but it closes no issue, calls nobody,
 * and neither an open comment, tag nor code block of it reaches what stands behind it.
 */
export function inert(text: string, max: number): string {
  let fence: string | undefined;
  const lines = cleanText(text, max)
    .split('\n')
    .map((line) => {
      const [, marks, info = ''] = FENCE.exec(line) ?? [];
      if (fence !== undefined) {
        if (marks?.startsWith(fence) && info.trim() === '') fence = undefined;
        return line;
      }
      // A backtick behind the marks makes it inline code.
      const opens = marks !== undefined && !(marks.startsWith('`') && info.includes('`'));
      if (opens) fence = marks;
      return opens ? line : inertLine(line);
    });
  if (fence !== undefined) lines.push(fence);
  return lines.join('\n').trim();
}

/** The same for one line. */
export function inertLine(line: string): string {
  return splitCode(line)
    .map(({ text, code }) => (code ? text : inertProse(text)))
    .join('');
}

export function inertProse(text: string): string {
  return text
    .replace(/<(?=[A-Za-z/!?])/g, '&lt;')
    .replace(/(?<![\w/])@(?=[A-Za-z0-9])/g, '@\u200b')
    .replace(CLOSING, '$1\u200b$2');
}

/** A line in pieces of prose and inline code, backticks included. */
export function splitCode(line: string): { text: string; code: boolean }[] {
  const parts: { text: string; code: boolean }[] = [];
  let from = 0;
  const scan = /\\.|`+/g;
  for (let match = scan.exec(line); match; match = scan.exec(line)) {
    if (match[0].startsWith('\\')) continue;
    const end = closingTicks(line, scan.lastIndex, match[0].length);
    if (end === undefined) continue;
    parts.push({ text: line.slice(from, match.index), code: false });
    parts.push({ text: line.slice(match.index, end), code: true });
    from = end;
    scan.lastIndex = end;
  }
  parts.push({ text: line.slice(from), code: false });
  return parts.filter(({ text }) => text !== '');
}

function closingTicks(line: string, from: number, count: number): number | undefined {
  for (const run of line.slice(from).matchAll(/`+/g))
    if (run[0].length === count) return from + run.index + count;
  return undefined;
}
