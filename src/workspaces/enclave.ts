import { copyFileSync, existsSync, lstatSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { WorkspaceError } from '../model/errors.ts';
import { inspect, readHead, type Worktree } from './admin.ts';
import type { Context } from './context.ts';
import { branchRef } from './refs.ts';

/** What a sandboxed agent has in the place of the repository's git directory. */
export interface Enclave {
  /** A git directory of its own: objects are borrowed from the repository's, and there is one branch. */
  gitDir: string;
  /** What must lie over the worktree's `.git`, which names the shared one. */
  link: string;
  /** Where the borrowed objects are; nothing else of the repository is needed. */
  objects: string;
}

const NAME = 'signalbox-enclave';

/** Makes the enclave of a worktree, or brings it up to date: the branch is where the worktree's is. */
export async function openEnclave(context: Context, path: string, branch: string): Promise<Enclave> {
  const tree = worktreeAt(path);
  const gitDir = join(tree.adminDir, NAME);
  const link = `${gitDir}.link`;
  // A warm worktree had another ticket before.
  if (existsSync(gitDir) && readHead(gitDir).branch !== branch)
    rmSync(gitDir, { recursive: true, force: true });
  const at = { gitDir, workTree: tree.path };
  if (!existsSync(gitDir)) {
    mkdirSync(gitDir, { mode: 0o700 });
    await context.git(['init', '--quiet', '--template='], { at, write: true });
  }
  await restore(context, tree, gitDir);
  const { stdout } = await context.git(['rev-parse', '--verify', 'HEAD^{commit}'], { at: tree.at });
  await context.git(['symbolic-ref', 'HEAD', branchRef(branch)], { at, write: true });
  await context.git(['update-ref', branchRef(branch), stdout.trim()], { at, write: true });
  rmSync(join(gitDir, 'index'), { recursive: true, force: true });
  if (existsSync(join(tree.adminDir, 'index')))
    copyFileSync(join(tree.adminDir, 'index'), join(gitDir, 'index'));
  writeFileSync(link, `gitdir: ${gitDir}\n`, { mode: 0o600 });
  return { gitDir, link, objects: join(tree.commonDir, 'objects') };
}

/** Fetches the one branch back. Whatever else was done in the enclave stays there, and nothing in it is obeyed. */
export async function closeEnclave(context: Context, path: string, branch: string): Promise<void> {
  const tree = worktreeAt(path);
  const gitDir = join(tree.adminDir, NAME);
  if (!existsSync(gitDir)) return;
  const ref = branchRef(branch);
  if (tree.head.branch !== branch) return;
  await restore(context, tree, gitDir);
  const at = { gitDir, workTree: tree.path };
  const verify = ['rev-parse', '--verify', '--quiet', `${ref}^{commit}`];
  const made = (await context.git(verify, { at, ok: [0, 1, 128] })).stdout.trim();
  const known = (await context.git(verify, { at: tree.at })).stdout.trim();
  if (made === '' || made === known) return;
  const back = `refs/signalbox/enclave/${branch}`;
  const fetch = ['fetch', '--quiet', '--no-tags', '--no-write-fetch-head', '--no-recurse-submodules'];
  const write = { at: tree.at, write: true } as const;
  await context.git([...fetch, gitDir, `+${ref}:${back}`], {
    ...write,
    config: [['fetch.fsckObjects', 'true']],
  });
  await context.git(['update-ref', ref, made, known], write);
  await context.git(['update-ref', '-d', back], write);
  // The files are the agent's already; only the index has to learn of the new commit.
  await context.git(['reset', '--quiet', '--mixed'], { ...write, ok: [0, 1] });
}

function worktreeAt(path: string): Worktree {
  const found = inspect(path);
  if (found.kind === 'worktree') return found.worktree;
  throw new WorkspaceError(
    'workspace/sandbox',
    `${path} is no worktree of its own, so no agent can be sandboxed in it.`,
    {
      hint: 'Let the plan have worktrees (workspace: own or shared), or take sandbox out of the agent’s entry.',
    },
  );
}

/** Config, hooks and borrowed objects are as we set them, whatever an agent made of them. */
async function restore(context: Context, tree: Worktree, gitDir: string): Promise<void> {
  for (const name of ['', 'objects', 'refs']) {
    if (lstatSync(join(gitDir, name)).isDirectory()) continue;
    throw new WorkspaceError('workspace/sandbox', `${join(gitDir, name)} is no directory any more.`);
  }
  const planted = [
    'hooks',
    'info',
    'config',
    'config.worktree',
    'commondir',
    'shallow',
    'objects/info',
    'modules',
  ];
  for (const name of planted) rmSync(join(gitDir, name), { recursive: true, force: true });
  mkdirSync(join(gitDir, 'objects', 'info'), { recursive: true });
  writeFileSync(join(gitDir, 'objects', 'info', 'alternates'), `${join(tree.commonDir, 'objects')}\n`);
  const identity = await Promise.all(
    ['name', 'email'].map(async (key) => {
      const { stdout } = await context.git(['config', '--get', `user.${key}`], { at: tree.at, ok: [0, 1] });
      return stdout.trim() === '' ? '' : `\t${key} = ${JSON.stringify(stdout.trim())}\n`;
    }),
  );
  const core = '[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n';
  writeFileSync(join(gitDir, 'config'), `${core}[user]\n${identity.join('')}`);
}
