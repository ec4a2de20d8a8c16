import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openEngine } from '../../src/api/open-engine-with-features.ts';
import { loadSettings } from '../../src/config/load-settings.ts';
import { runWorker } from '../../src/engine/run-daemon-tick-and-worker.ts';
import { storeAt } from '../store/postgres/support.ts';
import { FleetWorld } from '../support/fleet.ts';
import { waitFor } from '../support/wait-for.ts';

const PACKAGE_DIR = new URL('../..', import.meta.url).pathname;

/** A machine with an agent that others do not have, and a worker on it that has the agent's name as its label. */
async function workerWith(fleet: FleetWorld, agent: string, steps: unknown[]): Promise<void> {
  const home = fleet.machine();
  const file = join(home, 'config.yaml');
  const scenario = join(home, 'scenario.yaml');
  writeFileSync(scenario, JSON.stringify(steps.length > 0 ? [{ do: steps }] : []));
  const config = JSON.parse(readFileSync(file, 'utf8')) as object;
  const own = {
    adapter: 'rehearsal',
    command: 'rehearsal',
    account: 'team',
    defaultArgs: ['--scenario', scenario],
  };
  writeFileSync(file, JSON.stringify({ ...config, agents: { [agent]: own } }));
  await fleet.worker(home, ['--labels', agent]);
}

async function twoMachines(steps: unknown[], settings: Record<string, unknown> = {}): Promise<FleetWorld> {
  const fleet = await FleetWorld.open();
  const { world } = fleet;
  world.config(settings);
  world.workflow('work', [{ id: 'build', type: 'agent', prompt: 'Build it.' }]);
  const on = (agent: string) => ({ agent, workerLabels: [agent] });
  world.plan('p', { tickets: { a: on('first'), b: { ...on('second'), blockedBy: [] } } });
  await fleet.upload('p');
  await workerWith(fleet, 'first', steps);
  return fleet;
}

it('a usage limit that an agent met on one machine holds agents of the same account on another', async () => {
  const fleet = await twoMachines([{ limit: 600 }]);
  await fleet.until(
    'the limit',
    (store) => store.ticket({ planId: 'p', ticketId: 'a' }).hold?.kind === 'limit',
  );
  await workerWith(fleet, 'second', []);
  await fleet.until(
    'the other to wait',
    (store) => store.ticket({ planId: 'p', ticketId: 'b' }).hold?.kind === 'limit',
  );
  expect(fleet.store.ticket({ planId: 'p', ticketId: 'b' }).phaseHistory).toEqual([]);
});

it('a budget of the day counts what all machines have used', { tags: 'full' }, async () => {
  const fleet = await twoMachines([], { budgets: { day: { launches: 1 } } });
  await fleet.reaches('p', 'a', 'complete');
  await workerWith(fleet, 'second', []);
  await fleet.until(
    'the other to wait',
    (store) => store.ticket({ planId: 'p', ticketId: 'b' }).hold?.kind === 'budget',
  );
  expect(fleet.store.ticket({ planId: 'p', ticketId: 'b' }).phaseHistory).toEqual([]);
});

it.each([{ maxPerRepository: 1 }, { fleet: { maxConcurrency: 1 } }])(
  '%j holds on all machines, by whatever name plans call their repository',
  { tags: 'full' },
  async (limit) => {
    const fleet = await FleetWorld.open();
    const { world } = fleet;
    world.config(limit);
    world.workflow('work', [{ id: 'build', type: 'agent', prompt: 'Build it.' }]);
    world.agent('agent', 'commit');
    const elsewhere = '/home/anna/scratch';
    const names = ['acme/scratch', 'https://github.com/Acme/scratch.git', world.repo, elsewhere];
    const repositories = { [elsewhere]: 'git@github.com:acme/scratch.git' };
    const plans = names.map((_, index) => `p${index}`);
    for (const [index, repo] of names.entries())
      world.plan(`p${index}`, { repo, repositories, tickets: { a: {} } });
    await fleet.upload(...plans);
    const workers = [fleet.machine(), fleet.machine()].map((home) => fleet.worker(home, ['--slots', '4']));
    for (const id of plans) await fleet.reaches(id, 'a', 'complete');
    const order = world.calls().map(({ what }) => what);
    expect(order).toEqual(plans.flatMap(() => ['start', 'end']));
    for (const worker of workers) await (await worker).kill('SIGINT');
  },
);

it('two workers that start agents at the same moment do not pass a budget of launches', async () => {
  const fleet = await FleetWorld.open();
  const { world } = fleet;
  world.config({ budgets: { plan: { launches: 1 } } });
  world.workflow('work', [{ id: 'build', type: 'agent', prompt: 'Build it.' }]);
  world.agent('agent', 'commit');
  world.plan('p', { tickets: { a: {}, b: {} } });
  await fleet.upload('p');
  const ends = [fleet.machine(), fleet.machine()].map(async (home) => {
    const env = { ...world.env, SIGNALBOX_HOME: home } as Record<string, string>;
    const settings = await loadSettings({ cwd: world.dir, env, packageDir: PACKAGE_DIR });
    const store = await storeAt(fleet.database.address);
    const engine = openEngine({ settings, env, by: 'worker', store, handsOver: true });
    const isHere = () => store.tickets('p').every(({ claim }) => claim !== null);
    // Both have decided to start before either has recorded it.
    const mayDrive = async () => {
      await waitFor('both claims', isHere);
      return null;
    };
    engine.kinds = new Map([[null, { mayDrive }]]);
    const [drain, stop] = [new AbortController(), new AbortController()];
    const more = { slots: 1, labels: [], version: '1', checkEveryMs: 1000 };
    const working = runWorker(engine, { ...more, drain: drain.signal, stop: stop.signal });
    return async () => {
      drain.abort();
      await working;
    };
  });
  await fleet.until('one end', (store) => store.tickets('p').some(({ status }) => status === 'complete'));
  await fleet.until('the other to wait', (store) =>
    store.tickets('p').some(({ hold }) => hold?.kind === 'budget'),
  );
  expect(fleet.store.tickets('p').flatMap(({ phaseHistory }) => phaseHistory)).toHaveLength(1);
  for (const end of await Promise.all(ends)) await end();
});
