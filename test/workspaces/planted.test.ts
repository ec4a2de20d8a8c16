import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createWorkspaces } from '../../src/workspaces/workspaces.ts';
import { bench, commit, failure, git, read, write } from './helpers.ts';

/** A program that leaves a mark when anything runs it. */
function trap(root: string) {
  const mark = join(root, 'mark');
  const program = join(root, 'trap');
  writeFileSync(program, `#!/bin/sh\necho "$0 $*" >> ${mark}\nexit 0\n`);
  chmodSync(program, 0o755);
  return { program, sprung: () => (existsSync(mark) ? read(mark) : '') };
}

const HOOKS = [
  'post-checkout',
  'reference-transaction',
  'post-index-change',
  'pre-commit',
  'post-commit',
  'pre-auto-gc',
  'post-merge',
];

it('runs no hook and no program that somebody planted in the shared config', async () => {
  const { root, repo, spec, workspaces } = bench({
    '.gitattributes': '*.txt diff=planted\n',
    'a.txt': 'a\n',
  });
  const { program, sprung } = trap(root);
  await workspaces.ensure(spec('one'));
  await workspaces.release(spec('one'));

  mkdirSync(join(root, 'hooks'));
  for (const hook of HOOKS) {
    for (const directory of [join(root, 'hooks'), join(repo, '.git/hooks')]) {
      writeFileSync(join(directory, hook), `#!/bin/sh\n${program} ${hook}\n`, { mode: 0o755 });
    }
    git(repo, 'config', `hook.planted-${hook}.event`, hook);
    git(repo, 'config', `hook.planted-${hook}.command`, `${program} configured-${hook}`);
  }
  git(repo, 'config', 'core.hooksPath', join(root, 'hooks'));
  const keys = [
    'core.fsmonitor',
    'core.pager',
    'core.editor',
    'core.sshCommand',
    'core.askPass',
    'core.alternateRefsCommand',
    'diff.external',
    'diff.planted.textconv',
    'diff.planted.command',
    'gpg.program',
    'credential.helper',
    'alias.status',
    'alias.switch',
    'remote.origin.uploadpack',
  ];
  for (const key of keys) git(repo, 'config', key, program);
  for (const key of ['commit.gpgSign', 'log.showSignature', 'pager.diff', 'pager.status'])
    git(repo, 'config', key, 'true');

  const two = spec('two');
  const { base, reused } = await workspaces.ensure(two);
  expect(reused).toBe(true);
  write(two.path, { 'a.txt': 'changed\n', new: 'x' });
  await workspaces.evidence(two.path, base.commit);
  await workspaces.fingerprint(two.path);
  await workspaces.diff(two, base.commit);
  await workspaces.evidence(repo, base.commit);
  const safe = ['-c', 'core.hooksPath=/dev/null', '-c', 'core.fsmonitor=false', '-c', 'commit.gpgSign=false'];
  git(two.path, ...safe, 'add', '--all');
  git(two.path, ...safe, 'commit', '--quiet', '-m', 'x');
  const before = sprung();
  expect(await workspaces.integrate({ ...two, message: 'x' })).toHaveProperty('commit');
  expect(await workspaces.release(two)).toEqual({ released: true, slot: true });
  await workspaces.ensure(spec('three', { slots: 0 }));
  await workspaces.ensure(spec('four', { slots: 0 }));
  expect(await workspaces.release(spec('four', { slots: 0 }))).toEqual({ released: true, slot: false });
  expect(before).toBe('');
  expect(sprung()).toBe('');
});

it('fetches with no planted program, whatever the remote is said to be', async () => {
  const all = bench();
  const { program, sprung } = trap(all.root);
  const origin = join(all.root, 'origin.git');
  git(all.root, 'clone', '--quiet', '--bare', all.repo, origin);
  git(all.repo, 'remote', 'add', 'origin', origin);
  git(all.repo, 'fetch', '--quiet', 'origin');
  git(all.repo, 'remote', 'set-head', 'origin', 'main');
  for (const key of [
    'core.sshCommand',
    'core.gitProxy',
    'core.askPass',
    'credential.helper',
    'remote.origin.uploadpack',
  ])
    git(all.repo, 'config', key, program);
  git(all.repo, 'config', 'protocol.ext.allow', 'always');
  git(all.repo, 'config', '--add', 'remote.origin.fetch', '+refs/heads/main:refs/heads/overwritten');
  let tries = 0;
  const fetch = async (url: string, vcs?: string) => {
    git(all.repo, 'config', 'remote.origin.url', url);
    if (vcs) git(all.repo, 'config', 'remote.origin.vcs', vcs);
    writeFileSync(join(all.repo, '.git/signalbox-fetched'), '{}');
    tries += 1;
    const engine = createWorkspaces({ env: { ...all.env, GIT_SSH: '/bin/false' } });
    return (await engine.ensure(all.spec(`t${tries}`))).notes;
  };
  expect(await fetch(origin)).toEqual([]);
  expect(git(all.repo, 'branch', '--list', 'overwritten')).toBe('');
  for (const url of [`ext::${program} %S`, 'ssh://localhost:1/nothing', 'git://localhost:1/nothing'])
    expect(await fetch(url)).toEqual([expect.stringContaining('was not fetched')]);
  expect(await fetch(`${program} x`, 'ext')).toEqual([expect.stringContaining('was not fetched')]);
  expect(sprung()).toBe('');
});

it("uses the ssh command of the user's own config", async () => {
  const all = bench();
  const { program, sprung } = trap(all.root);
  git(all.repo, 'remote', 'add', 'origin', 'ssh://localhost:1/nothing');
  git(all.repo, 'update-ref', 'refs/remotes/origin/main', 'main');
  git(all.repo, 'remote', 'set-head', 'origin', 'main');
  write(all.root, { '.gitconfig': `[core]\n\tsshCommand = ${program} of-the-user\n` });
  git(all.repo, 'config', 'core.sshCommand', `${program} planted`);
  expect((await all.workspaces.ensure(all.spec('one'))).notes).toHaveLength(1);
  expect(sprung()).toContain('of-the-user');
  expect(sprung()).not.toContain('planted');
});

it('is not led to another directory by core.worktree', { tags: 'full' }, async () => {
  const { root, env, repo, spec, workspaces } = bench({ '.gitignore': 'out\n*.victim\n', 'a.txt': 'a\n' });
  write(join(root, 'victim'), { 'a.txt': 'precious', 'x.victim': 'precious' });
  const one = spec('one');
  const { base } = await workspaces.ensure(one);
  git(repo, 'config', 'extensions.worktreeConfig', 'true');
  git(one.path, 'config', '--worktree', 'core.worktree', join(root, 'victim'));
  write(one.path, { out: 'x' });
  expect((await workspaces.evidence(one.path, base.commit)).dirty).toEqual([]);
  expect(await workspaces.release(one)).toEqual({ released: true, slot: false });
  expect((await workspaces.ensure(spec('two'))).reused).toBe(false);
  expect([read(root, 'victim/a.txt'), read(root, 'victim/x.victim')]).toEqual(['precious', 'precious']);

  git(repo, 'config', 'extensions.worktreeConfig', 'false');
  git(repo, 'config', 'core.worktree', join(root, 'victim'));
  expect((await workspaces.evidence(repo, base.commit)).dirty).toEqual([]);
  expect((await failure(createWorkspaces({ env }).checkRepo(repo))).code).toBe('workspace/core-worktree');
});

it('asks no nested repository to run its fsmonitor', async () => {
  const { root, spec, workspaces } = bench();
  const { program, sprung } = trap(root);
  const one = spec('one');
  const { base } = await workspaces.ensure(one);
  const nested = join(one.path, 'nested');
  mkdirSync(nested);
  git(nested, 'init', '--quiet');
  commit(nested, { n: '1' });
  git(one.path, 'add', 'nested');
  git(nested, 'config', 'core.fsmonitor', program);
  write(nested, { n: '2' });
  expect((await workspaces.evidence(one.path, base.commit)).dirty).toEqual(['nested']);
  await workspaces.diff(one, base.commit);
  expect(sprung()).toBe('');
});
