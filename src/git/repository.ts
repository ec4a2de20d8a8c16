import { existsSync, realpathSync, statSync } from 'node:fs';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { WorkspaceError } from '../model/errors.ts';
import type { Git, Place } from './git.ts';
import { branchRef, hasFileRefs, readFileRef, readText } from './refs.ts';
import { readHead } from './worktrees.ts';

/** The user's repository: its checkout (`workTree`), that checkout's git directory, and the shared one. */
export interface Repo extends Place {
  commonDir: string;
}

const QUERY = [
  'rev-parse',
  '--is-bare-repository',
  '--path-format=absolute',
  '--show-toplevel',
  '--git-dir',
  '--git-common-dir',
];

/** Finds and checks the repository that a directory belongs to. */
export async function findRepo(git: Git, path: string): Promise<Repo> {
  if (!isAbsolute(path))
    throw new WorkspaceError('workspace/repo-relative', `The repository path ${path} is not absolute.`);
  if (!statSync(path, { throwIfNoEntry: false })?.isDirectory())
    throw new WorkspaceError(
      'workspace/repo-missing',
      `The repository ${path} does not exist or is no directory.`,
      {
        hint: 'Correct `repo` in the plan or ticket, or clone the repository there.',
        details: { repo: path },
      },
    );
  const { code, stdout, stderr } = await git.discover(QUERY, path);
  const [bare, workTree, gitDir, commonDir] = stdout.split('\n');
  if (bare === 'true')
    throw new WorkspaceError('workspace/repo-bare', `The repository ${path} is bare: it has no checkout.`, {
      hint: 'Name a normal clone of it instead.',
      details: { repo: path },
    });
  if (code !== 0 || !workTree || !gitDir || !commonDir)
    throw new WorkspaceError('workspace/not-a-repo', `${path} is not in the checkout of a git repository.`, {
      hint: stderr.includes('dubious ownership')
        ? `Git refuses it because another user owns it: git config --global --add safe.directory ${path}`
        : `Correct \`repo\`, or make it one: git -C ${path} init`,
      details: { repo: path, stderr },
    });
  if (checkoutOf(path) !== workTree)
    throw new WorkspaceError(
      'workspace/core-worktree',
      `core.worktree of ${path} points to another directory, ${workTree}.`,
      {
        hint: `If you did not set it, remove it: git -C ${path} config --unset core.worktree`,
        details: { repo: path, workTree },
      },
    );
  const repo = { workTree, gitDir, commonDir: realpathSync.native(commonDir) };
  git.adopt(repo.commonDir);
  if (!(await hasCommit(git, repo)))
    throw new WorkspaceError(
      'workspace/no-commit',
      `The repository ${workTree} has no commit to start from.`,
      {
        hint: `Make a first commit: git -C ${workTree} commit --allow-empty -m "Initial commit"`,
        details: { repo: path },
      },
    );
  return repo;
}

/** Where refs are files nobody has to be asked. */
async function hasCommit(git: Git, repo: Repo): Promise<boolean> {
  const { branch, oid } = readHead(repo.gitDir);
  if (oid || (branch && hasFileRefs(repo.commonDir) && readFileRef(repo.commonDir, branchRef(branch))))
    return true;
  const asked = ['rev-parse', '--quiet', '--verify', 'HEAD^{commit}'];
  return (await git(asked, { at: repo, ok: [0, 1, 128] })).code === 0;
}

/** The nearest directory upwards that has a `.git`, symlinks resolved. */
function checkoutOf(path: string): string | undefined {
  for (let at = realpathSync.native(path); ; at = dirname(at)) {
    if (existsSync(join(at, '.git'))) return at;
    if (dirname(at) === at) return undefined;
  }
}

/** The shared git directory of whatever checkout `path` is in, by reading files alone. */
export function commonDirOf(path: string): string | undefined {
  if (!existsSync(path)) return undefined;
  const root = checkoutOf(path);
  if (root === undefined) return undefined;
  const dotGit = join(root, '.git');
  const link = statSync(dotGit).isDirectory() ? dotGit : /^gitdir: (.+)$/.exec(readText(dotGit) ?? '')?.[1];
  if (link === undefined) return undefined;
  const gitDir = resolve(root, link);
  const common = readText(join(gitDir, 'commondir'));
  const target = common === undefined ? gitDir : resolve(gitDir, common);
  return existsSync(target) ? realpathSync.native(target) : undefined;
}
