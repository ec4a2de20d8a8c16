import { execFileSync } from 'node:child_process';
import { appendFileSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { atFileEnd } from './ends.ts';

/** The tests' own git configuration: no maintenance after each commit, which would be a second process. */
export const GIT_CONFIG = fileURLToPath(new URL('./gitconfig', import.meta.url));

/** Variables that keep git away from the configuration of the person who runs the tests. */
export const GIT_ENV = {
  GIT_CONFIG_GLOBAL: GIT_CONFIG,
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

const templates = new Map<string, string>();

atFileEnd(() => {
  for (const path of templates.values()) rmSync(path, { recursive: true, force: true });
  templates.clear();
});

/** Copies a directory that `make` fills once per test file: a copy takes less time than the git processes that made it. */
export function fromTemplate(key: string, path: string, make: (path: string) => void): void {
  let template = templates.get(key);
  if (template === undefined) {
    template = mkdtempSync(join(tmpdir(), 'signalbox-test-template-'));
    make(template);
    templates.set(key, template);
  }
  cpSync(template, path, { recursive: true });
}

/** A repository with one commit on main. */
export function makeRepo(path: string): string {
  fromTemplate('repo', path, makeTemplate);
  return path;
}

/** `agent.lock` is ignored: agents use it to notice each other. */
function makeTemplate(path: string): void {
  git(path, 'init', '--quiet', '--template=', '--initial-branch=main');
  mkdirSync(join(path, '.git', 'info'), { recursive: true });
  appendFileSync(join(path, '.git', 'info', 'exclude'), 'agent.lock\n');
  writeFileSync(join(path, 'README.md'), 'A scratch repository.\n');
  git(path, 'add', '--all');
  git(path, 'commit', '--quiet', '--message=Begin');
}

/** Makes a commit on a branch without a checkout, and returns it: one process instead of eight. Files of `start` stay. */
export function commitFiles(
  repo: string,
  branch: string,
  start: string,
  files: Record<string, string>,
  message: string,
): string {
  const from = /^[0-9a-f]{40}$/.test(start) ? start : git(repo, 'rev-parse', start);
  const data = (text: string) => `data ${Buffer.byteLength(text)}\n${text}\n`;
  const who = `${GIT_ENV.GIT_COMMITTER_NAME} <${GIT_ENV.GIT_COMMITTER_EMAIL}>`;
  const seconds = Math.floor(Date.now() / 1000);
  const changes = Object.entries(files).map(([name, text]) => `M 100644 inline ${name}\n${data(text)}`);
  const input = [
    `commit refs/heads/${branch}\nmark :1\ncommitter ${who} ${seconds} +0000\n`,
    `${data(message)}from ${from}\n`,
    ...changes,
    'get-mark :1\n',
  ];
  const options = { cwd: repo, env: { PATH: process.env.PATH, ...GIT_ENV }, encoding: 'utf8' } as const;
  return execFileSync('git', ['fast-import', '--quiet', '--force'], {
    ...options,
    input: input.join(''),
  }).trim();
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
