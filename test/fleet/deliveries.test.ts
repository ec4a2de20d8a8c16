import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { openEngine } from '../../src/api/open-engine-with-features.ts';
import { loadSettings } from '../../src/config/load-settings.ts';
import type { PlanHooks } from '../../src/engine/plan-hooks-interface.ts';
import { runWorker } from '../../src/engine/run-daemon-tick-and-worker.ts';
import type { PgStore } from '../../src/store/postgres/pg-store.ts';
import { storeAt } from '../store/postgres/support.ts';
import { FleetWorld } from '../support/fleet.ts';
import { commitsOf } from '../support/repo.ts';
import { waitFor } from '../support/wait-for.ts';
import { story } from '../support/world.ts';

const BUILD = [{ id: 'build', type: 'agent', prompt: 'Build it.' }];

async function fleetWith(body: string): Promise<FleetWorld> {
  const fleet = await FleetWorld.open();
  fleet.world.config({ fleet: { leaseSeconds: 10 } });
  fleet.world.workflow('work', BUILD);
  fleet.world.agent('agent', body);
  return fleet;
}

/** A worker that does not take what is given to it, beside a daemon that schedules. */
async function sleepingWorker(fleet: FleetWorld) {
  const daemon = fleet.world.start(['daemon', '--plain'], fleet.env());
  await fleet.until('the daemon', (store) => store.holder('test').daemon() !== undefined);
  const worker = await fleet.worker(fleet.machine());
  process.kill(worker.pid, 'SIGSTOP');
  fleet.world.plan('p', { tickets: { a: {} } });
  await fleet.upload('p');
  await fleet.until('the dispatch', () => ticketOf(fleet).dispatch?.at != null);
  const wake = () => process.kill(worker.pid, 'SIGCONT');
  const end = async () => {
    for (const each of [worker, daemon]) expect(await each.kill('SIGINT')).toMatchObject({ code: 0 });
  };
  return { wake, end };
}

/** A worker inside the test's process. */
async function workerHere(
  { world, database }: FleetWorld,
  hooks: PlanHooks,
  beforeRole: (store: PgStore) => Promise<void> = async () => undefined,
  behindMs = 0,
) {
  const env = world.env as Record<string, string>;
  const packageDir = new URL('../..', import.meta.url).pathname;
  const settings = await loadSettings({ cwd: world.dir, env, packageDir });
  const store = await storeAt(database.address);
  const engine = openEngine({ settings, env, by: 'worker', store, handsOver: true });
  engine.kinds = new Map([[null, hooks]]);
  engine.now = () => new Date(Date.now() - behindMs).toISOString();
  const { takeRole } = store.fleet;
  store.fleet.takeRole = async (...asked) => {
    await beforeRole(store);
    return takeRole(...asked);
  };
  const [drain, stop] = [new AbortController(), new AbortController()];
  const slots = { slots: 1, labels: [], version: '1', checkEveryMs: 1000 };
  const working = runWorker(engine, { ...slots, drain: drain.signal, stop: stop.signal });
  const end = () => {
    drain.abort();
    return working;
  };
  return { end };
}

const ticketOf = (fleet: FleetWorld, ticketId = 'a') => fleet.store.ticket({ planId: 'p', ticketId });

describe('a ticket that is dispatched and not claimed yet', () => {
  it('is paused at once, and retried later with the next number', { tags: 'full' }, async () => {
    const fleet = await fleetWith('commit');
    const { wake, end } = await sleepingWorker(fleet);
    expect(await fleet.cli('pause', 'p', 'a')).toMatchObject({ code: 0 });
    wake();
    await fleet.until('the worker to give it back', () => ticketOf(fleet).dispatch?.at === null);
    expect(ticketOf(fleet)).toMatchObject({ status: 'paused', claim: null, phaseHistory: [] });
    expect(await fleet.cli('resume', 'p', 'a')).toMatchObject({ code: 0 });
    await fleet.reaches('p', 'a', 'complete');
    expect(fleet.world.calls('start')).toHaveLength(1);
    expect(ticketOf(fleet).dispatch).toMatchObject({ number: 2, at: null });
    await end();
  });

  it('that is paused and resumed before its worker wakes runs once', { tags: 'full' }, async () => {
    const fleet = await fleetWith('commit');
    const { wake, end } = await sleepingWorker(fleet);
    for (const command of ['pause', 'resume'])
      expect(await fleet.cli(command, 'p', 'a')).toMatchObject({ code: 0 });
    wake();
    await fleet.reaches('p', 'a', 'complete');
    expect(fleet.world.calls('start')).toHaveLength(1);
    expect(story(ticketOf(fleet))).toEqual(['build success']);
    await end();
  });
});

it('a job that is delivered twice, and one of an earlier dispatch, start nothing and hold nothing up', {
  tags: 'full',
}, async () => {
  const fleet = await fleetWith('go; commit');
  const { world } = fleet;
  world.plan('p', { tickets: { a: {}, b: { blockedBy: ['a'] } } });
  await fleet.upload('p');
  const worker = await fleet.worker(fleet.machine(), ['--slots', '2']);
  await world.call('start');
  // What the queue would deliver if the worker had died after it fetched the job.
  const again = (number: number) =>
    fleet.database.query(
      `insert into signalbox_queue.job (name, data)
       select name, data || jsonb_build_object('number', $1::int) from signalbox_queue.job limit 1`,
      [number],
    );
  for (const number of [1, 0, 7]) await again(number);
  world.go('a');
  await world.call('start', { ticket: 'p/b' });
  world.go('b');
  await fleet.reaches('p', 'b', 'complete');
  expect(world.calls('start').map(({ ticket }) => ticket)).toEqual(['p/a', 'p/b']);
  expect(['a', 'b'].map((id) => ticketOf(fleet, id).dispatch?.number)).toEqual([1, 1]);
  const open = "select from signalbox_queue.job where state in ('created', 'active')";
  await waitFor('the end of all jobs', async () => (await fleet.database.query(open)).length === 0);
  expect(await worker.kill('SIGINT')).toMatchObject({ code: 0 });
});

it('a ticket that a worker cannot begin is taken by another one', { tags: 'full' }, async () => {
  const fleet = await fleetWith('commit');
  const { world } = fleet;
  world.config({ pollInterval: 1 });
  const ready = fleet.machine();
  world.config({ agents: { agent: { command: join(world.dir, 'nowhere') } } });
  const lacking = await fleet.worker(fleet.machine(), ['--slots', '9']);
  world.plan('p', { tickets: { a: {} } });
  await fleet.upload('p');
  await fleet.until('the reason', () =>
    /^Worker \S+: Agent agent: /.test(ticketOf(fleet).hold?.reason ?? ''),
  );
  await fleet.until('more tries', () => (ticketOf(fleet).dispatch?.number ?? 0) > 3);
  const reasons = fleet.store.events('p').filter((event) => 'hold' in event && event.hold?.kind === 'broken');
  expect(reasons).toHaveLength(1);
  const able = await fleet.worker(ready, ['--slots', '1']);
  await fleet.reaches('p', 'a', 'complete');
  for (const worker of [lacking, able]) expect(await worker.kill('SIGINT')).toMatchObject({ code: 0 });
});

it('a ticket is taken with its first dispatch also by a worker whose clock is behind', {
  tags: 'full',
}, async () => {
  const fleet = await fleetWith('commit');
  const daemon = fleet.world.start(['daemon', '--plain'], fleet.env());
  await fleet.until('the daemon', (store) => store.holder('test').daemon() !== undefined);
  const { end } = await workerHere(fleet, {}, undefined, 30_000);
  const hold = { kind: 'backoff', reason: 'it failed', until: new Date().toISOString() } as const;
  fleet.world.plan('p', { tickets: { a: { status: 'ready', hold } } });
  await fleet.upload('p');
  await fleet.reaches('p', 'a', 'complete');
  expect(ticketOf(fleet).dispatch?.number).toBe(1);
  await end();
  expect(await daemon.kill('SIGINT')).toMatchObject({ code: 0 });
});

it('a drive that throws holds its own ticket alone, and a retry runs it under the next number', {
  tags: 'full',
}, async () => {
  const fleet = await fleetWith('commit');
  const { world } = fleet;
  world.plan('p', { tickets: { a: {}, b: { order: 1 } } });
  await fleet.upload('p');
  let throws = true;
  const hooks: PlanHooks = {
    mayDrive: async (_plan, { ticketId }) => {
      if (ticketId === 'a' && throws) throw new TypeError('cannot read what is undefined');
      return null;
    },
  };
  const { end } = await workerHere(fleet, hooks);
  await fleet.reaches('p', 'b', 'complete');
  await fleet.reaches('p', 'a', 'needs_attention');
  expect(ticketOf(fleet)).toMatchObject({ phaseHistory: [], dispatch: { number: 1, at: null } });
  expect(ticketOf(fleet).error).toContain('cannot read what is undefined');
  throws = false;
  expect(await fleet.cli('retry', 'p', 'a')).toMatchObject({ code: 0 });
  await fleet.reaches('p', 'a', 'complete');
  expect(ticketOf(fleet).dispatch?.number).toBe(2);
  expect(world.calls('start')).toHaveLength(2);
  await end();
});

it('a drive of more than twelve hours ends after its phase, and the next one continues under the next number', {
  tags: 'full',
}, async () => {
  const fleet = await fleetWith('commit');
  const { world } = fleet;
  world.workflow('work', [
    { ...BUILD[0], onSuccess: 'check' },
    { id: 'check', type: 'agent', prompt: 'Check it.' },
  ]);
  world.plan('p', { tickets: { a: {} } });
  await fleet.upload('p');
  const real = performance.now.bind(performance);
  const clock = vi.spyOn(performance, 'now');
  onTestFinished(() => clock.mockRestore());
  let isFirst = true;
  const variables = () => {
    if (isFirst) clock.mockImplementation(() => real() + 13 * 3_600_000);
    isFirst = false;
    return {};
  };
  let resolve = (): void => undefined;
  const released = new Promise<void>((done) => {
    resolve = done;
  });
  const left = async () => {
    clock.mockRestore();
    resolve();
  };
  const { end } = await workerHere(fleet, { variables, left });
  await released;
  await fleet.reaches('p', 'a', 'complete');
  expect(story(ticketOf(fleet))).toEqual(['build success', 'check success']);
  expect(ticketOf(fleet).dispatch?.number).toBe(2);
  await end();
});

it('a ticket that meets a usage limit three times gets a new number each time, and no slot while it waits', {
  tags: 'full',
}, async () => {
  const fleet = await fleetWith('exit 1');
  const { world } = fleet;
  world.rehearsal([
    ...[1, 2, 3].map((attempt) => ({ when: { ticket: 'a', attempt }, do: [{ limit: 1 }] })),
    { when: {}, do: [{ write: { path: 'x.txt', text: 'x' } }, { commit: 'Done' }] },
  ]);
  world.config({ defaultAgent: 'rehearsal' });
  world.plan('p', { tickets: { a: {}, b: { order: 1 } } });
  await fleet.upload('p');
  const worker = await fleet.worker(fleet.machine(), ['--slots', '1']);
  await fleet.reaches('p', 'a', 'complete');
  await fleet.reaches('p', 'b', 'complete');
  const { dispatch, retries } = ticketOf(fleet);
  expect(story(ticketOf(fleet))).toEqual(['build limit', 'build limit', 'build limit', 'build success']);
  expect([dispatch?.number, dispatch?.at, retries.build ?? 0]).toEqual([4, null, 0]);
  expect(await worker.kill('SIGINT')).toMatchObject({ code: 0 });
});

it('a plan that comes while a scheduler is in the middle of a look is scheduled', {
  tags: 'full',
}, async () => {
  const fleet = await fleetWith('commit');
  let came = 0;
  const { end } = await workerHere(fleet, {}, async (store) => {
    came += 1;
    if (came !== 2) return;
    fleet.world.plan('p', { tickets: { a: {} } });
    await fleet.upload('p');
    await store.refresh();
  });
  await fleet.reaches('p', 'a', 'complete');
  await end();
});

it('a ticket starts from what another machine has finished a moment ago', { tags: 'full' }, async () => {
  const fleet = await fleetWith('commit');
  const ids = ['a', 'b', 'c', 'd', 'e', 'f'];
  const tickets = ids.map((id, index) => {
    const blockedBy = ids.slice(Math.max(0, index - 1), index);
    return [id, { blockedBy, labels: [index % 2 ? 'gpu' : 'linux'] }] as const;
  });
  fleet.world.plan('p', { repo: 'acme/scratch', tickets: Object.fromEntries(tickets) });
  await fleet.upload('p');
  const homes = [fleet.machineWithClone(), fleet.machineWithClone()];
  const [linux, gpu] = homes.map((home, index) => fleet.worker(home, ['--labels', index ? 'gpu' : 'linux']));
  const workers = [await linux, await gpu];
  await fleet.reaches('p', 'f', 'complete');
  const origin = join(fleet.world.dir, 'origin.git');
  expect(commitsOf(origin, 'refs/signalbox/p/f')).toHaveLength(
    commitsOf(fleet.world.repo, 'main').length + ids.length,
  );
  for (const worker of workers) expect(await worker?.kill('SIGINT')).toMatchObject({ code: 0 });
});
