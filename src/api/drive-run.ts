import type { Settings } from '../config/settings.ts';
import { letGo } from '../engine/plan-transitions.ts';
import { runPlan } from '../engine/run-plan.ts';
import { atLeast, issueResult } from '../features/issue-runs/results/issue-result.ts';
import { infoOf, numberOf, worktreesOf } from '../features/issue-runs/results/stored-run.ts';
import { restSuperseded } from '../features/issue-runs/resume.ts';
import type { IssueResult, RunResult } from '../features/issue-runs/types.ts';
import type { ExecutionConfig } from '../model/issue-run-schema.ts';
import { ticketsOf } from '../model/plans/view.ts';
import type { Opened } from './opened-run.ts';

/** The result of a run, without its configuration. */
export type Course = Omit<RunResult, 'exitCode' | 'config' | 'mergedOptions' | 'wallClockDurationSeconds'> & {
  /** How long its parts before this one took. */
  spentBefore?: number;
};

interface RunToDrive {
  planId: string;
  config: ExecutionConfig;
  signal: AbortSignal | undefined;
  refused?: readonly IssueResult[];
  spentBefore?: number;
}

/** Runs what is in the plan, which this process holds, or leaves it to a daemon. */
export async function driveRun(open: Opened, run: RunToDrive): Promise<Course> {
  const { parts } = open;
  const { planId, config, signal, refused = [], spentBefore = 0 } = run;
  const spend = (spentSeconds: number) =>
    parts.store.updatePlan(planId, (latest) =>
      latest.kind === 'run' ? { ...latest, run: { ...latest.run, spentSeconds } } : latest,
    );
  // This part may be killed: those before it are on record then.
  if (spentBefore > 0) await spend(spentBefore);
  // A run whose issues are all complete leaves nothing for a daemon.
  const detached =
    config.detach && ticketsOf(parts.store.view(), planId).some(({ status }) => status !== 'complete');
  if (detached) {
    open.write((log) => log.update(), planId);
    await letGo(parts, planId);
  } else {
    // Written at once: a kill while agents end must not leave the log unfinished.
    const onAbort = () => open.write((log) => log.finish({ aborted: true }), planId);
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      await runPlan(parts, {
        planId,
        maxConcurrency: capOf(parts.settings, config.concurrency),
        lookEveryMs: parts.settings.pollInterval * 1000,
        signal: signal ?? new AbortController().signal,
      });
    } finally {
      signal?.removeEventListener('abort', onAbort);
    }
    await restSuperseded(parts, planId);
  }
  const plan = parts.store.plan(planId);
  const tickets = ticketsOf(parts.store.view(), planId);
  const results = tickets.map((ticket) => issueResult(ticket, plan));
  if (!detached) await spend(atLeast(spentBefore + open.seconds(), results));
  // A signal after the last issue completed has stopped nothing.
  const aborted = signal?.aborted === true && tickets.some(({ status }) => status !== 'complete');
  if (!detached) open.write((log) => log.finish({ aborted }), planId);
  return {
    results: [...results, ...refused],
    logPath: open.log?.path ?? null,
    worktreeMap: worktreesOf(tickets),
    issueInfoMap: new Map(tickets.map((ticket) => [numberOf(ticket) ?? ticket.ticketId, infoOf(ticket)])),
    planId,
    ...(detached ? { detached } : {}),
  };
}

/** The plan limits how many of its issues run at once. The default of maxConcurrency gives way to an explicit --concurrency. */
function capOf({ maxConcurrency, origin }: Settings, concurrency: number): number {
  return origin.maxConcurrency === 'default' ? Math.max(maxConcurrency, concurrency) : maxConcurrency;
}
