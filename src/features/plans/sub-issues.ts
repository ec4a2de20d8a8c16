import type { WorkItem } from '../../issues/index.ts';

export interface Parent {
  parent: WorkItem;
  /** Ids of the sub-issues that it waits for. */
  subs: string[];
}

/** Lets issues wait for those of their sub-issues that are worked on, too: what is left of the whole comes last. */
export function afterSubIssues(items: readonly WorkItem[]): { items: WorkItem[]; parents: Parent[] } {
  const byKey = new Map(items.map((item) => [item.key, item]));
  const parents: Parent[] = [];
  for (const item of items) {
    const subs = items.filter(
      (each) =>
        (each.parent === item.key || item.subIssues?.includes(each.key)) && !needs(byKey, each, item.key),
    );
    if (subs.length === 0) continue;
    const dependsOn = [...new Set([...item.dependsOn, ...subs.map(({ key }) => key)])];
    byKey.set(item.key, { ...item, dependsOn });
    parents.push({ parent: item, subs: subs.map(({ id }) => id) });
  }
  return { items: items.map(({ key }) => byKey.get(key) as WorkItem), parents };
}

/** Whether something waits for another, by whatever way. */
function needs(items: ReadonlyMap<string, WorkItem>, from: WorkItem, key: string): boolean {
  const seen = new Set<string>();
  const open = [from.key];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    if (at === key) return true;
    if (seen.has(at)) continue;
    seen.add(at);
    open.push(...(items.get(at)?.dependsOn ?? []));
  }
  return false;
}
