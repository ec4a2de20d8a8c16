import { existsSync } from 'node:fs';
import type { Settings } from '../config/settings-table.ts';
import { releasePlanClaim } from '../engine/claim-and-complete-plan.ts';
import type { EngineContext } from '../engine/context.ts';
import { runPlan } from '../engine/run-plan.ts';
import type { RunLogWriter } from '../features/issue-runs/logs/rewrite-run-log.ts';
import { ignoringErrors, progressFeed } from '../features/issue-runs/progress-callbacks.ts';
import type {
  IssueResult,
  RunResult,
  WorktreeInfo,
} from '../features/issue-runs/request-and-result-types.ts';
import { issueResult, roundedSeconds, runSeconds } from '../features/issue-runs/results/issue-result.ts';
import { numberOf } from '../features/issue-runs/results/stored-run-time-and-issue-names.ts';
import { pauseIfSuperseded } from '../features/issue-runs/resume-run-and-handle-newer-runs.ts';
import type { Env } from '../machine/paths-and-user-home.ts';
import { messageOf } from '../model/errors.ts';
import type { EngineEvent } from '../model/events.ts';
import { isGivenUp } from '../model/plan.ts';
import type { ExecutionConfig } from '../model/plan-schema.ts';
import type { Ticket } from '../model/ticket.ts';
import { openEngine } from './open-engine-with-features.ts';
import type { OrchestratorConfig } from './orchestrator-arguments.ts';

/** The result of a run, without its configuration. */
export type Course = Omit<RunResult, 'exitCode' | 'config' | 'mergedOptions' | 'wallClockDurationSeconds'> & {
  /** Seconds that earlier parts of the run took. */
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
  const { engine } = open;
  const { planId, config, signal, refused = [], spentBefore = 0 } = run;
  const spend = (spentSeconds: number) =>
    engine.store.updatePlan(planId, (latest) =>
      latest.kind === 'run' ? { ...latest, run: { ...latest.run, spentSeconds } } : latest,
    );
  // Recorded now, because this part may be killed.
  if (spentBefore > 0) await spend(spentBefore);
  // A run whose issues are all complete leaves nothing for a daemon.
  const detached = config.detach && engine.store.tickets(planId).some(({ status }) => status !== 'complete');
  if (detached) {
    open.write((log) => log.update(), planId);
    await releasePlanClaim(engine, planId);
  } else {
    // Written now: a kill while agents end must not leave the log unfinished.
    const onAbort = () => open.write((log) => log.finish({ aborted: true }), planId);
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      await runPlan(engine, {
        planId,
        maxConcurrency: capOf(engine.settings, config.concurrency),
        signal: signal ?? new AbortController().signal,
        isReady: true,
      });
    } finally {
      signal?.removeEventListener('abort', onAbort);
    }
    await pauseIfSuperseded(engine, planId);
  }
  const plan = engine.store.plan(planId);
  const tickets = engine.store.tickets(planId);
  const results = tickets.map((ticket) => issueResult(ticket, plan));
  if (!detached) await spend(runSeconds(spentBefore + open.seconds(), results));
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
    ...(isGivenUp(plan) ? { cancelled: true } : {}),
  };
}

/** The plan limits how many of its issues run at once. The default of maxConcurrency is raised to an explicit --concurrency. */
function capOf({ maxConcurrency, origin }: Settings, concurrency: number): number {
  return origin.maxConcurrency === 'default' ? Math.max(maxConcurrency, concurrency) : maxConcurrency;
}

export interface Opened {
  engine: EngineContext;
  /** Numbers of issues, by the id of their ticket. */
  numbers: Map<string, number | null>;
  log: RunLogWriter | null;
  /** Seconds since it was opened. */
  seconds(): number;
  /** Writes the log, if there is one. A log that cannot be written is reported once and given up; the work continues. */
  write(how: (log: RunLogWriter) => void, planId: string): void;
}

type Surroundings = Pick<OrchestratorConfig, 'onEvent' | 'onProgress' | 'signal' | 'store' | 'door'>;

/** Opens the engine and sends every event to the stream, the callbacks and the log. */
export function openRun(
  { settings, env }: { settings: Settings; env: Env },
  { onEvent, onProgress, signal, store, door }: Surroundings,
  events: EventStream<EngineEvent>,
): Opened {
  const began = performance.now();
  const numbers = new Map<string, number | null>();
  const feed = onProgress && progressFeed(onProgress, (id) => numbers.get(id) ?? null);
  const problem = (planId: string, message: string) =>
    ({ type: 'problem', planId, ticketId: null, message, path: null }) as const;
  const listen = (event: EngineEvent) => {
    events.push(event);
    feed?.(event);
    if (event.type === 'attempt:end' || event.type === 'ticket:status')
      opened.write((log) => (signal?.aborted ? log.finish({ aborted: true }) : log.update()), event.planId);
    if (onEvent)
      ignoringErrors(onEvent, (error) => events.push(problem(event.planId, `onEvent: ${messageOf(error)}`)))(
        event,
      );
  };
  const opened: Opened = {
    engine: openEngine({ settings, env, by: 'run', listen, store, door }),
    numbers,
    log: null,
    seconds: () => roundedSeconds((performance.now() - began) / 1000),
    write: (how, planId) => {
      try {
        if (opened.log) how(opened.log);
      } catch (error) {
        opened.log = null;
        listen(problem(planId, `The log of the run cannot be written any more: ${messageOf(error)}`));
      }
    },
  };
  return opened;
}

/** Values pushed by one side and read by the other with `for await`. Nothing is lost; it ends when closed. */
export class EventStream<T> implements AsyncIterable<T> {
  readonly #values: T[] = [];
  #closed = false;
  #wake: () => void = () => undefined;

  push(value: T): void {
    if (this.#closed) return;
    this.#values.push(value);
    this.#wake();
  }

  close(): void {
    this.#closed = true;
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    for (let read = 0; ; ) {
      while (read < this.#values.length) yield this.#values[read++] as T;
      if (this.#closed) return;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}

function infoOf(ticket: Ticket): { title: string; labels: string[] } {
  return { title: ticket.title, labels: ticket.source?.labels ?? [] };
}

/** Worktrees that still exist: that of a finished issue was removed. */
function worktreesOf(tickets: readonly Ticket[]): Map<number | string, WorktreeInfo> {
  return new Map(
    tickets.flatMap((ticket) => {
      const { worktree: path, branch } = ticket;
      const issue = numberOf(ticket) ?? ticket.ticketId;
      return path && branch && existsSync(path) ? [[issue, { issue, path, branch }]] : [];
    }),
  );
}
