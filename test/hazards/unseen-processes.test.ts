import { spawn, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { stopJob } from '../../src/machine/jobs/stop-job.ts';
import { CLI } from '../support/cli.ts';
import { isRunning, it, story, type World } from '../support/index.ts';

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
  const file = join(job(world), 'command.json');
  writeFileSync(file, readFileSync(file, 'utf8').replace(/pid:\[\d+\]/, 'pid:[1]'));
  const ticket = world.ticket('p', 'a');
  if (ticket.claim) world.writeTicket('p', 'a', { ...ticket, claim: { ...ticket.claim, pids: 'pid:[1]' } });
  world.editPlan('p', (plan) =>
    Object.assign(plan, { claim: { ...world.readPlan('p').claim, pids: 'pid:[1]' } }),
  );
  return pid;
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

const NAMESPACES = ['--uts', '--pid', '--fork', '--mount-proc', '--kill-child'];
const MAY = spawnSync('unshare', [...NAMESPACES, 'hostname', 'probe']).status === 0;

/** Starts a command in a pid namespace of its own, under another host name, as a container would. */
function contain(world: World, host: string, args: readonly string[]) {
  const script = 'hostname "$0"; exec "$@"';
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
