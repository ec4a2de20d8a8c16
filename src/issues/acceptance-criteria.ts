import { cleanLine } from '../model/text/clean-escape-quote-plural.ts';
import { headingAt, visibleLines } from '../model/text/markdown-lines.ts';

const MAX_CRITERIA = 200;
const MAX_CRITERION = 2_000;

const TITLE =
  /^[^\p{L}\p{N}]*(?:\d+[.)]\s*)?(?:acceptance[ -]criteri(?:a|on)|ACs?)\b(?:\s*\(.*\))?[^\p{L}\p{N}]*$/iu;
const ITEM = /^(\s*)(?:[-*+]|\d{1,9}[.)])(?:\s+|$)(\[[ xX]\](?:\s+|$))?(.*)$/;
const RULE = /^\s*([-*_])(?:\s*\1)+\s*$/;
const MARKED = /^\s{0,3}(?:\*\*|__)?AC[- ]?\d+\b/i;
/** `**AC-1:** text` and `**AC-1**: text`. */
const BOLD_MARK = /^(\*\*|__)([A-Za-z]+-?\d+\s*:?)\1\s*(:?)\s*/;

export function isCriteriaTitle(text: string): boolean {
  return TITLE.test(text);
}

/**
 * What the sections named "Acceptance Criteria" ask for, item by item. A section of plain paragraphs counts
 * paragraph by paragraph; code blocks and comments are not read.
 */
export function acceptanceCriteria(body: string): string[] {
  const lines = visibleLines(body);
  const found = sections(lines).flatMap(({ from, to, level }) => {
    const whole = lines.slice(from, to);
    const section = level === 7 ? untilProse(whole) : whole;
    const items = listed(section);
    return items.length > 0 ? items : paragraphs(section);
  });
  const clean = found.map((text) => cleanLine(text.replace(BOLD_MARK, mark), MAX_CRITERION));
  return [...new Set(clean.filter((text) => text !== ''))].slice(0, MAX_CRITERIA);
}

function mark(_: string, __: string, name: string, colon: string): string {
  return `${name.trim()}${colon} `;
}

interface Section {
  from: number;
  to: number;
  level: number;
}

/** From below a heading to the next one that is not inside it. */
function sections(lines: readonly string[]): Section[] {
  const found: Section[] = [];
  let open: { from: number; level: number } | undefined;
  for (let index = 0; index < lines.length; index += 1) {
    const heading = headingAt(lines, index) ?? criteriaLine(lines, index);
    if (!heading || (heading.level === 7 && MARKED.test(heading.text))) continue;
    if (open && heading.level <= open.level) {
      found.push({ ...open, to: index });
      open = undefined;
    }
    if (open || !isCriteriaTitle(heading.text)) continue;
    open = { from: index + heading.height, level: heading.level };
  }
  if (open) found.push({ ...open, to: lines.length });
  return found;
}

/** Below a line that is no real heading, the list ends where other text begins. */
function untilProse(lines: readonly string[]): readonly string[] {
  const first = lines.findIndex((line) => ITEM.test(line) || MARKED.test(line));
  const isProse = (line: string) => /^\S/.test(line) && !ITEM.test(line) && !MARKED.test(line);
  const end = lines.findIndex(
    (line, index) => first >= 0 && index > first && isProse(line) && lines[index - 1]?.trim() === '',
  );
  return end < 0 ? lines : lines.slice(0, end);
}

/** `Acceptance criteria:` on a line of its own. */
function criteriaLine(lines: readonly string[], index: number): ReturnType<typeof headingAt> {
  const line = (lines[index] ?? '').trim();
  return /^acceptance[ -]criteri(?:a|on)\s*:$/i.test(line) ? { level: 7, text: line, height: 1 } : undefined;
}

/** List items; a plain list inside an item belongs to it, a checkbox is always an item of its own. */
function listed(lines: readonly string[]): string[] {
  const items: string[] = [];
  let indent = 0;
  let blank = false;
  for (const [index, line] of lines.entries()) {
    const heading = headingAt(lines, index);
    const item = RULE.test(line) ? null : ITEM.exec(line);
    const [, space = '', box, text = ''] = item ?? [];
    if (item && items.length > 0 && box === undefined && space.length > indent + 1) {
      append(items, text, items.at(-1)?.endsWith(':') ? ' ' : '; ');
    } else if (item) {
      if (box === undefined || items.length === 0 || space.length <= indent) indent = space.length;
      items.push(text);
    } else if (heading || RULE.test(line)) {
      if (heading && MARKED.test(heading.text)) items.push(heading.text);
    } else if (MARKED.test(line)) {
      items.push(line.trim());
    } else if (line.trim() !== '' && items.length > 0 && (!blank || /^\s{2,}/.test(line))) {
      append(items, line.trim(), ' ');
    }
    blank = line.trim() === '';
  }
  return items;
}

function append(items: string[], text: string, joint: string): void {
  const last = items.at(-1) ?? '';
  if (last.length < MAX_CRITERION) items[items.length - 1] = last + joint + text;
}

function paragraphs(lines: readonly string[]): string[] {
  return lines
    .filter((_, index) => headingAt(lines, index) === undefined)
    .join('\n')
    .split(/\n\s*\n/)
    .map((text) => text.trim())
    .filter((text) => text !== '' && !/^[-*_=\s]+$/.test(text));
}
