import { expect, it } from 'vitest';
import { says } from '../support/cli.ts';
import { FleetWorld } from '../support/fleet.ts';

async function fleetWithAgent(body: string): Promise<FleetWorld> {
  const fleet = await FleetWorld.open();
  const { world } = fleet;
  world.config({ fleet: { leaseSeconds: 10 } });
  world.workflow('work', [{ id: 'build', type: 'agent', prompt: 'Build it.' }]);
  world.agent('agent', body);
  world.plan('p', { tickets: { a: {} } });
  await fleet.upload('p');
  return fleet;
}

it('a worker that was killed and starts again takes its living agent back at once', async () => {
  const fleet = await fleetWithAgent('go; commit');
  const { world } = fleet;
  const home = fleet.machine();
  const first = await fleet.worker(home);
  await world.call('start');
  await first.kill('SIGKILL');
  const again = await fleet.worker(home);
  await says(again, 'build');
  world.go();
  await fleet.reaches('p', 'a', 'complete');
  expect(world.calls('start')).toHaveLength(1);
  const [attempt, ...more] = fleet.store.ticket({ planId: 'p', ticketId: 'a' }).phaseHistory;
  expect([attempt?.status, more]).toEqual(['success', []]);
  await again.kill('SIGINT');
});

it('the agent of a killed worker ends before its lease, and another worker continues without a failed attempt', {
  tags: 'full',
}, async () => {
  const fleet = await fleetWithAgent('alone; go; commit');
  const { world } = fleet;
  const first = await fleet.worker(fleet.machine());
  await world.call('start');
  const other = await fleet.worker(fleet.machine());
  await first.kill('SIGKILL');
  await world.call('start', {}, 2);
  world.go();
  await fleet.reaches('p', 'a', 'complete');
  const { phaseHistory, dispatch, retries } = fleet.store.ticket({ planId: 'p', ticketId: 'a' });
  expect(phaseHistory.map(({ status }) => status)).toEqual(['interrupted', 'success']);
  expect(retries.build ?? 0).toBe(0);
  expect(dispatch?.number).toBe(2);
  expect(world.calls('clash')).toEqual([]);
  await other.kill('SIGINT');
});

it('a person pauses an agent on another machine, and sees workers and what they drive', async () => {
  const fleet = await fleetWithAgent('go; commit');
  const { world } = fleet;
  const worker = await fleet.worker(fleet.machine(), ['--labels', 'linux,gpu']);
  await world.call('start');
  const status = await fleet.cli('fleet', 'status');
  expect(status.out).toMatch(/at work .*1\/3 .*linux,gpu .*p\/a/);
  expect(await fleet.cli('pause', 'p', 'a')).toMatchObject({ code: 0 });
  await fleet.reaches('p', 'a', 'paused');
  const [{ id } = { id: '' }] = fleet.store.fleet.workers();
  expect(await fleet.cli('fleet', 'remove', id)).toMatchObject({
    code: 3,
    err: expect.stringContaining('lease ends in'),
  });
  expect(await fleet.cli('fleet', 'drain', id)).toMatchObject({ code: 0 });
  expect(await worker.ended).toMatchObject({ code: 0 });
  const [told] = await fleet.database.query(
    "select command, about, person, database_user from signalbox.commands where command = 'drain'",
  );
  expect(told).toEqual({ command: 'drain', about: id, person: 'anna', database_user: 'postgres' });
});

it('a ticket that no worker can take says so in status', async () => {
  const fleet = await FleetWorld.open();
  const { world } = fleet;
  world.workflow('work', [{ id: 'build', type: 'agent', prompt: 'Build it.' }]);
  world.plan('p', { workerLabels: ['gpu'], tickets: { a: {} } });
  await fleet.upload('p');
  expect((await fleet.cli('status', 'p')).out).toContain('no worker is running');
  const worker = await fleet.worker(fleet.machine(), ['--labels', 'linux']);
  expect((await fleet.cli('status', 'p')).out.replaceAll(/\s+/g, ' ')).toContain('has the labels gpu');
  await worker.kill('SIGINT');
});
