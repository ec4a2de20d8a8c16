import { cleanText } from '../model/text/clean.ts';
import { command } from './block-text.ts';
import type { Collected, Note } from './collect.ts';
import type { Draft } from './draft.ts';
import { parentOf, parentsFirst, promote, settleIds, withoutChecklists } from './family.ts';
import { fieldOf, validated } from './fields.ts';
import { requirementList } from './lists.ts';
import { idMaker } from './made-id.ts';
import type { Named, SpecTask } from './task.ts';
import { withoutId } from './title.ts';

/** `1.1*` means optional to Kiro and parallel to some others. */
export type Star = 'optional' | 'parallel';

/** A dependency as it is written. */
export interface Wanted {
  task: SpecTask;
  value: string;
  line: number;
}

export interface Tree {
  roots: SpecTask[];
  /** All tasks as they stand in the file. */
  all: SpecTask[];
  byId: Map<string, SpecTask>;
  wanted: Wanted[];
  notes: Note[];
}

const LISTS = new Set(['files', 'writes', 'reads']);
const MAX_DETAIL = 20_000;

/** Second reading: ids first, then indentation, then headings say what belongs to what. */
export function buildTree(collected: Collected, star: Star): Tree {
  const notes: Note[] = [];
  const drafts = withoutChecklists(collected.drafts, notes);
  const ids = new Map<Draft, string>();
  const byGiven = new Map<string, Draft>();
  settleIds(drafts, ids, byGiven);
  const all = promote(drafts, ids, byGiven).sort((a, b) => a.line - b.line);
  const parents = new Map(all.map((draft) => [draft, parentOf(draft, ids, byGiven)]));
  const order = parentsFirst(all, parents);
  const numbered = new Set(ids.keys());
  const make = idMaker((id) => byGiven.has(id) || made.has(id));
  const made = new Set<string>();
  for (const draft of order) {
    if (ids.has(draft)) continue;
    const parent = parents.get(draft);
    const id = make(titleOf(draft, false), parent ? (ids.get(parent) ?? null) : null);
    made.add(id);
    ids.set(draft, id);
  }
  return assemble({ all, order, ids, parents, numbered, star, notes });
}

function titleOf(draft: Draft, numbered: boolean): string {
  if (numbered || draft.given.id === null) return draft.given.title;
  return withoutId(draft.rest);
}

interface Parts {
  all: Draft[];
  order: Draft[];
  ids: Map<Draft, string>;
  parents: Map<Draft, Draft | null>;
  /** Those to which the file gives an id. */
  numbered: Set<Draft>;
  star: Star;
  notes: Note[];
}

function assemble({ all, order, ids, parents, numbered, star, notes }: Parts): Tree {
  const tasks = new Map<Draft, SpecTask>();
  const wanted: Wanted[] = [];
  for (const draft of order) {
    const id = ids.get(draft) ?? '';
    const parent = parents.get(draft);
    const above = parent ? tasks.get(parent) : undefined;
    tasks.set(draft, toTask(draft, { id, above, numbered: numbered.has(draft), star, wanted }));
  }
  const list = all.flatMap((draft) => tasks.get(draft) ?? []);
  const byId = new Map<string, SpecTask>();
  for (const draft of all) {
    const task = tasks.get(draft);
    if (!task) continue;
    const parent = parents.get(draft);
    if (parent) tasks.get(parent)?.children.push(task);
    const first = byId.get(task.id);
    if (first) notes.push(duplicate(task, first));
    else byId.set(task.id, task);
  }
  for (const draft of [...order].reverse()) settleDone(tasks.get(draft));
  for (const draft of order) inheritDone(tasks.get(draft));
  return { roots: list.filter(({ parent }) => parent === null), all: list, byId, wanted, notes };
}

function toTask(
  draft: Draft,
  about: { id: string; above: SpecTask | undefined; numbered: boolean; star: Star; wanted: Wanted[] },
): SpecTask {
  const { given, section } = draft;
  const optional = given.optional || (given.starred && about.star === 'optional');
  const task: SpecTask = {
    id: about.id,
    numbered: about.numbered,
    title: titleOf(draft, about.numbered),
    kind: draft.kind,
    line: draft.line + 1,
    box: draft.box,
    mark: draft.mark,
    done: draft.mark === 'done',
    optional: optional || (about.above?.optional ?? false),
    parallel: given.parallel || (given.starred && about.star === 'parallel'),
    checkpoint: given.checkpoint,
    labels: given.labels,
    wave: section?.wave ?? null,
    section: (draft.kind !== 'item' ? section?.parent?.title : section?.title) ?? null,
    details: [],
    requirements: [],
    dependsOn: [],
    fields: {},
    parent: about.above?.id ?? null,
    children: [],
  };
  for (const detail of draft.details) take(task, detail.text, detail.line + 1, about.wanted);
  return task;
}

function take(task: SpecTask, text: string, line: number, wanted: Wanted[]): void {
  const field = fieldOf(text);
  if (field?.name === 'requirements')
    task.requirements.push(...named(requirementList(field.value, { words: field.marked }), line));
  else if (field?.name === 'depends') wanted.push({ task, value: field.value, line });
  if (field?.name === 'requirements' || field?.name === 'depends') return;
  task.details.push(cleanText(text, MAX_DETAIL));
  const refs = validated(text);
  if (refs !== undefined) task.requirements.push(...named(requirementList(refs, { words: false }), line));
  if (!field) return;
  const values = LISTS.has(field.name)
    ? field.value.split(',').map((value) => command(value.trim()))
    : [field.name === 'verify' || field.name === 'validation' ? command(field.value) : field.value];
  const known = task.fields[field.name];
  if (known && Object.hasOwn(task.fields, field.name)) known.push(...values);
  else if (field.name !== '__proto__') task.fields[field.name] = values;
}

function named(ids: readonly string[], line: number): Named[] {
  return ids.map((id) => ({ id, line }));
}

function settleDone(task: SpecTask | undefined): void {
  if (!task || task.done) return;
  const needed = task.children.filter((child) => task.optional || !child.optional);
  task.done = needed.length > 0 && needed.every((child) => child.done);
}

/** Whoever ticks a parent means what is in it, except what was optional. */
function inheritDone(task: SpecTask | undefined): void {
  if (!task?.done) return;
  for (const child of task.children) if (!child.optional || task.optional) child.done = true;
}

function duplicate(task: SpecTask, first: SpecTask): Note {
  return {
    line: task.line - 1,
    code: 'spec/duplicate-id',
    severity: 'error',
    message: `Task ${task.id} is there twice: line ${first.line} has it already.`,
    hint: 'Give one of them another number.',
  };
}
