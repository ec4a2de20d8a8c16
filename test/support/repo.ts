import { execFileSync } from 'node:child_process';
import { appendFileSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Variables that keep git away from the configuration of whoever runs the tests. */
export const GIT_ENV = {
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_AUTHOR_NAME: 'Test',
  GIT_AUTHOR_EMAIL: 'test@example.invalid',
  GIT_COMMITTER_NAME: 'Test',
  GIT_COMMITTER_EMAIL: 'test@example.invalid',
};

export function git(cwd: string, ...args: string[]): string {
  const env = { PATH: process.env.PATH, ...GIT_ENV };
  return execFileSync('git', args, { cwd, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim();
}

let template: string | undefined;

/** A repository with one commit on main. Made once and copied: git is slow where many tests start at once. */
export function makeRepo(path: string): string {
  template ??= makeTemplate();
  cpSync(template, path, { recursive: true });
  return path;
}

export function removeTemplate(): void {
  if (template) rmSync(template, { recursive: true, force: true });
  template = undefined;
}

/** `agent.lock` is ignored: agents use it to notice each other. */
function makeTemplate(): string {
  const path = mkdtempSync(join(tmpdir(), 'signalbox-test-repo-'));
  git(path, 'init', '--quiet', '--template=', '--initial-branch=main');
  mkdirSync(join(path, '.git', 'info'), { recursive: true });
  appendFileSync(join(path, '.git', 'info', 'exclude'), 'agent.lock\n');
  writeFileSync(join(path, 'README.md'), 'A scratch repository.\n');
  git(path, 'add', '--all');
  git(path, 'commit', '--quiet', '--message=Begin');
  return path;
}

/** Paths of all worktrees but the repository's own, slots left out. */
export function worktreesOf(repo: string): string[] {
  return git(repo, 'worktree', 'list', '--porcelain')
    .split('\n')
    .flatMap((line) => (line.startsWith('worktree ') ? [line.slice('worktree '.length)] : []))
    .slice(1)
    .filter((path) => !path.includes('/.slots/'));
}

/** Subjects of the commits a branch has beyond main, oldest first. */
export function commitsOf(repo: string, branch: string): string[] {
  const text = git(repo, 'log', '--reverse', '--format=%s', `main..${branch}`);
  return text === '' ? [] : text.split('\n');
}
