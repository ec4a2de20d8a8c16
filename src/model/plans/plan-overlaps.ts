import { parseRef } from '../ids.ts';
import type { Plan } from '../plan.ts';
import { pathsMeet } from '../text/paths.ts';
import { type PlansView, ticketOf } from './view.ts';

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
  const before = ancestors(plan);
  const found: Overlap[] = [];
  for (const [index, one] of declared.entries()) {
    for (const other of declared.slice(index + 1)) {
      const ordered =
        before.get(one.ticketId)?.has(other.ticketId) || before.get(other.ticketId)?.has(one.ticketId);
      if (ordered || one.repo !== other.repo || one.group !== other.group) continue;
      const meeting = firstMeeting(one.paths, other.paths);
      if (meeting) found.push({ a: one.ticketId, b: other.ticketId, paths: meeting });
    }
  }
  return found;
}

function firstMeeting(a: readonly string[], b: readonly string[]): [string, string] | undefined {
  for (const one of a) for (const other of b) if (pathsMeet(one, other)) return [one, other];
  return undefined;
}

/** Everything a ticket waits for inside its plan, directly or not. */
function ancestors(plan: Plan): Map<string, Set<string>> {
  const blockers = new Map(
    plan.tickets.map(({ ticketId, blockedBy }) => [
      ticketId,
      blockedBy
        .map((text) => parseRef(text, plan.id))
        .flatMap((ref) => (ref.planId === plan.id ? [ref.ticketId] : [])),
    ]),
  );
  return new Map(
    plan.tickets.map(({ ticketId }) => {
      const found = new Set<string>();
      const left = [...(blockers.get(ticketId) ?? [])];
      for (let next = left.pop(); next !== undefined; next = left.pop()) {
        if (found.has(next)) continue;
        found.add(next);
        left.push(...(blockers.get(next) ?? []));
      }
      return [ticketId, found];
    }),
  );
}
