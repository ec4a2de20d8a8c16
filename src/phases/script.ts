import { renderArg } from '../content/index.ts';
import type { JobResult } from '../jobs/follow.ts';
import type { AttemptEnd } from '../model/outcome.ts';
import type { PhaseOf } from '../model/workflow.ts';
import { capture } from './capture.ts';
import { type PhaseContext, variablesOf } from './context.ts';
import { phaseEnvironment } from './environment.ts';
import { endOfJob, type JobRun, runJob } from './run-job.ts';
import { excerpt, lastWords } from './text.ts';

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

/** Exit code 0 is success; everything else is a failure that is tried again first. */
export async function performScript(context: PhaseContext<PhaseOf<'script'>>): Promise<AttemptEnd> {
  const { phase, settings } = context;
  const wall = phase.timeoutSeconds ?? settings.timeouts.scriptSeconds;
  const idle = phase.idleSeconds ?? null;
  const result = await runJob(context, scriptJob(context, wall, idle));
  const early = endOfJob(result, wall, idle);
  if (early || !result) return { ...(early as AttemptEnd), output: result ? outputOf(result) : null };
  if (result.exit.code !== 0) return exitFailure(result);
  return finishCommand(context, result);
}

export async function finishCommand(context: PhaseContext<Command>, result: JobResult): Promise<AttemptEnd> {
  const captured = await capture(context, { stdout: result.stdoutTail, result: undefined });
  if (!captured.ok) return { ...captured.end, output: outputOf(result) };
  return { type: 'done', outcome: 'success', captured: captured.values, output: outputOf(result) };
}

export function exitFailure(result: JobResult): AttemptEnd {
  const how = result.exit.signal
    ? `was killed by ${result.exit.signal}`
    : `exited with code ${result.exit.code}`;
  const last = lastWords(result.stderrTail) || lastWords(result.stdoutTail);
  return {
    type: 'failed',
    error: { class: 'exit', message: last ? `${how}: ${last}` : how },
    output: outputOf(result),
  };
}

function outputOf(result: JobResult): string {
  return excerpt(
    [result.stdoutTail.trimEnd(), result.stderrTail.trimEnd()].filter(Boolean).join('\n'),
    'end',
  );
}
