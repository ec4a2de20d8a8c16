import { randomUUID } from 'node:crypto';
import type { Context, Repository } from '../git/context-and-locks.ts';
import { fetchRefs, trustedAccess } from '../git/fetch-and-find-trunk.ts';
import { isAncestor, isCommit, treeOf } from '../git/history.ts';
import type { GitLocation } from '../git/locate-git-directories.ts';
import { commitTree } from '../git/merge-commits-without-worktree.ts';
import { branchRef, checkBranch, readRef, requireTip } from '../git/refs.ts';
import { NO_DIFF_PROGRAMS } from '../git/run-git.ts';
import { readStatus, withScratchIndex } from '../git/status-and-index-marks.ts';
import { WorkspaceError } from '../model/errors.ts';
import { freeBranch, openTree } from './add-remove-repair-worktree.ts';
import { PLAIN_PUSH, PUSH, pushUrl, remoteRefs } from './push-branch.ts';
import { keepOn, rewindTree } from './rewind-or-return-to-branch.ts';
import type { TreeSpec } from './workspace-spec.ts';

/** What origin has of a ticket's work: the last commit of its branch, and a commit on top of it with what is not committed. */
export interface HandOverRefs {
  commits: string;
  wip: string;
}

/**
 * The refs of a hand-over. Git cannot have a ref below another one, so the second is beside the first. Each push changes both or none, and
 * `wip` always: so a machine that does not know the latest one is refused.
 */
const refsOf = (name: string) => ({ commits: `refs/signalbox/${name}`, wip: `refs/signalbox/${name}@wip` });

export interface SnapshotSpec extends TreeSpec {
  /** `<plan>/<ticket>`. */
  name: string;
  /** Distinguishes plans that had the same name one after the other. */
  planMark: string;
  host: string;
  /** Whether a change contains a secret: such a file stays on its machine. */
  isSecret(diff: string): boolean;
  /** What origin has; a worktree with the same content is not pushed again. */
  known: HandOverRefs | undefined;
}

export interface Snapshot extends HandOverRefs {
  /** Files that were left out because of a secret in them. */
  leftOut: string[];
}

/** The state of a worktree as two commits; undefined where origin has that state already. */
export async function snapshotWork(repo: Repository, spec: SnapshotSpec): Promise<Snapshot | undefined> {
  const commits = await requireTip(repo, spec.branch);
  const tree = await openTree(repo.git, spec.path, spec.branch);
  const { id, leftOut } = tree
    ? await workingTree(repo, tree, spec)
    : { id: await treeOf(repo, commits), leftOut: [] };
  const { known } = spec;
  if (known?.commits === commits && (await treeOf(repo, known.wip)) === id) return undefined;
  return { commits, wip: await wipCommit(repo, spec, { commits, tree: id }), leftOut };
}

/** The files of a worktree as a tree object: everything that is not ignored. */
async function workingTree(
  context: Context,
  at: GitLocation,
  { isSecret }: SnapshotSpec,
): Promise<{ id: string; leftOut: string[] }> {
  const status = await readStatus(context.git, at, { all: true });
  const files = [...status.changed, ...status.untracked];
  if (files.length === 0) return { id: await treeOf({ ...context, ...at }, 'HEAD'), leftOut: [] };
  return withScratchIndex(at, async (env) => {
    await context.git(['add', '--all', '--', ':(top)'], { at, env, write: true });
    const args = ['diff', '--cached', '-U0', '--no-color', ...NO_DIFF_PROGRAMS, '--no-renames', 'HEAD', '--'];
    const diff = async (...paths: string[]) => (await context.git([...args, ...paths], { at, env })).stdout;
    const leftOut: string[] = [];
    if (isSecret(await diff()))
      for (const file of files) if (isSecret(await diff(`:(top,literal)${file}`))) leftOut.push(file);
    const input = leftOut.map((file) => `:(top,literal)${file}\0`).join('');
    const reset = ['reset', '--quiet', '--pathspec-from-file=-', '--pathspec-file-nul', 'HEAD'];
    if (leftOut.length > 0) await context.git(reset, { at, env, input, write: true });
    const { stdout } = await context.git(['write-tree'], { at, env, write: true });
    return { id: stdout.trim(), leftOut };
  });
}

/** Every one is another commit, so that a push by a machine that knows an older one is refused. */
function wipCommit(
  repo: Repository,
  { name, host, planMark }: SnapshotSpec,
  { commits, tree }: { commits: string; tree: string },
): Promise<string> {
  const marks = `${PLAN_MARK} ${planMark}\nSignalbox-Id: ${randomUUID()}`;
  const message = `Hand-over of ${name} by ${host}\n\n${marks}`;
  return commitTree(repo, repo, { tree, parents: [commits], message });
}

const PLAN_MARK = 'Signalbox-Plan:';

/** What origin has now. `ofAnotherPlan`: an earlier plan of the same name left it, so it is not this ticket's work. */
export async function originHandOver(
  repo: Repository,
  { name, planMark }: Pick<SnapshotSpec, 'repo' | 'name' | 'planMark'>,
): Promise<(HandOverRefs & { ofAnotherPlan: boolean }) | undefined> {
  const refs = refsOf(name);
  const there = await remoteRefs(repo, Object.values(refs));
  const [commits, wip] = [there.get(refs.commits), there.get(refs.wip)];
  if (commits === undefined || wip === undefined) return undefined;
  if (!(await isCommit(repo, wip))) await fetchRefs(repo, [refs.commits, refs.wip]);
  const { stdout } = await repo.git(['log', '-1', '--format=%B', wip], { at: repo });
  return { commits, wip, ofAnotherPlan: !stdout.includes(`${PLAN_MARK} ${planMark}\n`) };
}

/** What this machine last pushed or took over. */
export async function ownHandOver(
  repo: Repository,
  { name }: Pick<SnapshotSpec, 'repo' | 'name'>,
): Promise<HandOverRefs | undefined> {
  const wip = await readRef(repo, refsOf(name).wip);
  if (wip === undefined) return undefined;
  const { stdout } = await repo.git(['rev-parse', '--verify', `${wip}^`], { at: repo });
  return { commits: stdout.trim(), wip };
}

export interface PushHandOver extends Pick<SnapshotSpec, 'repo' | 'name'> {
  next: HandOverRefs;
  /** What origin must have now; undefined: nothing. */
  expected: HandOverRefs | undefined;
}

/** Pushes both refs together. False: origin has another state than the expected one. Throws where origin cannot be reached. */
export async function pushHandOver(repo: Repository, spec: PushHandOver): Promise<boolean> {
  await pushUrl(repo);
  const refs = refsOf(spec.name);
  const { next, expected } = spec;
  const { entries, env } = await trustedAccess(repo);
  const leases = [
    `--force-with-lease=${refs.commits}:${expected?.commits ?? ''}`,
    `--force-with-lease=${refs.wip}:${expected?.wip ?? ''}`,
  ];
  const pushed = [`${next.commits}:${refs.commits}`, `${next.wip}:${refs.wip}`];
  const { code, stdout, stderr } = await repo.git([...PUSH, '--atomic', ...leases, 'origin', ...pushed], {
    at: repo,
    write: true,
    ok: [0, 1, 128],
    config: [...entries, ...PLAIN_PUSH],
    env,
    timeoutMs: PUSH_TIMEOUT_MS,
  });
  if (code === 0) {
    await repo.git(['update-ref', refs.wip, next.wip], { at: repo, write: true });
    return true;
  }
  if (OTHER_STATE.test(stdout + stderr)) return false;
  const [reason = `exit code ${code}`] = stderr
    .split('\n')
    .filter((line) => /^(fatal|error|ssh|remote): /.test(line));
  throw new WorkspaceError('workspace/push', `The work could not be handed over to origin: ${reason}`, {
    details: { stderr: stderr.slice(-4000) },
  });
}

const PUSH_TIMEOUT_MS = 120_000;
const OTHER_STATE = /stale info|fetch first|incorrect old value|cannot lock ref|reference already exists/;

export interface TakeOverSpec extends TreeSpec {
  name: string;
  from: HandOverRefs;
}

/** Moves the branch, and the worktree where there is one, to what another machine handed over. What was only here is kept on a ref. */
export async function takeOverWork(repo: Repository, spec: TakeOverSpec): Promise<{ keptAt: string | null }> {
  checkBranch(spec.branch);
  const { commits } = spec.from;
  const keepAt = `refs/signalbox/left/${spec.name}-here`;
  const tree = await openTree(repo.git, spec.path, spec.branch);
  if (tree?.commonDir === repo.commonDir && tree.head.branch === spec.branch) {
    const message = `What ${spec.name} left here before another machine continued it`;
    return rewindTree(repo, { ...spec, to: commits, keepAt, message });
  }
  const tip = await readRef(repo, branchRef(spec.branch));
  if (tip === commits) return { keptAt: null };
  if (tip !== undefined) await freeBranch(repo, spec.branch);
  const isOlder = tip === undefined || (await isAncestor(repo, tip, commits));
  const keptAt = isOlder ? null : await keepOn(repo, keepAt, tip);
  const move = ['update-ref', '-m', 'signalbox: hand-over', branchRef(spec.branch), commits];
  await repo.git(move, { at: repo, write: true });
  return { keptAt };
}

/** Brings uncommitted work into a worktree that is at the commit below it. */
export async function restoreUncommitted(
  context: Context,
  { path, branch, wip }: { path: string; branch: string; wip: string },
): Promise<void> {
  const at = await openTree(context.git, path, branch);
  if (!at) return;
  await context.git(['read-tree', '--reset', '-u', wip], { at, write: true });
  await context.git(['reset', '--quiet', '--mixed', 'HEAD'], { at, write: true });
}

/** Fetches the commits of other tickets that this repository does not have. */
export async function fetchHandedOver(
  repo: Repository,
  { wanted }: { repo: string; wanted: readonly { name: string; commit: string }[] },
): Promise<void> {
  const missing: string[] = [];
  for (const { name, commit } of wanted)
    if (!(await isCommit(repo, commit))) missing.push(refsOf(name).commits);
  if (missing.length > 0) await fetchRefs(repo, missing);
}
