import { modeOf } from '../../features/issue-runs/logs/run-log.ts';
import { storedRun } from '../../features/issue-runs/results/stored-run.ts';
import { issueName } from '../../features/issue-runs/results/ticket-facts.ts';
import type { Plan } from '../../model/plan.ts';
import type { Store } from '../../store/port.ts';
import { headerLines } from '../header.ts';
import { ticketsIn } from '../live/state.ts';
import type { Style } from '../style.ts';

/** What a live view of issues begins with: the run, its mode, and which issues it has. */
export function runHeader(store: Store, planId: string, look: Style): string[] {
  const plan = store.plan(planId);
  const tickets = ticketsIn(store.view(), { planId });
  const names = new Map(tickets.map((ticket) => [ticket.ticketId, issueName(ticket)]));
  const count = tickets.length === 1 ? '1 issue' : `${tickets.length} issues`;
  return headerLines(`${look.bold(plan.id)}: ${count}, ${modeText(plan)}`, tickets, {
    style: look,
    withPlan: false,
    called: (id) => names.get(id),
  });
}

/** `parallel (concurrency 3)`, `batch of 2 groups (concurrency 3)`, `chain`. */
function modeText(plan: Plan): string {
  const config = storedRun(plan)?.config;
  if (!config) return 'parallel';
  const { concurrency } = config;
  const mode = modeOf(plan, config);
  const groups = new Set(plan.tickets.map(({ group }) => group)).size;
  const name = mode === 'batch' ? `batch of ${groups} ${groups === 1 ? 'group' : 'groups'}` : mode;
  return concurrency > 1 ? `${name} (concurrency ${concurrency})` : name;
}
