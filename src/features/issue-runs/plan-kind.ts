import type { EngineContext, PlanKind } from '../../engine/context.ts';
import { recordTip } from '../../engine/create-release-and-diff-ticket-workspace.ts';
import type { IssueRunPlan } from '../../model/plan.ts';
import { entryOf } from '../../model/plans/plans-view.ts';
import { blockedBy, firstFailure } from '../../model/state/blockers-and-stop-on-failure.ts';
import type { Ticket } from '../../model/ticket.ts';
import { completeEarlierRuns } from './resume-run-and-handle-newer-runs.ts';
import { refreshPrerequisites, startWithPushedCommits } from './take-pushed-work-and-prerequisites.ts';

/** Plans that `signalbox run <issues>` makes: issues that start from what people and other issues have pushed. */
export const issuesKind: PlanKind<IssueRunPlan> = {
  kind: 'run',
  hooks: (context) => ({
    startFrom: (_plan, ticket, workspace) => refreshPrerequisites(context, ticket, workspace),
    catchUp: (_plan, ticket, workspace) => startWithPushedCommits(context, ticket, workspace),
    left: async (_plan, ticket, workspace) => {
      if (ticket.status === 'complete') await recordTip({ engine: context, ticket, workspace });
      await completeEarlierRuns(context, ticket);
    },
    stoppedAt: (plan, tickets) =>
      ticketsWithoutEngine(context, plan, tickets).map(({ since }) => since ?? ''),
  }),
};

/** Tickets that would continue if an engine ran the plan: its daemon is gone, or a person answered after the run ended. */
function ticketsWithoutEngine(
  { store, holder }: EngineContext,
  plan: IssueRunPlan,
  tickets: readonly Ticket[],
): Ticket[] {
  if (plan.status !== 'active') return [];
  if ((plan.claim && holder.isLive(plan.claim)) || holder.daemon()) return [];
  const view = store.glance();
  return tickets.filter(({ ticketId, status, claim, phaseHistory }) => {
    if (claim && holder.isLive(claim)) return false;
    if (status === 'running' || (status === 'ready' && phaseHistory.length > 0)) return true;
    const entry = entryOf(plan, { ticketId });
    if (!entry || (status !== 'queued' && status !== 'ready')) return false;
    return blockedBy(view, plan, entry) === null && firstFailure(view, plan) === undefined;
  });
}
