import type { JobResult } from '../machine/jobs/follow.ts';
import { readJob } from '../machine/jobs/job.ts';
import type { AttemptEnd } from '../model/state/outcome.ts';
import type { PhaseOf } from '../model/workflow.ts';
import { renderArg } from '../workflows/index.ts';
import { capture } from './capture.ts';
import { type PhaseContext, variablesOf } from './context.ts';
import { phaseEnvironment } from './environment.ts';
import { excerpt, lastWords } from './excerpt.ts';
import { endOfJob, type JobRun, runJob } from './run-job.ts';

type Command = PhaseOf<'script'> | PhaseOf<'poll'>;

/** How to run a phase's script: arguments are templates and never see a shell. */
export function scriptJob(
  context: PhaseContext<Command>,
  wallSeconds: number,
  idleSeconds: number | null,
): JobRun {
  const { phase, pinned, place, jobDir } = context;
  return {
    dir: jobDir,
    wallSeconds,
    idleSeconds,
    spec: async () => {
      const variables = variablesOf(context);
      const path = pinned.scripts[phase.command];
      if (!path) throw new Error(`script ${phase.command} was not found when the workflow was loaded`);
      const args = await Promise.all(phase.args.map((arg) => renderArg(arg, variables)));
      return {
        argv: [path, ...args],
        cwd: place.worktree,
        env: phaseEnvironment(context, `${jobDir}/prompt.md`),
        stdin: null,
        // The variable is the same for everything that runs, so it never names a file that is not there.
        files: { 'prompt.md': '' },
        stopSignal: 'SIGTERM',
      };
    },
  };
}

/** Exit code 0 is success, 75 is not now, 65 a failure for good; everything else is tried again first. */
export async function performScript(context: PhaseContext<PhaseOf<'script'>>): Promise<AttemptEnd> {
  const { phase, settings } = context;
  const wall = phase.timeoutSeconds ?? settings.timeouts.scriptSeconds;
  const idle = phase.idleSeconds ?? null;
  // One that said "not now" is run again; it is the same attempt still.
  const before = context.resumed ? readJob(context.jobDir) : undefined;
  const resumed = context.resumed && !(before?.state === 'ended' && isNotNow(before.exit));
  const result = await runJob({ ...context, resumed }, scriptJob(context, wall, idle));
  const early = endOfJob(result, wall, idle);
  if (early || !result) return { ...(early as AttemptEnd), output: result ? outputOf(result) : null };
  if (isNotNow(result.exit) && phase.waits !== false) return notNow(context, result);
  if (result.exit.code === NO_USE) return exitFailure(result, 'refused');
  if (result.exit.code !== 0) return exitFailure(result);
  return finishCommand(context, result);
}

/** As sysexits.h has them: a failure that passes by itself, and one that is in what it was given. */
export const NOT_NOW = 75;
const NO_USE = 65;
const PAUSE_MS = 60_000;
const LONGEST_MS = 86_400_000;

function isNotNow({ code }: { code: number | null }): boolean {
  return code === NOT_NOW;
}

/** Waits without a slot, until the time in the first line that it printed or for a minute; after a day it has failed. */
function notNow(context: PhaseContext<PhaseOf<'script'>>, result: JobResult): AttemptEnd {
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

export async function finishCommand(context: PhaseContext<Command>, result: JobResult): Promise<AttemptEnd> {
  const captured = await capture(context, { stdout: result.stdoutTail, result: undefined });
  if (!captured.ok) return { ...captured.end, output: outputOf(result) };
  return { type: 'done', outcome: 'success', captured: captured.values, output: outputOf(result) };
}

export function exitFailure(result: JobResult, kind: 'exit' | 'refused' = 'exit'): AttemptEnd {
  const how = result.exit.signal
    ? `was killed by ${result.exit.signal}`
    : `exited with code ${result.exit.code}`;
  const last = lastWords(result.stderrTail) || lastWords(result.stdoutTail);
  // One that says by its code that it refuses has said why.
  const message = last && kind === 'exit' ? `${how}: ${last}` : last || how;
  return {
    type: 'failed',
    error: { class: kind, message },
    output: outputOf(result),
  };
}

function outputOf(result: JobResult): string {
  return excerpt(
    [result.stdoutTail.trimEnd(), result.stderrTail.trimEnd()].filter(Boolean).join('\n'),
    'end',
  );
}
