import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { type ProcessIdentity, processStart } from '../../../src/machine/process-identity-and-signals.ts';
import { runHooks } from '../../../src/workspaces/setup/set-up-worktree.ts';
import { createWorkspaces } from '../../../src/workspaces/workspaces.ts';
import { isRunning } from '../../support/processes.ts';
import { waitFor } from '../../support/wait-for.ts';
import { within } from '../../support/within.ts';
import { bench, commit, failure, git, read, scratch, write } from '../helpers.ts';

describe('setup hooks', () => {
  it('run in order in a new and in a reused worktree, not in one that is there', async () => {
    const { root, env, spec } = bench();
    const workspaces = createWorkspaces({ env: { ...env, LOG: join(root, 'log'), GIT_DIR: '/nowhere' } });
    const hooks = ['basename "$PWD" >> "$LOG"', 'git rev-parse --abbrev-ref HEAD >> "$LOG"'];
    await workspaces.ensure(spec('one', { hooks }));
    await workspaces.ensure(spec('one', { hooks }));
    await workspaces.release(spec('one'));
    await workspaces.ensure(spec('two', { hooks }));
    expect(read(root, 'log').trim().split('\n')).toEqual(['one', 'ticket/one', 'two', 'ticket/two']);
  });

  it('that fail are an error with what they printed, and run again next time without touching the files', async () => {
    const { root, spec, workspaces } = bench();
    const hooks = [
      `test -e ${root}/ok || { echo to stdout; echo to stderr >&2; exit 3; }`,
      `touch ${root}/second`,
    ];
    const error = await failure(workspaces.ensure(spec('one', { hooks })));
    expect(error).toMatchObject({ code: 'workspace/hook', message: expect.stringContaining('exit code 3') });
    expect(error.hint).toContain('to stdout');
    expect(error.hint).toContain('to stderr');
    expect(existsSync(join(root, 'second'))).toBe(false);
    write(spec('one').path, { 'a.txt': 'a person was here\n' });
    write(root, { ok: '' });
    expect((await workspaces.ensure(spec('one', { hooks }))).created).toBe(false);
    expect(existsSync(join(root, 'second'))).toBe(true);
    expect(read(spec('one').path, 'a.txt')).toBe('a person was here\n');
  });

  it.each([
    ['echo no registry', 'ended with exit code 7: no registry.', ''],
    ['echo No registry!', 'ended with exit code 7: No registry!', ''],
    ['true', 'ended with exit code 7.', ''],
    ['echo one; echo two', 'ended with exit code 7: two.', '\nIt printed:\none\ntwo'],
  ])('%s: say once what they printed, in sentences', async (command, message, printed) => {
    const cwd = scratch();
    const error = await failure(runHooks([`${command}; exit 7`], { cwd, env: process.env }));
    expect(error.message).toMatch(/^The setup command /);
    expect(error.message.endsWith(message)).toBe(true);
    expect(error.hint).toBe(`Correct hooks.afterCreate, or what it needs in ${cwd}.${printed}`);
  });

  it('end at their time limit with everything they started', async () => {
    const cwd = scratch();
    const started = performance.now();
    const command = 'sleep 600 & echo $! > pid; wait';
    const timeoutMs = Math.ceil(within(200));
    const error = await failure(runHooks([command], { cwd, env: process.env, timeoutMs }));
    expect(error.message).toContain(`no end after ${timeoutMs / 1000} s`);
    expect(performance.now() - started).toBeLessThan(within(10_000));
    const pid = readFileSync(join(cwd, 'pid'), 'utf8').trim();
    await waitFor(`the end of process ${pid}`, () => !existsSync(`/proc/${pid}/exe`));
  });

  it('end when they are stopped, with what left their process group, and none begins after that', {
    tags: 'full',
  }, async () => {
    const cwd = scratch();
    const stop = new AbortController();
    const command = "setsid sh -c 'echo $$ > pid; exec sleep 600' & sleep 600";
    const hooks = runHooks([command, 'touch second'], { cwd, env: process.env, signal: stop.signal });
    const error = failure(hooks);
    const pid = await vi.waitUntil(
      () => existsSync(join(cwd, 'pid')) && Number(read(cwd, 'pid')),
      within(10_000),
    );
    stop.abort();
    expect((await error).code).toBe('workspace/hook');
    expect(isRunning(pid)).toBe(false);
    expect((await failure(runHooks(['touch second'], { cwd, env: {}, signal: stop.signal }))).code).toBe(
      'workspace/hook',
    );
    expect(existsSync(join(cwd, 'second'))).toBe(false);
  });

  it('of another live process are waited for, not ended', async () => {
    const { spec, workspaces } = bench();
    const one = spec('one', { hooks: ['exit 1'] });
    await failure(workspaces.ensure(one));
    const child = spawn('sleep', ['600'], { stdio: 'ignore' });
    await once(child, 'spawn');
    const note = join(git(one.path, 'rev-parse', '--absolute-git-dir'), 'signalbox-owner');
    const owner = JSON.parse(read(note)) as { by: ProcessIdentity };
    const by = { ...owner.by, pid: child.pid, started: processStart(child.pid ?? 0) };
    writeFileSync(note, JSON.stringify({ ...owner, by }));
    expect((await failure(workspaces.ensure({ ...one, hooks: [] }))).code).toBe('workspace/busy');
    child.kill('SIGKILL');
    await once(child, 'close');
    expect((await workspaces.ensure({ ...one, hooks: [] })).created).toBe(false);
    expect(workspaces.isReady(one.path)).toBe(true);
  });

  it('keep only the end of a flood of output and do not wait for what they leave behind', {
    tags: 'full',
  }, async () => {
    const cwd = scratch();
    const flood = 'sleep 5 & head -c 3000000 /dev/zero | tr "\\0" x; echo; echo the end; exit 1';
    const started = performance.now();
    const error = await failure(runHooks([flood], { cwd, env: process.env }));
    expect(performance.now() - started).toBeLessThan(within(4_000));
    expect(error.hint.length).toBeLessThan(10_000);
    expect(error.hint).toContain('the end');
  });
});

describe('copied files', () => {
  const ignore = { '.gitignore': '.env*\n', 'a.txt': 'a\n' };

  it('are the untracked ones that match, with their mode, and stay out of the evidence', async () => {
    const { repo, first, spec, workspaces } = bench(ignore);
    write(repo, {
      '.env': 'SECRET=1',
      '.env.local': 'L',
      'conf/dev.local': 'D',
      'deep/er/.env': 'E',
      other: 'O',
    });
    const one = spec('one', { copy: ['.env', '.env.*', 'conf/*.local', 'a.txt', 'absent'] });
    await workspaces.ensure(one);
    expect([read(one.path, '.env'), read(one.path, '.env.local'), read(one.path, 'conf/dev.local')]).toEqual([
      'SECRET=1',
      'L',
      'D',
    ]);
    expect(statSync(join(one.path, '.env')).mode).toBe(statSync(join(repo, '.env')).mode);
    expect([existsSync(join(one.path, 'other')), existsSync(join(one.path, 'deep'))]).toEqual([false, false]);
    expect(await workspaces.evidence(one.path, first)).toMatchObject({ dirty: [], files: [] });
    expect(await workspaces.release(one)).toEqual({ released: true, slot: true });
    await workspaces.ensure(spec('two'));
    expect(existsSync(join(spec('two').path, '.env'))).toBe(false);
    expect(git(spec('two').path, 'status', '--porcelain', '--ignored')).toBe('');
  });

  it('count as work once they were changed', async () => {
    const { repo, first, spec, workspaces } = bench();
    write(repo, { 'dev.local': 'D' });
    const one = spec('one', { copy: ['*.local'] });
    await workspaces.ensure(one);
    write(one.path, { 'dev.local': 'changed' });
    expect((await workspaces.evidence(one.path, first)).dirty).toEqual(['dev.local']);
    expect(await workspaces.release(one)).toMatchObject({ released: false });
  });

  it('go to any depth with **', async () => {
    const { repo, spec, workspaces } = bench(ignore);
    write(repo, { '.env': '1', 'deep/er/.env': '2' });
    await workspaces.ensure(spec('one', { copy: ['**/.env'] }));
    expect([read(spec('one').path, '.env'), read(spec('one').path, 'deep/er/.env')]).toEqual(['1', '2']);
  });

  it('never come from or go to a place outside', async () => {
    const { root, repo, spec, workspaces } = bench(ignore);
    write(root, { outside: 'secret', 'away/x': '' });
    symlinkSync(join(root, 'outside'), join(repo, '.env'));
    symlinkSync(root, join(repo, 'linked'));
    const made = await workspaces.ensure(spec('one', { copy: ['.env', 'linked/*', 'linked/outside'] }));
    expect(made.notes).toEqual(['.env was not copied: it is a link that leads out of the repository.']);
    expect(existsSync(join(spec('one').path, '.env'))).toBe(false);
    expect(existsSync(join(spec('one').path, 'linked'))).toBe(false);
    for (const pattern of ['../outside', '/etc/passwd', 'a/../../outside', ''])
      expect((await failure(workspaces.ensure(spec('two', { copy: [pattern] })))).code).toBe(
        'workspace/copy-pattern',
      );

    git(repo, 'switch', '--quiet', '-c', 'trap');
    symlinkSync(join(root, 'away'), join(repo, 'conf'));
    commit(repo, {});
    git(repo, 'switch', '--quiet', 'main');
    write(repo, { 'conf/x.local': 'mine' });
    await workspaces.ensure(spec('three', { base: 'trap', copy: ['conf/*'] }));
    expect(existsSync(join(root, 'away/x.local'))).toBe(false);
  });

  it('have the content of a link to a file of the checkout; other links are named', async () => {
    const { repo, spec, workspaces } = bench({ '.gitignore': '.env*\nsecrets/\n', 'a.txt': 'a\n' });
    write(repo, { 'secrets/env': 'SECRET=1' });
    const links = {
      '.env': 'secrets/env',
      '.env.dir': 'secrets',
      '.env.git': '.git/config',
      '.env.gone': 'secrets/gone',
      '.env.loop': '.env.loop',
    };
    for (const [link, to] of Object.entries(links)) symlinkSync(to, join(repo, link));
    const one = spec('one', { copy: ['.env*'] });
    const { notes } = await workspaces.ensure(one);
    expect(lstatSync(join(one.path, '.env')).isFile()).toBe(true);
    expect(read(one.path, '.env')).toBe('SECRET=1');
    expect(readdirSync(one.path).filter((name) => name.startsWith('.env'))).toEqual(['.env']);
    expect(notes).toEqual([
      '.env.dir was not copied: it is a link to no file.',
      '.env.git was not copied: it is a link into the git directory.',
      '.env.gone was not copied: it is a link to no file.',
      '.env.loop was not copied: it is a link to no file.',
    ]);
    expect(await workspaces.release(one)).toEqual({ released: true, slot: true });
  });

  it('do not replace a file that the branch has', async () => {
    const { repo, spec, workspaces } = bench();
    git(repo, 'switch', '--quiet', '-c', 'with');
    commit(repo, { settings: 'tracked' });
    git(repo, 'switch', '--quiet', 'main');
    write(repo, { settings: 'untracked' });
    await workspaces.ensure(spec('one', { base: 'with', copy: ['settings'] }));
    expect(read(spec('one').path, 'settings')).toBe('tracked');
  });
});
