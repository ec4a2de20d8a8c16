import { cleanLine } from '../model/text/clean-escape-quote-plural.ts';
import { type Fence, headingAt, scanLines } from '../model/text/markdown-lines.ts';
import { fieldOf } from './parse-task-fields.ts';
import {
  type BoxItem,
  boxHeading,
  boxItem,
  dedent,
  firstCode,
  indentOf,
  isLegend,
  isStruck,
  markOf,
  readTitle,
  type SourceLine,
  type Title,
} from './parse-task-line.ts';
import {
  type Box,
  error,
  type Mark,
  type Note,
  type SpecSection,
  warning,
} from './task-and-problem-types.ts';

export interface Collected {
  drafts: Draft[];
  sections: Section[];
  /** Code blocks and plain lines below headings such as "Task Dependency Graph". */
  graph: { fences: Fence[]; lines: { text: string; line: number }[] };
  notes: Note[];
}

const BULLET = /^[ \t\u00a0\u3000]*(?:[-*+•]|\d{1,9}[.)])[ \t\u00a0]+/;
const NUMBERED = /^[ \t]*(?:[-*+][ \t]+)?(\d{1,6}(?:\.\d{1,6}){0,8})([.):]?)[ \t]+(.*)$/;
const QUOTED = /^\s*>/;
const RULE = /^\s*([-*_])(?:\s*\1){2,}\s*$/;

/** First pass: possible tasks, the lines below them, and the headings above. With `plain`, numbered lines are tasks. */
export function collect(source: readonly SourceLine[], plain: boolean): Collected {
  return new Collector(source, plain).run();
}

class Collector {
  readonly #raw: string[];
  readonly #seen: string[];
  readonly #fences: Map<number, Fence>;
  readonly #plain: boolean;
  readonly #out: Collected = { drafts: [], sections: [], graph: { fences: [], lines: [] }, notes: [] };
  /** Tasks that an indented line may belong to, outermost first. */
  #open: Draft[] = [];
  #section: Section | null = null;
  #last: Draft | null = null;
  #blank = true;

  constructor(source: readonly SourceLine[], plain: boolean) {
    this.#raw = source.map(({ text }) => text);
    this.#plain = plain;
    const scan = scanLines(this.#raw.join('\n'));
    this.#seen = scan.lines;
    this.#fences = new Map(scan.fences.map((fence) => [fence.from, fence]));
    if (scan.unclosed) this.#out.notes.push(unclosed(scan.unclosed));
  }

  run(): Collected {
    for (let index = 0; index < this.#raw.length; ) index += this.#read(index);
    return this.#out;
  }

  /** Reads the block that begins on a line; returns its number of lines. */
  #read(index: number): number {
    const raw = this.#raw[index] ?? '';
    const seen = this.#seen[index] ?? '';
    const fence = this.#fences.get(index);
    if (fence) return this.#block(fence);
    if (seen.trim() === '') {
      if (raw.trim() === '') this.#blank = true;
      return 1;
    }
    const opened = sectionAt(this.#seen, index, this.#section, raw);
    if (opened) this.#enter(opened.section);
    else this.#line(seen, raw, index);
    this.#blank = false;
    return opened?.height ?? 1;
  }

  #enter(section: Section): void {
    this.#section = section;
    this.#out.sections.push(section);
    if (section.draft) this.#out.drafts.push(section.draft);
    this.#close();
  }

  #line(seen: string, raw: string, index: number): void {
    const item = boxItem(seen);
    if (RULE.test(seen)) this.#close();
    else if (item) this.#box(item, raw, index);
    else if (this.#inGraph()) this.#out.graph.lines.push({ text: seen, line: index });
    else if (this.#plain && this.#numbered(seen, index)) return;
    else this.#detail(seen, index);
  }

  #box(item: BoxItem, raw: string, index: number): void {
    const given = readTitle(item.rest);
    const marker = given.id === null && item.number !== null;
    if (marker) given.id = String(Number(item.number));
    const mark = markOf(item.text);
    const legend = this.#section?.kind === 'legend' || (given.id === null && isLegend(item.rest));
    if (item.rest.trim() === '') this.#warn(index, 'empty-task', 'A check box has no text and is left out.');
    else if (legend) this.#close();
    else if (mark === undefined && given.id === null) this.#detail(raw, index);
    else {
      const { rest, text } = item;
      const box = this.#tickable(item, raw, index);
      const hint = 'Known are [ ], [x], [-] for started and [~] for queued.';
      if (mark === undefined)
        this.#warn(index, 'unknown-mark', `[${text}] has no meaning; the task counts as open.`, hint);
      const shown = isStruck(rest) ? 'done' : (mark ?? 'open');
      this.#add(index, { given, rest, mark: shown, marker, indent: indentOf(item.indent), box });
    }
  }

  #tickable({ column, text }: BoxItem, raw: string, index: number): Draft['box'] {
    const exact = raw.slice(0, column) === (this.#seen[index] ?? '').slice(0, column);
    if (text !== '' && exact && raw[column] === text) return { line: index + 1, column, text };
    this.#warn(index, 'no-box', 'The box of this task cannot be ticked.', 'Write it as `- [ ] Text`.');
    return null;
  }

  /** In a file without check boxes: `1. Text`, `1.1 Text`. */
  #numbered(seen: string, index: number): boolean {
    const [, id = '', end = '', text = ''] = NUMBERED.exec(seen) ?? [];
    if (id === '' || (!id.includes('.') && (end === '' || indentOf(seen) > 1))) return false;
    const number = this.#section?.number ?? null;
    if (number !== null && !id.startsWith(`${number}.`)) return false;
    const given = { ...readTitle(text), id, bare: false };
    this.#add(index, { given, rest: text, mark: given.ticked ? 'done' : 'open', indent: indentOf(seen) });
    return true;
  }

  #add(line: number, item: Partial<Draft> & Pick<Draft, 'given' | 'rest'>): void {
    const draft = newDraft({ kind: 'item', line, section: this.#section, ...item });
    const contains = (outer: Draft) => outer.kind === 'heading' || outer.indent + 2 <= draft.indent;
    this.#open = this.#open.slice(0, this.#open.findLastIndex(contains) + 1);
    draft.inside = this.#open.at(-1) ?? headingTask(this.#section);
    this.#open.push(draft);
    this.#out.drafts.push(draft);
    this.#last = draft;
  }

  #detail(seen: string, index: number): void {
    if (QUOTED.test(seen) && boxItem(seen.replace(/^[\s>]+/, '')))
      this.#warn(index, 'quoted-box', 'A check box in a quotation is not read as a task.');
    const bullet = BULLET.test(seen);
    const owner = this.#owner(seen, bullet);
    const withoutBullet = seen.replace(BULLET, '');
    const text = withoutBullet.replace(/^[\s>]+/, '').trim();
    const field = fieldOf(text);
    if (!owner) {
      this.#close();
      if (field?.name === 'verify') this.#section?.verify.push(firstCode(field.value));
      return;
    }
    const last = owner.details.at(-1);
    const quotes = QUOTED.test(seen) && !QUOTED.test(this.#seen[index - 1] ?? '');
    const follows = !bullet && !this.#blank && !quotes && last?.last === index - 1;
    if (follows && !field && last) {
      last.text += ` ${text}`;
      last.last = index;
    } else owner.details.push({ text, line: index, last: index });
    this.#last = owner;
  }

  /** The innermost task that is indented less than the line; for a bullet also one with the same indentation. */
  #owner(seen: string, bullet: boolean): Draft | null {
    const indent = indentOf(seen);
    const around = this.#open.findLast((draft) => draft.kind === 'heading' || draft.indent < indent);
    if (around) return around;
    if (bullet) return this.#open.findLast((draft) => draft.indent <= indent) ?? null;
    return this.#blank ? null : this.#last;
  }

  #block(fence: Fence): number {
    if (this.#inGraph()) this.#out.graph.fences.push(fence);
    else {
      const owner = this.#open.length > 0 ? this.#owner(this.#raw[fence.from] ?? '', true) : null;
      const text = this.#raw.slice(fence.from, fence.to + 1);
      if (owner) owner.details.push({ text: dedent(text), line: fence.from, last: fence.to });
    }
    this.#blank = false;
    return fence.to - fence.from + 1;
  }

  #inGraph(): boolean {
    return this.#section?.kind === 'graph' && this.#open.length === 0;
  }

  #close(): void {
    this.#open = this.#section?.draft ? [this.#section.draft] : [];
    this.#last = this.#section?.draft ?? null;
  }

  #warn(index: number, code: string, message: string, hint?: string): void {
    this.#out.notes.push(warning(index + 1, `spec/${code}`, message, hint));
  }
}

function unclosed({ line, what }: { line: number; what: 'fence' | 'comment' }): Note {
  const isFence = what === 'fence';
  const message = `This ${isFence ? 'code block' : 'comment'} is never closed, so the rest of the file is ignored.`;
  const hint = isFence ? 'Close it with a line of the same marks.' : 'Close it with -->.';
  return error(line + 1, 'spec/unclosed', message, hint);
}

/** A heading of tasks.md. */
export interface Section extends SpecSection {
  parent: Section | null;
  /** `2` for `## 2. Core` and `### Phase 2`. */
  number: string | null;
  wave: number | null;
  /** A note is settled last, by the numbers of all tasks. */
  kind: 'tasks' | 'legend' | 'checklist' | 'graph' | 'note';
  /** The task that this heading is, if it is one. */
  draft: Draft | null;
}

/** A task before ids and parents are settled. */
export interface Draft {
  kind: 'item' | 'heading' | 'section';
  given: Title;
  /** The text after the box, for titles whose number turns out to be a word. */
  rest: string;
  line: number;
  /** The id is only the number of a list item. */
  marker: boolean;
  indent: number;
  box: Box | null;
  mark: Mark;
  /** The task whose list item contains it. */
  inside: Draft | null;
  section: Section | null;
  /** With the indexes of their first and last lines. */
  details: { text: string; line: number; last: number }[];
}

export function newDraft(
  draft: Partial<Draft> & Pick<Draft, 'kind' | 'given' | 'rest' | 'line' | 'section'>,
): Draft {
  return { marker: false, indent: 0, box: null, mark: 'open', inside: null, details: [], ...draft };
}

/** The nearest heading that is a task, from the innermost out. */
function headingTask(section: Section | null): Draft | null {
  for (let each = section; each; each = each.parent) if (each.draft) return each.draft;
  return null;
}

const PHASE =
  /^(?:phase|stage|milestone|part|section|step|sprint|iteration|group|epic|フェーズ|ステップ|阶段|第|fase|этап)\s*#?(\d{1,4})(?!\p{N})/iu;
const WAVE = /^(?:wave|ウェーブ|波次)\s*#?(\d{1,4})(?!\p{N})/iu;
const LEGEND =
  /(?:^|\s)(?:legend|status(?:es)? (?:key|legend|markers?)|task status(?:es)?|凡例|图例|圖例|leyenda|légende|legende)(?:$|[\s:])/iu;
const CHECKLIST =
  /definition of (?:done|ready)|check ?list|(?:acceptance|success|exit|completion|entry) criteria|sign[ -]?off|チェックリスト|检查清单/iu;
const GRAPH =
  /dependenc(?:y|ies) (?:graph|map|tree|order|diagram|chart)|^(?:task |inter-?task )?dependencies$|execution (?:order|plan|waves)|^waves?$|wave (?:plan|graph|overview)|依存(?:関係|グラフ)|依赖(?:关系|图)?|dependencias|abhängigkeiten/iu;

/** The heading on a line, and its number of lines. Bold lines are not headings here: details often have them. */
function sectionAt(
  lines: readonly string[],
  index: number,
  open: Section | null,
  raw: string,
): { section: Section; height: number } | undefined {
  const heading = headingAt(lines, index);
  if (!heading || heading.level > 6) return undefined;
  let parent = open;
  while (parent && parent.level >= heading.level) parent = parent.parent;
  const words = wordsOf(heading.text);
  const given = readTitle(words);
  const wave = WAVE.exec(words)?.[1];
  const section: Section = {
    title: cleanLine(heading.text),
    level: heading.level,
    line: index,
    parent,
    number: given.id ?? PHASE.exec(words)?.[1] ?? wave ?? null,
    wave: wave === undefined ? (parent?.wave ?? null) : Number(wave),
    kind: given.id === null ? kindOf(heading.text, parent) : 'tasks',
    verify: [],
    draft: null,
  };
  section.draft = taskIn(section, words, raw);
  return { section, height: heading.height };
}

const MARKED_ID =
  /^([*_]*(?:\p{L}+[\s#:_-]*)?[A-Z]{0,4}-?\d[\d.]*[a-z]?[*_]*(?::[*_]*|\s+[–—-])?)\s*[([]?[✅✔☑✓]\ufe0f?[)\]]?(?=[\s:.)–—-]|$)/u;

/** `COMPLETED Task 6: Title`. */
const DONE = /^(?:completed?|done|finished)[\s:–—-]+(?=tasks?[\s#:_-]*\d)/i;

/** A heading without emoji and punctuation before its first word; a check mark there or in front of the title is moved to the end. */
export function wordsOf(heading: string): string {
  const words = heading.replace(/^[^\p{L}\p{N}[*_<(~]+/u, '');
  const unmarked = words.replace(DONE, '').replace(MARKED_ID, '$1');
  const isMarked = unmarked !== words || /[✅✔☑✓]/u.test(heading.slice(0, heading.length - words.length));
  return isMarked ? `${unmarked} ✅` : words;
}

function kindOf(text: string, parent: Section | null): Section['kind'] {
  if (LEGEND.test(text)) return 'legend';
  if (CHECKLIST.test(text)) return 'checklist';
  if (GRAPH.test(text)) return 'graph';
  return parent?.kind ?? 'tasks';
}

/** `### Task 1.1: Title ✅` and `### [ ] 1.1 Title` are tasks themselves. */
function taskIn(section: Section, words: string, raw: string): Draft | null {
  const { line } = section;
  const box = boxHeading(raw);
  const mark = box ? markOf(box.text) : undefined;
  const given = readTitle(box && mark ? box.rest : words);
  if (!(box && mark) && !(given.worded && given.id !== null)) return null;
  return newDraft({
    ...{ kind: 'heading', given, rest: box?.rest ?? words, line, section },
    mark: mark ?? (given.ticked || isStruck(words) ? 'done' : 'open'),
    box: box?.text.length === 1 ? { line: line + 1, column: box.column, text: box.text } : null,
  });
}
