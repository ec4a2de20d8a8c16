export interface GraphNode {
  id: string;
  needs: readonly string[];
}

export interface Placed {
  id: string;
  column: number;
  row: number;
}

export interface Layout {
  nodes: Placed[];
  edges: { from: string; to: string }[];
  columns: number;
  rows: number;
}

/** Sweeps over the columns that reduce crossings. More make no visible difference. */
const SWEEPS = 4;

/** Places every node in a column behind all that it needs, and orders the columns so that few edges cross. */
export function layOut(nodes: readonly GraphNode[]): Layout {
  const known = new Set(nodes.map(({ id }) => id));
  const needs = new Map(nodes.map(({ id, needs }) => [id, needs.filter((each) => known.has(each))]));
  const columnOf = columnsOf(needs);
  const columns: string[][] = [];
  for (const { id } of nodes) {
    const column = columnOf.get(id) ?? 0;
    columns[column] ??= [];
    columns[column].push(id);
  }
  const neededBy = new Map<string, string[]>();
  for (const [id, all] of needs)
    for (const each of all) neededBy.set(each, [...(neededBy.get(each) ?? []), id]);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const isForward = sweep % 2 === 0;
    const order = isForward ? columns : [...columns].reverse();
    for (const column of order) sortByNeighbours(column, isForward ? needs : neededBy, rowsOf(columns));
  }
  const rows = Math.max(0, ...columns.map((column) => column.length));
  const placed = columns.flatMap((ids, column) =>
    // Short columns stand in the middle.
    ids.map((id, row) => ({ id, column, row: row + (rows - ids.length) / 2 })),
  );
  const edges = [...needs].flatMap(([to, all]) => all.map((from) => ({ from, to })));
  return { nodes: placed, edges, columns: columns.length, rows };
}

/** The length of the longest way to every node; a circle, which a plan cannot have, ends where it began. */
function columnsOf(needs: ReadonlyMap<string, readonly string[]>): Map<string, number> {
  const found = new Map<string, number>();
  const open = new Set<string>();
  const visit = (id: string): number => {
    const known = found.get(id);
    if (known !== undefined) return known;
    if (open.has(id)) return 0;
    open.add(id);
    const column = Math.max(0, ...(needs.get(id) ?? []).map((each) => visit(each) + 1));
    open.delete(id);
    found.set(id, column);
    return column;
  };
  for (const id of needs.keys()) visit(id);
  return found;
}

function rowsOf(columns: readonly string[][]): Map<string, number> {
  return new Map(columns.flatMap((ids) => ids.map((id, row) => [id, (row + 1) / (ids.length + 1)] as const)));
}

function sortByNeighbours(
  column: string[],
  neighbours: ReadonlyMap<string, readonly string[]>,
  rows: ReadonlyMap<string, number>,
): void {
  const middle = (id: string) => {
    const all = (neighbours.get(id) ?? []).map((each) => rows.get(each) ?? 0);
    return all.length === 0 ? (rows.get(id) ?? 0) : all.reduce((sum, each) => sum + each, 0) / all.length;
  };
  const wanted = new Map(column.map((id) => [id, middle(id)]));
  column.sort((a, b) => (wanted.get(a) ?? 0) - (wanted.get(b) ?? 0));
}
