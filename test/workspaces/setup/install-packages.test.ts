import { chmodSync, existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createWorkspaces } from '../../../src/workspaces/workspaces.ts';
import { bench, commit, failure, git, read, write } from '../helpers.ts';

const PACKAGE = { 'package.json': '{}\n', '.gitignore': 'node_modules\n' };
const lock = (content: string) => ({ 'package-lock.json': `${content}\n` });
const install = { packageManager: null };

/** A repository, and an npm that notes the lock file which it installs. */
function project(files: Record<string, string>) {
  const made = bench(files);
  const bin = join(made.root, 'bin');
  mkdirSync(bin);
  const script =
    'test ! -e ../../../broken || { echo "npm error code E404"; echo "npm error 404 Not Found - GET left-pad"; exit 1; }\n' +
    `mkdir -p node_modules && cat package-lock.json >> '${made.root}/installed'`;
  writeFileSync(join(bin, 'npm'), `#!/bin/sh\n${script}\n`);
  chmodSync(join(bin, 'npm'), 0o755);
  const workspaces = createWorkspaces({ env: { ...made.env, PATH: `${bin}:${made.env.PATH}` } });
  const spec: typeof made.spec = (id, more) => made.spec(id, { install, ...more });
  const installed = () =>
    existsSync(join(made.root, 'installed')) ? read(made.root, 'installed').split('\n').slice(0, -1) : [];
  return { ...made, workspaces, spec, installed };
}

describe('the packages of a worktree', () => {
  it('are what its own lock file says, not that of the checkout', async () => {
    const { repo, workspaces, spec, installed } = project({ ...PACKAGE, ...lock('one') });
    git(repo, 'switch', '--quiet', '--create', 'old');
    git(repo, 'rm', '--quiet', 'package-lock.json');
    git(repo, 'commit', '--quiet', '--message=none');
    const { notes } = await workspaces.ensure(spec('one', { base: 'main' }));
    expect(installed()).toEqual(['one']);
    expect(notes).toEqual([]);
  });

  it('are left out, which is told, where only the checkout has a lock file', async () => {
    const { repo, workspaces, spec, installed } = project({
      'package.json': '{}\n',
      '.gitignore': 'node_modules\npackage-lock.json\n',
    });
    write(repo, lock('mine'));
    const { notes } = await workspaces.ensure(spec('one'));
    expect(notes).toEqual([expect.stringContaining('package-lock.json is in your checkout alone')]);
    expect(installed()).toEqual([]);
    await workspaces.ensure(spec('two', { copy: ['package-lock.json'] }));
    expect(installed()).toEqual(['mine']);
  });

  it.each([0, 4])(
    'come with the branch of a prerequisite that brings a lock file, %i slots',
    async (slots) => {
      const { workspaces, spec, installed } = project({ ...PACKAGE });
      const a = spec('a', { slots });
      await workspaces.ensure(a);
      commit(a.path, lock('one'), 'lock');
      await workspaces.release(a);
      await workspaces.ensure(spec('b', { slots, stackOn: [a.branch] }));
      expect(installed()).toEqual(['one']);
      await workspaces.release(spec('b', { slots }));
      await workspaces.ensure(spec('c', { slots, stackOn: [a.branch] }));
      expect(installed()).toEqual(slots === 0 ? ['one', 'one'] : ['one']);
    },
  );

  it('are installed again in a kept worktree when its lock file has changed, and only then', {
    tags: 'full',
  }, async () => {
    const { workspaces, spec, installed } = project({ ...PACKAGE, ...lock('one') });
    const a = spec('a');
    const b = spec('b', { stackOn: [a.branch] });
    await workspaces.ensure(a);
    commit(a.path, { 'a.txt': 'a\n' }, 'a');
    await workspaces.ensure(b);
    await workspaces.ensure(b);
    expect(installed()).toEqual(['one', 'one']);
    commit(a.path, lock('two'), 'more');
    await workspaces.ensure(b);
    expect(installed()).toEqual(['one', 'one', 'two']);
    commit(b.path, lock('three'), 'pushed by somebody');
    await workspaces.refresh(b);
    await workspaces.refresh(b);
    expect(installed()).toEqual(['one', 'one', 'two', 'three']);
    expect(workspaces.isReady(b.path)).toBe(true);
  });

  it('are not replaced where they are committed, a link, or in a worktree that was there before', async () => {
    const { root, repo, workspaces, spec, installed } = project({
      'package.json': '{}\n',
      'node_modules/x.js': '\n',
      ...lock('one'),
    });
    await workspaces.ensure(spec('committed'));
    const own = spec('own');
    git(repo, 'worktree', 'add', '--quiet', '-b', own.branch, own.path);
    await workspaces.ensure(own);
    commit(own.path, lock('two'), 'more');
    await workspaces.ensure(own);
    const link = spec('link');
    await workspaces.ensure(link);
    rmSync(join(link.path, 'node_modules'), { recursive: true });
    symlinkSync(root, join(link.path, 'node_modules'));
    await workspaces.ensure(link);
    expect(installed()).toEqual([]);
  });

  it('that cannot be installed are an error with the cause, and are tried again', async () => {
    const { root, workspaces, spec, installed } = project({ ...PACKAGE, ...lock('one') });
    write(root, { broken: '' });
    const error = await failure(workspaces.ensure(spec('one')));
    expect(error.message).toBe(
      'What the project needs was not installed: npm ci --no-audit --no-fund ended with exit code 1: ' +
        'npm error 404 Not Found - GET left-pad.',
    );
    expect(error.hint).not.toContain('hooks.afterCreate');
    rmSync(join(root, 'broken'));
    await workspaces.ensure(spec('one'));
    expect(installed()).toEqual(['one']);
  });
});
