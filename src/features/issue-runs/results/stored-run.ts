import { endedBefore } from '../../../engine/admission.ts';
import type { EngineContext } from '../../../engine/context.ts';
import { readJob } from '../../../machine/jobs/job.ts';
import type { Plan } from '../../../model/plan.ts';
import { ticketsOf } from '../../../model/plans/view.ts';
import type { Attempt, Ticket } from '../../../model/ticket.ts';
import type { ExecutionConfig } from '../options/execution-config.ts';
import type { MergedRunOptions } from '../options/types.ts';
import type { ManifestOfRun } from '../types.ts';

/** The phase of the issue workflow that waits for a person. */
export const GATE = 'qa_gate';
/** What a run stores in its plan, so that it can be resumed unchanged. */
export interface StoredRun {
  config: ExecutionConfig;
  /** What was asked for; missing for runs of callers that bring their own configuration. */
  options: MergedRunOptions | null;
  /** File of the JSON log. */
  log: string | null;
  /** Left to a daemon. */
  detached: boolean;
  /** Its issues came in groups. */
  batched: boolean;
  manifest: ManifestOfRun;
  /** How long its finished parts took. */
  spentSeconds: number;
}

/** Undefined for plans that are no runs of issues. */
export function storedRun(plan: Plan): StoredRun | undefined {
  if (plan.kind !== 'run') return undefined;
  const kept = (plan.run ?? {}) as Partial<StoredRun>;
  const { config, options = null, log = null, detached = false } = kept;
  const { manifest = { stack: null, packageManager: null } } = kept;
  const { batched = Boolean(options?.batch), spentSeconds = 0 } = kept;
  return config && { config, options, log, detached, batched, manifest, spentSeconds };
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
