import { existsSync, realpathSync, statSync } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';
import { WorkspaceError } from '../model/errors.ts';
import type { GitLocation } from './locate-git-directories.ts';
import { isOid } from './refs.ts';
import type { Git } from './run-git.ts';

const QUERY = [
  'rev-parse',
  '--is-bare-repository',
  '--path-format=absolute',
  '--show-toplevel',
  '--git-dir',
  '--git-common-dir',
  'HEAD',
  '--symbolic-full-name',
  'refs/remotes/origin/HEAD',
];

/** Finds and checks the repository that a directory belongs to; `originHead` is the target of origin's HEAD here. */
export async function findRepo(git: Git, path: string): Promise<GitLocation & { originHead: string }> {
  if (!isAbsolute(path))
    throw new WorkspaceError('workspace/repo-relative', `The repository path ${path} is not absolute.`);
  if (!statSync(path, { throwIfNoEntry: false })?.isDirectory())
    throw new WorkspaceError(
      'workspace/repo-missing',
      `The repository ${path} does not exist or is not a directory.`,
      {
        hint: 'Correct `repo` in the plan or ticket, or clone the repository there.',
        details: { repo: path },
      },
    );
  const { code, stdout, stderr } = await git.discover(QUERY, path);
  const [bare, workTree, gitDir, commonDir, head = '', originHead = ''] = stdout.split('\n');
  if (bare === 'true')
    throw new WorkspaceError('workspace/repo-bare', `The repository ${path} is bare: it has no checkout.`, {
      hint: 'Name a normal clone of it instead.',
      details: { repo: path },
    });
  // Without a commit HEAD has no answer, and without an origin its HEAD has none.
  const hasHead = isOid(head) || head === 'HEAD';
  if ((code !== 0 && !hasHead) || !workTree || !gitDir || !commonDir)
    throw new WorkspaceError('workspace/not-a-repo', `${path} is not in the checkout of a git repository.`, {
      hint: stderr.includes('dubious ownership')
        ? `Git refuses it because another user owns it: git config --global --add safe.directory ${path}`
        : `Correct \`repo\`, or make it one: git -C ${path} init`,
      details: { repo: path, stderr },
    });
  if (checkoutAround(path) !== workTree)
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
  if (!isOid(head))
    throw new WorkspaceError(
      'workspace/no-commit',
      `The repository ${workTree} has no commit to start from.`,
      {
        hint: `Make a first commit: git -C ${workTree} commit --allow-empty -m "Initial commit"`,
        details: { repo: path },
      },
    );
  return { ...repo, originHead };
}

/** The nearest directory upwards that has a `.git`, symlinks resolved. */
function checkoutAround(path: string): string | undefined {
  for (let at = realpathSync.native(path); ; at = dirname(at)) {
    if (existsSync(join(at, '.git'))) return at;
    if (dirname(at) === at) return undefined;
  }
}
