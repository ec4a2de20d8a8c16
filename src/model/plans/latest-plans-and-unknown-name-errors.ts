import { InputError } from '../errors.ts';
import type { TicketRef } from '../ids-and-branch-names.ts';
import type { Plan } from '../plan.ts';
import { nearest } from '../text/nearest-word.ts';
import type { PlansView } from './plans-view.ts';

/** Finished plans are not run any more. */
export function isFinished({ status }: Pick<Plan, 'status'>): boolean {
  return status === 'complete' || status === 'archived';
}

/** The plan that was made last comes first. `localeCompare` would cost `status` 7 ms for loading the rules of languages. */
export function newestFirst({ createdAt: a }: Plan, { createdAt: b }: Plan): number {
  if (a === b) return 0;
  return (a ?? '') > (b ?? '') ? -1 : 1;
}

/** How many finished plans are read to find one: what a command costs does not grow with age. */
const MAX_FINISHED = 50;

/** Those of the latest finished plans that are wanted, the newest first. */
export function latestFinished(
  { finished }: Pick<PlansView, 'finished'>,
  isWanted: (plan: Plan) => boolean = () => true,
): Plan[] {
  const ids = finished?.since(0, MAX_FINISHED) ?? [];
  return ids
    .flatMap((id) => finished?.plan(id) ?? [])
    .filter(isWanted)
    .sort(newestFirst);
}

/** The plan that a view shows where none that is wanted is open: the one that finished last. */
export function finishedInstead(view: PlansView, isWanted: (plan: Plan) => boolean): Plan | undefined {
  return view.plans.some(isWanted) ? undefined : latestFinished(view, isWanted)[0];
}

/** Stands for the latest plan on the command line. */
export const LAST = '@last';

/** The plan that `@last` stands for, and those that a person may have meant if there is none. */
export function latestPlan(
  view: PlansView,
  isWanted: (plan: Plan) => boolean = () => true,
): { latest: Plan | undefined; all: Plan[] } {
  const all = [...view.plans, ...latestFinished(view)].sort(newestFirst);
  return { latest: all.find(isWanted), all };
}

/** How many plans a view leaves out. */
export function countHidden({ plans, finished }: PlansView, shown: readonly Plan[]) {
  return {
    open: plans.filter((plan) => !isFinished(plan) && !shown.includes(plan)).length,
    finished: [...(finished?.ids() ?? [])].length - shown.filter(isFinished).length,
  };
}

/** Maximum number of plans that an error names, and of tickets. */
const MAX_PLANS = 5;
const MAX_TICKETS = 20;

/** The error for a plan that does not exist. Ids of runs begin with their time, so the last ones are the latest. */
export function unknownPlan(
  id: string,
  known: readonly string[],
  details: Record<string, unknown>,
): InputError {
  const hint = `${perhaps(id, known)}${namedPlans(known)}`;
  return new InputError('plan/unknown', `There is no plan "${id}".`, { hint, details });
}

/** The last of these plans, and how many more there are. */
export function namedPlans(known: readonly string[]): string {
  const more = known.length > MAX_PLANS ? ` and ${known.length - MAX_PLANS} more` : '';
  return known.length > 0
    ? `Plans: ${known.slice(-MAX_PLANS).join(', ')}${more}.`
    : 'There are no plans yet.';
}

export function unknownTicket(
  { planId, ticketId }: TicketRef,
  known: readonly string[],
  details: Record<string, unknown>,
): InputError {
  const names = known.length > 0 ? `Its tickets: ${known.slice(0, MAX_TICKETS).join(', ')}.` : 'It has none.';
  const hint = `${perhaps(ticketId, known)}${names}`;
  return new InputError('ticket/unknown', `Plan "${planId}" has no ticket "${ticketId}".`, { hint, details });
}

function perhaps(id: string, known: readonly string[]): string {
  const near = nearest(id, known);
  return near === undefined ? '' : `Did you mean: ${near}\n`;
}
