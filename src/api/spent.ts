import { endedBefore } from '../engine/admission.ts';
import type { EngineContext } from '../engine/context.ts';
import { readJob } from '../machine/jobs/job.ts';
import type { Attempt, Ticket } from '../model/ticket.ts';
import { GATE } from './issue-result.ts';
import { storedRun } from './stored-run.ts';

/** Seconds that a run took so far: its parts that came to their end, and one that was killed up to its last sign of life. */
export function spentOn(parts: EngineContext, planId: string): number {
  const { store, holder } = parts;
  const plan = store.plan(planId);
  const spent = storedRun(plan)?.spentSeconds ?? 0;
  if (!plan.claim || holder.isLive(plan.claim)) return spent;
  const began = Date.parse(plan.claim.renewedAt);
  const signs = [...store.view().tickets.values()]
    .filter((ticket) => ticket.planId === planId)
    .flatMap((ticket) => ticket.phaseHistory.map((attempt) => Date.parse(signOf(parts, ticket, attempt))));
  return spent + Math.max(0, ...signs.map((sign) => sign - began)) / 1000;
}

/** When an attempt was last at work. Its agent may work on after the run was killed; a gate waits for somebody and does nothing. */
function signOf({ machine, now }: EngineContext, ticket: Ticket, attempt: Attempt): string {
  const { phase, startedAt, completedAt } = attempt;
  if (phase === GATE) return startedAt;
  if (completedAt !== null) return completedAt;
  const dir = machine.job(ticket, attempt);
  return readJob(dir).state === 'none' ? startedAt : (endedBefore(dir) ?? now());
}
