import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { processLimit } from '../../src/machine/limit-processes-of-sandbox.ts';
import { bubblewrap } from '../../src/sandbox/bubblewrap-command-line.ts';
import { Running } from '../support/cli.ts';
import { git, isRunning, it, World, waitFor } from '../support/index.ts';
import { attempt, prepare, report, WORK } from './sandbox-support.ts';

const SUB = 'git init -q sub; git -C sub commit -q --allow-empty -m x; git add sub; git commit -qm Sub';

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

  it('gets none of the files that whoever started the run left open', async ({ world }) => {
    const outside = join(world.dir, 'outside');
    mkdirSync(outside);
    writeFileSync(join(outside, 'secret.txt'), 'private');
    const lock = join(world.dir, 'lock');
    prepare(
      world,
      [
        attempt('lock', 'echo x > /proc/self/fd/200; [ -s /proc/self/fd/200 ]'),
        attempt('read', 'cat /proc/self/fd/201/secret.txt'),
        attempt('write', 'echo x > /proc/self/fd/201/planted.txt'),
        attempt('climb', 'ls /proc/self/fd/201/../outside/secret.txt'),
        'git add --all; git commit -qm Seen',
      ].join('\n'),
    );
    world.plan('p', { tickets: { a: {} } });
    const files = [openSync(lock, 'a'), openSync(outside, 'r')] as const;
    const left = { 200: files[0], 201: files[1] };
    const run = await new Running(['run', 'p'], { cwd: world.dir, env: world.env, left }).ended;
    for (const each of files) closeSync(each);
    expect(run.code, run.out + run.err).toBe(0);
    expect(report(world)).toEqual(['lock refused', 'read refused', 'write refused', 'climb refused']);
    expect(readFileSync(lock, 'utf8')).toBe('');
    expect(readdirSync(outside)).toEqual(['secret.txt']);
  });

  it('can start no more processes than it may, and none of them is left', async ({ world }) => {
    // Without a process to spare the shell can still write a file and wait.
    const bomb =
      'mkfifo wait; (for i in $(seq 1 200); do sleep 321 & done) 2>/dev/null; echo > full.txt; read x < wait';
    prepare(world, bomb, { sandboxProcesses: 40 });
    world.plan('p', { tickets: { a: {} } });
    const run = world.start(['run', 'p']);
    await waitFor('as many as there can be', () => existsSync(join(world.worktree('p', 'a'), 'full.txt')));
    // The last ones may still be on their way to becoming a sleep.
    await waitFor('many sleepers', () => sleepers().length > 20);
    const forked = sleepers().length;
    await world.cli('pause', 'p', 'a');
    await run.ended;
    expect(forked).toBeLessThan(40);
    expect(sleepers()).toEqual([]);
  });

  it('counts its own processes alone', async () => {
    // Limits do not bind root, who becomes somebody else for this.
    const user =
      process.getuid?.() === 0 ? ['setpriv', '--reuid=4242', '--regid=4242', '--clear-groups'] : [];
    const as = (argv: readonly string[], stdio: 'ignore' | 'pipe') => {
      const [command = '', ...args] = [...user, ...argv];
      return spawn(command, args, { stdio: ['ignore', stdio, 'ignore'], cwd: '/' });
    };
    const others = Array.from({ length: 50 }, () => as(['sleep', '600'], 'ignore'));
    try {
      const count = 'i=0; while [ $i -lt 90 ]; do (sleep 9 & echo x) 2>/dev/null || exit; i=$((i+1)); done';
      const argv = bubblewrap(
        {
          ...{
            bwrap: 'bwrap',
            cwd: '/usr/share',
            network: true,
            hidden: [],
            readable: [],
            writable: [],
            places: [],
          },
          ...{ over: [], cgroup: null, prlimit: { command: 'prlimit', processes: processLimit(40) } },
        },
        ['sh', '-c', count],
      );
      const inside = as(argv, 'pipe');
      let out = '';
      inside.stdout?.on('data', (chunk) => {
        out += chunk;
      });
      await once(inside, 'close');
      const forked = out.split('\n').length - 1;
      expect(forked).toBeGreaterThan(20);
      expect(forked).toBeLessThan(41);
    } finally {
      for (const each of others) each.kill('SIGKILL');
    }
  });

  it.each([
    ['in a repository it committed', 'rm -f sub/.git/HEAD; mkfifo sub/.git/commondir', 'evidence'],
    ['in its git directory', 'G=$(git rev-parse --git-dir); rm "$G/HEAD"; mkfifo "$G/HEAD"', 'workspace'],
  ])('freezes nobody by a pipe %s', async (_, plant, fault) => {
    const world = new World();
    try {
      prepare(world, `${SUB}; ${plant}`);
      world.workflow('work', [{ ...WORK, expect: { commits: true, clean: true } }]);
      world.plan('p', { tickets: { a: {} } });
      const daemon = world.start(['daemon']);
      await world.reaches('p', 'a', 'failed');
      expect(world.ticket('p', 'a').phaseHistory[0]?.error?.class).toBe(fault);
      await daemon.kill('SIGTERM');
    } finally {
      await world.close();
    }
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
