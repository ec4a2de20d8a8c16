import { setTimeout as delay } from 'node:timers/promises';
import { isStorageError } from '../machine/files/make-directory-and-handle-storage-errors.ts';
import type { JobResult } from '../machine/jobs/follow-job.ts';
import {
  beginInProcess,
  endInProcess,
  isInProcess,
  stopInProcess,
} from '../machine/jobs/record-in-process-work.ts';
import { forgetJob, readJob } from '../machine/jobs/start-and-read-job.ts';
import { stopJob } from '../machine/jobs/stop-job.ts';
import { ACTIONS, type ActionInputs, type ActionName, EXIT, scriptInstead } from '../model/actions.ts';
import { SignalboxError, shortageOf } from '../model/errors.ts';
import type { AttemptEnd } from '../model/state/attempt-end-types-and-waits.ts';
import { actionOf, type PhaseOf } from '../model/workflow.ts';
import { renderArg } from '../workflows/templates/render-template.ts';
import { phaseEnvironment, variablesOf } from './attempt-variables-and-environment.ts';
import { capture, excerpt, lastWords } from './capture-values-and-excerpt-output.ts';
import { failure } from './judge-agent-attempt.ts';
import type { ActionEnd, PhaseContext, Place } from './phase-context.ts';
import { adoptJob, endOfJob, type JobRun, type Limits, runJob } from './run-job.ts';

/** Phases that name a script or an action. */
type Step = PhaseOf<'script' | 'action' | 'poll'>;

/** Runs a phase's step: an action in this process, unless a user's script replaces it, or a script as a job. */
async function runStep(context: PhaseContext<Step>, limits: Limits): Promise<StepResult | null> {
  const { phase, pinned } = context;
  const action = actionOf(phase);
  if (action === undefined) {
    const { command = '', args } = phase as PhaseOf<'script' | 'poll'>;
    return runJob(context, { ...limits, ...scriptJob(context, command, args) });
  }
  const inputs = ('with' in phase && phase.with) || {};
  const instead = scriptInstead(action);
  if (pinned.scripts[instead] === undefined) return runAction(context, { action, inputs }, limits);
  return runJob(context, { ...limits, ...scriptJob(context, instead, ACTIONS[action].args?.(inputs) ?? []) });
}

/** How to run a script: arguments are templates and never see a shell. */
function scriptJob(
  context: PhaseContext,
  command: string,
  args: readonly string[],
): Pick<JobRun, 'dir' | 'job'> {
  const { pinned, jobDir } = context;
  return {
    dir: jobDir,
    job: async () => {
      const variables = variablesOf(context);
      const path = pinned.scripts[command];
      if (!path) throw new Error(`script ${command} was not found when the workflow was loaded`);
      const words = await Promise.all(args.map((arg) => renderArg(arg, variables)));
      return jobOf(context, [path, ...words]);
    },
  };
}

/** Checks once, for a poll or gate. A check has no effect, so an interrupted one is ended and repeated. */
export async function checkOnce(context: PhaseContext<PhaseOf<'poll'>>): Promise<StepResult | null> {
  const { jobDir, resumed, settings } = context;
  const { state } = readJob(jobDir);
  if (resumed && (state === 'running' || state === 'lost'))
    await (isInProcess(jobDir) ? stopInProcess : stopJob)(jobDir, 'lost');
  const limits = { wallSeconds: settings.timeouts.pollCheckSeconds, idleSeconds: null };
  return runStep({ ...context, resumed: false }, limits);
}

/** Performs a script or action. Exit code 0 is success, 75 is not now, 65 is refused; any other failure is retried first. */
export async function performStep(context: PhaseContext<PhaseOf<'script' | 'action'>>): Promise<AttemptEnd> {
  const { phase, settings } = context;
  const wallSeconds = phase.timeoutSeconds ?? settings.timeouts.scriptSeconds;
  const limits = { wallSeconds, idleSeconds: ('idleSeconds' in phase && phase.idleSeconds) || null };
  // After "not now" the step runs again in the same attempt.
  const before = context.resumed ? readJob(context.jobDir) : undefined;
  const resumed = context.resumed && !(before?.state === 'ended' && isNotNow(before.exit));
  const result = await runStep({ ...context, resumed }, limits);
  const early = endOfJob(result, limits);
  if (early || !result) return { ...(early as AttemptEnd), output: result ? outputOf(result) : null };
  if (isNotNow(result.exit) && phase.waits !== false) return notNow(context, result);
  if (result.exit.code === EXIT.refused) return exitFailure(result, 'refused');
  if (result.exit.code !== 0) return exitFailure(result);
  return finishStep(context, result);
}

const PAUSE_MS = 60_000;
const LONGEST_MS = 86_400_000;

function isNotNow({ code }: { code: number | null }): boolean {
  return code === EXIT.notNow;
}

/** Waits without a slot, until the time in the first line that it printed or for a minute; after a day it has failed. */
function notNow(context: PhaseContext<PhaseOf<'script' | 'action'>>, result: StepResult): AttemptEnd {
  const { phase, attempt } = context;
  const now = Date.parse(context.now());
  if (now - Date.parse(attempt.startedAt) >= LONGEST_MS) return exitFailure(result);
  const lines = result.stdoutTail.trim().split('\n');
  const named = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(lines[0] ?? '')
    ? Date.parse(lines.shift() ?? '')
    : Number.NaN;
  const time = named > now ? Math.min(named, now + LONGEST_MS) : now + PAUSE_MS;
  const said = lastWords(lines.join('\n')) || lastWords(result.stderrTail) || 'not now';
  return {
    type: 'waiting',
    gate: false,
    until: new Date(time).toISOString(),
    reason: `${phase.id}: ${said}`,
  };
}

export async function finishStep(context: PhaseContext<Step>, result: StepResult): Promise<AttemptEnd> {
  const captured = await capture(context, { stdout: result.stdoutTail, result: undefined });
  if (!captured.ok) return { ...captured.end, output: outputOf(result) };
  return { type: 'done', outcome: 'success', captured: captured.values, output: outputOf(result) };
}

export function exitFailure(result: StepResult, kind: 'exit' | 'refused' = 'exit'): AttemptEnd {
  const how = result.exit.signal
    ? `was killed by ${result.exit.signal}`
    : `exited with code ${result.exit.code}`;
  const last = lastWords(result.stderrTail) || lastWords(result.stdoutTail);
  // A refusal has its reason as text, an action has no exit code that people know, and failed checks name their own.
  const isWhole = kind !== 'exit' || result.isAction || / exited with code \d+$/.test(last);
  const message = isWhole ? last || how : [how, last].filter(Boolean).join(': ');
  return { ...failure(kind, message), output: outputOf(result) };
}

function outputOf(result: StepResult): string {
  const printed = [result.stdoutTail.trimEnd(), result.stderrTail.trimEnd()];
  return excerpt(printed.filter(Boolean).join('\n'), 'end');
}

/** The end of a step. An action has no process, so its exit code is not shown. */
export type StepResult = JobResult & { isAction?: true };

/** How long an action may take to end after a stop or its timeout; then its result is ignored. */
const GRACE_MS = 3_000;
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * Runs an action in this process, recorded like a job. Null: an earlier engine was cut off in it. Every action checks
 * before it acts, so it can run again.
 */
async function runAction(
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
    const job = async () => jobOf(context, performed.job);
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

function jobOf(context: PhaseContext, argv: readonly string[]) {
  return {
    argv,
    cwd: context.place.worktree,
    env: phaseEnvironment(context),
    stdin: null,
    // Every job gets the variable for this file, so the file must exist.
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
