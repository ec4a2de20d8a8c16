/** Replaces inline code, so that a line that begins with code does not begin with the word after it. */
const CODE = '\ufffc';

const FENCE = /^[\s>]*(?:(?:[-*+]|\d{1,9}[.)])\s+)*(`{3,}|~{3,})([^\n]*)$/;

interface Options {
  /** Inline code is replaced too. */
  inline?: boolean;
}

export interface Fence {
  /** Index of the opening line. */
  from: number;
  /** Index of the closing line, or of the last line if nothing closes it. */
  to: number;
  /** The word after the marks, such as `json`. */
  info: string;
}

interface Scan {
  lines: string[];
  fences: Fence[];
  /** The fence or comment that is still open at the end, by the line that opens it. */
  unclosed: { line: number; what: 'fence' | 'comment' } | undefined;
}

/**
 * The lines of a Markdown text with code blocks and HTML comments left empty; line numbers stay the same. One pass handles
 * both, since a comment may contain a fence, and a fence a comment.
 */
export function visibleLines(text: string, options: Options = {}): string[] {
  const { lines } = scanLines(text);
  return options.inline ? withoutInlineCode(lines) : lines;
}

/** The same lines, with the code blocks that were left out. */
export function scanLines(text: string): Scan {
  let fence: { marks: string; from: number; info: string } | undefined;
  let hidden: Hidden | undefined;
  let since = 0;
  const fences: Fence[] = [];
  const all = text.split('\n');
  const lines = all.map((line, index) => {
    if (fence !== undefined) {
      if (!closes(line, fence.marks)) return '';
      fences.push({ from: fence.from, to: index, info: fence.info });
      fence = undefined;
      return '';
    }
    if (hidden === undefined) {
      const opened = opens(line);
      if (opened !== undefined) {
        fence = { ...opened, from: index };
        return '';
      }
    }
    const seen = unhide(line, hidden);
    if (seen.hidden !== undefined && hidden === undefined) since = index;
    hidden = seen.hidden;
    return seen.text;
  });
  if (fence !== undefined) fences.push({ from: fence.from, to: all.length - 1, info: fence.info });
  const unclosed: Scan['unclosed'] =
    fence !== undefined
      ? { line: fence.from, what: 'fence' }
      : hidden === undefined
        ? undefined
        : { line: since, what: 'comment' };
  return { lines, fences, unclosed };
}

function opens(line: string): { marks: string; info: string } | undefined {
  const [, marks, info = ''] = FENCE.exec(line) ?? [];
  // With a backtick after the marks it is inline code.
  if (marks === undefined || (marks.startsWith('`') && info.includes('`'))) return undefined;
  return { marks, info: info.trim() };
}

function closes(line: string, fence: string): boolean {
  const marks = line.replace(/^[\s>]*/, '').trimEnd();
  return marks.length >= fence.length && marks === (fence[0] ?? '').repeat(marks.length);
}

/** Removes comments and `<pre>` blocks from a line; `hidden` is the kind that is still open. */
function unhide(line: string, hidden: Hidden | undefined): { text: string; hidden: Hidden | undefined } {
  let text = '';
  let open = hidden;
  for (let at = 0; at < line.length; ) {
    if (open !== undefined) {
      const end = endOf(line, at, open);
      if (end === undefined) return { text, hidden: open };
      at = end;
      open = undefined;
      continue;
    }
    const next = nextHidden(line, at);
    if (!next) return { text: text + line.slice(at), hidden: undefined };
    text += line.slice(at, next.start);
    at = next.behind;
    open = next.kind;
  }
  return { text, hidden: open };
}

type Hidden = 'comment' | 'pre';

const OPENING = /(`+)|<!--|<pre[\s>]/gi;
const ENDS = { comment: /-->/g, pre: /<\/pre>/gi };

function endOf(line: string, from: number, kind: Hidden): number | undefined {
  ENDS[kind].lastIndex = from;
  return ENDS[kind].test(line) ? ENDS[kind].lastIndex : undefined;
}

/** The next comment or `<pre>` of a line that is not in inline code. */
function nextHidden(line: string, from: number): { start: number; behind: number; kind: Hidden } | undefined {
  OPENING.lastIndex = from;
  for (let match = OPENING.exec(line); match; match = OPENING.exec(line)) {
    const ticks = match[1];
    if (ticks === undefined) {
      const kind = match[0] === '<!--' ? 'comment' : 'pre';
      return { start: match.index, behind: OPENING.lastIndex, kind };
    }
    const end = closingTicks(line, OPENING.lastIndex, ticks.length);
    if (end !== undefined) OPENING.lastIndex = end;
  }
  return undefined;
}

/** Where inline code that began with `count` backticks ends; undefined if nothing closes it. */
export function closingTicks(line: string, from: number, count: number): number | undefined {
  const runs = /`+/g;
  runs.lastIndex = from;
  for (let run = runs.exec(line); run; run = runs.exec(line))
    if (run[0].length === count) return runs.lastIndex;
  return undefined;
}

/** Inline code within one paragraph; an opening without an end is text. */
const INLINE_CODE = /(?<!`)(`+)(?!`)(?:(?!\n\s*\n)[\s\S])*?[^`]\1(?!`)/g;

function withoutInlineCode(lines: readonly string[]): string[] {
  const code = (found: string) => CODE + '\n'.repeat(found.split('\n').length - 1);
  return lines.join('\n').replace(INLINE_CODE, code).split('\n');
}

interface Heading {
  /** 1 to 6; 7 for a bold or plain line that serves as one. */
  level: number;
  text: string;
  /** Number of its lines: two with an underline. */
  height: 1 | 2;
}

const MAX_HEADING = 500;
const ATX = /^ {0,3}(#{1,6})(?:[ \t]+(.*?))??(?:[ \t]+#+)?[ \t]*$/;
const UNDERLINE = /^ {0,3}(=+|-+)[ \t]*$/;
const BOLD = /^ {0,3}(\*\*|__)(?!\s)(.{1,200}?)\1[ \t]*:?[ \t]*$/;

/** The heading on this line: `## Text`, text underlined by the next line, or a line of bold text alone. */
export function headingAt(lines: readonly string[], index: number): Heading | undefined {
  const line = lines[index] ?? '';
  if (line.length > MAX_HEADING) return undefined;
  const atx = ATX.exec(line);
  if (atx) return { level: atx[1]?.length ?? 1, text: plain(atx[2] ?? ''), height: 1 };
  const bold = BOLD.exec(line);
  if (bold) return { level: 7, text: plain(bold[2] ?? ''), height: 1 };
  const under = UNDERLINE.exec(lines[index + 1] ?? '')?.[1];
  if (under === undefined || !/^ {0,3}(?!\d{1,9}[.)]\s)[^\s>|#*+-]/.test(line)) return undefined;
  return { level: under.startsWith('=') ? 1 : 2, text: plain(line), height: 2 };
}

/** A heading without links, and without emphasis around all of it. `__init__` inside it is a name. */
function plain(text: string): string {
  const words = text.replace(/\[([^\][]{0,300})\]\([^()\s]{0,2000}\)/g, '$1').trim();
  return /^(\*\*|__|\*|_)([^*_]+)\1$/.exec(words)?.[2]?.trim() ?? words;
}
