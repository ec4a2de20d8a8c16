import { cleanText } from '../model/text/clean-escape-quote-plural.ts';
import { closingTicks } from '../model/text/markdown-lines.ts';

/** A fence inside whatever can contain a block: lists, quotes, footnotes, indentation. */
const FENCE = /^(?:[\s>]|[-*+]\s|\d{1,9}[.)]\s|\[\^[^\]]*\]:)*(`{3,}|~{3,})(.*)$/;
const CLOSER = /^[\s>]*(`{3,}|~{3,})\s*$/;
/** Words that close an issue. GitHub ignores emphasis, brackets and line ends between the word and the number. */
const CLOSING =
  /(?<![A-Za-z0-9])(clos(?:e|es|ed)|fix(?:es|ed)?|resolv(?:e|es|ed))(?!\u200b)(?=[^A-Za-z0-9\n]{1,10}?(?:[\w./-]*#\d|gh-\d|https?:\/\/)|[^A-Za-z0-9\n]*$)/gi;
const MENTION = /(?<![A-Za-z0-9])@(?=[A-Za-z0-9])/g;
/** Entities such as `&#64;` are shown as `@` and would bypass the other escapes. */
const ENTITY = /&(?=#|(?!(?:lt|gt|amp|quot);)[A-Za-z][A-Za-z0-9]*;)/g;

/**
 * Escapes text of an issue or an agent for a pull request: it is shown as Markdown, but closes no issue, mentions no account, and
 * no open comment, tag or code block affects the text behind it. Code blocks are moved to the left margin, where every parser
 * reads them the same way.
 */
export function escapeMarkdown(text: string, max: number): string {
  let fence: string | undefined;
  const lines = cleanText(text, max)
    .split('\n')
    .map((line) => {
      if (fence !== undefined) {
        if (!CLOSER.exec(line)?.[1]?.startsWith(fence)) return line;
        const end = fence;
        fence = undefined;
        return end;
      }
      const [, marks, info = ''] = FENCE.exec(line) ?? [];
      // A backtick behind the marks makes it inline code.
      if (marks === undefined || (marks.startsWith('`') && info.includes('`'))) return escapeLine(line);
      fence = marks;
      return `${marks}${info}`;
    });
  if (fence !== undefined) lines.push(fence);
  return lines.join('\n').trim();
}

/** The same for one line. Unpaired backticks are no code. */
export function escapeLine(line: string): string {
  return splitCode(line)
    .map(({ text, code }) => {
      // In a row of a table, a bar ends the cell and the code with it.
      if (code && !(text.includes('|') && escapeProse(text) !== text)) return text;
      return escapeProse(text.replace(/\\.|`/g, (sign) => (sign === '`' ? '\\`' : sign)));
    })
    .join('');
}

export function escapeProse(text: string): string {
  return escapePlain(text)
    .replace(ENTITY, '&amp;')
    .replace(/<(?=[A-Za-z/!?])/g, '&lt;');
}

/** Escapes text for places that show no Markdown. */
export function escapePlain(text: string): string {
  return text.replace(MENTION, '@\u200b').replace(CLOSING, '$1\u200b');
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
