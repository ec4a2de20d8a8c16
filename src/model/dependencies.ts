import { parseRef, refKey, type TicketRef } from './ids.ts';
import type { Plan } from './plan.ts';

export interface PlanProblem {
  planId: string;
  ticketId: string | null;
  message: string;
}

/** What makes a plan impossible to run: duplicates, unknown blockers, a ticket that waits for itself. */
export function dependencyProblems(plan: Plan, others: readonly Plan[]): PlanProblem[] {
  const problems: PlanProblem[] = [];
  const plans = new Map([...others, plan].map((each) => [each.id, each]));
  const seen = new Set<string>();
  for (const entry of plan.tickets) {
    const { ticketId } = entry;
    if (seen.has(ticketId))
      problems.push({ planId: plan.id, ticketId, message: `Ticket "${ticketId}" is listed twice.` });
    seen.add(ticketId);
    for (const text of entry.blockedBy) {
      const ref = parseRef(text, plan.id);
      const known = plans.get(ref.planId)?.tickets.some((other) => other.ticketId === ref.ticketId);
      if (!known) {
        const message = `Ticket "${ticketId}" is blocked by "${text}", which does not exist.`;
        problems.push({ planId: plan.id, ticketId, message });
      }
    }
  }
  for (const cycle of cycles(plan, plans)) {
    const ticketId = cycle[0]?.ticketId ?? null;
    const path = [...cycle, cycle[0]].map((ref) =>
      ref?.planId === plan.id ? ref.ticketId : ref && refKey(ref),
    );
    problems.push({
      planId: plan.id,
      ticketId,
      message: `Tickets wait for each other: ${path.join(' → ')}.`,
    });
  }
  return problems;
}

/** Every cycle that a ticket of this plan is part of, each once. */
function cycles(plan: Plan, plans: ReadonlyMap<string, Plan>): TicketRef[][] {
  const found: TicketRef[][] = [];
  const done = new Set<string>();
  const blockers = (ref: TicketRef): TicketRef[] =>
    plans
      .get(ref.planId)
      ?.tickets.find((entry) => entry.ticketId === ref.ticketId)
      ?.blockedBy.map((text) => parseRef(text, ref.planId)) ?? [];
  for (const entry of plan.tickets) {
    const path: TicketRef[] = [{ planId: plan.id, ticketId: entry.ticketId }];
    const open: TicketRef[][] = [blockers(path[0] as TicketRef)];
    const onPath = new Set(path.map(refKey));
    while (path.length > 0) {
      const ref = open.at(-1)?.pop();
      if (!ref) {
        const left = path.pop() as TicketRef;
        open.pop();
        onPath.delete(refKey(left));
        done.add(refKey(left));
      } else if (onPath.has(refKey(ref))) {
        const cycle = path.slice(path.findIndex((each) => refKey(each) === refKey(ref)));
        if (cycle.some((each) => each.planId === plan.id)) found.push(cycle);
      } else if (!done.has(refKey(ref))) {
        path.push(ref);
        open.push(blockers(ref));
        onPath.add(refKey(ref));
      }
    }
  }
  return found;
}
