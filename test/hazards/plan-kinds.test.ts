import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect } from 'vitest';
import { CRASH_POINTS } from '../../src/engine/crash-points.ts';
import { git, it, story, type World, worktreesOf } from '../support/index.ts';
import { firstOnly } from '../support/tiers.ts';

const NIGHTLY = fileURLToPath(new URL('../fixtures/plan-kinds/nightly.mjs', import.meta.url));

function prepare(world: World, night: unknown = { title: 'Friday' }): void {
  world.agent('agent', 'exit 1');
  world.agent('owl', 'cat > /dev/null; go; commit');
  world.workflow('work', [
    { id: 'build', type: 'agent', prompt: '{{ unit.work }}', expect: { commits: true } },
  ]);
  world.plan('p', { tickets: { a: {}, b: { blockedBy: ['a'] } } });
  world.editPlan('p', (plan) => Object.assign(plan, { kind: 'nightly', night, mine: [1, 2] }));
}

function nightly(world: World, env: NodeJS.ProcessEnv = {}) {
  return world.start([world.dir, 'p'], env, world.dir, NIGHTLY);
}

function report(world: World): Record<string, unknown> {
  return JSON.parse(readFileSync(join(world.dir, 'report.json'), 'utf8'));
}

function expectDone(world: World): void {
  expect(JSON.parse(readFileSync(world.planFile('p'), 'utf8'))).toMatchObject({
    kind: 'nightly',
    night: { title: 'Friday' },
    mine: [1, 2],
    status: 'complete',
    claim: null,
  });
  for (const id of ['a', 'b']) {
    const ticket = world.ticket('p', id);
    expect(ticket).toMatchObject({ status: 'complete', claim: null, hold: null });
    expect(story(ticket).filter((line) => !line.endsWith('interrupted'))).toEqual(['build success']);
    expect(ticket.phaseHistory.at(-1)).toMatchObject({ agent: 'owl' });
    expect(world.promptOf('p', id, 'build.1.1')).toContain('Work of Friday');
    // b starts from a's branch, which has the night's commit already.
    const log = git(world.repo, 'log', '--format=%s', `ticket/p/${id}`).split('\n');
    expect(log.filter((line) => line === 'Night')).toHaveLength(1);
    expect(world.calls('end', { ticket: `p/${id}` })).toHaveLength(1);
  }
  expect(report(world)).toMatchObject({ b: 'complete', plan: 'complete', flushed: true });
  expect(worktreesOf(world.repo)).toEqual([]);
}

describe('a kind of plan from outside', () => {
  for (const point of CRASH_POINTS) {
    const slow = firstOnly(['attempt:running', 'attempt:performed'].includes(point) ? 0 : 1);
    it.concurrent(`recovers from kill -9 at ${point}, and its hooks run again`, slow, async ({ world }) => {
      prepare(world);
      world.go();
      const crashed = await nightly(world, { SIGNALBOX_CRASH_AT: point }).ended;
      expect(crashed).toMatchObject({ code: null, signal: 'SIGKILL' });
      const { code, out, err } = await nightly(world).ended;
      expect(code, out + err).toBe(0);
      expectDone(world);
    });
  }

  it.concurrent('hears of a ticket that is left, also where its engine was killed just then', async ({
    world,
  }) => {
    prepare(world);
    world.go();
    world.append('power fails', '');
    expect((await nightly(world).ended).signal).toBe('SIGKILL');
    expect(world.ticket('p', 'a')).toMatchObject({ status: 'complete' });
    rmSync(join(world.dir, 'power fails'));
    expect((await nightly(world).ended).code).toBe(0);
    expectDone(world);
    expect(report(world)).toMatchObject({ a: 'complete' });
  });

  it.concurrent('holds its tickets back until it lets them run', async ({ world }) => {
    prepare(world);
    world.go();
    world.append('closed', '');
    const running = nightly(world);
    await running.says('a ready waits for the night');
    expect(world.calls('start')).toEqual([]);
    rmSync(join(world.dir, 'closed'));
    const { code, out, err } = await running.ended;
    expect(code, out + err).toBe(0);
    expectDone(world);
  });

  it.concurrent('decides what counts as work', async ({ world }) => {
    prepare(world);
    world.go();
    world.agent('owl', 'cat > /dev/null; echo later >> night.txt; git commit --quiet --all --message=Later');
    expect((await nightly(world).ended).code).toBe(1);
    expect(world.ticket('p', 'a').error).toContain('besides the title of the night, found none');
  });

  it.concurrent('checks the fields of its plans with its schema', async ({ world }) => {
    prepare(world, { title: 7 });
    const { code, err } = await nightly(world).ended;
    expect(code).toBe(1);
    expect(err).toMatch(/plan\.json:\d+:\d+: night\.title: must be a text\./);
  });
});

describe('a plan of a kind that is not registered', () => {
  it('is held back with the reason, and no command changes its files', async ({ world }) => {
    prepare(world);
    world.agent('agent', 'commit');
    world.plan('q', { tickets: { c: {} } });
    world.workflow('work', [{ id: 'build', type: 'agent', prompt: 'Build it.', expect: { commits: true } }]);
    const files = [world.planFile('p'), world.ticketFile('p', 'a'), world.ticketFile('p', 'b')];
    const before = files.map((file) => readFileSync(file));
    const message = /kind: plans of kind "nightly" are not known here/;
    expect((await world.cli('status')).out).toMatch(message);
    for (const args of [
      ['run', 'p'],
      ['pause', 'p', 'a'],
      ['stop', 'p'],
      ['resume', 'p'],
      ['skip', 'p', 'a', 'build'],
      ['plan', 'approve', 'p'],
      ['plan', 'remove', 'p', 'b'],
      ['plan', 'delete', 'p'],
    ]) {
      const { code, err } = await world.cli(...args);
      expect(code, args.join(' ')).not.toBe(0);
      expect(err, args.join(' ')).toMatch(message);
    }
    expect((await world.cli('plan', 'check', 'p')).out).toMatch(message);
    await world.cli('clean', '--yes');
    const daemon = world.start(['daemon']);
    await daemon.says(message);
    await world.reaches('q', 'c', 'complete');
    await daemon.kill('SIGTERM');
    expect(files.map((file) => readFileSync(file))).toEqual(before);
    expect(world.calls('start')).toMatchObject([{ ticket: 'q/c' }]);
  });
});
