import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { stopJob } from '../../src/machine/jobs/stop-job.ts';
import { CLI } from '../support/cli.ts';
import { isRunning, it, story, type World, waitFor } from '../support/index.ts';

function prepare(world: World): void {
  world.agent('agent', 'note working; go; commit');
  world.workflow('work', [{ id: 'build', type: 'agent', prompt: 'Build.', expect: { commits: true } }]);
}

const job = (world: World) => join(world.stateDir, 'jobs/p/a/build.1.1');

/** Kills an engine, and makes its records those of another pid namespace. Its agent works on. */
async function orphan(world: World): Promise<number> {
  const run = world.start(['run', 'p']);
  const { pid } = await world.call('working');
  await run.kill('SIGKILL');
  hide(world, 'build.1.1');
  return pid;
}

/** Makes the records of a killed engine those of another pid namespace. */
function hide(world: World, attempt: string): void {
  const file = join(world.stateDir, 'jobs/p/a', attempt, 'command.json');
  writeFileSync(file, readFileSync(file, 'utf8').replace(/pid:\[\d+\]/, 'pid:[1]'));
  const ticket = world.ticket('p', 'a');
  if (ticket.claim) world.writeTicket('p', 'a', { ...ticket, claim: { ...ticket.claim, pids: 'pid:[1]' } });
  world.editPlan('p', (plan) =>
    Object.assign(plan, { claim: { ...world.readPlan('p').claim, pids: 'pid:[1]' } }),
  );
}

function endLeases(world: World): void {
  const engines = 'home/state/engines';
  for (const name of readdirSync(join(world.dir, engines))) world.age(`${engines}/${name}`, 61);
}

const KEPT = ['command.json', 'exit.reserve', 'pid', 'prompt.md', 'stderr', 'stdout'];

describe('a job that cannot be seen from here', () => {
  it('is left alone: its ticket waits for the lease, then continues in a new worktree from the last commit', async ({
    world,
  }) => {
    prepare(world);
    world.plan('p', { tickets: { a: {} } });
    const pid = await orphan(world);
    const before = await world.cli('run', 'p');
    expect(before.code, before.out + before.err).toBe(3);
    const after = /If it is gone, its lease ends in (\d+) s; then: signalbox run p\b/;
    expect(Number(after.exec(before.err)?.[1]), before.err).toBeLessThanOrEqual(60);
    const { out: shown } = await world.cli('status', '--plan', 'p');
    expect(shown).toMatch(/build; held by another process \(pid \d+ on \S+\)/);
    expect(Number(after.exec(shown)?.[1]), shown).toBeLessThanOrEqual(60);
    const diff = await world.cli('workspace', 'release', 'p', 'a');
    expect(diff.err).toMatch(/its lease ends in \d+ s; then: give this command again/);
    endLeases(world);
    await stopJob(job(world), 'stopped', 0);
    const run = world.invoke(['run', 'p']);
    const second = await world.call('working', {}, 2);
    expect(second.cwd).toBe(`${world.calls('working')[0]?.cwd}-2`);
    expect(isRunning(pid)).toBe(true);
    expect(readdirSync(job(world)).sort()).toEqual(KEPT);
    world.go();
    const { code, out, err } = await run.ended;
    expect(code, out + err).toBe(0);
    expect(out).toContain('cannot be seen from here. The ticket continues in ');
    expect(story(world.ticket('p', 'a'))).toEqual(['build interrupted', 'build success']);
  });

  it('in a checkout that people use, too, holds the ticket back until a person says that it is gone', {
    tags: 'full',
  }, async ({ world }) => {
    prepare(world);
    world.plan('p', { workspace: 'shared', tickets: { a: {} } });
    const pid = await orphan(world);
    endLeases(world);
    const run = await world.cli('run', 'p');
    expect(run.code, run.out + run.err).toBe(1);
    expect(world.ticket('p', 'a')).toMatchObject({ status: 'needs_attention', claim: null });
    expect(world.ticket('p', 'a').error).toContain('may still work in');
    expect(world.ticket('p', 'a').error).toContain('signalbox retry p a');
    expect(isRunning(pid)).toBe(true);
    expect(readdirSync(job(world)).sort()).toEqual(KEPT);
    world.go();
    await world.cli('retry', 'p', 'a');
    expect((await world.cli('run', 'p')).code).toBe(0);
  });
});

describe('a ticket that a person pauses while its job cannot be seen', () => {
  it('continues in a new worktree, too, and says what it waits for until the lease is over', async ({
    world,
  }) => {
    prepare(world);
    world.plan('p', { tickets: { a: {} } });
    const pid = await orphan(world);
    const pause = world.invoke(['pause', 'p', 'a']);
    await waitFor('the pause', () => world.ticket('p', 'a').status === 'paused');
    for (const name of ['resume', 'retry']) {
      const { code, err } = await world.cli(name, 'p', 'a');
      expect(code, err).toBe(3);
      expect(err).toMatch(/its lease ends in \d+ s; then: give this command again/);
    }
    expect((await world.cli('status', '--plan', 'p')).out).toMatch(
      /its lease ends in \d+ s; then: signalbox resume p a\b/,
    );
    endLeases(world);
    expect(await pause.ended).toMatchObject({ code: 0 });
    const [first] = world.calls('working');
    expect(world.ticket('p', 'a')).toMatchObject({
      status: 'paused',
      claim: null,
      worktree: `${first?.cwd}-2`,
    });
    await world.cli('resume', 'p', 'a');
    const run = world.invoke(['run', 'p']);
    expect((await world.call('working', {}, 2)).cwd).toBe(`${first?.cwd}-2`);
    expect(isRunning(pid)).toBe(true);
    expect(readdirSync(job(world)).sort()).toEqual(KEPT);
    world.go();
    const { code, out, err } = await run.ended;
    expect(code, out + err).toBe(0);
  });

  it('in a shared tree, waits for a person after a pause of it or of its plan, and keeps the tree', {
    tags: 'full',
  }, async ({ world }) => {
    prepare(world);
    world.plan('p', { workspace: 'shared', tickets: { a: {} } });
    await orphan(world);
    endLeases(world);
    const asksAfter = async (...commands: string[][]) => {
      for (const args of commands) expect((await world.cli(...args)).code, args.join(' ')).toBe(0);
      const { code, out, err } = await world.cli('run', 'p');
      expect(code, out + err).toBe(1);
      expect(world.ticket('p', 'a')).toMatchObject({ status: 'needs_attention', claim: null });
      expect(world.ticket('p', 'a').error).toContain('may still work in');
    };
    await asksAfter(['pause-plan', 'p'], ['resume', 'p']);
    await asksAfter(['pause', 'p', 'a'], ['resume', 'p', 'a']);
    for (const args of [
      ['skip', 'p', 'a', 'build'],
      ['cancel', 'p', 'a', '--yes'],
    ]) {
      const { code, err } = await world.cli(...args);
      expect(code, err).toBe(1);
      expect(err).toContain('Once that process has ended: signalbox retry p a');
    }
    expect(world.calls('working')).toHaveLength(1);
    world.go();
    await world.cli('retry', 'p', 'a');
    expect((await world.cli('run', 'p')).code).toBe(0);
  });

  it('is not worked on twice after its workflow could not be read either', { tags: 'full' }, async ({
    world,
  }) => {
    prepare(world);
    world.plan('p', { tickets: { a: {} } });
    await orphan(world);
    endLeases(world);
    const ticket = world.ticket('p', 'a');
    world.writeTicket('p', 'a', { ...ticket, workflow: 'gone', workflowHash: null });
    await world.cli('run', 'p');
    expect(world.ticket('p', 'a')).toMatchObject({ status: 'needs_attention', claim: null });
    expect(world.ticket('p', 'a').worktree).toBe(`${ticket.worktree}-2`);
  });
});

describe('a gate whose engine was killed while it checked for an answer', () => {
  /** Kills an engine in the second check of a gate, whose first one has asked. Returns the pid of the check. */
  async function killChecking(world: World, more: { workspace?: 'shared' } = {}): Promise<number> {
    world.config({ pollInterval: 0.1 });
    const wait = 'echo $$ > "$HOME/checks.new"; mv "$HOME/checks.new" "$HOME/checks"; exec sleep 1000';
    world.script('look.sh', `[ -e "$HOME/asked" ] && { ${wait}; }; touch "$HOME/asked"; exit 1`);
    world.workflow('work', [
      { id: 'ask', type: 'gate', command: 'look.sh', on: { yes: 'done' } },
      { id: 'done', type: 'terminal' },
    ]);
    world.plan('p', { tickets: { a: {} }, ...more });
    const run = world.start(['run', 'p']);
    await waitFor('the second check', () => world.exists('user/checks'));
    await run.kill('SIGKILL');
    return Number(world.read('user/checks'));
  }

  it('takes an answer, and the check is ended', async ({ world }) => {
    const pid = await killChecking(world);
    expect(isRunning(pid)).toBe(true);
    expect(await world.cli('respond', 'p', 'a', 'yes')).toMatchObject({ code: 0 });
    expect(world.ticket('p', 'a')).toMatchObject({ status: 'complete', claim: null });
    expect(isRunning(pid)).toBe(false);
  });

  it('says how long the lease is where the check cannot be seen, and takes an answer after that', {
    tags: 'full',
  }, async ({ world }) => {
    const pid = await killChecking(world);
    hide(world, 'ask.1.1');
    const { code, err } = await world.cli('respond', 'p', 'a', 'yes');
    expect(code, err).toBe(3);
    expect(err).toMatch(/its lease ends in \d+ s; then: give this command again/);
    endLeases(world);
    expect(await world.cli('respond', 'p', 'a', 'yes')).toMatchObject({ code: 0 });
    expect(world.ticket('p', 'a')).toMatchObject({ status: 'complete', claim: null });
    expect(isRunning(pid)).toBe(true);
  });

  it('asks again, and no person has to say that the check has ended', { tags: 'full' }, async ({ world }) => {
    await killChecking(world, { workspace: 'shared' });
    hide(world, 'ask.1.1');
    endLeases(world);
    world.remove(join(world.dir, 'user/asked'));
    const run = world.invoke(['run', 'p']);
    await world.reaches('p', 'a', ({ hold, claim }) => hold?.kind === 'gate' && claim === null);
    expect(world.ticket('p', 'a').unseen).toBeUndefined();
    world.script('look.sh', 'exit 1');
    expect(await world.cli('respond', 'p', 'a', 'yes')).toMatchObject({ code: 0 });
    expect(await run.ended).toMatchObject({ code: 0 });
  });
});

const NAMESPACES = ['--uts', '--pid', '--fork', '--mount-proc', '--kill-child'];
const MAY = spawnSync('unshare', [...NAMESPACES, 'hostname', 'probe']).status === 0;

/** Starts a command in a pid namespace of its own, under another host name, as a container would. */
function contain(world: World, host: string, args: readonly string[], how = 'exec "$@"') {
  const script = `hostname "$0"; ${how}`;
  const words = [...NAMESPACES, 'sh', '-c', script, host, process.execPath, CLI, ...args];
  const child = spawn('unshare', words, {
    env: world.env,
    cwd: world.dir,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
  const ended = new Promise<{ code: number | null; said: string }>((resolve) =>
    child.once('close', (code) => resolve({ code, said })),
  );
  return { ended, kill: () => child.kill('SIGKILL') };
}

describe.skipIf(!MAY)('engines in pid namespaces of their own', () => {
  it('a container that is started again under a new host name continues the work of the first', {
    tags: 'full',
  }, async ({ world }) => {
    prepare(world);
    world.plan('p', { tickets: { a: {} } });
    const first = contain(world, 'one', ['run', 'p']);
    await world.call('working');
    first.kill();
    await first.ended;
    const held = await contain(world, 'two', ['run', 'p']).ended;
    expect(held.code, held.said).toBe(3);
    expect(held.said).toContain('on one');
    endLeases(world);
    world.go();
    const second = await contain(world, 'two', ['run', 'p']).ended;
    expect(second.code, second.said).toBe(0);
    expect(world.ticket('p', 'a')).toMatchObject({ status: 'complete', claim: null });
  });

  it('never leave two agents in one worktree after a pause of a ticket whose engine was killed', {
    tags: 'full',
  }, async ({ world }) => {
    prepare(world);
    world.plan('p', { tickets: { a: {} } });
    const killed =
      '"$@" & until [ -e killed ]; do sleep 0.05; done; kill -9 $!; wait $!; touch gone; sleep 60';
    const first = contain(world, 'one', ['run', 'p'], killed);
    const { cwd } = await world.call('working');
    writeFileSync(join(world.dir, 'killed'), '');
    await waitFor('the end of the engine', () => existsSync(join(world.dir, 'gone')));
    endLeases(world);
    const { out } = await world.cli('status', '--plan', 'p');
    expect(out).toContain('in a new worktree unless its process has ended: signalbox run p');
    for (const name of ['pause', 'resume'])
      expect(await world.cli(name, 'p', 'a')).toMatchObject({ code: 0 });
    const run = world.invoke(['run', 'p']);
    expect((await world.call('working', {}, 2)).cwd).toBe(`${cwd}-2`);
    world.go();
    expect(await run.ended).toMatchObject({ code: 0 });
    first.kill();
    await first.ended;
  });

  it('an engine that slept for longer than its lease changes nothing of what another one has finished', {
    tags: 'full',
  }, async ({ world }) => {
    prepare(world);
    world.plan('p', { tickets: { a: {} } });
    const sleeps =
      '"$@" & e=$!; until [ -e asleep ]; do sleep 0.05; done; kill -STOP $e; touch stopped; until [ -e awake ]; do sleep 0.05; done; kill -CONT $e; wait $e';
    const first = contain(world, 'one', ['run', 'p'], sleeps);
    await world.call('working');
    writeFileSync(join(world.dir, 'asleep'), '');
    await waitFor('the sleep', () => existsSync(join(world.dir, 'stopped')));
    endLeases(world);
    const second = world.invoke(['run', 'p']);
    await world.call('working', {}, 2);
    world.go();
    expect(await second.ended).toMatchObject({ code: 0 });
    const finished = world.ticket('p', 'a');
    expect(finished).toMatchObject({ status: 'complete', claim: null });
    writeFileSync(join(world.dir, 'awake'), '');
    await first.ended;
    expect(world.ticket('p', 'a')).toEqual(finished);
    expect(world.calls('start')).toHaveLength(2);
  });

  it('never run one ticket twice', { tags: 'full' }, async ({ world }) => {
    prepare(world);
    world.plan('p', { tickets: { a: {}, b: {}, c: {} } });
    const first = contain(world, 'one', ['tick']);
    await world.call('working');
    const ticks = [contain(world, 'two', ['tick']), contain(world, 'three', ['tick'])];
    world.go();
    for (const each of [first, ...ticks]) expect(await each.ended).toMatchObject({ code: 0 });
    await world.cli('run', 'p');
    for (const id of ['a', 'b', 'c']) expect(world.calls('start', { ticket: `p/${id}` }), id).toHaveLength(1);
  });
});
