import { modeOf } from '../features/issue-runs/logs/run-log.ts';
import { issueName, storedRun } from '../features/issue-runs/results/stored-run.ts';
import type { Plan } from '../model/plan.ts';
import type { PlansView } from '../model/plans/view.ts';
import { plural } from '../model/text/plural.ts';
import type { Ticket } from '../model/ticket.ts';
import { type Naming, nameOf } from '../model/ticket-names.ts';
import type { Store } from '../store/port.ts';
import { ticketsIn } from './live/state.ts';
import { oneLine, type Style } from './style.ts';
import { cells, spread } from './width.ts';

const LONGEST_TITLE = 100;
const MOST = 20;

/** The header of a live view: a line about the run, and its tickets. */
export function headerLines(
  about: string,
  tickets: readonly Ticket[],
  { style, ...naming }: Naming & { style: Style },
): string[] {
  const shown = tickets.slice(0, MOST);
  const names = shown.map((ticket) => nameOf(ticket, naming));
  const width = Math.max(0, ...names.map(cells));
  const left = tickets.length - shown.length;
  return [
    about,
    ...shown.map(
      ({ title }, at) => `  ${spread(names[at] ?? '', width)}  ${style.dim(oneLine(title, LONGEST_TITLE))}`,
    ),
    ...(left > 0 ? [style.dim(`  … and ${left} more`)] : []),
  ];
}

/** The header for a plan, or for some of its tickets. */
export function planHeader(
  view: PlansView,
  scope: { planId: string; ticketIds?: readonly string[] },
  style: Style,
): string[] {
  const tickets = ticketsIn(view, scope);
  return headerLines(`${style.bold(scope.planId)}: ${plural(tickets.length, 'ticket')}`, tickets, {
    style,
    withPlan: false,
  });
}

/** The header for an issue run: its mode and its issues. */
export function runHeader(store: Store, planId: string, look: Style): string[] {
  const plan = store.plan(planId);
  const tickets = ticketsIn(store.view(), { planId });
  const names = new Map(tickets.map((ticket) => [ticket.ticketId, issueName(ticket)]));
  const count = plural(tickets.length, 'issue');
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
  const name = mode === 'batch' ? `batch of ${plural(groups, 'group')}` : mode;
  return concurrency > 1 ? `${name} (concurrency ${concurrency})` : name;
}
