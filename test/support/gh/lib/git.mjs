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

const tips = new Map();
const conflicting = new Map();

/** At the start of a call: branches may have moved since the one before. Asking git for each answer would be most of the work. */
export function forgetTips() {
  tips.clear();
}

/** The commit a branch of the bare repository points at; '' when there is none (or no repository). */
export function branchTip(dir, branch) {
  if (!dir) return '';
  if (!tips.has(dir)) {
    const { text } = git(dir, 'for-each-ref', '--format=%(refname:lstrip=2) %(objectname)', 'refs/heads');
    tips.set(dir, new Map(text.split('\n').map((line) => line.split(' '))));
  }
  return tips.get(dir).get(branch) ?? '';
}

export function conflicts(dir, { baseRefName, headRefName, state }) {
  const [base, head] = [branchTip(dir, baseRefName), branchTip(dir, headRefName)];
  if (state !== 'OPEN' || base === '' || head === '') return false;
  const commits = `${base} ${head}`;
  if (!conflicting.has(commits))
    conflicting.set(commits, git(dir, 'merge-tree', '--write-tree', base, head).status === 1);
  return conflicting.get(commits);
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
  forgetTips();
  return commit;
}

export function deleteBranch(dir, branch) {
  if (dir) git(dir, 'update-ref', '-d', `refs/heads/${branch}`);
  forgetTips();
}
