import type { EngineContext, PlanKind } from '../../engine/context.ts';
import { putBack, takeOut } from '../../engine/hand-over-worktree.ts';
import type { TicketWorkspace } from '../../engine/ticket-workspace.ts';
import { explained, WorkspaceError } from '../../model/errors.ts';
import type { SpecRunPlan } from '../../model/plan.ts';
import type { Ticket } from '../../model/ticket.ts';
import { bringPending } from './spec-in-worktree.ts';
import { unlockSpec, waitForLock } from './spec-lock.ts';
import { SpecFiles } from './state-files.ts';
import { evidenceRules, unitVariables } from './unit.ts';

/** Plans that were made from a spec: units that work on one branch, one after the other. */
export const specKind: PlanKind<SpecRunPlan> = {
  kind: 'spec',
  hooks: (context) => {
    const files = new SpecFiles(context);
    return {
      agent: (_plan, ticket) => ownerAgent(context, ticket),
      mayDrive: (plan, _ticket, { branch }) => waitForLock(context, plan, branch),
      handOver: (plan, _ticket, workspace) => bringPending(context, plan, workspace),
      variables: (plan, ticket) => ({
        unit: unitVariables(ticket, plan, context.settings, context.store.glance()),
      }),
      evidence: (plan, ticket) => evidenceRules(ticket, plan),
      left: (plan, ticket, workspace) => giveUpTree(context, plan, ticket, workspace),
      released: (planId) => unlockSpec(context, planId),
      // A unit that needs a person has stopped the whole spec.
      stoppedAt: (_plan, tickets) =>
        tickets.flatMap(({ status, since }) => (status === 'needs_attention' ? [since ?? ''] : [])),
      listen: (event) => files.listen(event),
      flush: (planId) => files.flush(planId),
    };
  },
};

/** The agent that the settings name for the unit's owner. */
function ownerAgent({ settings }: EngineContext, { context: { owner } }: Ticket): string | undefined {
  const { owners } = settings.specs;
  return typeof owner === 'string' && Object.hasOwn(owners, owner) ? owners[owner] : undefined;
}

/**
 * With `--on-failure continue`, a unit that has failed for good leaves the worktree at once. Where its work cannot be taken
 * out now, the next unit tries again.
 */
async function giveUpTree(
  engine: EngineContext,
  plan: SpecRunPlan,
  ticket: Ticket,
  workspace: TicketWorkspace,
): Promise<void> {
  if (plan.stopOnFailure || ticket.status !== 'failed' || ticket.base === null) return;
  try {
    await putBack(engine, ticket, workspace);
    await takeOut(engine, ticket, workspace);
  } catch (error) {
    if (!(error instanceof WorkspaceError)) throw error;
    const { planId, ticketId } = ticket;
    engine.listen({ type: 'problem', planId, ticketId, message: explained(error), path: workspace.path });
  }
}
