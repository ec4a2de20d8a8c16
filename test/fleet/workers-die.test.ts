import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import type { Ticket } from '../../src/model/ticket.ts';
import { CuttingProxy } from '../store/postgres/support.ts';
import { says } from '../support/cli.ts';
import { FleetWorld } from '../support/fleet.ts';
import { ownServer, pgCtl } from '../support/postgres.ts';
import { commitsOf, git } from '../support/repo.ts';
import { waitFor } from '../support/wait-for.ts';
import { story } from '../support/world.ts';

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

it('a worker that is stopped for longer than its lease, and continued, starts its ticket again and consumes nothing', {
  tags: 'full',
}, async () => {
  const fleet = await fleetWithAgent('alone; go; commit');
  const { world } = fleet;
  const worker = await fleet.worker(fleet.machine());
  const { pid } = await world.call('start');
  process.kill(worker.pid, 'SIGSTOP');
  await waitFor('the end of its agent', () => !isRunning(pid));
  const isOver = 'select from signalbox.holders where signalbox.lease_left(seen, lease_ms) < 0 and started';
  await waitFor('the end of the lease', async () => (await fleet.database.query(isOver)).length > 0);
  process.kill(worker.pid, 'SIGCONT');
  await world.call('start', {}, 2);
  world.go();
  await fleet.reaches('p', 'a', 'complete');
  const ticket = fleet.store.ticket({ planId: 'p', ticketId: 'a' });
  expect(story(ticket)).toEqual(['build interrupted', 'build success']);
  expect(ticket.phaseHistory[0]?.error).toMatchObject({ class: 'stopped' });
  expect(ticket.retries.build ?? 0).toBe(0);
  expect(world.calls('clash')).toEqual([]);
  expect(await worker.kill('SIGINT')).toMatchObject({ code: 0 });
});

it('a ticket whose machine never comes back ends on another one, with all its commits and what was done on GitHub', {
  tags: 'full',
}, async () => {
  const fleet = await FleetWorld.open();
  const { world } = fleet;
  world.config({ fleet: { leaseSeconds: 10 } });
  world.workflow('work', [
    { id: 'build', type: 'agent', prompt: 'Build it.', onSuccess: 'check' },
    { id: 'check', type: 'agent', prompt: 'Check it.', onSuccess: 'polish' },
    { id: 'polish', type: 'agent', prompt: 'Polish it.' },
  ]);
  // The first run of the check commits, and is ended before it has ended. The build leaves what an answer to a review would.
  const record = (home: string) => join(home, 'state', 'jobs', 'p', 'a', 'forge.jsonl');
  const line = JSON.stringify({ at: '', what: 'answered', state: 'noted', ids: ['comment:1'] });
  world.agent(
    'agent',
    `[ "$SIGNALBOX_PHASE" != build ] || echo '${line}' > "\${SIGNALBOX_WORKTREE%-trees/*}/state/jobs/p/a/forge.jsonl"; commit; [ "$SIGNALBOX_PHASE.$SIGNALBOX_ATTEMPT" != check.1 ] || { note waits; sleep 600; }`,
  );
  world.plan('p', { repo: 'acme/scratch', tickets: { a: {} } });
  await fleet.upload('p');
  const [home, otherHome] = [fleet.machineWithClone(), fleet.machineWithClone()];
  const first = await fleet.worker(home);
  const { cwd } = await world.call('waits');
  await first.kill('SIGKILL');
  const other = await fleet.worker(otherHome);
  await fleet.reaches('p', 'a', 'complete');
  const ticket = fleet.store.ticket({ planId: 'p', ticketId: 'a' });
  expect(story(ticket)).toEqual(['build success', 'check interrupted', 'check success', 'polish success']);
  expect([ticket.machine?.state, ticket.retries.check ?? 0]).toEqual([join(otherHome, 'state'), 0]);
  const [, , again] = world.calls('start');
  expect([cwd, again?.cwd]).toEqual([`${home}-trees/ticket/p/a`, `${otherHome}-trees/ticket/p/a`]);
  expect(readFileSync(record(otherHome), 'utf8')).toBe(readFileSync(record(home), 'utf8'));
  const origin = join(world.dir, 'origin.git');
  expect(commitsOf(origin, 'refs/signalbox/p/a')).toEqual(['build', 'check', 'polish']);
  expect(git(origin, 'show', 'refs/signalbox/p/a:work-a.txt').split('\n')).toEqual([
    'build 1 1',
    'check 1 2',
    'polish 1 1',
  ]);
  await other.kill('SIGINT');
});

it('an outage of the database that is longer than the lease costs what still ran, and nothing that ended', {
  tags: 'full',
}, async () => {
  const LEASE_SECONDS = 10;
  const server = await ownServer();
  const fleet = await FleetWorld.open(server);
  const { world } = fleet;
  world.config({ fleet: { leaseSeconds: LEASE_SECONDS } });
  world.workflow('work', [{ id: 'build', type: 'agent', prompt: 'Build it.' }]);
  world.agent('agent', 'go; commit');
  world.plan('p', { tickets: { ended: {}, running: {} } });
  await fleet.upload('p');
  const worker = await fleet.worker(fleet.machine());
  const ids = ['ended', 'running'] as const;
  const [, running] = await Promise.all(ids.map((id) => world.call('start', { ticket: `p/${id}` })));
  await pgCtl(server, 'stop', '--mode=fast');
  const stoppedAt = Date.now();
  world.go('ended');
  await world.call('end', { ticket: 'p/ended' });
  await waitFor('the end of the other agent', () => !isRunning(running?.pid ?? 0));
  await waitFor('the end of the lease', () => Date.now() - stoppedAt > LEASE_SECONDS * 1200);
  await pgCtl(server, 'restart');
  world.go('running');
  for (const id of ids) await fleet.reaches('p', id, 'complete');
  const [ended, other] = ids.map((ticketId) => fleet.store.ticket({ planId: 'p', ticketId }));
  expect(ended && story(ended)).toEqual(['build success']);
  expect(other && story(other)).toEqual(['build interrupted', 'build success']);
  expect(other?.retries.build ?? 0).toBe(0);
  expect(world.calls('start', { ticket: 'p/ended' })).toHaveLength(1);
  expect(await worker.kill('SIGINT')).toMatchObject({ code: 0 });
});

it('a network that is cut for all workers for longer than the lease costs nothing that ended, whoever is back first', {
  tags: 'full',
}, async () => {
  const fleet = await fleetWithAgent('go; commit');
  const { world, database, store } = fleet;
  const machines = await Promise.all(
    [1, 2].map(async () => {
      const [home, proxy] = [fleet.machine(), await CuttingProxy.to(database.server.port)];
      const worker = await fleet.worker(home, [], proxy.address(database.address));
      return { home, proxy, worker };
    }),
  );
  await world.call('start');
  await store.refresh();
  const { claim } = store.ticket({ planId: 'p', ticketId: 'a' });
  const late = machines.find(({ home }) => home === dirname(claim?.state ?? ''));
  for (const { proxy } of machines) proxy.isSilent = true;
  world.go();
  await world.call('end');
  const live = 'select from signalbox.holders where started and signalbox.lease_left(seen, lease_ms) > 0';
  await waitFor('the end of all leases', async () => (await database.query(live)).length === 0);
  for (const { proxy } of machines) if (proxy !== late?.proxy) proxy.restore();
  const seenAt = async () => {
    const find = `select extract(epoch from seen)::float as at from signalbox.holders where started and token <> $1`;
    const [row] = await database.query<{ at: number }>(
      `${find} and signalbox.lease_left(seen, lease_ms) > 0`,
      [claim?.token],
    );
    return row?.at ?? 0;
  };
  const backAt = await waitFor('the other worker to be back', seenAt);
  await waitFor('it to be back for some time', async () => (await seenAt()) > backAt + 3);
  late?.proxy.restore();
  await fleet.reaches('p', 'a', 'complete');
  expect(story(store.ticket({ planId: 'p', ticketId: 'a' }))).toEqual(['build success']);
  expect(world.calls('start')).toHaveLength(1);
  for (const { worker } of machines) expect(await worker.kill('SIGINT')).toMatchObject({ code: 0 });
});

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

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
  const others = "select command from signalbox.commands where command in ('drain', 'remove')";
  expect(await fleet.database.query(others)).toHaveLength(1);
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

it('a ticket goes to a worker that has the labels of all its phases, and says so in status while there is none', {
  tags: 'full',
}, async () => {
  const fleet = await FleetWorld.open();
  const { world } = fleet;
  world.workflow('work', [
    { id: 'build', type: 'agent', prompt: 'Build it.', onSuccess: 'train' },
    { id: 'train', type: 'agent', prompt: 'Train it.', workerLabels: ['gpu'] },
  ]);
  world.agent('agent', 'commit');
  world.plan('p', { tickets: { a: {} } });
  await fleet.upload('p');
  const other = await fleet.worker(fleet.machine(), ['--labels', 'linux']);
  const isGivenBack = ({ dispatch }: Ticket) => dispatch?.number === 1 && dispatch.at === null;
  await fleet.until('the worker to give it back', (store) => store.tickets('p').every(isGivenBack));
  expect((await fleet.cli('status', 'p')).out.replaceAll(/\s+/g, ' ')).toContain('has the labels gpu');
  expect(fleet.store.tickets('p')).toMatchObject([{ status: 'queued', phaseHistory: [], base: null }]);
  const fitting = await fleet.worker(fleet.machine(), ['--labels', 'linux,gpu']);
  await fleet.reaches('p', 'a', 'complete');
  const [{ id } = { id: '' }] = fleet.store.fleet.workers().filter(({ labels }) => labels.includes('gpu'));
  expect(fleet.store.tickets('p')).toMatchObject([{ dispatch: { number: 2, to: id } }]);
  for (const each of [other, fitting]) await each.kill('SIGINT');
});

it('a ticket that was given back for its labels begins with the changed workflow once the plan names it again', {
  tags: 'full',
}, async () => {
  const fleet = await FleetWorld.open();
  const { world } = fleet;
  const build = { id: 'build', type: 'agent', prompt: 'Build it.' };
  world.workflow('work', [{ ...build, workerLabels: ['gpu'] }]);
  world.agent('agent', 'commit');
  world.plan('p', { tickets: { a: {} } });
  await fleet.upload('p');
  const worker = await fleet.worker(world.home);
  await fleet.until('the worker to give it back', (store) =>
    store.tickets('p').every(({ dispatch }) => dispatch?.number === 1 && dispatch.at === null),
  );
  world.workflow('work', [build]);
  expect(await fleet.cli('plan', 'edit', 'p', '--workflow', 'work')).toMatchObject({ code: 0, err: '' });
  await fleet.reaches('p', 'a', 'complete');
  await worker.kill('SIGINT');
});

it('a ticket whose workflow a worker does not have says which worker that is', async () => {
  const fleet = await FleetWorld.open();
  const { world } = fleet;
  const home = fleet.machine();
  world.workflow('three', [{ id: 'build', type: 'agent', prompt: 'Build it.' }]);
  world.plan('p', { workflow: 'three', tickets: { a: {} } });
  await fleet.upload('p');
  const worker = await fleet.worker(home);
  await fleet.reaches('p', 'a', 'needs_attention');
  const [{ id } = { id: '' }] = fleet.store.fleet.workers();
  expect(fleet.store.tickets('p')[0]?.error).toContain(`Worker ${id}: There is no workflow "three"`);
  await worker.kill('SIGINT');
});
