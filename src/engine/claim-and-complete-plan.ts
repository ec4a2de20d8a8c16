import { HeldError, IllegalMoveError } from '../model/errors.ts';
import { refKey, type TicketRef } from '../model/ids-and-branch-names.ts';
import type { Claim } from '../model/lease-and-claim-messages.ts';
import { howToFree, onceLeaseIsOver, sayHolder, sayOther } from '../model/lease-and-claim-messages.ts';
import { type Plan, withDetached } from '../model/plan.ts';
import { isAllComplete } from '../model/state/eligible.ts';
import { runCommand } from '../model/state/explain-ticket.ts';
import { capital } from '../model/text/clean-escape-quote-plural.ts';
import { type EngineContext, emit, isOthers } from './context.ts';

/** Throws when another process runs the plan. `called` names the plan for people, such as `plan "night"`. */
export function refuseHeld(engine: EngineContext, plan: Plan, called: string): void {
  const { id, claim } = plan;
  if (!isOthers(engine, claim)) return;
  const lease = engine.holder.leaseLeft(claim);
  throw new HeldError('plan/held', `${capital(called)} is already being run by ${sayOther(claim)}.`, {
    hint:
      lease === undefined
        ? `Watch it with: signalbox status --plan ${id}`
        : onceLeaseIsOver(lease, runCommand(plan)),
    details: { holder: claim },
  });
}

/** Throws when a live process holds a ticket's claim. */
export function refuseHeldTicket(
  { holder }: EngineContext,
  ref: TicketRef,
  claim: Claim | null,
  how: 'driven' | 'held' = 'driven',
): void {
  if (!claim || !holder.isLive(claim)) return;
  throw new HeldError('ticket/held', `${refKey(ref)} is ${how} by ${sayHolder(claim)}.`, {
    hint: howToFree(claim, ref, holder.leaseLeft(claim)),
    details: { holder: claim },
  });
}

/** Claims a plan for this process. A claim that it has already keeps its time, which shows how long the run takes. */
export async function claimPlan(engine: EngineContext, planId: string): Promise<void> {
  const { store, holder, now } = engine;
  await store.updatePlan(planId, (plan) => {
    refuseHeld(engine, plan, `plan "${planId}"`);
    return plan.claim?.token === holder.token ? plan : { ...plan, claim: holder.claim(now()) };
  });
}

/**
 * Makes a plan active again and claims it, in one write, so that no daemon can take it in between. With `leave` it is not
 * claimed: the daemon continues it.
 */
export async function claimToResume(
  engine: EngineContext,
  planId: string,
  { called, leave = false }: { called(plan: Plan): string; leave?: boolean },
): Promise<Plan> {
  const { store, holder, now } = engine;
  return store.updatePlan(planId, (latest) => {
    refuseHeld(engine, latest, called(latest));
    if (latest.status !== 'active' && latest.status !== 'paused')
      throw new IllegalMoveError('plan/illegal', `Cannot resume ${called(latest)}: it is ${latest.status}.`, {
        hint: `See: signalbox status --plan ${planId}`,
        details: { status: latest.status, legal: ['active', 'paused'] },
      });
    const time = now();
    const { starts } = latest;
    return {
      ...withDetached(latest, leave),
      ...(starts ? { starts: { ...starts, since: time } } : {}),
      status: 'active',
      pausedBy: null,
      claim: leave ? null : holder.claim(time),
    };
  });
}

/** Gives up the claim on a plan without stopping it: another process may continue it. */
export async function releasePlanClaim(engine: EngineContext, planId: string): Promise<void> {
  const { store, holder } = engine;
  for (const hooks of engine.kinds.values()) hooks.released?.(planId);
  await store.updatePlan(planId, (latest) =>
    latest.claim?.token === holder.token ? { ...latest, claim: null } : latest,
  );
}

/** Whether a daemon is running that continues the plan: the plan was left to it, or it has claimed tickets of it. */
export function isRunByDaemon(engine: EngineContext, planId: string): boolean {
  const daemon = engine.holder.daemon();
  if (!daemon) return false;
  if (engine.store.plan(planId).run?.detached) return true;
  return engine.store.tickets(planId).some(({ claim }) => claim?.token === daemon.token);
}

/** Completes a plan whose tickets are all complete; a planner may have added one since the last check. */
export async function completePlan(engine: EngineContext, planId: string): Promise<void> {
  const { store, now, holder } = engine;
  const isDone = (latest: Plan) => latest.status === 'active' && isAllComplete(latest, store.tickets(latest));
  // The claim of a killed run is never cleared otherwise.
  const claimIn = ({ claim }: Plan) => (claim && holder.isLive(claim) ? claim : null);
  const plan = await store.updatePlan(planId, (latest) =>
    isDone(latest) ? { ...latest, status: 'complete', completedAt: now(), claim: claimIn(latest) } : latest,
  );
  if (plan.status === 'complete') emit(engine, { type: 'plan:status', planId, status: 'complete' });
}
