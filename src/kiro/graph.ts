import { orderByDependencies } from '../model/plans/order.ts';
import { asArray, asRecord, parseJson } from '../model/text/json.ts';
import type { Collected } from './collect.ts';
import { taskList } from './fields.ts';
import { error, type Note } from './task.ts';

/** What a dependency graph says, in the names it uses. */
export interface Graph {
  waves: { names: string[]; line: number }[];
  /** `after` waits for `before`. A drawing may have nodes that are no tasks. */
  edges: { before: string; after: string; line: number; drawn: boolean }[];
  /** Words of nodes, `A[1. Setup]`. */
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

/** Lines by the quoted text on them, in one pass; `from` for a name that is nowhere. */
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

/** The names in `A[Setup] & B`; their words are kept. */
function nodes(group: string, graph: Graph): string[] {
  return group.split(/\s*[&,]\s*(?![^[({]*[\])}])/).flatMap((text) => {
    const [, name, label] = NODE.exec(text.trim().replace(/^tasks?\s+(?=\d)/i, '')) ?? [];
    if (name === undefined) return [];
    if (label && !graph.labels.has(name)) graph.labels.set(name, label);
    return [name];
  });
}
