import { digest, slug } from '../model/ids-and-branch-names.ts';
import { cleanText } from '../model/text/clean-escape-quote-plural.ts';
import { type Collected, type Draft, newDraft, type Section, wordsOf } from './collect-task-drafts.ts';
import { fieldOf, requirementList, splitFields, validated } from './parse-task-fields.ts';
import { firstCode, readTitle, withoutId } from './parse-task-line.ts';
import {
  error,
  type Named,
  type Note,
  type SpecTask,
  type Tasks,
  warning,
} from './task-and-problem-types.ts';

export interface Tree extends Tasks {
  /** Dependencies as they are written. */
  wanted: { task: SpecTask; value: string; line: number }[];
  notes: Note[];
}

const LISTS = new Set(['files', 'writes', 'reads']);
const MAX_DETAIL_CHARS = 20_000;

/** Second pass: ids first, then indentation, then headings decide what contains what. */
export function buildTree(collected: Collected): Tree {
  const tree: Tree = { tasks: [], all: [], byId: new Map(), wanted: [], notes: [] };
  const ids = givenIds(collected.drafts);
  const drafts = withoutChecklists(collected.drafts, ids, tree.notes);
  tree.notes.push(...emptyHeadings(collected.sections, drafts, ids));
  const all = withHeadings(drafts, ids).sort((a, b) => a.line - b.line);
  const parents = new Map(all.map((draft) => [draft, outerDraft(draft, ids)]));
  const order = parentsFirst(all, parents);
  const made = new Set<string>();
  const makeId = idMaker((id) => ids.given.has(id) || made.has(id));
  const tasks = new Map<Draft, SpecTask>();
  for (const draft of order) {
    const parent = parents.get(draft);
    const above = parent ? tasks.get(parent) : undefined;
    const given = ids.of.get(draft);
    const numbered = given !== undefined;
    const title = numbered || draft.given.id === null ? draft.given.title : withoutId(draft.rest);
    const id = given ?? makeId(title, above?.id ?? null);
    if (!numbered) made.add(id);
    const task = toTask(draft, { id, numbered, title }, above);
    for (const { text, line } of draft.details)
      for (const part of splitFields(text)) takeDetail(tree, task, part, line + 1);
    tasks.set(draft, task);
  }
  for (const draft of all) {
    const task = tasks.get(draft);
    if (!task) continue;
    const parent = parents.get(draft);
    if (parent) tasks.get(parent)?.children.push(task);
    tree.all.push(task);
    const first = tree.byId.get(task.id);
    if (first) tree.notes.push(duplicate(task, first));
    else tree.byId.set(task.id, task);
  }
  const inOrder = order.flatMap((draft) => tasks.get(draft) ?? []);
  for (const task of [...inOrder].reverse()) settleDone(task);
  for (const task of inOrder) inheritDone(task);
  tree.tasks = tree.all.filter(({ parent }) => parent === null);
  return tree;
}

/** Leaves out notes with their boxes, and check lists such as "Definition of Done", unless the file has no other tasks. */
function withoutChecklists(drafts: readonly Draft[], { notes }: Ids, problems: Note[]): Draft[] {
  const hasNumbers = drafts.some((draft) => draft.given.id !== null);
  const left = new Map<Section, number>();
  const kept = drafts.filter((draft) => {
    const { section } = draft;
    const isListed = hasNumbers && section?.kind === 'checklist' && draft.given.id === null;
    const isLeft = notes.has(draft) || (isListed && draft.kind !== 'heading');
    const list = noteAround(draft) ?? section;
    if (isLeft && list && draft.kind !== 'heading') left.set(list, (left.get(list) ?? 0) + 1);
    return !isLeft;
  });
  for (const [{ line, title, kind }, count] of left) {
    const message = `The check boxes below "${title}" (${count}) are not read as tasks.`;
    const way = kind === 'note' ? 'Move them above this heading' : 'Give them numbers of their own';
    problems.push(warning(line + 1, 'spec/checklist', message, `${way} if they are.`));
  }
  return kept;
}

/** `1.4` after `1.3`. */
function following(number: string): string {
  return number.replace(/\d+$/, (last) => String(Number(last) + 1));
}

/**
 * Warns of numbered headings without tasks beside such with tasks, or above those of the next number, and of notes about a
 * task that the file does not have: their text may be a task.
 */
function emptyHeadings(sections: readonly Section[], drafts: readonly Draft[], { given, of }: Ids): Note[] {
  const used = new Set<Section>();
  const ahead = new Set<Section>();
  for (const draft of drafts) {
    const own = draft.section;
    if (own && !used.has(own) && own.number !== null && of.get(draft) === following(own.number))
      ahead.add(own);
    for (let each = own; each && !used.has(each); each = each.parent) used.add(each);
  }
  const isPart = ({ number, kind }: Section) => number !== null && kind === 'tasks';
  const placeOf = ({ parent, level }: Section) => `${parent?.line} ${level}`;
  const places = new Set([...used].filter(isPart).map(placeOf));
  return sections.flatMap((section) => {
    const { number, title, line } = section;
    if (given.has(number ?? '')) return [];
    if (section.kind === 'note') {
      const hint = `If it is a task, write it as \`- [ ] ${number} Text\`.`;
      return warning(line + 1, 'spec/empty-heading', `"${title}" is read as a note: it has no task.`, hint);
    }
    const isEmpty = !used.has(section) || ahead.has(section);
    if (!isEmpty || !isPart(section) || !places.has(placeOf(section))) return [];
    const message = `"${title}" has no check box of its own, so it is not read as a task.`;
    return warning(line + 1, 'spec/empty-heading', message, 'If it is one, add a line such as `- [ ] Text`.');
  });
}

function toTask(
  draft: Draft,
  about: Pick<SpecTask, 'id' | 'numbered' | 'title'>,
  above: SpecTask | undefined,
): SpecTask {
  const { given, section } = draft;
  return {
    ...about,
    kind: draft.kind,
    line: draft.line + 1,
    box: draft.box,
    mark: draft.mark,
    done: draft.mark === 'done',
    optional: given.optional || (above?.optional ?? false),
    parallel: given.parallel,
    checkpoint: given.checkpoint,
    labels: given.labels,
    wave: section?.wave ?? null,
    section: (draft.kind !== 'item' ? section?.parent?.title : section?.title) ?? null,
    details: [],
    requirements: [],
    dependsOn: [],
    fields: {},
    parent: above?.id ?? null,
    children: [],
  };
}

/** Sorts a detail: requirements and dependencies are lists of their own, other fields are kept as details too. */
function takeDetail({ wanted }: Tree, task: SpecTask, text: string, line: number): void {
  const named = (ids: readonly string[]): Named[] => ids.map((id) => ({ id, line }));
  const field = fieldOf(text);
  if (field?.name === 'requirements') {
    task.requirements.push(...named(requirementList(field.value, { words: field.marked })));
    return;
  }
  if (field?.name === 'depends') {
    wanted.push({ task, value: field.value, line });
    return;
  }
  task.details.push(cleanText(text, MAX_DETAIL_CHARS));
  const refs = validated(text);
  if (refs !== undefined) task.requirements.push(...named(requirementList(refs, { words: false })));
  if (!field) return;
  const values = LISTS.has(field.name)
    ? field.value.split(',').map((value) => firstCode(value.trim()))
    : [field.name === 'verify' || field.name === 'validation' ? firstCode(field.value) : field.value];
  const known = task.fields[field.name];
  if (known && Object.hasOwn(task.fields, field.name)) known.push(...values);
  else if (field.name !== '__proto__') task.fields[field.name] = values;
}

function settleDone(task: SpecTask): void {
  if (task.done) return;
  const needed = task.children.filter((child) => task.optional || !child.optional);
  task.done = needed.length > 0 && needed.every((child) => child.done);
}

/** A ticked parent means that everything in it is done, except what was optional. */
function inheritDone(task: SpecTask): void {
  if (!task.done) return;
  for (const child of task.children) if (!child.optional || task.optional) child.done = true;
}

function duplicate({ id, line }: SpecTask, first: SpecTask): Note {
  const message = `Task ${id} is defined twice; the first is on line ${first.line}.`;
  return error(line, 'spec/duplicate-id', message, 'Give one of them another number.');
}

/** The ids of drafts, and the first draft of each id that the file gives. */
interface Ids {
  of: Map<Draft, string>;
  given: Map<string, Draft>;
  /** Headings that only report on their task, such as "Task 1.1 results", and the boxes that are part of such a note. */
  notes: Set<Draft>;
  /** The highest first number so far, 3 after 3.1. Not a number before there is one. */
  highest: number;
}

/** Takes the ids that the file gives: `1.` inside task 2 is 2.1; a bare number there is the first word of a title. */
function givenIds(drafts: readonly Draft[]): Ids {
  const ids: Ids = { of: new Map(), given: new Map(), notes: new Set(), highest: Number.NaN };
  const counting = new Set<Draft>();
  /** By the heading above them, the last of tasks that continue its number: boxes 6 and 7 below "Task 5" are no parts of it. */
  const following = new Map<Draft, number>();
  const ambiguous = repeatedMarkers(drafts);
  for (const draft of drafts) if (isBeside(draft)) draft.inside = null;
  const withBoxes = new Set(drafts.flatMap(({ box, inside }) => (box && inside ? [inside] : [])));
  const isBoxSpec = drafts.some(({ box, given, inside }) => box && given.id !== null && !inside);
  const isInNote = noteReader(ids, isBoxSpec);
  for (const draft of drafts) {
    if (isInNote(draft)) {
      ids.notes.add(draft);
      continue;
    }
    const { id, bare } = draft.given;
    if (id === null || (ambiguous && draft.marker && !draft.inside)) continue;
    const outer = draft.inside ? ids.of.get(draft.inside) : undefined;
    let settled: string = id;
    if (draft.inside && outer !== undefined && /^\d+$/.test(id)) {
      const last = following.get(draft.inside) ?? Number.parseInt(outer, 10);
      const next = Number(id) === last + 1 && !counting.has(draft.inside) && (!bare || /^\d+$/.test(outer));
      if (bare && !next) continue;
      if (next) following.set(draft.inside, Number(id));
      else {
        settled = `${outer}.${id}`;
        counting.add(draft.inside);
      }
    }
    const first = ids.given.get(settled);
    const isBoxed = first?.box || (first && withBoxes.has(first) && !withBoxes.has(draft));
    const isNote = first
      ? isBoxed || isReport(draft, first) || isAbove(first, draft)
      : isBoxSpec && REPORT.test(draft.given.title);
    if (draft.kind === 'heading' && draft.section && !draft.box && isNote) {
      ids.notes.add(draft);
      // An overview with boxes may come before the tasks themselves.
      if (draft.given.title === first?.given.title) first.details.push(...draft.details);
      Object.assign(draft.section, { draft: null, kind: 'note' });
      continue;
    }
    ids.of.set(draft, settled);
    if (!first) ids.given.set(settled, draft);
    const whole = Number.parseInt(settled, 10);
    if (whole > (ids.highest || 0)) ids.highest = whole;
  }
  return ids;
}

/** Finds the boxes that are part of a note: all but those of a spec with boxes whose numbers continue the ones above it. */
function noteReader(ids: Ids, isBoxSpec: boolean): (draft: Draft) => boolean {
  const listing = new Set<Section>();
  const isNew = (id: string) => !ids.given.has(id) && (!/^\d+$/.test(id) || Number(id) > ids.highest);
  return (draft) => {
    const note = draft.kind === 'item' ? noteAround(draft) : null;
    if (!note) return false;
    if (draft.inside?.kind === 'item') return ids.notes.has(draft.inside);
    draft.inside = null;
    const { id } = draft.given;
    if (id !== null && !(isBoxSpec && isNew(id))) listing.add(note);
    return id === null || listing.has(note);
  };
}

/** The heading of the note that a draft is below. */
function noteAround({ section }: Draft): Section | null {
  for (let each = section; each && !each.draft; each = each.parent) if (each.kind === 'note') return each;
  return null;
}

const REPORT =
  /^(?:(?:completion|execution|final|implementation|test|validation|verification)\s+)?(?:completion|findings|notes|outcomes?|reports?|results?|status|summary)(?:\s*[:(]|\s+[–—-]\s|$)/i;

/** Whether a heading has no title but such a word, the task's own title and such a word, or no `:` after a number that the task's heading has there. */
function isReport({ given: { title, ended } }: Draft, first: Draft): boolean {
  const rest = title.startsWith(first.given.title) ? title.slice(first.given.title.length) : title;
  return REPORT.test(rest.replace(/^[\s:–—-]+/, '')) || (first.given.ended && !ended);
}

/** Whether a heading is below that of another task. */
function isAbove(outer: Draft, { section }: Draft): boolean {
  for (let each = section?.parent; each; each = each.parent) if (each.draft === outer) return true;
  return false;
}

/** Whether a box below a heading has a number that is not below that of the heading: 1.4 below "Task 1.3". */
function isBeside({ given, inside }: Draft): boolean {
  const outer = inside?.kind === 'heading' ? inside.given.id : null;
  const isDotted = given.id !== null && /^\d+\./.test(given.id);
  return isDotted && outer !== null && /^\d/.test(outer) && !given.id?.startsWith(`${outer}.`);
}

/** Whether several lists begin at `1. [ ]`: their numbers are not ids. */
function repeatedMarkers(drafts: readonly Draft[]): boolean {
  const roots = drafts.filter(({ kind, given, inside }) => kind === 'item' && !inside && given.id !== null);
  return (
    roots.some((draft) => draft.marker) && new Set(roots.map((draft) => draft.given.id)).size < roots.length
  );
}

/** Adds headings that are parents: `## 1. Setup` above 1.1, or above tasks without a number. */
function withHeadings(drafts: readonly Draft[], ids: Ids): Draft[] {
  const all = [...drafts];
  for (const draft of all) {
    const id = ids.of.get(draft);
    if (id !== undefined ? byPrefix(id, ids) : draft.inside) continue;
    const section = headingAbove(draft, id);
    if (!section?.number || ids.given.has(section.number) || section.draft) continue;
    const given = readTitle(wordsOf(section.title));
    const heading = newDraft({ kind: 'section', given, rest: section.title, line: section.line, section });
    section.draft = heading;
    ids.of.set(heading, section.number);
    ids.given.set(section.number, heading);
    all.push(heading);
  }
  return all;
}

/** The heading that could be the parent of a task that has none. */
function headingAbove(draft: Draft, id: string | undefined): Section | null {
  const first = draft.kind !== 'item' ? (draft.section?.parent ?? null) : draft.section;
  if (id === undefined) return first;
  for (let section = first; section; section = section.parent)
    if (section.number !== null && id.startsWith(`${section.number}.`)) return section;
  return null;
}

/** The task that contains a draft: by its id, else by indentation, else by the heading above. */
function outerDraft(draft: Draft, ids: Ids): Draft | null {
  const id = ids.of.get(draft);
  const named = id === undefined ? null : byPrefix(id, ids);
  if (named) return named === draft ? null : named;
  if (draft.inside && id !== undefined && /^\d+$/.test(id) && ids.of.has(draft.inside)) return null;
  if (draft.inside) return draft.inside;
  const heading = draft.section?.draft ?? null;
  return id === undefined && heading !== draft ? heading : null;
}

/** The task with the longest id that is a prefix of this one: 1.2 for 1.2.3, 1 where there is no 1.2. */
function byPrefix(id: string, { given }: Ids): Draft | null {
  for (let end = id.lastIndexOf('.'); end > 0; end = id.lastIndexOf('.', end - 1)) {
    const found = given.get(id.slice(0, end));
    if (found) return found;
  }
  return null;
}

/** Orders tasks so that parents come first. A task that would be its own ancestor becomes a root. */
function parentsFirst(all: readonly Draft[], parents: Map<Draft, Draft | null>): Draft[] {
  const order: Draft[] = [];
  const state = new Map<Draft, 'open' | 'done'>();
  for (const draft of all) {
    const way: Draft[] = [];
    for (let each: Draft | null = draft; each && !state.has(each); each = parents.get(each) ?? null) {
      way.push(each);
      state.set(each, 'open');
      const next = parents.get(each);
      if (next && state.get(next) === 'open') parents.set(each, null);
    }
    for (const each of way.reverse()) {
      state.set(each, 'done');
      order.push(each);
    }
  }
  return order;
}

const MAX_ID_CHARS = 80;

/**
 * Makes ids for tasks without one from their titles, so that they stay the same when other tasks are added or removed. A
 * hash distinguishes titles with the same slug; equal titles are numbered.
 */
function idMaker(taken: (id: string) => boolean): (title: string, parent: string | null) => string {
  const counts = new Map<string, number>();
  return (title, parent) => {
    const own = nameOf(title);
    const long = parent === null ? own : `${parent}.${own}`;
    const id = long.length <= MAX_ID_CHARS ? long : `${own.slice(0, 40)}-${digest(long, 6)}`;
    let count = counts.get(id) ?? 1;
    let free = count === 1 ? id : `${id}-${count}`;
    while (taken(free)) {
      count += 1;
      free = `${id}-${count}`;
    }
    counts.set(id, count + 1);
    return free;
  };
}

function nameOf(title: string): string {
  // No id may end in ".lock": it becomes part of a branch.
  if (slug(title) === 'lock') return 'lock-task';
  const latin = /[A-Za-z0-9]/.test(title);
  if (latin && !/\P{ASCII}/u.test(title) && title.length <= 40) return slug(title, 40);
  return `${latin ? slug(title, 32) : 'task'}-${digest(title, 6)}`;
}
