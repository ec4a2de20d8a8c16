import { cleanText } from '../model/text/clean.ts';
import type { Collected } from './collect.ts';
import type { Draft, Section } from './drafts.ts';
import { fieldOf, requirementList, validated } from './fields.ts';
import { firstCode } from './lines.ts';
import { error, type Named, type Note, type SpecTask, warning } from './task.ts';
import { givenIds, idMaker, outerDraft, parentsFirst, withHeadings } from './task-ids.ts';
import { withoutId } from './task-line.ts';

/** `1.1*` means optional to Kiro and parallel to some others. */
export type Star = 'optional' | 'parallel';

export interface Tree {
  roots: SpecTask[];
  /** All tasks in the order of the file. */
  all: SpecTask[];
  byId: Map<string, SpecTask>;
  /** Dependencies as they are written. */
  wanted: { task: SpecTask; value: string; line: number }[];
  notes: Note[];
}

const LISTS = new Set(['files', 'writes', 'reads']);
const MAX_DETAIL_CHARS = 20_000;

/** Second reading: ids first, then indentation, then headings decide what contains what. */
export function buildTree(collected: Collected, star: Star): Tree {
  const tree: Tree = { roots: [], all: [], byId: new Map(), wanted: [], notes: [] };
  const drafts = withoutChecklists(collected.drafts, tree.notes);
  const ids = givenIds(drafts);
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
    const task = toTask(draft, { id, numbered, title, star, above });
    for (const { text, line } of draft.details) takeDetail(tree, task, text, line + 1);
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
  tree.roots = tree.all.filter(({ parent }) => parent === null);
  return tree;
}

/** A check list such as "Definition of Done" is no work, unless the file has nothing else. */
function withoutChecklists(drafts: readonly Draft[], notes: Note[]): Draft[] {
  if (drafts.every((draft) => draft.given.id === null)) return [...drafts];
  const left = new Map<Section, number>();
  const kept = drafts.filter((draft) => {
    const { section } = draft;
    if (section?.kind !== 'checklist' || draft.given.id !== null || draft.kind === 'heading') return true;
    left.set(section, (left.get(section) ?? 0) + 1);
    return false;
  });
  for (const [{ line, title }, count] of left) {
    const message = `The check boxes below "${title}" (${count}) are not read as tasks.`;
    notes.push(warning(line + 1, 'spec/checklist', message, 'Give them numbers if they are.'));
  }
  return kept;
}

function toTask(
  draft: Draft,
  about: Pick<SpecTask, 'id' | 'numbered' | 'title'> & { above: SpecTask | undefined; star: Star },
): SpecTask {
  const { given, section } = draft;
  const { id, numbered, title, above, star } = about;
  return {
    id,
    numbered,
    title,
    kind: draft.kind,
    line: draft.line + 1,
    box: draft.box,
    mark: draft.mark,
    done: draft.mark === 'done',
    optional: given.optional || (given.starred && star === 'optional') || (above?.optional ?? false),
    parallel: given.parallel || (given.starred && star === 'parallel'),
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
  const message = `Task ${id} is there twice: line ${first.line} has it already.`;
  return error(line, 'spec/duplicate-id', message, 'Give one of them another number.');
}
