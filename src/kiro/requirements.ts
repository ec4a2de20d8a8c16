import { cleanLine, cleanText } from '../model/text/clean.ts';
import { headingAt } from '../model/text/headings.ts';
import { visibleLines } from '../model/text/markdown-lines.ts';
import { splitLines } from './lines.ts';

export interface Criterion {
  /** `1.2`, or as the file writes it: `REQ-1.2`. */
  id: string;
  text: string;
  line: number;
}

export interface Requirement {
  /** `1`, `NFR-2`. Empty for a part without a number, as in bugfix.md. */
  id: string;
  /** Empty where the heading is nothing but the number. */
  title: string;
  line: number;
  /** The user story and what else stands before the criteria. */
  text: string;
  criteria: Criterion[];
}

const HEADING =
  /^(?:requirements?|req\.?|user stor(?:y|ies)|要件|要求|需求|requisitos?|anforderung|exigence|требование)?[\s#:_-]*((?:[A-Z]{1,8}[-_]?)?\d{1,6}(?:\.\d{1,6})*)(?![\p{L}\p{N}])[\s.:)：-]*(.*)$/iu;
const EXPLICIT =
  /^\s*(?:[-*+]\s+)?(?:\[[ xX]\]\s+)?[*_]{0,2}(?:AC[-\s]?)?((?:[A-Z]{1,8}[-_]?)?\d{1,6}(?:\.\d{1,6})+|[A-Z]{1,8}[-_]\d{1,6}(?:\.\d{1,6})*)[*_]{0,2}[.:)]?[*_]{0,2}\s+(\S.*)$/u;
const NUMBERED = /^(\s*)(\d{1,6})[.)]\s+(\S.*)$/;
/** Headings whose numbered list is the requirements themselves. */
const LISTS = /^(?:functional |non-functional )?requirements?$|^(?:要件|要求|需求)/iu;
const MAX_TEXT = 4_000;

/**
 * Requirements with their acceptance criteria, by the numbers that tasks name: `### Requirement 1` with a numbered list
 * is 1.1, 1.2 and so on; a number that is written out (`1.1 WHEN …`) counts as it stands.
 */
export function parseRequirements(text: string): Requirement[] {
  const raw = splitLines(text).map((line) => line.text);
  const lines = visibleLines(raw.join('\n'));
  const found: Requirement[] = [];
  let level = 0;
  let last: { text: string } | undefined;
  for (const [index, line] of lines.entries()) {
    const heading = headingAt(lines, index);
    if (heading && heading.level < 7) {
      const next = opened(heading.text, index + 1, heading.level > level && (found.at(-1)?.id ?? '') !== '');
      if (!next) continue;
      level = heading.level;
      found.push(next);
      last = undefined;
      continue;
    }
    const current = found.at(-1);
    const criterion = criterionOf(line, index + 1, current);
    if (criterion) {
      const owner = current ?? place(found, index + 1);
      owner.criteria.push(criterion);
      last = criterion;
    } else if (line.trim() === '') last = /\S/.test(raw[index] ?? '') ? last : undefined;
    else if (last) last.text = join(last.text, line.trim());
    else if (current && current.criteria.length === 0 && !isLabel(line))
      current.text = join(current.text, line.trim());
  }
  return found
    .filter(({ id, criteria }) => id !== '' || criteria.length > 0)
    .map((each) => ({ ...each, text: cleanText(each.text, MAX_TEXT) }));
}

/** The requirement that a heading begins; one without a number inside of one with it ("Acceptance Criteria") begins none. */
function opened(text: string, line: number, inner: boolean): Requirement | undefined {
  const [, id, title] = HEADING.exec(text) ?? [];
  if (id !== undefined) return { id, title: cleanLine(title ?? ''), line, text: '', criteria: [] };
  if (inner) return undefined;
  return { id: '', title: cleanLine(text), line, text: '', criteria: [] };
}

function place(found: Requirement[], line: number): Requirement {
  const made: Requirement = { id: '', title: '', line, text: '', criteria: [] };
  found.push(made);
  return made;
}

function criterionOf(line: string, at: number, current: Requirement | undefined): Criterion | undefined {
  const [, id, text = ''] = EXPLICIT.exec(line) ?? [];
  if (id !== undefined) return { id, text: cleanLine(text, MAX_TEXT), line: at };
  const [, space = '', number, item = ''] = NUMBERED.exec(line) ?? [];
  if (number === undefined || !current || space.length > 3) return undefined;
  if (current.id === '' && !LISTS.test(current.title)) return undefined;
  const own = String(Number(number));
  return { id: current.id === '' ? own : `${current.id}.${own}`, text: cleanLine(item, MAX_TEXT), line: at };
}

function isLabel(line: string): boolean {
  return /^\W*acceptance criteria\W*$/i.test(line);
}

function join(text: string, more: string): string {
  if (text.length > MAX_TEXT) return text;
  return text === '' ? more : `${text}\n${more}`;
}

/** Ids that mean the same: `R1.1`, `REQ-1.1` and `1.1`; `NFR-2` and `NFR2`. */
export function requirementKey(id: string): string {
  return id
    .toUpperCase()
    .replace(/^(?:REQUIREMENT|REQ|R|AC)[-_ ]?(?=\d)/, '')
    .replace(/[-_ ](?=\d)/g, '')
    .replace(/\b0+(?=\d)/g, '');
}
