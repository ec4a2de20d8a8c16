import type { Context, Repository } from '../../git/context-and-locks.ts';
import { cleanEnv } from '../../git/environment-and-config.ts';
import type { GitLocation } from '../../git/locate-git-directories.ts';
import { realOf, statOf } from '../../machine/files/read-and-remove-files.ts';
import {
  isAlive,
  killMarked,
  markedProcesses,
  ownIdentity,
  sendSignal,
} from '../../machine/process-identity-and-signals.ts';
import { run } from '../../machine/run-process.ts';
import { WorkspaceError } from '../../model/errors.ts';
import { canonical } from '../resolve-symlinks-make-and-remove-directories.ts';
import { type Owner, readOwnerAt, writeOwner } from '../workspace-owner.ts';
import type { WorkspaceSpec } from '../workspace-spec.ts';
import { copyUntracked } from './copy-untracked-files.ts';
import { dueInstall, install, lockfileOf } from './install-packages.ts';

/** Makes a checkout usable: copies files, then runs the user's setup commands, or installs what the lock file lists. */
export async function setUp(
  repo: Repository,
  spec: WorkspaceSpec,
  { worktree, owner }: { worktree: GitLocation; owner: Owner },
): Promise<string[]> {
  const fresh = await copyUntracked(repo, { patterns: spec.copy, to: worktree.workTree });
  const copied = { ...owner.copied, ...fresh.files };
  const due = await dueFor(repo, spec, worktree, true);
  if (spec.copy.length > 0 || spec.hooks.length > 0 || due) {
    writeOwner(worktree.gitDir, { ...owner, state: 'setup', copied, by: ownIdentity() });
    const options = { cwd: worktree.workTree, env: repo.env, signal: spec.signal };
    await runHooks(spec.hooks, options);
    if (due) await install(worktree, due, (command) => runInstall(command, options, spec.onInstall));
  }
  writeOwner(worktree.gitDir, { ...owner, state: 'ready', copied, by: undefined });
  const unlocked =
    spec.install && !due ? missingLockfileNotes(repo, worktree, spec.install.packageManager) : [];
  return [...fresh.notes, ...unlocked];
}

/** Installs packages again in a ready worktree if its lock file has changed. */
export async function refreshSetup(
  context: Context,
  spec: WorkspaceSpec,
  { worktree, owner }: { worktree: GitLocation; owner: Owner | undefined },
): Promise<void> {
  // A worktree that Signalbox did not create is left as it is.
  const due = owner?.created && (await dueFor(context, spec, worktree, false));
  if (!owner || !due) return;
  writeOwner(worktree.gitDir, { ...owner, state: 'setup', by: ownIdentity() });
  const options = { cwd: worktree.workTree, env: context.env, signal: spec.signal };
  await install(worktree, due, (command) => runInstall(command, options, spec.onInstall));
  writeOwner(worktree.gitDir, { ...owner, state: 'ready', by: undefined });
}

async function dueFor({ git }: Context, spec: WorkspaceSpec, worktree: GitLocation, fresh: boolean) {
  if (!spec.install) return undefined;
  return dueInstall(git, worktree, { wanted: spec.install.packageManager, fresh });
}

/** Notes that no packages were installed, because checks that need them will fail. */
function missingLockfileNotes(repo: GitLocation, worktree: GitLocation, wanted: string | null): string[] {
  if (lockfileOf(worktree.workTree, wanted) !== undefined) return [];
  const lockfile = lockfileOf(repo.workTree, wanted);
  if (lockfile === undefined) return [];
  const way = `commit it to the base branch, or name it in the setting "copy"`;
  return [`Nothing was installed: ${lockfile} is in your checkout alone. To have it installed, ${way}.`];
}

/** Ends setup commands that a killed engine left running, before new ones or an agent start. */
export async function endSetup(path: string): Promise<void> {
  const workTree = canonical(path);
  const owner = readOwnerAt(workTree);
  if (owner?.state !== 'setup') return;
  const { by } = owner;
  if (by && by.pid !== process.pid && isAlive(by))
    throw new WorkspaceError('workspace/busy', `Process ${by.pid} is setting up ${path}.`, {
      hint: 'Wait until it is done, then retry the ticket.',
      details: { path, pid: by.pid },
    });
  await endHooks(realOf(workTree) ?? workTree);
}

/** Whether the worktree exists and its setup is finished. If not, `ensure` creates or finishes it. */
export function isReady(path: string): boolean {
  return statOf(path) !== undefined && (readOwnerAt(path)?.state ?? 'ready') === 'ready';
}

const TIMEOUT_MS = 10 * 60_000;
const TAIL_BYTES = 8 * 1024;

/** An environment variable of every setup command and its children: the worktree that it sets up. */
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
    hint: 'It starts again when the ticket continues.',
  });
}

/** Ends setup commands that a killed engine left running in a worktree. Resolves when they have ended. */
export async function endHooks(cwd: string): Promise<void> {
  // Kills the process group first: children with a clean environment cannot be found otherwise.
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
export async function runInstall(
  command: string,
  options: HookOptions,
  onBegin?: WorkspaceSpec['onInstall'],
): Promise<void> {
  refuseStopped(options);
  onBegin?.(command);
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
  const causeText = cause ? `: ${cause}` : '';
  // Does not repeat output that the cause already contains.
  const printed = output === '' || output === cause ? '' : `\nIt printed:\n${output}`;
  return new WorkspaceError(
    'workspace/hook',
    `${who} ended with ${end}${causeText}${/[.!?…]$/.test(causeText) ? '' : '.'}`,
    { hint: `${way} what it needs in ${cwd}.${printed}`, details: { command, path: cwd, output } },
  );
}

/** The most useful line: the first that mentions an error and is not only a code, else the last. */
function causeIn(output: string): string | undefined {
  const lines = output.split('\n').flatMap((line) => line.trim() || []);
  const errors = lines.filter((line) => /\berr(or)?\b/i.test(line));
  const errorLine = errors.find((line) =>
    /\s\S+\s+\S+\s+\S+/.test(line.replace(/^\W*(npm|pnpm|yarn)?\s*(err!|error)\S*/i, '')),
  );
  return (errorLine ?? errors[0] ?? lines.at(-1))?.slice(0, 300);
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
    mergeOutput: true,
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
