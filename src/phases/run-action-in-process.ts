import { setTimeout as delay } from 'node:timers/promises';
import { isStorageError } from '../machine/files/make-directory-and-handle-storage-errors.ts';
import type { JobResult } from '../machine/jobs/follow-job.ts';
import { beginInProcess, endInProcess, stopInProcess } from '../machine/jobs/record-in-process-work.ts';
import { forgetJob } from '../machine/jobs/start-and-read-job.ts';
import { ACTIONS, type ActionInputs, type ActionName, EXIT } from '../model/actions.ts';
import { SignalboxError, shortageOf } from '../model/errors.ts';
import { phaseEnvironment } from './attempt-variables-and-environment.ts';
import type { ActionEnd, PhaseContext, Place } from './phase-context.ts';
import { adoptJob, type Limits, runJob } from './run-job.ts';

/** The end of a step. An action has no process, so its exit code is not shown. */
export type StepResult = JobResult & { isAction?: true };

/** How long an action may take to end after a stop or its timeout; then its result is ignored. */
const GRACE_MS = 3_000;
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * Runs an action in this process, recorded like a job. Null: an earlier engine was cut off in it. Every action checks
 * before it acts, so it can run again.
 */
export async function runAction(
  context: PhaseContext,
  { action, inputs }: { action: ActionName; inputs: ActionInputs },
  limits: Limits,
): Promise<StepResult | null> {
  const { jobDir: dir, place } = context;
  const adopted = await adoptJob(context, { dir, ...limits });
  if (adopted !== undefined) return adopted && { ...adopted, isAction: true };
  const began = performance.now();
  const record = () => {
    beginInProcess(dir, { argv: ['signalbox-action', action], cwd: place.worktree });
    context.onProcess();
  };
  // An action that only chooses a command has no effect that could be lost.
  const isJob = ACTIONS[action].isJob === true;
  if (!isJob) record();
  const performed = await perform(context, { action, inputs }, limits.wallSeconds).catch((error: unknown) => {
    // It runs again in the same attempt.
    if (shortageOf(error) && !isStorageError(error)) forgetJob(dir);
    throw error;
  });
  if ('job' in performed) {
    const job = async () => jobSpec(context, performed.job);
    return runJob({ ...context, resumed: false }, { dir, ...limits, job });
  }
  if (isJob) record();
  const ms = performance.now() - began;
  if ('reason' in performed) {
    await stopInProcess(dir, performed.reason);
    const exit = { code: null, signal: null };
    return { reason: performed.reason, exit, ms, stdoutTail: '', stderrTail: '', isAction: true };
  }
  const { exit: code, out = '', err = '' } = performed;
  const [stdout, stderr] = [out, err].map((text) => (text === '' ? '' : `${text}\n`)) as [string, string];
  endInProcess(dir, { code, stdout, stderr });
  const exit = { code, signal: null };
  return { reason: 'exited', exit, ms, stdoutTail: stdout, stderrTail: stderr, isAction: true };
}

function jobSpec(context: PhaseContext, argv: readonly string[]) {
  return {
    argv,
    cwd: context.place.worktree,
    env: phaseEnvironment(context),
    stdin: null,
    files: { 'prompt.md': '' },
    stopSignal: 'SIGTERM',
  } as const;
}

async function perform(
  context: PhaseContext,
  { action, inputs }: { action: ActionName; inputs: ActionInputs },
  wallSeconds: number,
): Promise<ActionEnd | { reason: 'timeout' | 'stopped' }> {
  const { place, jobDir } = context;
  const stop = new AbortController();
  const ended = new AbortController();
  const onStop = () => stop.abort('stopped');
  if (context.signal.aborted) return { reason: 'stopped' };
  context.signal.addEventListener('abort', onStop, { once: true });
  const timer = setTimeout(() => stop.abort('timeout'), Math.min(wallSeconds * 1000, LONGEST_TIMER_MS));
  const request = { action, inputs, place, jobDir, env: phaseEnvironment(context), signal: stop.signal };
  try {
    const work = OWN[action]?.(place) ?? context.act(request);
    const end = await Promise.race([work, abandoned(stop.signal, ended.signal)]);
    if ('exit' in end && end.exit !== EXIT.done) stop.signal.throwIfAborted();
    return end;
  } catch (error) {
    if (stop.signal.aborted) return { reason: stop.signal.reason as 'timeout' | 'stopped' };
    if (!(error instanceof SignalboxError) || isStorageError(error) || shortageOf(error)) throw error;
    return { exit: EXIT.failed, err: said(error) };
  } finally {
    ended.abort();
    clearTimeout(timer);
    context.signal.removeEventListener('abort', onStop);
  }
}

/** An error's message and hint, as the command line shows them. */
function said({ message, hint }: SignalboxError): string {
  return `❌ ${[message, ...(hint?.split('\n') ?? [])].join('\n   ')}`;
}

/** Rejects when an action has not ended a moment after its stop. */
function abandoned(stopped: AbortSignal, ended: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const wait = () =>
      delay(GRACE_MS, undefined, { signal: ended }).then(
        () => reject(stopped.reason),
        () => undefined,
      );
    stopped.addEventListener('abort', wait, { once: true });
  });
}

/** The engine prepares and checks the worktree before every attempt, and releases it when the ticket ends. */
const OWN: Partial<Record<ActionName, (place: Place) => ActionEnd>> = {
  'setup-worktree': ({ worktree, branch, base }) => ({
    exit: EXIT.done,
    out: `${worktree} is on ${branch}, from ${base.ref}`,
  }),
  'cleanup-worktree': ({ worktree }) => ({
    exit: EXIT.done,
    out: `${worktree} is released when the ticket ends`,
  }),
};
