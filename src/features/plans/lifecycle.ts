import { keepUsage } from '../../engine/admission.ts';
import { type EngineContext, emit } from '../../engine/context.ts';
import { workspaceFor } from '../../engine/ticket-defaults.ts';
import { wayToFree } from '../../model/claim.ts';
import { IllegalMoveError } from '../../model/errors.ts';
import type { Plan } from '../../model/plan.ts';
import { ticketsOf } from '../../model/plans/plans-view.ts';
import { plural } from '../../model/text/plural.ts';
import { isOver, type Ticket } from '../../model/ticket.ts';
import type { WorkspaceSpec } from '../../workspaces/workspaces.ts';
import { landed } from '../landed/landed.ts';
import { checkPlan } from './check-plan.ts';

/** Makes a draft active; refuses while the check finds an error. */
export async function approvePlan(parts: EngineContext, planId: string): Promise<Plan> {
  const before = parts.store.plan(planId);
  if (before.status !== 'draft') throw move(before, 'approve', ['draft']);
  const errors = (await checkPlan(parts, planId)).filter((problem) => problem.severity === 'error');
  if (errors.length > 0) {
    throw new IllegalMoveError(
      'plan/broken',
      `Plan "${planId}" has ${plural(errors.length, 'problem')}: ${errors[0]?.message}`,
      {
        hint: `See all of them with: signalbox plan check ${planId}`,
        details: { problems: errors },
      },
    );
  }
  return setStatus(parts, planId, 'active', ['draft'], 'approve');
}

export async function archivePlan(parts: EngineContext, planId: string): Promise<Plan> {
  for (const ticket of ticketsOf(parts.store.view(), planId)) assertFree(parts, ticket);
  return setStatus(parts, planId, 'archived', ['draft', 'active', 'paused', 'complete'], 'archive');
}

/** Deletes a plan; refuses when work would be lost. */
export async function deletePlan(parts: EngineContext, planId: string, force: boolean): Promise<void> {
  const plan = parts.store.plan(planId);
  const view = parts.store.view();
  for (const ticket of ticketsOf(parts.store.view(), planId)) {
    assertFree(parts, ticket);
    if (!ticket.base) continue;
    const spec = workspaceFor(ticket, plan, parts.settings, view);
    if (!force && (await isUnmerged(parts, ticket, spec))) {
      const state = isOver(ticket) ? 'not merged' : `${ticket.status}, not merged`;
      throw new IllegalMoveError(
        'plan/unmerged',
        `Branch ${spec.branch} of ${ticket.ticketId} is ${state}.`,
        {
          hint: `Merge or delete the branch first, or use: ${plan.status === 'archived' ? '' : 'plan archive (keeps everything), or '}plan delete --force (keeps the branches).`,
        },
      );
    }
    const released = await parts.workspaces.release(spec);
    if (!released.released) {
      throw new IllegalMoveError(
        'plan/unmerged',
        `The worktree ${spec.path} of ${ticket.ticketId} is still needed: ${released.reason}`,
        {
          hint: 'Commit or move what is in it first.',
        },
      );
    }
  }
  await keepUsage(parts, ticketsOf(parts.store.view(), planId));
  await parts.store.deletePlan(planId);
  parts.machine.removeJobs(planId);
}

/** A branch that is gone has nothing left to merge. */
async function isUnmerged(parts: EngineContext, ticket: Ticket, spec: WorkspaceSpec): Promise<boolean> {
  const commit = await parts.workspaces.tip(spec);
  if (commit === undefined) return false;
  return (await landed(parts, { ...spec, tickets: [ticket], commit }, ['history'])) === null;
}

/** Refuses while an engine or a person's session has the ticket. */
function assertFree(parts: EngineContext, ticket: Ticket): void {
  const { claim, planId, ticketId } = ticket;
  if (!claim || !parts.holder.isLive(claim)) return;
  const inSession = claim.by === 'session';
  throw new IllegalMoveError(
    'plan/busy',
    inSession
      ? `A person is in a session of ${ticketId} of plan "${planId}".`
      : `Plan "${planId}" is at work on ${ticketId}.`,
    {
      hint: inSession ? wayToFree(claim, ticket) : `Pause it first: signalbox pause-plan ${planId}`,
      details: { holder: claim },
    },
  );
}

async function setStatus(
  parts: EngineContext,
  planId: string,
  status: Plan['status'],
  from: Plan['status'][],
  verb: string,
): Promise<Plan> {
  const plan = await parts.store.updatePlan(planId, (latest) => {
    if (!from.includes(latest.status)) throw move(latest, verb, from);
    return { ...latest, status };
  });
  emit(parts, { type: 'plan:status', planId, status });
  return plan;
}

function move(plan: Plan, verb: string, from: string[]): IllegalMoveError {
  return new IllegalMoveError('plan/illegal', `Cannot ${verb} plan "${plan.id}": it is ${plan.status}.`, {
    hint: `Possible for: ${from.join(', ')}.`,
    details: { status: plan.status, legal: from },
  });
}
