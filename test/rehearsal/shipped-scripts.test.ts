import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { fromTemplate, GIT_ENV } from '../support/repo.ts';
import { root } from './agent.ts';

const quiet = { ...GIT_ENV, PATH: process.env.PATH ?? '' };
let dir: string;
let repo: string;
let tree: string;

beforeEach(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), 'scripts-')));
  repo = join(dir, 're po');
  tree = join(dir, 'tree');
  fromTemplate('scripts', repo, (path) => {
    const env = { cwd: path, env: quiet };
    execFileSync('git', ['init', '--quiet', '--template=', '--initial-branch=main'], env);
    execFileSync('git', ['commit', '--quiet', '--allow-empty', '-m', 'Begin'], env);
  });
  // In place of the command line: writes down how it was called.
  writeFileSync(join(dir, 'cli'), `printf %s "$*" > '${dir}/called'\nexit "\${EXIT:-0}"\n`);
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

function git(...args: string[]): void {
  execFileSync('git', args, { cwd: repo, env: quiet });
}

function script(name: string, args: string[] = [], env: Record<string, string> = {}, cwd = dir) {
  const known = { SIGNALBOX_NODE: '/bin/sh', SIGNALBOX_CLI: join(dir, 'cli') };
  return spawnSync(join(root, 'scripts', name), args, {
    cwd,
    env: { ...quiet, ...known, ...env },
    encoding: 'utf8',
  });
}
const called = () => readFileSync(join(dir, 'called'), 'utf8');

/** Scripts that are one command, with that command. */
const CALLS = new Map([
  ['checks.sh', 'checks'],
  ['spec-tick.sh', 'spec tick'],
  ['integrate.sh', 'integrate'],
  ['pull-request.sh', 'forge pr'],
  ['pull-request-review.sh', 'forge review'],
  ['related-tests.sh', 'checks --related'],
  ['pull-request-poll.sh', 'forge poll --for review'],
  ['push-branch.sh', 'forge push'],
  ['sync-branch.sh', 'forge sync'],
  ['answer-review.sh', 'forge answer'],
  ['merge-pull-request.sh', 'forge merge'],
]);
/** More than one command, tried below. */
const MORE = ['reproduced.sh'];
const WORKTREES = ['setup-worktree.sh', 'cleanup-worktree.sh'];

/** Call nothing. */
const TELLS = ['spec-fallback.sh'];

describe('scripts', () => {
  it('are these, each of which is tried here', () => {
    expect(readdirSync(join(root, 'scripts')).sort()).toEqual(
      [...CALLS.keys(), ...WORKTREES, ...MORE, ...TELLS].sort(),
    );
  });

  it.each([...CALLS.keys(), ...WORKTREES, ...MORE])('%s refuses to run outside a workflow', (name) => {
    const run = script(name, ['a', 'b', 'c'], { SIGNALBOX_CLI: '' });
    expect(run.status).toBe(2);
    expect(run.stderr).toContain(`${name}: SIGNALBOX_CLI and SIGNALBOX_NODE are not set`);
  });

  it.each([...CALLS])('%s runs `%s` and passes its exit code on', (name, command) => {
    expect(script(name, [], { EXIT: '3' }).status).toBe(3);
    expect(called()).toBe(command);
  });

  it('pull-request-poll.sh and sync-branch.sh pass on what they are told', () => {
    script('pull-request-poll.sh', ['merge']);
    expect(called()).toBe('forge poll --for merge');
    script('sync-branch.sh', ['--theirs']);
    expect(called()).toBe('forge sync --theirs');
  });

  it('reproduced.sh passes only when the checks fail with what was committed and pass without it', {
    tags: 'full',
  }, () => {
    const commit = (files: Record<string, string>) => {
      for (const [name, text] of Object.entries(files)) writeFileSync(join(repo, name), text);
      git('add', '--all');
      git('commit', '--quiet', '--allow-empty', '-m', 'Work');
      return execFileSync('git', ['rev-parse', 'HEAD'], { cwd: repo, env: quiet, encoding: 'utf8' }).trim();
    };
    const status = () => execFileSync('git', ['status', '--porcelain'], { cwd: repo, env: quiet }).toString();
    // Red while a file says so; a count of its calls.
    const cli = join(dir, 'checks');
    writeFileSync(
      cli,
      `echo "$*" >> '${dir}/calls'
[ -z "$KILL" ] || [ -e 'a b.test' ] || kill -s "$KILL" "$PPID"
[ -z "$EXIT" ] || exit "$EXIT"
! grep -qs red 'a b.test' base old`,
    );
    const run = (base: string, env: Record<string, string> = {}) => {
      const own = { ...env, SIGNALBOX_CLI: cli, SIGNALBOX_BASE: base };
      return script('reproduced.sh', [], own, repo);
    };
    const begin = commit({ base: 'green', old: 'green' });
    expect(run(begin)).toMatchObject({ status: 1, stderr: expect.stringContaining('No test was committed') });
    expect(commit({})).not.toBe(begin);
    expect(run(begin)).toMatchObject({ status: 1, stderr: expect.stringContaining('No test was committed') });
    commit({ 'a b.test': 'green' });
    expect(run(begin)).toMatchObject({ status: 1, stderr: expect.stringContaining('nothing shows the bug') });
    const test = commit({ 'a b.test': 'red', old: 'red' });
    expect(run(begin)).toMatchObject({ status: 0, stdout: expect.stringContaining('as they should') });
    expect(run(begin, { EXIT: '2' }).status).toBe(2);
    expect(status()).toBe('');

    // Cut off while the test is out of the way.
    expect(run(begin, { KILL: 'TERM' }).status).toBe(143);
    expect(status()).toBe('');
    expect(run(begin, { KILL: 'KILL' }).signal).toBe('SIGKILL');
    expect(status()).not.toBe('');
    expect(run(begin).status).toBe(0);
    expect(status()).toBe('');

    const broken = commit({ base: 'red', 'a b.test': 'green', old: 'green' });
    expect(test).not.toBe(broken);
    commit({ 'a b.test': 'red' });
    const both = run(broken);
    expect(both).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('fail without the new test, too'),
    });
    expect(status()).toBe('');
    writeFileSync(join(repo, 'old'), 'mine');
    expect(run(broken)).toMatchObject({ status: 1, stderr: expect.stringContaining('not committed') });
    expect(readFileSync(join(repo, 'old'), 'utf8')).toBe('mine');
  });

  it('spec-fallback.sh says why it is there', () => {
    expect(script('spec-fallback.sh', ['nobody answered'])).toMatchObject({
      status: 0,
      stdout: expect.stringContaining('nobody answered'),
    });
  });

  it('setup-worktree.sh ensures the worktree and sees that it is the right one', () => {
    git('worktree', 'add', '--quiet', '-b', 'ticket/a', tree);
    expect(script('setup-worktree.sh', [repo, 'ticket/a', tree])).toMatchObject({ status: 0, stderr: '' });
    expect(called()).toBe('workspace ensure');
    const other = script('setup-worktree.sh', [repo, 'ticket/b', tree]);
    expect(other.status).toBe(1);
    expect(other.stderr).toContain('is on branch ticket/a; expected ticket/b');
  });

  it('setup-worktree.sh fails when there is no worktree, or one of another repository', () => {
    expect(script('setup-worktree.sh', [repo, 'ticket/a', tree]).stderr).toContain('there is no worktree at');
    execFileSync('git', ['init', '--quiet', '--initial-branch=ticket/a', tree], { env: quiet });
    expect(script('setup-worktree.sh', [repo, 'ticket/a', tree]).stderr).toContain('is not a worktree of');
    expect(script('setup-worktree.sh', [repo]).status).toBe(2);
  });

  it('setup-worktree.sh fails when the worktree cannot be made', () => {
    expect(script('setup-worktree.sh', [repo, 'ticket/a', tree], { EXIT: '4' }).status).toBe(4);
  });

  it('cleanup-worktree.sh releases the worktree, and again when it is gone', () => {
    git('worktree', 'add', '--quiet', '-b', 'ticket/a', tree);
    expect(script('cleanup-worktree.sh', [repo, 'ticket/a', tree]).status).toBe(0);
    expect(called()).toBe('workspace release');
    rmSync(tree, { recursive: true });
    expect(script('cleanup-worktree.sh', [repo, 'ticket/a', tree]).status).toBe(0);
  });

  it('cleanup-worktree.sh leaves a worktree alone that has become another one', () => {
    git('worktree', 'add', '--quiet', '-b', 'ticket/b', tree);
    const run = script('cleanup-worktree.sh', [repo, 'ticket/a', tree]);
    expect(run.status).toBe(1);
    expect(run.stderr).toContain('it is left as it is');
    expect(called).toThrow();
  });
});
