import { orderByDependencies } from '../model/plans/dependency-order.ts';
import { didYouMean } from '../model/text/nearest-word.ts';
import { parseJson } from '../model/text/parse-json-and-find-places.ts';
import { asArray, asRecord } from '../model/text/values-of-unknown-type.ts';
import type { Tree } from './build-task-tree.ts';
import type { Collected } from './collect-task-drafts.ts';
import { taskList } from './parse-task-fields.ts';
import { readTitle } from './parse-task-line.ts';
import { error, type Note, type SpecTask, warning } from './task-and-problem-types.ts';

/** Links dependencies and waves to tasks; a name that no task has becomes a problem. */
export function linkDependencies(tree: Tree, graph: Graph): Note[] {
  const notes: Note[] = [...graph.notes];
  const find = finder(tree);
  const known = new Set<string>();
  const depend = (task: SpecTask, target: SpecTask, line: number) => {
    const key = `${task.line} ${target.id}`;
    // A parent waits for its children anyway.
    if (target.parent === task.id || known.has(key)) return;
    known.add(key);
    task.dependsOn.push({ id: target.id, line });
  };
  for (const { task, value, line } of tree.wanted) {
    const { ids, words } = taskList(value);
    for (const [index, name] of [...ids, ...words].entries()) {
      const target = find(name);
      if (target) depend(task, target, line);
      else if (index < ids.length)
        notes.push(unknown(tree, line, `Task ${task.id} depends on ${name}, which does not exist.`, name));
      else
        notes.push(noTask(line, `Task ${task.id} depends on "${name}", which is not a task and is ignored.`));
    }
  }
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
    const message = `The dependency graph names task ${name}, which does not exist.`;
    if (drawn) notes.push(noTask(line + 1, `"${name}" in the dependency graph is not a task.`));
    else notes.push(unknown(tree, line + 1, message, name));
  }
  for (const [wave, { names, line }] of graph.waves.entries())
    for (const name of names) {
      const task = find(name);
      if (task) task.wave = wave;
      else
        notes.push(unknown(tree, line + 1, `Wave ${wave} names task ${name}, which does not exist.`, name));
    }
  return [...notes, ...cycleNotes(tree)];
}

/** Finds a task by its id in any spelling, then by its title. */
function finder(tree: Tree): (name: string | null | undefined) => SpecTask | undefined {
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

/**
 * Cycles in a graph with two nodes per task, its begin and its end: a child begins after its parent begins and ends before
 * it, and a task begins when its dependencies have ended. The number of edges stays linear that way.
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

/** A dependency graph of the file, with the file's names of tasks. */
interface Graph {
  waves: { names: string[]; line: number }[];
  /** `after` waits for `before`. A diagram (`drawn`) may have nodes that are not tasks. */
  edges: { before: string; after: string; line: number; drawn: boolean }[];
  /** Labels of nodes, such as `1. Setup` in `A[1. Setup]`. */
  labels: Map<string, string>;
  notes: Note[];
}

const NODE = /^([\p{L}\p{N}_.#-]+?)\s*(?:[[({>]+"?([^\])}"]*)"?[\])}]+)?(?:::+\w+)?$/u;
const ARROW = /\s*(?:<?-{1,3}\.?-*>|={1,3}>|→|⟶|⇒|-\.+->|--+>)(?:\|[^|]*\|)?\s*/u;
const WAVE = /^\W*wave\s*#?\w+[^:：]*[:：]\W*(.*)$/iu;

/** Waves as JSON, edges as arrows or Mermaid, and `Wave 1: 1.1, 1.2` in plain text. */
export function readGraph(collected: Collected, raw: readonly string[]): Graph {
  const graph: Graph = { waves: [], edges: [], labels: new Map(), notes: [] };
  for (const fence of collected.graph.fences) {
    const lines = raw
      .slice(fence.from + 1, fence.to)
      .map((text, index) => ({ text, line: fence.from + 1 + index }));
    const text = lines.map((line) => line.text).join('\n');
    const json = /^json/i.test(fence.info) || /^\s*[[{]/.test(text);
    if (json) readJson(text, lines, graph, fence.from);
    else for (const { text: line, line: at } of lines) readLine(line, at, graph);
  }
  for (const { text, line } of collected.graph.lines) readLine(text, line, graph);
  return graph;
}

type Lines = readonly { text: string; line: number }[];

function readJson(text: string, lines: Lines, graph: Graph, from: number): void {
  const data = parseJson(text);
  if (data === undefined) {
    const hint = 'Fix it, or delete the block: the order of the file counts then.';
    graph.notes.push(error(from + 1, 'spec/graph', 'The dependency graph is not valid JSON.', hint));
    return;
  }
  const lineOf = linesByName(lines, from);
  const addEdges = (before: readonly string[], after: string) => {
    for (const each of before) graph.edges.push({ before: each, after, line: lineOf(after), drawn: false });
  };
  const waves = (Array.isArray(data) ? data : asArray(asRecord(data).waves)).map((wave, index) => {
    const { tasks, id, wave: number, name, depends_on, dependsOn } = asRecord(wave);
    const names = idsOf(Array.isArray(wave) ? wave : tasks);
    const called = [id, number, name].filter(isName).map(String);
    const waits = idsOf(depends_on ?? dependsOn);
    return { key: `wave ${index}`, names, called, waits, dependsOn: [] as string[] };
  });
  const keys = new Map(waves.flatMap(({ key, called }) => called.map((name) => [name, key] as const)));
  for (const wave of waves) {
    wave.dependsOn = wave.waits.flatMap((name) => keys.get(name) ?? []);
    for (const before of wave.waits.filter((name) => !keys.has(name)))
      for (const after of wave.names) addEdges([before], after);
  }
  for (const { names } of orderByDependencies(waves).order)
    graph.waves.push({ names, line: lineOf(names[0]) });
  const record = asRecord(data);
  // `{"1.2": ["1.1"]}`.
  for (const [after, list] of Object.entries(asRecord(record.dependencies ?? (record.waves ? {} : record))))
    if (/\d/.test(after) && Array.isArray(list)) addEdges(idsOf(list), after);
}

function isName(value: unknown): value is string | number {
  return typeof value === 'string' || typeof value === 'number';
}

function idsOf(value: unknown): string[] {
  return asArray(value).flatMap((each) => {
    const id = isName(each) ? each : asRecord(each).id;
    return isName(id) ? [String(id)] : [];
  });
}

/** Finds the line of a quoted name, in one pass; `from` for a name that is not there. */
function linesByName(lines: Lines, from: number): (name: string | undefined) => number {
  const found = new Map<string, number>();
  for (const { text, line } of lines)
    for (const [, name = ''] of text.matchAll(/"([^"]{1,100})"/g))
      if (!found.has(name)) found.set(name, line);
  return (name) => (name === undefined ? undefined : found.get(name)) ?? from;
}

function readLine(text: string, line: number, graph: Graph): void {
  const wave = WAVE.exec(text)?.[1];
  if (wave !== undefined) {
    const { ids } = taskList(wave);
    if (ids.length > 0) graph.waves.push({ names: ids, line });
    return;
  }
  const clean = text.replace(/^\s*(?:[-*+]\s+)?/, '').replace(/;\s*$/, '');
  const groups = clean.slice(0, 2_000).split(ARROW);
  const ends = groups.map((group) => nodes(group, graph));
  for (const [index, after] of ends.entries())
    for (const before of ends[index - 1] ?? [])
      for (const each of after) graph.edges.push({ before, after: each, line, drawn: true });
}

/** The names in `A[Setup] & B`; stores their labels. */
function nodes(group: string, graph: Graph): string[] {
  return group.split(/\s*[&,]\s*(?![^[({]*[\])}])/).flatMap((text) => {
    const [, name, label] = NODE.exec(text.trim().replace(/^tasks?\s+(?=\d)/i, '')) ?? [];
    if (name === undefined) return [];
    if (label && !graph.labels.has(name)) graph.labels.set(name, label);
    return [name];
  });
}
