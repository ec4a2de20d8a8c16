import { parseRef } from '../ids-and-branch-names.ts';
import type { Plan } from '../plan.ts';
import { type PlansView, ticketOf } from './plans-view.ts';

interface Overlap {
  a: string;
  b: string;
  /** The first two paths that meet. */
  paths: [string, string];
}

/** Pairs of tickets that may run at the same time and say that they will change the same files. */
export function overlaps(plan: Plan, view: Pick<PlansView, 'tickets'>): Overlap[] {
  if (plan.concurrency === 1) return [];
  const declared = plan.tickets.flatMap((entry, place) => {
    const ticket = ticketOf(view, { planId: plan.id, ticketId: entry.ticketId });
    const paths = [...new Set([...(entry.paths ?? []), ...(ticket?.paths ?? [])])];
    const over = ticket?.status === 'complete';
    return paths.length > 0 && !over ? [{ ...entry, paths, place, repo: ticket?.repo ?? plan.repo }] : [];
  });
  const isOrdered = ordering(plan);
  const found: Overlap[] = [];
  for (const [index, one] of declared.entries()) {
    for (const other of declared.slice(index + 1)) {
      if (one.repo !== other.repo || one.group !== other.group) continue;
      const meeting = firstMeeting(one.paths, other.paths);
      if (meeting && !isOrdered(one.ticketId, other.ticketId))
        found.push({ a: one.ticketId, b: other.ticketId, paths: meeting });
    }
  }
  return found;
}

function firstMeeting(a: readonly string[], b: readonly string[]): [string, string] | undefined {
  for (const one of a) for (const other of b) if (pathsMeet(one, other)) return [one, other];
  return undefined;
}

/** Whether one of two tickets waits for the other inside their plan, directly or not. What each waits for is found when it is asked for. */
function ordering(plan: Plan): (a: string, b: string) => boolean {
  const blockers = new Map(
    plan.tickets.map(({ ticketId, blockedBy }) => [
      ticketId,
      blockedBy
        .map((text) => parseRef(text, plan.id))
        .flatMap((ref) => (ref.planId === plan.id ? [ref.ticketId] : [])),
    ]),
  );
  const known = new Map<string, Set<string>>();
  const ancestorsOf = (ticketId: string) => {
    const found = known.get(ticketId) ?? new Set<string>();
    if (known.has(ticketId)) return found;
    known.set(ticketId, found);
    const left = [...(blockers.get(ticketId) ?? [])];
    for (let next = left.pop(); next !== undefined; next = left.pop()) {
      if (found.has(next)) continue;
      found.add(next);
      left.push(...(blockers.get(next) ?? []));
    }
    return found;
  };
  return (a, b) => ancestorsOf(a).has(b) || ancestorsOf(b).has(a);
}

/** Says why a text cannot name files of a repository, or undefined when it can. */
export function pathProblem(path: string): string | undefined {
  if (path.trim() === '') return 'is empty';
  if (path.startsWith('/') || path.startsWith('~')) return 'is not relative to the repository';
  const above = partsOf(path).lastIndexOf('..');
  if (above < 0) return undefined;
  return partsOf(path)[above - 1] === '**'
    ? 'goes up from `**`, which may be any directory'
    : 'leaves the repository';
}

/**
 * Whether two declared paths may mean the same file. A directory means all files in it, `*` for part of a name,
 * `**` for any number of directories. When in doubt they do.
 */
export function pathsMeet(a: string, b: string): boolean {
  return meet(partsOf(a), partsOf(b), { a: isFile(a), b: isFile(b) });
}

/** The way from the top of the repository; `..` is only left where it cannot be followed. */
function partsOf(path: string): string[] {
  const parts: string[] = [];
  for (const part of path.split('/')) {
    const last = parts.at(-1);
    if (part === '' || part === '.') continue;
    if (part === '..' && last !== undefined && last !== '..' && last !== '**') parts.pop();
    else parts.push(part);
  }
  return parts;
}

/** Has an ending, so it is not a directory. */
function isFile(path: string): boolean {
  return /[^/]\.[A-Za-z0-9]+$/.test(path);
}

function meet(a: readonly string[], b: readonly string[], file: { a: boolean; b: boolean }): boolean {
  const [first, ...restA] = a;
  const [other, ...restB] = b;
  // One of them is a directory above the other, or the same.
  if (first === undefined) return !file.a || b.every((part) => part === '**');
  if (other === undefined) return !file.b || a.every((part) => part === '**');
  if (first === '**') return meet(restA, b, file) || meet(a, restB, file);
  if (other === '**') return meet(a, restB, file) || meet(restA, b, file);
  return partsMeet(first, other) && meet(restA, restB, file);
}

/** Compares two patterns only by the text before their first and after their last wildcard. */
function partsMeet(a: string, b: string): boolean {
  const wild = /[*?[{]/;
  if (!wild.test(a) && !wild.test(b)) return a === b;
  const head = (part: string) => part.slice(0, wild.test(part) ? part.search(wild) : part.length);
  const tail = (part: string) => (wild.test(part) ? (/[^*?[\]{}]*$/.exec(part)?.[0] ?? '') : part);
  const [headA, headB, tailA, tailB] = [head(a), head(b), tail(a), tail(b)];
  const heads = headA.startsWith(headB) || headB.startsWith(headA);
  return heads && (tailA.endsWith(tailB) || tailB.endsWith(tailA));
}
