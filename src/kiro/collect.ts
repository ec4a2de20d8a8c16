import type { Fence } from '../model/text/markdown-lines.ts';
import { scanLines } from '../model/text/markdown-lines.ts';
import { type Draft, headingTask, newDraft, type Section, sectionAt } from './drafts.ts';
import { fieldOf } from './fields.ts';
import { dedent, firstCode, indentOf, type SourceLine } from './lines.ts';
import { error, type Note, warning } from './task.ts';
import { type BoxItem, boxItem, isLegend, isStruck, markOf, readTitle } from './task-line.ts';

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

/** First reading: what looks like a task, what is below it, and the headings above. */
export function collect(source: readonly SourceLine[], options: { plain: boolean }): Collected {
  return new Collector(source, options.plain).run();
}

class Collector {
  readonly #raw: string[];
  readonly #seen: string[];
  readonly #fences: Map<number, Fence>;
  readonly #plain: boolean;
  readonly #out: Collected = { drafts: [], sections: [], graph: { fences: [], lines: [] }, notes: [] };
  /** Items that a line further in may belong to, outermost first. */
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

  /** Reads what begins on a line; returns how many lines it has. */
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
      const draft = newDraft({ kind: 'item', given, rest: item.rest, line: index, section: this.#section });
      draft.mark = isStruck(item.rest) ? 'done' : (mark ?? 'open');
      draft.marker = marker;
      draft.indent = indentOf(item.indent);
      draft.box = this.#tickable(item, raw, index);
      if (mark === undefined) {
        const message = `[${item.text}] has no meaning; the task counts as open.`;
        const hint = 'Known are [ ], [x], [-] for started and [~] for queued.';
        this.#warn(index, 'unknown-mark', message, hint);
      }
      this.#add(draft);
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
    const draft = newDraft({ kind: 'item', given, rest: text, line: index, section: this.#section });
    draft.indent = indentOf(seen);
    if (given.ticked) draft.mark = 'done';
    this.#add(draft);
    return true;
  }

  #add(draft: Draft): void {
    const contains = (outer: Draft) => outer.kind === 'heading' || outer.indent + 2 <= draft.indent;
    while (this.#open.length > 0 && !this.#open.slice(-1).every(contains)) this.#open.pop();
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

  /** A line belongs to the innermost task that it is further in than; a bullet also to one that it is level with. */
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
  const [name, hint] =
    what === 'fence'
      ? ['code block', 'Close it with a line of the same marks.']
      : ['comment', 'Close it with -->.'];
  return error(
    line + 1,
    'spec/unclosed',
    `This ${name} is never closed, so that nothing behind it counts.`,
    hint,
  );
}
