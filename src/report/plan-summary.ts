import { parseRef } from '../model/ids.ts';
import type { Plan } from '../model/plan.ts';
import { type PlansView, ticketOf } from '../model/plans/view.ts';
import { plural } from '../model/text/plural.ts';
import { oneLine, type Style } from './style.ts';
import { table } from './table.ts';

interface Defaults {
  defaultWorkflow: string;
  defaultAgent: string;
}

/** A summary of a plan for the person who approves it. */
export function planSummary(
  plan: Plan,
  view: Pick<PlansView, 'tickets'>,
  defaults: Defaults,
  look: Style,
  from: string | null,
): string {
  const workflow = plan.workflow ?? defaults.defaultWorkflow;
  const agent = plan.agent ?? defaults.defaultAgent;
  const count = plural(plan.tickets.length, 'ticket');
  const where =
    plan.repo === null ? '' : ` in ${oneLine(plan.repo, 200)}${from === null ? '' : `, from ${from}`}`;
  const head = `${oneLine(plan.name) || plan.id} (${plan.id}), ${plan.status}: ${count}${where}, workflow ${workflow}, agent ${agent}`;
  const steps = rounds(plan);
  const rows = [...plan.tickets]
    .sort((a, b) => (steps.get(a.ticketId) ?? 0) - (steps.get(b.ticketId) ?? 0) || a.order - b.order)
    .map(({ ticketId, blockedBy }) => {
      const ticket = ticketOf(view, { planId: plan.id, ticketId });
      const own = [
        ...(ticket?.workflow && ticket.workflow !== workflow ? [`workflow ${ticket.workflow}`] : []),
        ...(ticket?.agent && ticket.agent !== agent ? [`agent ${ticket.agent}`] : []),
        ...(ticket?.repo && ticket.repo !== plan.repo ? [`in ${ticket.repo}`] : []),
      ];
      return [
        String(steps.get(ticketId) ?? '?'),
        ticketId,
        oneLine(ticket?.title ?? 'cannot be used, see below', 60),
        String(ticket?.acceptanceCriteria.length ?? 0),
        oneLine([...(blockedBy.length > 0 ? [`after ${blockedBy.join(', ')}`] : []), ...own].join('; '), 80),
      ];
    });
  return rows.length === 0
    ? head
    : `${head}\n${table(['round', 'ticket', 'title', 'criteria', ''], rows, look)}`;
}

/** The round of each ticket: tickets of one round may run at the same time. */
function rounds(plan: Plan): Map<string, number> {
  const before = new Map(
    plan.tickets.map(({ ticketId, blockedBy }) => [
      ticketId,
      blockedBy.flatMap((text) => {
        const ref = parseRef(text, plan.id);
        return ref.planId === plan.id ? [ref.ticketId] : [];
      }),
    ]),
  );
  const found = new Map<string, number>();
  // Tickets in a cycle get no round.
  for (let known = -1; known !== found.size; ) {
    known = found.size;
    for (const [id, blockers] of before) {
      if (found.has(id) || !blockers.every((blocker) => found.has(blocker) || !before.has(blocker))) continue;
      found.set(id, 1 + Math.max(0, ...blockers.map((blocker) => found.get(blocker) ?? 0)));
    }
  }
  return found;
}
