import { copyFileSync, existsSync, lstatSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Context } from '../git/context-and-locks.ts';
import { inspect, readHead, type Worktree } from '../git/inspect-worktrees.ts';
import type { GitLocation } from '../git/locate-git-directories.ts';
import { branchRef } from '../git/refs.ts';
import { findUnreadableEntry, removeSpecial, removeTree } from '../machine/files/read-and-remove-files.ts';
import { WorkspaceError } from '../model/errors.ts';

/** The private git directory that a sandboxed agent has instead of the repository's own. */
export interface Enclave {
  /** A git directory of its own: objects are borrowed from the repository's, and there is one branch. */
  gitDir: string;
  /** The file to mount over the worktree's `.git`, which names the shared one. */
  link: string;
  /** Where the borrowed objects are; nothing else of the repository is needed. */
  objects: string;
}

const NAME = 'signalbox-enclave';
const LIMITS = { timeoutMs: 60_000 };

/** Limits git calls: an agent may have put a named pipe there, which blocks them. */
const withTimeout = (context: Context): Context => ({ ...context, git: context.git.limited(LIMITS) });

/** Whether a sandboxed agent worked in the worktree of this git directory. */
export function hadEnclave(gitDir: string): boolean {
  return existsSync(join(gitDir, NAME));
}

/** Creates the enclave of a worktree or updates it: its branch gets the worktree's commit. */
export async function openEnclave(context: Context, path: string, branch: string): Promise<Enclave> {
  return open(withTimeout(context), await worktreeAt(context, path, branch), branch);
}

/** The enclave as a git location. It shares only objects with the repository. */
function enclaveOf(tree: GitLocation): GitLocation {
  const gitDir = join(tree.gitDir, NAME);
  return { workTree: tree.workTree, gitDir, commonDir: gitDir };
}

async function open(context: Context, tree: Worktree, branch: string): Promise<Enclave> {
  if (hadEnclave(tree.gitDir)) await removeSpecial(tree.workTree);
  const at = enclaveOf(tree);
  const { gitDir } = at;
  const link = `${gitDir}.link`;
  // The enclave is another ticket's (of a warm worktree), or it is broken.
  const unusable =
    (await brokenPart(gitDir)) !== undefined || (await readHead(context.git, at)).branch !== branch;
  if (unusable) await removeTree(gitDir);
  await fetchAfterKilledEngine(context, tree, branch);
  if (!existsSync(gitDir)) {
    mkdirSync(gitDir, { mode: 0o700 });
    await context.git(['init', '--quiet', '--template='], { at, write: true });
  }
  await restoreConfigAndHooks(context, tree, gitDir);
  const { stdout } = await context.git(['rev-parse', '--verify', 'HEAD^{commit}'], { at: tree });
  await context.git(['symbolic-ref', 'HEAD', branchRef(branch)], { at, write: true });
  await context.git(['update-ref', branchRef(branch), stdout.trim()], { at, write: true });
  await removeTree(join(gitDir, 'index'));
  const index = join(tree.gitDir, 'index');
  if (existsSync(index)) copyFileSync(index, join(gitDir, 'index'));
  writeFileSync(link, `gitdir: ${gitDir}\n`, { mode: 0o600 });
  return { gitDir, link, objects: join(tree.commonDir, 'objects') };
}

/** Fetches the branch back. Everything else in the enclave, such as config and hooks, is ignored. */
export async function closeEnclave(given: Context, path: string, branch: string): Promise<void> {
  const context = withTimeout(given);
  const tree = await worktreeAt(context, path, branch);
  await removeSpecial(tree.workTree);
  const work = await commitsToFetchBack(context, tree, branch);
  if (work) await fetchBranchBack(context, tree, branch, work);
}

interface Work {
  made: string;
  known: string;
}

/** The commits of the enclave's branch and of the worktree's; undefined if they are the same. */
async function commitsToFetchBack(
  context: Context,
  tree: Worktree,
  branch: string,
): Promise<Work | undefined> {
  const at = enclaveOf(tree);
  if (!existsSync(at.gitDir) || tree.head.branch !== branch) return undefined;
  await restoreConfigAndHooks(context, tree, at.gitDir);
  const verify = ['rev-parse', '--verify', '--quiet', `${branchRef(branch)}^{commit}`];
  const made = (await context.git(verify, { at, ok: [0, 1, 128] })).stdout.trim();
  const known = (await context.git(verify, { at: tree })).stdout.trim();
  return made === '' || made === known ? undefined : { made, known };
}

async function fetchBranchBack(
  context: Context,
  tree: Worktree,
  branch: string,
  { made, known }: Work,
): Promise<void> {
  const write = { at: tree, write: true } as const;
  const back = await fetchFrom(context, tree, branch, `refs/signalbox/enclave/${branch}`);
  await context.git(['update-ref', branchRef(branch), made, known], write);
  await context.git(['update-ref', '-d', back], write);
  // The files already are as the agent left them; only the index is updated to the new commit.
  await context.git(['reset', '--quiet', '--mixed'], { ...write, ok: [0, 1] });
}

const FETCH_MS = 10 * 60_000;

async function fetchFrom(context: Context, tree: Worktree, branch: string, to: string): Promise<string> {
  const fetch = ['fetch', '--quiet', '--no-tags', '--no-write-fetch-head', '--no-recurse-submodules'];
  await context.git([...fetch, enclaveOf(tree).gitDir, `+${branchRef(branch)}:${to}`], {
    at: tree,
    write: true,
    timeoutMs: FETCH_MS,
    config: [['fetch.fsckObjects', 'true']],
  });
  return to;
}

/**
 * Fetches what a killed engine did not fetch back. Commits on top of the branch are taken over; others are kept on a ref of their
 * own.
 */
async function fetchAfterKilledEngine(context: Context, tree: Worktree, branch: string): Promise<void> {
  const work = await commitsToFetchBack(context, tree, branch);
  if (!work) return;
  const at = enclaveOf(tree);
  const contains = async (later: string, earlier: string) =>
    (await context.git(['merge-base', '--is-ancestor', earlier, later], { at, ok: [0, 1] })).code === 0;
  if (await contains(work.known, work.made)) return;
  if (await contains(work.made, work.known)) return fetchBranchBack(context, tree, branch, work);
  await fetchFrom(context, tree, branch, `refs/signalbox/kept/${work.made}`);
}

async function worktreeAt(context: Context, path: string, branch: string): Promise<Worktree> {
  const found = await inspect(context.git, path, branch);
  if (found.kind === 'worktree') return found.worktree;
  throw new WorkspaceError(
    'workspace/sandbox',
    `${path} is no worktree of its own, so no agent can be sandboxed in it.`,
    {
      hint: 'Let the plan have worktrees (workspace: own or shared), or take sandbox out of the agent’s entry.',
    },
  );
}

/** Resets config, hooks and the path of borrowed objects: an agent may have changed them. */
async function restoreConfigAndHooks(context: Context, tree: Worktree, gitDir: string): Promise<void> {
  const broken = await brokenPart(gitDir);
  if (broken !== undefined)
    throw new WorkspaceError('workspace/sandbox', `The agent’s git directory is broken: ${broken}.`, {
      hint: 'What it has not committed is in the worktree; the next attempt gets a new one.',
      details: { gitDir },
    });
  mkdirSync(join(gitDir, 'objects', 'info'), { recursive: true });
  writeFileSync(join(gitDir, 'objects', 'info', 'alternates'), `${join(tree.commonDir, 'objects')}\n`);
  const identity = await Promise.all(
    ['name', 'email'].map(async (key) => {
      const { stdout } = await context.git(['config', '--get', `user.${key}`], { at: tree, ok: [0, 1] });
      return stdout.trim() === '' ? '' : `\t${key} = ${JSON.stringify(stdout.trim())}\n`;
    }),
  );
  const core =
    '[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogAllRefUpdates = false\n';
  writeFileSync(join(gitDir, 'config'), `${core}[user]\n${identity.join('')}`);
}

const DANGEROUS_FILES = [
  'hooks',
  'info',
  'config',
  'config.worktree',
  'commondir',
  'shallow',
  'objects/info',
  'modules',
  'logs',
];

/**
 * Removes files that are never used, and reports entries that cannot be removed: through a link git would read what the agent
 * wants, and a named pipe would block it for ever.
 */
async function brokenPart(gitDir: string): Promise<string | undefined> {
  const kind = (name: string) => lstatSync(join(gitDir, name), { throwIfNoEntry: false });
  const directory = ['.', 'objects', 'refs'].find((name) => !kind(name)?.isDirectory());
  if (directory) return `${directory} is not a directory`;
  await removeTree(...DANGEROUS_FILES.map((name) => join(gitDir, name)));
  const odd = await findUnreadableEntry(gitDir);
  return odd === undefined ? undefined : `${odd} is no file`;
}
