import { endedBefore } from '../../../engine/admission.ts';
import type { EngineContext } from '../../../engine/context.ts';
import { readJob } from '../../../machine/jobs/job.ts';
import type { ExecutionConfig, IssueRun } from '../../../model/issue-run-schema.ts';
import type { Plan } from '../../../model/plan.ts';
import { ticketsOf } from '../../../model/plans/view.ts';
import type { Attempt, Ticket } from '../../../model/ticket.ts';

/** The phase of the issue workflow that waits for a person. */
export const GATE = 'qa_gate';

/** Undefined for plans that are no runs of issues, and for runs whose configuration is not known. */
export function storedRun(
  plan: Plan,
): (IssueRun & { config: ExecutionConfig; batched: boolean }) | undefined {
  if (plan.kind !== 'run' || !plan.run.config) return undefined;
  const { config, batched = Boolean(plan.run.options?.batch) } = plan.run;
  return { ...plan.run, config, batched };
}

/** Seconds that a run took so far: its finished parts, and a killed one up to its last activity. */
export function spentOn(parts: EngineContext, planId: string): number {
  const { store, holder } = parts;
  const plan = store.plan(planId);
  const spent = storedRun(plan)?.spentSeconds ?? 0;
  if (!plan.claim || holder.isLive(plan.claim)) return spent;
  const began = Date.parse(plan.claim.renewedAt);
  const signs = ticketsOf(store.view(), planId).flatMap((ticket) =>
    ticket.phaseHistory.map((attempt) => Date.parse(signOf(parts, ticket, attempt))),
  );
  return spent + Math.max(0, ...signs.map((sign) => sign - began)) / 1000;
}

/** When an attempt was last active. Its agent may continue after the run was killed; a gate only waits. */
function signOf({ machine, now }: EngineContext, ticket: Ticket, attempt: Attempt): string {
  const { phase, startedAt, completedAt } = attempt;
  if (phase === GATE) return startedAt;
  if (completedAt !== null) return completedAt;
  const dir = machine.job(ticket, attempt);
  return readJob(dir).state === 'none' ? startedAt : (endedBefore(dir) ?? now());
}
