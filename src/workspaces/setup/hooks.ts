import { cleanEnv } from '../../git/environment.ts';
import { killMarked, markedProcesses, sendSignal } from '../../machine/processes.ts';
import { run } from '../../machine/run.ts';
import { WorkspaceError } from '../../model/errors.ts';

const TIMEOUT_MS = 10 * 60_000;
const TAIL_BYTES = 8 * 1024;

/** Carried by every setup command and what it starts: the worktree that it sets up. */
const MARK = 'SIGNALBOX_HOOK';
const markOf = (cwd: string) => `${MARK}=${cwd}`;

interface HookOptions {
  cwd: string;
  env: Record<string, string | undefined>;
  timeoutMs?: number;
  signal?: AbortSignal | undefined;
}

/** Runs the user's setup commands one after the other; the first that fails is an error with what it printed last. */
export async function runHooks(commands: string[], options: HookOptions): Promise<void> {
  for (const command of commands) {
    refuseStopped(options);
    await runHook(command, options);
  }
}

function refuseStopped({ signal, cwd }: HookOptions): void {
  if (!signal?.aborted) return;
  throw new WorkspaceError('workspace/hook', `The setup of ${cwd} was stopped.`, {
    hint: 'It begins again when the ticket goes on.',
  });
}

/** Ends the setup commands that an engine which is gone left running in a worktree. Resolves when they are gone. */
export async function endHooks(cwd: string): Promise<void> {
  // Its group first: what was started with a clean environment is found by nothing else.
  for (const pid of await markedProcesses(markOf(cwd))) sendSignal(-pid, 'SIGKILL');
  const [left] = await killMarked(markOf(cwd));
  if (left === undefined) return;
  throw new WorkspaceError('workspace/busy', `A setup command (process ${left}) still runs in ${cwd}.`, {
    hint: 'End it, then retry the ticket.',
    details: { path: cwd, pid: left },
  });
}

async function runHook(command: string, options: HookOptions): Promise<void> {
  const failed = await runToEnd(command, options);
  if (failed)
    throw failedSetup(
      `The setup command ${JSON.stringify(command)}`,
      'Correct hooks.afterCreate, or',
      failed,
    );
}

/** Installs what a project's lock file says. */
export async function runInstall(command: string, options: HookOptions): Promise<void> {
  refuseStopped(options);
  const failed = await runToEnd(command, options);
  if (failed) throw failedSetup(`What the project needs was not installed: ${command}`, 'Correct', failed);
}

interface FailedSetup {
  command: string;
  cwd: string;
  end: string;
  output: string;
}

function failedSetup(who: string, way: string, { command, cwd, end, output }: FailedSetup): WorkspaceError {
  const cause = causeIn(output);
  const said = cause ? `: ${cause}` : '';
  // Output that the cause has told in full is not told again.
  const printed = output === '' || output === cause ? '' : `\nIt printed:\n${output}`;
  return new WorkspaceError(
    'workspace/hook',
    `${who} ended with ${end}${said}${/[.!?…]$/.test(said) ? '' : '.'}`,
    {
      hint: `${way} what it needs in ${cwd}.${printed}`,
      details: { command, path: cwd, output },
    },
  );
}

/** The line that says most: the first that speaks of an error and is not only a code, else the last. */
function causeIn(output: string): string | undefined {
  const lines = output.split('\n').flatMap((line) => line.trim() || []);
  const errors = lines.filter((line) => /\berr(or)?\b/i.test(line));
  const said = errors.find((line) =>
    /\s\S+\s+\S+\s+\S+/.test(line.replace(/^\W*(npm|pnpm|yarn)?\s*(err!|error)\S*/i, '')),
  );
  return (said ?? errors[0] ?? lines.at(-1))?.slice(0, 300);
}

/** Undefined when all went well. */
async function runToEnd(command: string, options: HookOptions): Promise<FailedSetup | undefined> {
  const { cwd, signal: abort, timeoutMs = TIMEOUT_MS } = options;
  const end = await run('/bin/sh', ['-c', command], {
    cwd,
    env: { ...cleanEnv(options.env), [MARK]: cwd },
    timeoutMs,
    signal: abort,
    tailBytes: TAIL_BYTES,
    together: true,
    leftovers: 'keep',
  });
  const { code, signal, stopped, error } = end;
  if (error)
    throw new WorkspaceError('workspace/hook', `A setup command cannot be started: ${error.message}`, {
      cause: error,
    });
  if (stopped) await endHooks(cwd);
  if (code === 0 && !stopped) return undefined;
  const ended = signal ? `signal ${signal}` : `exit code ${code}`;
  const how = stopped === 'timeout' ? `no end after ${timeoutMs / 1000} s` : ended;
  return { command, cwd, end: how, output: end.stdout.trim() };
}
