import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { homedir, userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect } from 'vitest';
import { bubblewrap } from '../../src/jobs/bubblewrap.ts';
import { processLimit } from '../../src/jobs/process-limit.ts';
import { Running } from '../support/cli.ts';
import { git, isRunning, it, story, World, waitFor } from '../support/index.ts';
import { makeRepo } from '../support/repo.ts';

const WORK = { id: 'build', type: 'agent', prompt: 'Build.', expect: { commits: true } };

function prepare(world: World, body: string, more: Record<string, unknown> = {}): void {
  world.agent('agent', body, { sandbox: 'bwrap', ...more });
  world.workflow('work', [WORK]);
}

const SUB = 'git init -q sub; git -C sub commit -q --allow-empty -m x; git add sub; git commit -qm Sub';

/** Tries something and notes in the worktree whether it went well. */
const attempt = (name: string, command: string) =>
  `if (${command}) >/dev/null 2>&1; then echo '${name} worked' >> report.txt; else echo '${name} refused' >> report.txt; fi`;

/** What Claude Code says when all is well. */
const ANSWER =
  `echo '{"type":"system","subtype":"init","session_id":"s-1"}'\n` +
  `echo '{"type":"result","subtype":"success","is_error":false,"result":"done","session_id":"s-1"}'`;

/** In a world that is not hidden already for lying among temporary files. */
async function outsideTmp(work: (world: World) => Promise<void>): Promise<void> {
  const before = process.env.TMPDIR;
  const root = mkdtempSync(join(homedir(), '.signalbox-test-'));
  // What repositories are copied from stays among temporary files.
  makeRepo(join(root, 'first'));
  process.env.TMPDIR = root;
  const world = new World();
  if (before === undefined) delete process.env.TMPDIR;
  else process.env.TMPDIR = before;
  try {
    await work(world);
  } finally {
    await world.close();
    rmSync(root, { recursive: true, force: true });
  }
}

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
    const forked = sleepers().length;
    await world.cli('pause', 'p', 'a');
    await run.ended;
    expect(forked).toBeGreaterThan(20);
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

  it('is not taken for one that cost nothing when it breaks its git directory', async ({ world }) => {
    prepare(world, 'ln -s /etc/passwd "$(git rev-parse --git-dir)/x"');
    const again = { ...WORK, id: 'again' };
    world.workflow('work', [{ ...WORK, maxRetries: 0, onFailure: 'again' }, again]);
    world.config({ budgets: { ticket: { tokens: 1000 }, unknown: 'block' } });
    world.plan('p', { tickets: { a: {} } });
    await world.cli('run', 'p');
    const ticket = world.ticket('p', 'a');
    expect(ticket.phaseHistory.map(({ phase, error }) => [phase, error?.class])).toEqual([
      ['build', 'workspace'],
    ]);
    expect(ticket.hold?.reason).toContain('nobody knows what phase build of ');
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

  it('sees of the home that its account has only what the settings name, and cannot write that', async ({
    world,
  }) => {
    const account = mkdtempSync(join(userInfo().homedir, '.signalbox-test-'));
    try {
      writeFileSync(join(account, 'secret.txt'), 'private');
      const shown = join(account, 'lib');
      mkdirSync(shown);
      writeFileSync(join(shown, 'tool.txt'), 'needed');
      const tries = [
        attempt('account', `cat '${account}/secret.txt'`),
        attempt('tool', `cat '${shown}/tool.txt'`),
        attempt('change', `echo x > '${shown}/tool.txt'`),
      ];
      const body = `${tries.join('\n')}\ngit add --all; git commit -qm Seen`;
      prepare(world, body, { sandboxReadable: [shown] });
      world.plan('p', { tickets: { a: {} } });
      const run = await world.cli('run', 'p');
      expect(run.code, run.out + run.err).toBe(0);
      expect(report(world)).toEqual(['account refused', 'tool worked', 'change refused']);
    } finally {
      rmSync(account, { recursive: true });
    }
  });

  it('sees no login, and nothing of other plans', async ({ world }) => {
    const user = join(world.dir, 'user');
    const put = (path: string, text: string) => {
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, text);
    };
    const secrets = ['.config/git/credentials', '.local/share/keyrings/login', '.git-credentials'];
    for (const name of secrets) put(join(user, name), 'private');
    put(join(user, '.local/lib/node_modules/tool/index.js'), '');
    put(join(user, '.local/bin/tool'), '#!/bin/sh\n');
    put(
      join(user, '.gitconfig'),
      '[alias]\n\tst = status\n[credential]\n\thelper = store\n[http "https://x.test"]\n\textraheader = private\n',
    );
    const elsewhere = mkdtempSync(join(homedir(), '.signalbox-test-'));
    try {
      const other = makeRepo(join(elsewhere, 'repo'));
      put(join(elsewhere, 'worktrees/ticket/q/z/secret.txt'), 'private');
      prepare(
        world,
        [
          ...secrets.map((name) => attempt(name, `cat '${join(user, name)}'`)),
          attempt('other-tree', `cat '${elsewhere}/worktrees/ticket/q/z/secret.txt'`),
          attempt('other-repo', `cat '${other}/README.md'`),
          attempt('header', 'git config --get-regexp "http|credential"'),
          attempt('alias', 'git st'),
          attempt('tool', `cat '${user}/.local/lib/node_modules/tool/index.js' '${user}/.local/bin/tool'`),
          'git add --all; git commit -qm Seen',
        ].join('\n'),
      );
      world.plan('p', { tickets: { a: {} } });
      world.plan('q', { repo: other, tickets: { z: { status: 'paused' } } });
      const env = {
        PATH: `${process.env.PATH}:${user}/.local/bin`,
        GIT_CONFIG_GLOBAL: join(user, '.gitconfig'),
      };
      const run = await world.start(['run', 'p'], env).ended;
      expect(run.code, run.out + run.err).toBe(0);
      const worked = report(world).filter((line) => line.endsWith(' worked'));
      expect(worked).toEqual(['alias worked', 'tool worked']);
    } finally {
      rmSync(elsewhere, { recursive: true });
    }
  });

  it('sees no worktree that another ticket gets while it works', async ({ world }) => {
    const elsewhere = mkdtempSync(join(homedir(), '.signalbox-test-'));
    try {
      const other = makeRepo(join(elsewhere, 'repo'));
      const worktreeRoot = join(elsewhere, 'trees');
      const secret = join(worktreeRoot, 'ticket/q/z/secret.txt');
      const wait = 'mkfifo wait; echo > begun; read x < wait';
      const look = attempt('other', `cat '${secret}'`);
      prepare(world, `${wait}\n${look}\ngit add report.txt; git commit -qm Seen`);
      world.agent('free', 'echo private > secret.txt; exit 1');
      world.plan('p', { tickets: { a: {} } });
      world.plan('q', { repo: other, worktreeRoot, tickets: { z: { agent: 'free' } } });
      const run = world.start(['run', 'p']);
      const tree = world.worktree('p', 'a');
      await waitFor('the agent to begin', () => existsSync(join(tree, 'begun')));
      await world.cli('run', 'q');
      expect(readFileSync(secret, 'utf8')).toBe('private\n');
      writeFileSync(join(tree, 'wait'), '\n');
      await run.ended;
      expect(report(world)).toEqual(['other refused']);
    } finally {
      rmSync(elsewhere, { recursive: true });
    }
  });

  it.for(['ag', '.claude/local/ag', '.claude/ag'])('starts as ~/%s', async (name) => {
    await outsideTmp(async (world) => {
      const secret = join(world.dir, 'user', '.claude', 'secret');
      const program = join(world.dir, 'user', name);
      for (const file of [secret, program]) mkdirSync(dirname(file), { recursive: true });
      writeFileSync(secret, 'private');
      await worksBehindWalls(world, program, secret);
    });
  });

  it('starts as a program that lies in shared memory, which it sees nothing else of', async ({ world }) => {
    const shared = mkdtempSync('/dev/shm/signalbox-test-');
    try {
      mkdirSync(join(shared, 'bin'));
      const program = join(shared, 'bin', 'ag');
      writeFileSync(join(shared, 'secret'), 'private');
      await worksBehindWalls(world, program, join(shared, 'secret'));
    } finally {
      rmSync(shared, { recursive: true });
    }
  });

  it('has its job’s directory where the home of Signalbox is a link', async () => {
    await outsideTmp(async (world) => {
      prepare(
        world,
        'cat "$SIGNALBOX_PROMPT_FILE" > report.txt && git add --all && git commit -qm Read; exit $?',
      );
      renameSync(world.home, join(world.dir, 'real-home'));
      symlinkSync(join(world.dir, 'real-home'), world.home);
      world.plan('p', { tickets: { a: {} } });
      const run = await world.cli('run', 'p');
      expect(run.code, run.out + run.err).toBe(0);
      expect(report(world).join()).toContain('Build.');
    });
  });

  describe('that is a CLI with a home', () => {
    /** Answers as Claude Code does, after what it was told to do. */
    const cli = (body: string) => `cat > /dev/null\n${body}\n${ANSWER}`;

    it('writes nothing that the user or another ticket has', async ({ world }) => {
      const config = join(world.dir, 'user', '.claude');
      mkdirSync(join(config, 'projects', 'x'), { recursive: true });
      mkdirSync(join(config, 'skills'));
      writeFileSync(join(config, 'settings.json'), '{"model":"own"}');
      writeFileSync(join(config, '.credentials.json'), '{"token":"login"}');
      writeFileSync(join(config, 'projects', 'x', 's.jsonl'), 'private');
      writeFileSync(
        join(world.dir, 'user', '.claude.json'),
        '{"theme":"dark","projects":{"/x":{"history":["private"]}}}',
      );
      const body = [
        attempt('login', 'grep -q login ~/.claude/.credentials.json'),
        attempt('settings', 'grep -q own ~/.claude/settings.json'),
        attempt('state', 'grep -q dark "$CLAUDE_CONFIG_DIR/.claude.json"'),
        attempt('transcripts', 'grep -rq private ~/.claude'),
        attempt('skill', 'echo x > ~/.claude/skills/evil'),
        attempt('again', 'cat ~/.claude/projects/own/s-1.jsonl'),
        'echo evil > ~/.claude/settings.json; mkdir -p ~/.claude/projects/own',
        'echo mine > ~/.claude/projects/own/s-1.jsonl',
        `rm ~/.claude/.credentials.json; ln -s '${config}/settings.json' ~/.claude/.credentials.json`,
        'mkdir -p ~/.local/share/systemd/user; echo x > ~/.local/share/systemd/user/evil.service',
        'git add --all; git commit --allow-empty -qm Mine',
      ].join('\n');
      world.agent('agent', cli(body), { sandbox: 'bwrap', adapter: 'claude' });
      world.workflow('work', [
        { ...WORK, onSuccess: 'more' },
        { ...WORK, id: 'more' },
      ]);
      world.config({ maxConcurrency: 1 });
      world.plan('p', { tickets: { a: {}, b: { order: 1 } } });
      const env = { XDG_DATA_HOME: join(world.dir, 'user', '.local', 'share') };
      const run = await world.start(['run', 'p'], env).ended;
      expect(run.code, run.out + run.err).toBe(0);
      const seen = [
        'login worked',
        'settings worked',
        'state worked',
        'transcripts refused',
        'skill refused',
      ];
      for (const id of ['a', 'b'])
        expect(report(world, id)).toEqual([...seen, 'again refused', ...seen, 'again worked']);
      expect(readFileSync(join(config, 'settings.json'), 'utf8')).toBe('{"model":"own"}');
      expect(readdirSync(join(config, 'projects'))).toEqual(['x']);
      expect(readdirSync(join(config, 'skills'))).toEqual([]);
      expect(existsSync(join(world.dir, 'user', '.local'))).toBe(false);
    });

    it('has its session again where the user has no such home yet', async ({ world }) => {
      const body = [
        attempt('again', 'cat ~/.claude/s-1'),
        'echo x > ~/.claude/s-1; git add --all; git commit -qm Mine',
      ].join('\n');
      world.agent('agent', cli(body), { sandbox: 'bwrap', adapter: 'claude' });
      world.workflow('work', [
        { ...WORK, onSuccess: 'more' },
        { ...WORK, id: 'more' },
      ]);
      world.plan('p', { tickets: { a: {} } });
      const run = await world.cli('run', 'p');
      expect(run.code, run.out + run.err).toBe(0);
      expect(report(world)).toEqual(['again refused', 'again worked']);
      expect(existsSync(join(world.dir, 'user', '.claude'))).toBe(false);
    });
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

/** Puts an agent at the path and runs a ticket with it: it works, and does not see the secret. */
async function worksBehindWalls(world: World, program: string, secret: string): Promise<void> {
  const body = [attempt('secret', `cat '${secret}'`), 'git add --all', 'git commit -qm Begun', ANSWER];
  writeFileSync(program, `#!/bin/sh\n${body.join('\n')}\n`, { mode: 0o755 });
  const agent = { adapter: 'claude', command: program, sandbox: 'bwrap' };
  world.config({ defaultAgent: 'agent', agents: { agent } });
  world.workflow('work', [WORK]);
  world.plan('p', { tickets: { a: {} } });
  const run = await world.cli('run', 'p');
  expect(run.code, run.out + run.err).toBe(0);
  expect(report(world)).toEqual(['secret refused']);
}
