import { adoptFinished } from '../features/issue-runs/adopt-finished.ts';
import { unlockSpec } from '../features/spec-runs/lock.ts';
import { sayOther } from '../model/claim.ts';
import { HeldError, IllegalMoveError, InputError } from '../model/errors.ts';
import type { Plan } from '../model/plan.ts';
import { ticketsOf } from '../model/plans/view.ts';
import { type EngineContext, emit } from './context.ts';
import { control } from './control.ts';
import { stoppedIn } from './stopped-tickets.ts';

/**
 * Takes a run of issues that was stopped or left alone, and sets going what was stopped with it. Claim and status change
 * in one step, so that no daemon comes between. It is then run like any other plan that this process holds.
 */
export async function takeRun(parts: EngineContext, planId: string): Promise<Plan> {
  const { store, holder } = parts;
  if (store.plan(planId).kind !== 'run')
    throw new InputError('run/plan', `"${planId}" is a plan, not a run of issues.`, {
      hint: `Run it with: signalbox run ${planId}`,
    });
  const plan = await store.updatePlan(planId, (latest) => {
    if (latest.claim && holder.isLive(latest.claim) && latest.claim.token !== holder.token)
      throw new HeldError('plan/held', `Run "${planId}" is already being run by ${sayOther(latest.claim)}.`, {
        hint: `Watch it with: signalbox status --plan ${planId}`,
        details: { holder: latest.claim },
      });
    if (latest.status !== 'active' && latest.status !== 'paused')
      throw new IllegalMoveError('plan/illegal', `Cannot resume run "${planId}": it is ${latest.status}.`, {
        hint: `See: signalbox status --plan ${planId}`,
        details: { status: latest.status, legal: ['active', 'paused'] },
      });
    const run = { ...(latest.run as object | undefined), detached: false };
    return { ...latest, run, status: 'active', pausedBy: null, claim: holder.claim(parts.now()) };
  });
  try {
    await adoptFinished(parts, planId);
    emit(parts, { type: 'plan:status', planId, status: plan.status });
    for (const ticket of stoppedIn(parts, planId))
      await control(parts, { planId, ticketId: ticket.ticketId }, { type: 'resume' }, 'a person');
  } catch (error) {
    await letGo(parts, planId);
    throw error;
  }
  return plan;
}

/** Whether a daemon is there that goes on with the run: it was left to it, or it has taken tickets of it. */
export function isWithDaemon(parts: EngineContext, planId: string): boolean {
  const daemon = parts.holder.daemon();
  if (!daemon) return false;
  const { detached } = (parts.store.plan(planId).run ?? {}) as { detached?: boolean };
  if (detached) return true;
  return ticketsOf(parts.store.view(), planId).some(({ claim }) => claim?.token === daemon.token);
}

/** Gives up the claim on a plan without stopping it: whoever comes next may go on with it. */
export async function letGo(parts: EngineContext, planId: string): Promise<void> {
  const { store, holder } = parts;
  unlockSpec(parts, planId);
  await store.updatePlan(planId, (latest) =>
    latest.claim?.token === holder.token ? { ...latest, claim: null } : latest,
  );
}
