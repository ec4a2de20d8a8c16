import { spawn } from 'node:child_process';
import { cleanEnv } from '../../git/environment.ts';
import { killGroup } from '../../git/git.ts';
import { killMarked, markedProcesses, sendSignal } from '../../machine/processes.ts';
import { WorkspaceError } from '../../model/errors.ts';

const TIMEOUT_MS = 10 * 60_000;
const TAIL = 8 * 1024;

/** Carried by every setup command and what it starts: the worktree that it sets up. */
const MARK = 'SIGNALBOX_HOOK';
const markOf = (cwd: string) => `${MARK}=${cwd}`;

export interface HookOptions {
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
  const ms = options.timeoutMs ?? TIMEOUT_MS;
  const { end, output, cut } = await runShell(command, options, ms);
  if (cut) await endHooks(options.cwd);
  if (end === 'exit code 0' && !cut) return undefined;
  return { command, cwd: options.cwd, end, output: output.trim() };
}

function runShell(
  command: string,
  options: HookOptions,
  ms: number,
): Promise<{ end: string; output: string; cut: boolean }> {
  return new Promise((resolve, reject) => {
    const child = spawn('/bin/sh', ['-c', command], {
      cwd: options.cwd,
      env: { ...cleanEnv(options.env), [MARK]: options.cwd },
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let tail = Buffer.alloc(0);
    const keep = (chunk: Buffer) => {
      tail = Buffer.concat([tail, chunk]).subarray(-TAIL);
    };
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      killGroup(child);
    }, ms);
    const stop = () => killGroup(child);
    options.signal?.addEventListener('abort', stop);
    if (options.signal?.aborted) stop();
    const settle = () => {
      clearTimeout(timer);
      options.signal?.removeEventListener('abort', stop);
    };
    child.on('error', (error) => {
      settle();
      reject(
        new WorkspaceError('workspace/hook', `A setup command cannot be started: ${error.message}`, {
          cause: error,
        }),
      );
    });
    let end = '';
    const finish = () => {
      child.stdout.destroy();
      child.stderr.destroy();
      resolve({ end, output: tail.toString('utf8'), cut: late || options.signal?.aborted === true });
    };
    child.on('close', finish);
    child.on('exit', (code, signal) => {
      settle();
      end = late ? `no end after ${ms / 1000} s` : signal ? `signal ${signal}` : `exit code ${code}`;
      // What it left in the background may hold the pipes open for ever.
      setTimeout(finish, 500).unref();
    });
  });
}
