import { cleanLine, cleanText } from '../model/text/clean-escape-quote-plural.ts';
import { headingAt, visibleLines } from '../model/text/markdown-lines.ts';
import { splitLines } from './parse-task-line.ts';

interface Criterion {
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
  /** The user story and other text before the criteria. */
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
const LABEL = /^\W*acceptance criteria\W*$/i;
const MAX_TEXT = 4_000;

/**
 * Requirements with their acceptance criteria, by the numbers that tasks name: `### Requirement 1` with a numbered list
 * is 1.1, 1.2 and so on; a number that is written out (`1.1 WHEN …`) is used as it is.
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
      if (!current) found.push(newRequirement('', '', index + 1));
      found.at(-1)?.criteria.push(criterion);
      last = criterion;
    } else if (line.trim() === '') last = /\S/.test(raw[index] ?? '') ? last : undefined;
    else if (last) last.text = join(last.text, line.trim());
    else if (current && current.criteria.length === 0 && !LABEL.test(line))
      current.text = join(current.text, line.trim());
  }
  return found
    .filter(({ id, criteria }) => id !== '' || criteria.length > 0)
    .map((each) => ({ ...each, text: cleanText(each.text, MAX_TEXT) }));
}

/** The requirement that a heading begins. A heading without a number inside a requirement ("Acceptance Criteria") begins none. */
function opened(text: string, line: number, inner: boolean): Requirement | undefined {
  const [, id, title = ''] = HEADING.exec(text) ?? [];
  if (id === undefined) return inner ? undefined : newRequirement('', text, line);
  return newRequirement(id, title, line);
}

function newRequirement(id: string, title: string, line: number): Requirement {
  return { id, title: cleanLine(title), line, text: '', criteria: [] };
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

interface NamedRequirement {
  requirement: Requirement;
  /** Those of its criteria that were named. */
  criteria: Criterion[];
}

/** Finds what tasks name, in constant time. */
export class RequirementIndex {
  readonly #all: readonly Requirement[];
  readonly #byKey = new Map<string, Requirement | Criterion>();

  constructor(all: readonly Requirement[]) {
    this.#all = all;
    for (const each of all.flatMap((requirement) => [requirement, ...requirement.criteria])) {
      const key = requirementKey(each.id);
      if (key !== '' && !this.#byKey.has(key)) this.#byKey.set(key, each);
    }
  }

  has(id: string): boolean {
    return isAll(id) || this.#byKey.has(requirementKey(id));
  }

  /** Whole requirements for `1`, single criteria for `1.2`, all for `all`; in the order of the file, each once. */
  named(ids: readonly string[]): NamedRequirement[] {
    const wanted = new Set(
      ids.flatMap((id) => (isAll(id) ? this.#all : (this.#byKey.get(requirementKey(id)) ?? []))),
    );
    return this.#all.flatMap((requirement) => {
      const isWhole = wanted.has(requirement);
      const criteria = requirement.criteria.filter((each) => isWhole || wanted.has(each));
      return isWhole || criteria.length > 0 ? [{ requirement, criteria }] : [];
    });
  }
}

function isAll(id: string): boolean {
  return id.toLowerCase() === 'all';
}

/** Requirements as text for a prompt. */
export function sayRequirements(named: readonly NamedRequirement[]): string {
  return named
    .map(({ requirement: { id, title, text }, criteria }) =>
      [
        id === '' ? title : `Requirement ${id}${title === '' ? '' : `: ${title}`}`,
        ...(text === '' ? [] : [text]),
        ...criteria.map((criterion) => `${criterion.id} ${criterion.text}`),
      ].join('\n'),
    )
    .join('\n\n');
}
