/** Stands for inline code, so that a line which begins with code does not begin with the word behind it. */
const CODE = '\ufffc';

const FENCE = /^[\s>]*(?:(?:[-*+]|\d{1,9}[.)])\s+)*(`{3,}|~{3,})([^\n]*)$/;

interface Options {
  /** Inline code is replaced too. */
  inline?: boolean;
}

export interface Fence {
  /** Index of the opening line. */
  from: number;
  /** Index of the closing line; of the last line where nothing closes it. */
  to: number;
  /** The word behind the marks, such as `json`. */
  info: string;
}

interface Scan {
  lines: string[];
  fences: Fence[];
  /** The fence or comment that is still open at the end, by the line that opens it. */
  unclosed: { line: number; what: 'fence' | 'comment' } | undefined;
}

/**
 * The lines of a Markdown text that a reader of the page sees as prose: code blocks and HTML comments are empty,
 * line numbers stay the same. One pass, so that a fence in a comment and a comment in a fence are what they look like.
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
  // A backtick behind the marks makes it inline code.
  if (marks === undefined || (marks.startsWith('`') && info.includes('`'))) return undefined;
  return { marks, info: info.trim() };
}

function closes(line: string, fence: string): boolean {
  const marks = line.replace(/^[\s>]*/, '').trimEnd();
  return marks.length >= fence.length && marks === (fence[0] ?? '').repeat(marks.length);
}

/** Cuts comments and `<pre>` blocks out of a line; `hidden` is what ends the one that is still open. */
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

/** The next comment or `<pre>` of a line that does not stand in inline code. */
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

/** Where inline code that began with so many backticks ends; undefined where nothing closes it. */
export function closingTicks(line: string, from: number, count: number): number | undefined {
  const runs = /`+/g;
  runs.lastIndex = from;
  for (let run = runs.exec(line); run; run = runs.exec(line))
    if (run[0].length === count) return runs.lastIndex;
  return undefined;
}

/** Inline code may go over several lines of one paragraph; an opening without an end is text. */
function withoutInlineCode(lines: readonly string[]): string[] {
  const out: string[] = [];
  for (let start = 0; start < lines.length; ) {
    let end = start;
    while (end < lines.length && (end === start || (lines[end] ?? '').trim() !== '')) end += 1;
    out.push(...paragraph(lines.slice(start, end).join('\n')).split('\n'));
    start = end;
  }
  return out;
}

function paragraph(text: string): string {
  const runs = [...text.matchAll(/`+/g)].map((run) => ({ at: run.index, length: run[0].length }));
  /** Places of runs by length, last first, so that the next one is always at the end. */
  const places = new Map<number, number[]>();
  for (const [index, { length }] of [...runs.entries()].reverse()) {
    const same = places.get(length);
    if (same) same.push(index);
    else places.set(length, [index]);
  }
  let out = '';
  let done = 0;
  for (let index = 0; index < runs.length; index += 1) {
    const open = runs[index];
    if (!open) break;
    const same = places.get(open.length) ?? [];
    while ((same.at(-1) ?? Number.POSITIVE_INFINITY) <= index) same.pop();
    const close = runs[same.at(-1) ?? -1];
    if (!close) continue;
    const code = text.slice(open.at, close.at + close.length);
    out += text.slice(done, open.at) + CODE + '\n'.repeat(code.split('\n').length - 1);
    done = close.at + close.length;
    index = same.at(-1) ?? index;
  }
  return out + text.slice(done);
}

interface Heading {
  /** 1 to 6; 7 for a bold or plain line that serves as one. */
  level: number;
  text: string;
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
  if (atx) return { level: atx[1]?.length ?? 1, text: plain(atx[2] ?? '') };
  const bold = BOLD.exec(line);
  if (bold) return { level: 7, text: plain(bold[2] ?? '') };
  const under = UNDERLINE.exec(lines[index + 1] ?? '')?.[1];
  if (under === undefined || !/^ {0,3}(?!\d{1,9}[.)]\s)[^\s>|#*+-]/.test(line)) return undefined;
  return { level: under.startsWith('=') ? 1 : 2, text: plain(line) };
}

/** True for the `===` or `---` below a heading. */
export function isUnderline(line: string): boolean {
  return UNDERLINE.test(line);
}

/** A heading's words: links, and emphasis around all of it, are form. Inside, `__init__` is a name. */
function plain(text: string): string {
  const words = text.replace(/\[([^\][]{0,300})\]\([^()\s]{0,2000}\)/g, '$1').trim();
  return /^(\*\*|__|\*|_)([^*_]+)\1$/.exec(words)?.[2]?.trim() ?? words;
}
