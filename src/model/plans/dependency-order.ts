/** What can be put in order: an issue, or a unit of a spec. */
interface Orderable {
  key: string;
  dependsOn: readonly string[];
}

interface Ordered<T extends Orderable = Orderable> {
  /** All items, each behind what it depends on; otherwise as given. Those that wait for a cycle come last. */
  order: T[];
  /** Keys that wait for each other, each cycle once, beginning with the item that was given first. */
  cycles: string[][];
  /** Dependencies that are not among the items. */
  missing: { key: string; on: string }[];
}

/** Puts items in an order in which they can be done. */
export function orderByDependencies<T extends Orderable>(items: readonly T[]): Ordered<T> {
  const place = new Map(items.map((item, index) => [item.key, index]));
  const waiting = items.map(() => new Set<number>());
  const followers = items.map((): number[] => []);
  const missing: Ordered['missing'] = [];
  for (const [index, item] of items.entries()) {
    for (const on of new Set(item.dependsOn)) {
      const before = place.get(on);
      if (before === undefined) missing.push({ key: item.key, on });
      else {
        waiting[index]?.add(before);
        followers[before]?.push(index);
      }
    }
  }
  const order = orderOfFreeItems(waiting, followers);
  const done = new Set(order);
  const stuck = items.flatMap((_, index) => (done.has(index) ? [] : [index]));
  return {
    order: [...order, ...stuck].flatMap((index) => items[index] ?? []),
    cycles: cycles(stuck, waiting).map((cycle) => cycle.map((index) => items[index]?.key ?? '')),
    missing,
  };
}

/** All items that can be done, in input order as far as dependencies allow. */
function orderOfFreeItems(waiting: readonly ReadonlySet<number>[], followers: readonly number[][]): number[] {
  const left = waiting.map((before) => before.size);
  const ready = left.flatMap((count, index) => (count === 0 ? [index] : []));
  // What comes before `done` is the order; the rest is sorted.
  for (let done = 0; done < ready.length; ) {
    const index = ready[done++] ?? 0;
    for (const follower of followers[index] ?? []) {
      left[follower] = (left[follower] ?? 0) - 1;
      if (left[follower] !== 0) continue;
      const at = firstIndex(ready, (each) => each >= follower, done);
      ready.splice(at, 0, follower);
    }
  }
  return ready;
}

/** The first index of which something is true that stays true for all later ones. */
export function firstIndex<T>(sorted: readonly T[], isTrue: (item: T) => boolean, from = 0): number {
  let [low, high] = [from, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isTrue(sorted[middle] as T)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** One shortest cycle through each item that is in one, unless an earlier cycle already names it. */
function cycles(stuck: readonly number[], waiting: readonly ReadonlySet<number>[]): number[][] {
  const inside = itemsInCycles(stuck, waiting);
  const named = new Set<number>();
  const found: number[][] = [];
  for (const start of stuck) {
    if (named.has(start) || !inside.has(start)) continue;
    const cycle = shortestCycle(start, (index) => [...(waiting[index] ?? [])].filter((on) => inside.has(on)));
    for (const index of cycle ?? []) named.add(index);
    if (cycle) found.push(cycle);
  }
  return found;
}

/** Leaves out items that only wait for a cycle and are in none: there may be thousands. */
function itemsInCycles(stuck: readonly number[], waiting: readonly ReadonlySet<number>[]): Set<number> {
  const inside = new Set(stuck);
  const followers = new Map(stuck.map((index) => [index, 0]));
  const count = (index: number, by: number) => {
    const sum = (followers.get(index) ?? 0) + by;
    followers.set(index, sum);
    return sum;
  };
  for (const index of stuck) for (const on of waiting[index] ?? []) if (inside.has(on)) count(on, 1);
  const last = stuck.filter((index) => followers.get(index) === 0);
  for (const index of last) {
    inside.delete(index);
    for (const on of waiting[index] ?? []) if (inside.has(on) && count(on, -1) === 0) last.push(on);
  }
  return inside;
}

function shortestCycle(start: number, next: (index: number) => number[]): number[] | undefined {
  const from = new Map<number, number>();
  const queue = [start];
  for (const index of queue) {
    for (const on of next(index)) {
      if (on === start) return way(index, from);
      if (from.has(on)) continue;
      from.set(on, index);
      queue.push(on);
    }
  }
  return undefined;
}

function way(last: number, from: ReadonlyMap<number, number>): number[] {
  const path: number[] = [];
  for (let index: number | undefined = last; index !== undefined; index = from.get(index))
    path.unshift(index);
  return path;
}
