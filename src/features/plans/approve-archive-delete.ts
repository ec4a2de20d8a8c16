import { keepUsage } from '../../engine/claimed-tickets-and-counted-usage.ts';
import { type EngineContext, emit } from '../../engine/context.ts';
import { workspaceFor } from '../../engine/ticket-workspace.ts';
import { howToFree } from '../../model/claim.ts';
import { IllegalMoveError } from '../../model/errors.ts';
import type { Plan } from '../../model/plan.ts';
import { plural } from '../../model/text/clean-quote-plural.ts';
import { isOver, type Ticket } from '../../model/ticket.ts';
import type { WorkspaceSpec } from '../../workspaces/workspaces.ts';
import { findLanded } from '../landed/find-landed-work.ts';
import { checkPlan } from './check-plan.ts';

/** Makes a draft active; refuses while the check finds an error. */
export async function approvePlan(engine: EngineContext, planId: string): Promise<Plan> {
  const before = engine.store.plan(planId);
  if (before.status !== 'draft') throw move(before, 'approve', ['draft']);
  const errors = (await checkPlan(engine, planId)).filter((problem) => problem.severity === 'error');
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
  return setStatus(engine, planId, 'active', ['draft'], 'approve');
}

export async function archivePlan(engine: EngineContext, planId: string): Promise<Plan> {
  for (const ticket of engine.store.tickets(planId)) assertFree(engine, ticket);
  return setStatus(engine, planId, 'archived', ['draft', 'active', 'paused', 'complete'], 'archive');
}

/** Deletes a plan; refuses when work would be lost. */
export async function deletePlan(engine: EngineContext, planId: string, force: boolean): Promise<void> {
  const plan = engine.store.plan(planId);
  const view = engine.store.glance();
  for (const ticket of engine.store.tickets(planId)) {
    assertFree(engine, ticket);
    if (!ticket.base) continue;
    const spec = workspaceFor(ticket, plan, engine.settings, view);
    if (!force && (await isUnmerged(engine, ticket, spec))) {
      const state = isOver(ticket) ? 'not merged' : `${ticket.status}, not merged`;
      throw new IllegalMoveError(
        'plan/unmerged',
        `Branch ${spec.branch} of ${ticket.ticketId} is ${state}.`,
        {
          hint: `Merge or delete the branch first, or use: ${plan.status === 'archived' ? '' : 'plan archive (keeps everything), or '}plan delete --force (keeps the branches).`,
        },
      );
    }
    const released = await engine.workspaces.release(spec);
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
  await keepUsage(engine, engine.store.tickets(planId));
  await engine.store.deletePlan(planId);
  engine.machine.removeJobs(planId);
}

/** Whether a branch has unmerged work. A deleted branch has none. */
async function isUnmerged(engine: EngineContext, ticket: Ticket, spec: WorkspaceSpec): Promise<boolean> {
  const commit = await engine.workspaces.tip(spec);
  if (commit === undefined) return false;
  return (await findLanded(engine, { ...spec, tickets: [ticket], commit }, ['history'])) === null;
}

/** Refuses while an engine or a person's session has the ticket. */
function assertFree(engine: EngineContext, ticket: Ticket): void {
  const { claim, planId, ticketId } = ticket;
  if (!claim || !engine.holder.isLive(claim)) return;
  const inSession = claim.by === 'session';
  throw new IllegalMoveError(
    'plan/busy',
    inSession
      ? `A person is in a session of ${ticketId} of plan "${planId}".`
      : `Plan "${planId}" is at work on ${ticketId}.`,
    {
      hint: inSession ? howToFree(claim, ticket) : `Pause it first: signalbox pause-plan ${planId}`,
      details: { holder: claim },
    },
  );
}

async function setStatus(
  engine: EngineContext,
  planId: string,
  status: Plan['status'],
  from: Plan['status'][],
  verb: string,
): Promise<Plan> {
  const plan = await engine.store.updatePlan(planId, (latest) => {
    if (!from.includes(latest.status)) throw move(latest, verb, from);
    return { ...latest, status };
  });
  emit(engine, { type: 'plan:status', planId, status });
  return plan;
}

function move(plan: Plan, verb: string, from: string[]): IllegalMoveError {
  return new IllegalMoveError('plan/illegal', `Cannot ${verb} plan "${plan.id}": it is ${plan.status}.`, {
    hint: `Possible for: ${from.join(', ')}.`,
    details: { status: plan.status, legal: from },
  });
}
