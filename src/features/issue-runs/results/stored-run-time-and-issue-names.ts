import type { EngineContext } from '../../../engine/context.ts';
import { endedBefore } from '../../../engine/jobs-of-ticket.ts';
import { sayItem } from '../../../issues/work-item.ts';
import { readJob } from '../../../machine/jobs/start-and-read-job.ts';
import type { Plan } from '../../../model/plan.ts';
import type { ExecutionConfig, IssueRun } from '../../../model/plan-schema.ts';
import type { Attempt, Ticket } from '../../../model/ticket.ts';
import { notMerged, verdictWithReservation } from '../../../model/verdict-criteria-and-missing-checks.ts';

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
export function secondsSpentOn(engine: EngineContext, planId: string): number {
  const { store, holder } = engine;
  const plan = store.plan(planId);
  const spent = storedRun(plan)?.spentSeconds ?? 0;
  if (!plan.claim || holder.isLive(plan.claim)) return spent;
  const began = Date.parse(plan.claim.renewedAt);
  const signs = store
    .tickets(planId)
    .flatMap((ticket) =>
      ticket.phaseHistory.map((attempt) => Date.parse(lastActivityOf(engine, ticket, attempt))),
    );
  return spent + Math.max(0, ...signs.map((sign) => sign - began)) / 1000;
}

/** When an attempt was last active. Its agent may continue after the run was killed; a gate only waits. */
function lastActivityOf({ machine, now }: EngineContext, ticket: Ticket, attempt: Attempt): string {
  const { phase, startedAt, completedAt } = attempt;
  if (phase === GATE) return startedAt;
  if (completedAt !== null) return completedAt;
  const dir = machine.job(ticket, attempt);
  return readJob(dir).state === 'none' ? startedAt : (endedBefore(dir) ?? now());
}

export function numberOf(ticket: Ticket): number | null {
  return ticket.source?.number ?? null;
}

/** An issue's name for people: `#100`, or its id. */
export function issueName(ticket: Ticket): string {
  return sayItem({ id: ticket.ticketId, number: numberOf(ticket) });
}

/** Remarks to show beside the tick of an issue or of one of its phases. */
export function remarksOf(ticket: Ticket, phase: string | null): string[] {
  if (phase === null) return [verdictWithReservation(ticket)].filter(Boolean);
  const last = ticket.phaseHistory.findLast((entry) => entry.phase === phase && entry.completedAt !== null);
  return [notMerged(last?.output) ?? ''].filter(Boolean);
}
