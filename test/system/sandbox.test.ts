import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { git, isRunning, it, story, type World, waitFor } from '../support/index.ts';

const WORK = { id: 'build', type: 'agent', prompt: 'Build.', expect: { commits: true } };

function prepare(world: World, body: string, more: Record<string, unknown> = {}): void {
  world.agent('agent', body, { sandbox: 'bwrap', ...more });
  world.workflow('work', [WORK]);
}

/** Tries something and notes in the worktree whether it went well. */
const attempt = (name: string, command: string) =>
  `if (${command}) >/dev/null 2>&1; then echo '${name} worked' >> report.txt; else echo '${name} refused' >> report.txt; fi`;

function report(world: World, id = 'a'): string[] {
  return git(world.repo, 'show', `ticket/p/${id}:report.txt`).trim().split('\n');
}

describe('a hostile agent in a sandbox', () => {
  it('gets nowhere, and its own work is brought home', async ({ world }) => {
    const secret = join(world.dir, 'user', '.ssh', 'id_key');
    mkdirSync(join(world.dir, 'user', '.ssh'));
    writeFileSync(secret, 'private');
    writeFileSync(join(world.repo, '.env'), 'SECRET=1');
    const victim = spawn('sleep', ['600'], { stdio: 'ignore' });
    const { repo, stateDir, home, dir } = world;
    const planted = join(dir, 'planted');
    prepare(
      world,
      [
        attempt('own', 'echo x > mine.txt'),
        attempt('tmp', 'echo x > /tmp/mine'),
        attempt('outside', `echo x > '${dir}/outside.txt'`),
        attempt('etc', 'echo x > /etc/signalbox-planted'),
        attempt('remount', 'mount -o remount,rw /'),
        attempt('core', 'echo x > /proc/sys/kernel/core_pattern'),
        attempt('checkout', `echo x > '${repo}/README.md'`),
        attempt('checkout-secret', `cat '${repo}/.env'`),
        attempt('other-state', `cat '${stateDir}/plans/p/tickets/b.json'`),
        attempt('settings', `cat '${home}/config.yaml'`),
        attempt('other-tree', `ls '${world.worktrees}/ticket/p/b'`),
        attempt('home', `cat '${secret}'`),
        attempt('push', 'git push . HEAD:refs/heads/main && git fetch . main'),
        attempt('shared-ref', `git --git-dir='${repo}/.git' update-ref refs/heads/main HEAD`),
        attempt('shared-hook', `echo 'touch ${planted}' > '${repo}/.git/hooks/post-checkout'`),
        attempt('shared-config', `git config --file '${repo}/.git/config' core.fsmonitor 'touch ${planted}'`),
        attempt('link', 'rm -f .git && git init .'),
        attempt('kill', `kill -9 ${victim.pid}`),
        attempt('ptrace', `cat /proc/${victim.pid}/environ`),
        'mkdir -p "$(git rev-parse --git-dir)/hooks"',
        `echo '#!/bin/sh' > "$(git rev-parse --git-dir)/hooks/post-update"`,
        `git config core.fsmonitor 'touch ${planted}'; git config core.hooksPath hooks`,
        `git config uploadpack.packObjectsHook 'touch ${planted}'; git config core.alternateRefsCommand 'touch ${planted}'`,
        'git -c core.fsmonitor=false commit --allow-empty --quiet --message=First',
        'git -c core.fsmonitor=false add --all && git -c core.fsmonitor=false commit --quiet --message=Mine',
      ].join('\n'),
    );
    const before = git(repo, 'rev-parse', 'main').trim();
    mkdirSync(join(repo, '.git', 'hooks'), { recursive: true });
    const config = readFileSync(join(repo, '.git', 'config'), 'utf8');
    world.agent('free', 'commit');
    world.config({ defaultAgent: 'agent', maxConcurrency: 1 });
    world.plan('p', { tickets: { b: { agent: 'free' }, a: { order: 1 } } });
    try {
      const run = await world.cli('run', 'p');
      expect(run.code, run.out + run.err).toBe(0);
      // What it writes into a directory that is hidden from it, or pushes in its own git directory, goes nowhere.
      const worked = report(world).filter((line) => line.endsWith(' worked'));
      const harmless = [
        'own',
        'tmp',
        'outside',
        'checkout',
        'push',
        'shared-ref',
        'shared-hook',
        'shared-config',
      ];
      expect(worked.filter((line) => !harmless.some((name) => line === `${name} worked`))).toEqual([]);
      expect(worked).toEqual(expect.arrayContaining(['own worked', 'tmp worked']));
      expect(report(world)).toHaveLength(19);
      expect(isRunning(victim.pid ?? 0)).toBe(true);
    } finally {
      victim.kill('SIGKILL');
    }
    expect(existsSync(join(dir, 'outside.txt'))).toBe(false);
    expect(existsSync('/etc/signalbox-planted')).toBe(false);
    expect(existsSync(planted)).toBe(false);
    expect(git(repo, 'rev-parse', 'main').trim()).toBe(before);
    expect(readdirSync(join(repo, '.git', 'hooks'))).toEqual([]);
    expect(readFileSync(join(repo, '.git', 'config'), 'utf8')).toBe(config);
    expect(git(repo, 'show', 'ticket/p/a:mine.txt').trim()).toBe('x');
    expect(git(repo, 'log', '--format=%s', 'main..ticket/p/a').trim().split('\n')).toEqual(['Mine', 'First']);
    expect(git(repo, 'status', '--porcelain')).not.toContain('README');
    expect(git(repo, 'fsck', '--no-dangling').trim()).toBe('');
  });

  it('can start no more processes than it may, and none of them is left', async ({ world }) => {
    // Without a process to spare the shell can still write a file and wait.
    const bomb =
      'mkfifo wait; (for i in $(seq 1 200); do sleep 321 & done) 2>/dev/null; echo > full.txt; read x < wait';
    prepare(world, bomb, { sandboxProcesses: 40 });
    world.plan('p', { tickets: { a: {} } });
    const run = world.start(['run', 'p']);
    await waitFor('as many as there can be', () => existsSync(join(world.worktree('p', 'a'), 'full.txt')));
    const forked = sleepers().length;
    await world.cli('pause', 'p', 'a');
    await run.ended;
    expect(forked).toBeGreaterThan(20);
    expect(forked).toBeLessThan(40);
    expect(sleepers()).toEqual([]);
  });

  it('has no network when it is told so', async ({ world }) => {
    const look = `ls /sys/class/net; cat /proc/net/dev | grep -v lo: | grep -c : > report.txt; git add --all; git commit -qm Net`;
    prepare(world, look, { sandboxNetwork: false });
    world.plan('p', { tickets: { a: {} } });
    const run = await world.cli('run', 'p');
    expect(run.code, run.out + run.err).toBe(0);
    expect(report(world)).toEqual(['0']);
  });

  it('keeps uncommitted work for the next attempt, and scripts see what it committed', async ({ world }) => {
    prepare(world, '');
    world.agent(
      'agent',
      'if [ -e half.txt ]; then git add --all; git commit -qm Whole; else echo x > half.txt; exit 3; fi',
      { sandbox: 'bwrap' },
    );
    world.script(
      'look.sh',
      '[ "$(git log -1 --format=%s)" = Whole ] && [ -z "$(git status --porcelain)" ] || exit 4',
    );
    world.workflow('work', [
      { ...WORK, maxRetries: 1, onSuccess: 'look' },
      { id: 'look', type: 'script', command: 'look.sh' },
    ]);
    world.plan('p', { tickets: { a: {} } });
    expect((await world.cli('run', 'p')).code).toBe(0);
    expect(story(world.ticket('p', 'a'))).toEqual(['build failure', 'build success', 'look success']);
  });

  it('loses nothing that was committed when the engine is killed', async ({ world }) => {
    const work = 'git commit --allow-empty -qm Before; mkfifo wait; echo > there.txt; read x < wait';
    prepare(world, work);
    world.plan('p', { tickets: { a: {} } });
    const run = world.start(['run', 'p']);
    await waitFor('a commit', () => existsSync(join(world.worktree('p', 'a'), 'there.txt')));
    await run.kill('SIGKILL');
    expect((await world.cli('pause', 'p', 'a')).code).toBe(0);
    world.agent('agent', 'git commit --allow-empty -qm After', { sandbox: 'bwrap' });
    await world.cli('resume', 'p', 'a');
    const again = await world.cli('run', 'p');
    expect(again.code, again.out + again.err).toBe(0);
    const log = git(world.repo, 'log', '--format=%s', 'main..ticket/p/a').trim().split('\n');
    expect(log).toEqual(['After', 'Before']);
  });

  it('is refused where there is no bubblewrap, with the way out', async ({ world }) => {
    prepare(world, 'commit');
    world.plan('p', { tickets: { a: {} } });
    const bin = join(world.dir, 'few');
    mkdirSync(bin);
    for (const name of ['sh', 'git', 'node', 'cat', 'sleep', 'ps', 'env']) {
      const found = (process.env.PATH ?? '')
        .split(':')
        .map((path) => join(path, name))
        .find((file) => existsSync(file));
      if (found) writeFileSync(join(bin, name), `#!/bin/sh\nexec '${found}' "$@"\n`, { mode: 0o755 });
    }
    await world.start(['run', 'p'], { PATH: bin }).ended;
    expect(world.ticket('p', 'a').error).toContain('apt install bubblewrap');
    expect(world.ticket('p', 'a').phaseHistory).toMatchObject([{ error: { class: 'config' } }]);
  });
});

/** Processes of the test above, on this machine. */
function sleepers(): string[] {
  const wanted = ['sleep', '321', ''].join('\0');
  return readdirSync('/proc').filter((pid) => /^\d+$/.test(pid) && commandOf(pid) === wanted);
}

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1');
  } catch {
    // It has ended meanwhile.
    return '';
  }
}
