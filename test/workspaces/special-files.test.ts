import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  findUnreadableEntry,
  readRegular,
  removeSpecial,
} from '../../src/machine/files/read-and-remove-files.ts';
import { createWorkspaces } from '../../src/workspaces/workspaces.ts';
import { within } from '../support/within.ts';
import { bench, failure, git, scratch } from './helpers.ts';

const pipe = (path: string) => execFileSync('mkfifo', [path]);

describe('a file that an agent may have replaced', () => {
  it('is read only when it is one', () => {
    const dir = scratch();
    pipe(join(dir, 'pipe'));
    writeFileSync(join(dir, 'file'), 'text');
    symlinkSync('/dev/zero', join(dir, 'zero'));
    symlinkSync('file', join(dir, 'link'));
    symlinkSync('loop', join(dir, 'loop'));
    symlinkSync('/proc/kmsg', join(dir, 'kmsg'));
    const read = (name: string) => readRegular(join(dir, name))?.toString();
    expect(['file', 'link', 'pipe', 'zero', 'loop', 'none', '.', 'file/x'].map(read)).toEqual([
      'text',
      'text',
      ...Array(6).fill(undefined),
    ]);
    // The log of the kernel says that it is an empty file.
    expect(read('kmsg') ?? '').toBe('');
  });

  it('is found in a git directory, and removed from a worktree where it holds nothing', async () => {
    const dir = scratch();
    mkdirSync(join(dir, 'a/b'), { recursive: true });
    mkdirSync(join(dir, 'hooks'));
    symlinkSync('x', join(dir, 'hooks', 'pre-commit'));
    const odd = async () => [await findUnreadableEntry(dir), await findUnreadableEntry(dir, 'followed')];
    expect(await odd()).toEqual(['hooks/pre-commit', undefined]);
    pipe(join(dir, 'a/b/pipe'));
    expect(await odd()).toEqual(['a/b/pipe', 'a/b/pipe']);
    symlinkSync('/dev/zero', join(dir, 'a/a'));
    await removeSpecial(dir);
    expect(await odd()).toEqual(['a/a', 'a/a']);
  });
});

describe('a committed repository that would make git wait', () => {
  const rows: [string, (dotGit: string, tree: string) => void][] = [
    ['a pipe for its shared directory', (dotGit) => pipe(join(dotGit, 'commondir'))],
    [
      'a pipe for its HEAD',
      (dotGit) => {
        rmSync(join(dotGit, 'HEAD'));
        pipe(join(dotGit, 'HEAD'));
      },
    ],
    [
      'no HEAD and a pipe for its shared directory',
      (dotGit) => {
        rmSync(join(dotGit, 'HEAD'));
        pipe(join(dotGit, 'commondir'));
      },
    ],
    [
      'a shared directory elsewhere with a pipe for its config',
      (dotGit, tree) => {
        mkdirSync(join(tree, 'elsewhere'));
        pipe(join(tree, 'elsewhere', 'config'));
        writeFileSync(join(dotGit, 'commondir'), join(tree, 'elsewhere'));
      },
    ],
    [
      'a link to a pipe for its config',
      (dotGit, tree) => {
        pipe(join(tree, 'pipe'));
        rmSync(join(dotGit, 'config'));
        symlinkSync(join(tree, 'pipe'), join(dotGit, 'config'));
      },
    ],
  ];
  it.each(rows)('is named instead: %s', async (_, plant) => {
    const { workspaces, spec } = bench();
    const one = spec('one');
    const { base } = await workspaces.ensure(one);
    const sub = join(one.path, 'sub');
    git(one.path, 'init', '--quiet', sub);
    git(sub, 'commit', '--quiet', '--allow-empty', '--message', 'x');
    git(one.path, 'add', 'sub');
    git(one.path, 'commit', '--quiet', '--message', 'sub');
    plant(join(sub, '.git'), one.path);
    const told = [workspaces.evidence(one.path, base.commit), workspaces.release(one)].map(failure);
    for (const each of told) expect((await each).message).toContain('git would wait for it');
  });
});

it('git is not waited for after a stop', async () => {
  const { root, env, spec, workspaces } = bench();
  const one = spec('one');
  await workspaces.ensure(one);
  const slow = join(root, 'slow-git');
  writeFileSync(slow, `#!/bin/sh\ntouch '${root}/began'\nexec sleep 300\n`, { mode: 0o755 });
  const stop = new AbortController();
  const other = createWorkspaces({ env, git: slow });
  const began = performance.now();
  const waiting = other.patient({ signal: stop.signal }).head(one.path);
  stop.abort();
  expect((await failure(waiting)).message).toContain('it was stopped');
  expect(performance.now() - began).toBeLessThan(within(20_000));
  expect(existsSync(join(root, 'began'))).toBe(true);
});
