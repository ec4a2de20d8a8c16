/** Items by key, in the order in which the keys first occur. */
export function groupBy<T, K>(items: Iterable<T>, keyOf: (item: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group) group.push(item);
    else groups.set(key, [item]);
  }
  return groups;
}

/** What is known of an object, made where it is asked for the first time. */
export function remembered<T extends object, V>(cache: WeakMap<T, V>, of: T, make: () => V): V {
  const known = cache.get(of) ?? make();
  cache.set(of, known);
  return known;
}
