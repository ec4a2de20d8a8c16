import type { PlansView } from '../model/plans/view.ts';
import type { Ticket } from '../model/ticket.ts';
import { type Naming, nameOf } from '../model/ticket-names.ts';
import { ticketsIn } from './live/state.ts';
import { oneLine, type Style } from './style.ts';
import { cells, spread } from './width.ts';

const LONGEST_TITLE = 100;
const MOST = 20;

/** What a live view begins with: a line about the whole, and which tickets there are. */
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

/** The same for a plan, or some of its tickets. */
export function planHeader(
  view: PlansView,
  scope: { planId: string; ticketIds?: readonly string[] },
  style: Style,
): string[] {
  const tickets = ticketsIn(view, scope);
  const count = tickets.length === 1 ? '1 ticket' : `${tickets.length} tickets`;
  return headerLines(`${style.bold(scope.planId)}: ${count}`, tickets, { style, withPlan: false });
}
