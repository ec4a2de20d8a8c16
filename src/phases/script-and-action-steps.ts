import { isInProcess, stopInProcess } from '../machine/jobs/record-in-process-work.ts';
import { readJob } from '../machine/jobs/start-and-read-job.ts';
import { stopJob } from '../machine/jobs/stop-job.ts';
import { ACTIONS, EXIT, scriptInstead } from '../model/actions.ts';
import type { AttemptEnd } from '../model/state/attempt-end-types-and-waits.ts';
import { actionOf, type PhaseOf } from '../model/workflow.ts';
import { renderArg } from '../workflows/templates/render-template.ts';
import { phaseEnvironment, variablesOf } from './attempt-variables-and-environment.ts';
import { capture, excerpt, lastWords } from './capture-values-and-excerpt-output.ts';
import { failure } from './judge-agent-attempt.ts';
import type { PhaseContext } from './phase-context.ts';
import { runAction, type StepResult } from './run-action-in-process.ts';
import { endOfJob, type JobRun, type Limits, runJob } from './run-job.ts';

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
  const { pinned, place, jobDir } = context;
  return {
    dir: jobDir,
    job: async () => {
      const variables = variablesOf(context);
      const path = pinned.scripts[command];
      if (!path) throw new Error(`script ${command} was not found when the workflow was loaded`);
      const words = await Promise.all(args.map((arg) => renderArg(arg, variables)));
      return {
        argv: [path, ...words],
        cwd: place.worktree,
        env: phaseEnvironment(context),
        stdin: null,
        // Every job gets the variable for this file, so the file must exist.
        files: { 'prompt.md': '' },
        stopSignal: 'SIGTERM',
      };
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
  // A refusal has its reason as text, and an action has no exit code that people know.
  const message = last && kind === 'exit' && !result.isAction ? `${how}: ${last}` : last || how;
  return { ...failure(kind, message), output: outputOf(result) };
}

function outputOf(result: StepResult): string {
  const printed = [result.stdoutTail.trimEnd(), result.stderrTail.trimEnd()];
  return excerpt(printed.filter(Boolean).join('\n'), 'end');
}
