import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createWorkspaces, type WorkspaceSpec } from '../../src/workspaces/workspaces.ts';
import { atTestEnd } from '../support/ends.ts';
import { fromTemplate } from '../support/repo.ts';

const made: string[] = [];

atTestEnd(() => {
  for (const path of made.splice(0)) rmSync(path, { recursive: true, force: true });
});

export function scratch(): string {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'signalbox-workspaces-')));
  made.push(path);
  return path;
}

/** An environment without the machine's own git config. */
export function testEnv(home: string): Record<string, string | undefined> {
  return {
    PATH: process.env.PATH,
    HOME: home,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: join(home, '.gitconfig'),
  };
}

export const IDENTITY = {
  GIT_AUTHOR_NAME: 'Ada',
  GIT_AUTHOR_EMAIL: 'ada@example.com',
  GIT_COMMITTER_NAME: 'Ada',
  GIT_COMMITTER_EMAIL: 'ada@example.com',
};

export function git(cwd: string, ...args: string[]): string {
  const env = { ...testEnv(cwd), ...IDENTITY };
  // Maintenance after a commit would be a second process.
  const all = ['-c', 'maintenance.auto=false', ...args];
  return execFileSync('git', all, { cwd, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim();
}

export function write(root: string, files: Record<string, string>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
}

export const read = (...parts: string[]) => readFileSync(join(...parts), 'utf8');

/** Writes files, commits everything and returns the commit. */
export function commit(root: string, files: Record<string, string>, message = 'change'): string {
  write(root, files);
  git(root, 'add', '--all');
  git(root, 'commit', '--quiet', '--message', message);
  return git(root, 'rev-parse', 'HEAD');
}

export function makeRepo(
  path: string,
  files: Record<string, string> = { 'a.txt': 'a\n', 'dir/b.txt': 'b\n' },
): string {
  fromTemplate(`workspaces ${JSON.stringify(files)}`, path, (template) => {
    git(template, 'init', '--quiet', '--template=', '--initial-branch=main');
    for (const name of ['hooks', 'info']) mkdirSync(join(template, '.git', name));
    commit(template, files, 'first');
  });
  return read(path, '.git/refs/heads/main').trim();
}

/** A repository, a worktree root beside it, and a maker of specs for both. */
export function bench(files?: Record<string, string>) {
  const root = scratch();
  const repo = join(root, 'repo');
  const first = makeRepo(repo, files);
  const worktreeRoot = join(root, 'worktrees');
  const env = testEnv(root);
  const spec = (id: string, more: Partial<WorkspaceSpec> = {}): WorkspaceSpec => ({
    repo,
    branch: `ticket/${id}`,
    path: join(worktreeRoot, `ticket/${id}`),
    base: null,
    stackOn: [],
    owner: `plan/${id}`,
    hooks: [],
    copy: [],
    caches: ['node_modules'],
    slots: 4,
    worktreeRoot,
    recordedBase: null,
    ...more,
  });
  return { root, repo, first, worktreeRoot, env, spec, workspaces: createWorkspaces({ env }) };
}

/** The error a promise ends with, by code; fails when it does not fail. */
export async function failure(
  promise: Promise<unknown>,
): Promise<{ code: string; message: string; hint: string }> {
  try {
    await promise;
  } catch (error) {
    const { code, message, hint } = error as { code: string; message: string; hint?: string };
    return { code, message, hint: hint ?? '' };
  }
  throw new Error('expected an error');
}
