import { orderByDependencies } from '../model/plans/order.ts';
import { didYouMean } from '../model/text/near.ts';
import { taskList } from './fields.ts';
import type { Graph } from './graph.ts';
import { error, type Note, type SpecTask, warning } from './task.ts';
import { readTitle } from './task-line.ts';
import type { Tree } from './tree.ts';

/** Links dependencies and waves to tasks; a name that no task has becomes a problem. */
export function settleDependencies(tree: Tree, graph: Graph): Note[] {
  const notes: Note[] = [...graph.notes];
  const find = finder(tree);
  const depend = depender();
  for (const { task, value, line } of tree.wanted) {
    const { ids, words } = taskList(value);
    for (const [index, name] of [...ids, ...words].entries()) {
      const target = find(name);
      if (target) depend(task, target, line);
      else if (index < ids.length)
        notes.push(unknown(tree, line, `Task ${task.id} depends on ${name}, which is not there.`, name));
      else
        notes.push(
          noTask(line, `Task ${task.id} depends on "${name}", which is no task: nobody waits for it.`),
        );
    }
  }
  addEdges({ tree, graph, find, depend, notes });
  for (const [wave, { names, line }] of graph.waves.entries())
    for (const name of names) {
      const task = find(name);
      if (task) task.wave = wave;
      else notes.push(unknown(tree, line + 1, `Wave ${wave} names task ${name}, which is not there.`, name));
    }
  notes.push(...cycleNotes(tree));
  return notes;
}

type Find = (name: string | null | undefined) => SpecTask | undefined;

/** By id, however it is spelled, then by title. */
function finder(tree: Tree): Find {
  const titles = new Map<string, SpecTask | null>();
  const folded = new Map<string, SpecTask>();
  for (const task of tree.all) {
    const title = task.title.toLowerCase();
    titles.set(title, titles.has(title) ? null : task);
    if (!folded.has(task.id.toLowerCase())) folded.set(task.id.toLowerCase(), task);
  }
  return (name) => {
    if (name === null || name === undefined) return undefined;
    const text = name.trim().replace(/\.$/, '');
    const plain = text.replace(/^t(?:ask)?[-_ ]?(?=\d)/i, '').replaceAll('_', '.');
    return (
      tree.byId.get(text) ??
      folded.get(text.toLowerCase()) ??
      tree.byId.get(plain) ??
      titles.get(text.toLowerCase()) ??
      undefined
    );
  };
}

type Depend = (task: SpecTask, target: SpecTask, line: number) => void;

/** Notes each dependency once. A parent waits for its children anyway. */
function depender(): Depend {
  const known = new Map<SpecTask, Set<string>>();
  return (task, target, line) => {
    const ids = known.get(task) ?? new Set();
    known.set(task, ids);
    if (target.parent === task.id || ids.has(target.id)) return;
    ids.add(target.id);
    task.dependsOn.push({ id: target.id, line });
  };
}

interface Edging {
  tree: Tree;
  graph: Graph;
  find: Find;
  depend: Depend;
  notes: Note[];
}

function addEdges({ tree, graph, find, depend, notes }: Edging): void {
  const node = (name: string) => {
    const label = graph.labels.get(name);
    const id = label === undefined ? null : readTitle(label).id;
    return find(id) ?? find(name) ?? find(label);
  };
  const strangers = new Set<string>();
  for (const { before, after, line, drawn } of graph.edges) {
    const [first, second] = [before, after].map(node);
    if (first && second) {
      if (first !== second) depend(second, first, line + 1);
      continue;
    }
    const name = first ? after : before;
    if (strangers.has(name)) continue;
    strangers.add(name);
    if (drawn) notes.push(noTask(line + 1, `"${name}" in the dependency graph is no task.`));
    else
      notes.push(
        unknown(tree, line + 1, `The dependency graph names task ${name}, which is not there.`, name),
      );
  }
}

/**
 * Every task has a beginning and an end: a child begins after its parent has begun and ends before it, and a task
 * begins when what it depends on has ended. That keeps the graph as small as the file.
 */
function cycleNotes(tree: Tree): Note[] {
  if (tree.all.every((task) => task.dependsOn.length === 0)) return [];
  const items = [...tree.byId.values()].flatMap((task) => [
    {
      key: `begin ${task.id}`,
      dependsOn: [
        ...(task.parent === null ? [] : [`begin ${task.parent}`]),
        ...task.dependsOn.map(({ id }) => `end ${id}`),
      ],
    },
    { key: `end ${task.id}`, dependsOn: [`begin ${task.id}`, ...task.children.map(({ id }) => `end ${id}`)] },
  ]);
  return orderByDependencies(items).cycles.map((cycle) => {
    const ids = cycle.map((key) => key.replace(/^\w+ /, ''));
    const way = ids.filter((id, index) => id !== ids[index - 1]);
    if (way.length > 1 && way.at(-1) === way[0]) way.pop();
    const [first] = way.flatMap((id) => tree.byId.get(id)?.dependsOn.slice(0, 1) ?? []);
    const message = `Tasks wait for each other: ${[...way, way[0]].join(' → ')}.`;
    return error(first?.line ?? 1, 'spec/cycle', message, 'Take one of these dependencies out.');
  });
}

function unknown(tree: Tree, line: number, message: string, id: string): Note {
  const near = tree.byId.size > 1_000 ? '' : didYouMean(id, tree.byId.keys());
  return error(line, 'spec/unknown-dependency', message + near);
}

function noTask(line: number, message: string): Note {
  return warning(line, 'spec/no-task', message, 'Name the id of a task.');
}
