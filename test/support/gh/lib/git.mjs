import { spawnSync } from 'node:child_process';

const ENV = {
  PATH: process.env.PATH,
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_AUTHOR_NAME: 'GitHub',
  GIT_AUTHOR_EMAIL: 'noreply@example.invalid',
  GIT_COMMITTER_NAME: 'GitHub',
  GIT_COMMITTER_EMAIL: 'noreply@example.invalid',
};

function git(dir, ...args) {
  const { status, stdout } = spawnSync('git', ['--git-dir', dir, ...args], { env: ENV, encoding: 'utf8' });
  return { ok: status === 0, status, text: stdout.trim() };
}

/** The commit a branch of the bare repository points at; '' when there is none (or no repository). */
export function branchTip(dir, branch) {
  if (!dir) return '';
  const { ok, text } = git(dir, 'rev-parse', '--verify', '--quiet', `refs/heads/${branch}`);
  return ok ? text : '';
}

export function conflicts(dir, { baseRefName, headRefName, state }) {
  if (!dir || state !== 'OPEN' || !branchTip(dir, headRefName)) return false;
  return git(dir, 'merge-tree', '--write-tree', baseRefName, headRefName).status === 1;
}

/** Merges in the bare repository as GitHub would; gives the new commit, or '' without a repository. */
export function mergeBranches(dir, { baseRefName, headRefName, title, number }, method) {
  if (!dir) return '';
  const { ok, text } = git(dir, 'merge-tree', '--write-tree', baseRefName, headRefName);
  if (!ok) return undefined;
  const tree = text.split('\n')[0];
  const [base, head] = [branchTip(dir, baseRefName), branchTip(dir, headRefName)];
  const parents = method === 'merge' ? ['-p', base, '-p', head] : ['-p', base];
  const message =
    method === 'merge' ? `Merge pull request #${number} from ${headRefName}` : `${title} (#${number})`;
  const commit = git(dir, 'commit-tree', tree, ...parents, '-m', message).text;
  git(dir, 'update-ref', `refs/heads/${baseRefName}`, commit, base);
  return commit;
}

export function deleteBranch(dir, branch) {
  if (dir) git(dir, 'update-ref', '-d', `refs/heads/${branch}`);
}
