import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { says } from '../support/cli.ts';
import { FleetWorld } from '../support/fleet.ts';
import { isRunning } from '../support/index.ts';
import { waitFor } from '../support/wait-for.ts';
import { within } from '../support/within.ts';

/** Milliseconds that something takes. */
async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

async function withAgent(body: string): Promise<FleetWorld> {
  const fleet = await FleetWorld.open();
  const { world } = fleet;
  world.workflow('work', [{ id: 'build', type: 'agent', prompt: 'Build it.' }]);
  world.agent('agent', body);
  world.plan('p', { tickets: { a: {} } });
  await fleet.upload('p');
  return fleet;
}

it('output of another machine is shown live, and a pause ends the agent there', {
  tags: 'full',
}, async () => {
  const fleet = await withAgent(
    'echo "pid $$"; while [ ! -e "$SIGNALBOX_WORKTREE/../hello" ]; do sleep 0.05; done; echo said; go',
  );
  const { world } = fleet;
  const worker = await fleet.worker(fleet.machine());
  await world.call('start');
  const logs = world.invoke(['logs', 'p', 'a', '-f'], fleet.env());
  await says(logs, /pid \d+/);
  const [, pid = ''] = /pid (\d+)/.exec(logs.soFar) ?? [];
  writeFileSync(join(world.worktree('p', 'a'), '..', 'hello'), '');
  expect(await timeOf(() => says(logs, 'said'))).toBeLessThan(within(2_000));
  const pause = fleet.cli('pause', 'p', 'a');
  expect(await timeOf(() => waitFor('the agent to end', () => !isRunning(Number(pid))))).toBeLessThan(
    within(2_000),
  );
  const { code, err } = await pause;
  // How long a pause waits for a worker does not grow with the load of the machine, so a busy one may answer too late.
  const isLate = within(100) > 200 && err.includes('has not answered');
  expect({ code, err }).toEqual(isLate ? { code: 3, err } : { code: 0, err: '' });
  await worker.kill('SIGINT');
});

it('Ctrl-C in a run that watches stops its agent on another machine, and resume continues', {
  tags: 'full',
}, async () => {
  const fleet = await withAgent('go; commit');
  const { world } = fleet;
  const worker = await fleet.worker(fleet.machine());
  const run = world.invoke(['run', 'p', '--plain'], fleet.env());
  await world.call('start');
  await fleet.until('the run to watch', (store) => store.plan('p').claim !== null);
  run.kill('SIGINT');
  expect(await run.ended).toMatchObject({ code: 130 });
  await fleet.store.refresh();
  expect(fleet.store.plan('p')).toMatchObject({ status: 'paused', claim: null });
  expect(fleet.store.ticket({ planId: 'p', ticketId: 'a' })).toMatchObject({ status: 'paused', claim: null });
  world.go();
  expect(await fleet.cli('resume', 'p', '--plain')).toMatchObject({ code: 0 });
  await fleet.reaches('p', 'a', 'complete');
  await worker.kill('SIGINT');
});

it('a pause or stop of an agent whose machine is silent says so within two seconds, and when its lease ends', async () => {
  const fleet = await withAgent('go');
  const { world } = fleet;
  const worker = await fleet.worker(fleet.machine());
  await world.call('start');
  process.kill(worker.pid, 'SIGSTOP');
  const began = performance.now();
  const paused = await fleet.cli('stop', 'p', 'a');
  expect(performance.now() - began).toBeLessThan(within(3_000));
  expect(paused).toMatchObject({ code: 3 });
  expect(paused.err).toMatch(
    /p\/a is paused, but worker \S+, which has the agent of a, has not answered for \d+ s\./,
  );
  expect(paused.err).toMatch(/its lease ends in [45]\d s; then: signalbox resume p a/);
  process.kill(worker.pid, 'SIGCONT');
  await fleet.reaches('p', 'a', 'paused');
  await worker.kill('SIGINT');
});

it('Ctrl-C in a run whose machine is silent ends the run within seconds, and says when the lease of that machine ends', {
  tags: 'full',
}, async () => {
  const fleet = await withAgent('go');
  const { world } = fleet;
  const worker = await fleet.worker(fleet.machine());
  const run = world.invoke(['run', 'p', '--plain'], fleet.env());
  await world.call('start');
  await fleet.until('the run to watch', (store) => store.plan('p').claim !== null);
  process.kill(worker.pid, 'SIGSTOP');
  const began = performance.now();
  const ended = await run.kill('SIGINT');
  expect(performance.now() - began).toBeLessThan(within(3_500));
  expect(ended).toMatchObject({ code: 130 });
  expect(ended.out + ended.err).toMatch(
    /p\/a is paused, but worker \S+, which has the agent of a, has not answered.*its lease ends in [45]\d s; then: signalbox resume p\n/,
  );
  process.kill(worker.pid, 'SIGCONT');
  await fleet.reaches('p', 'a', 'paused');
  await worker.kill('SIGINT');
});

it('a pause of an agent of a machine that was killed says when its lease ends', {
  tags: 'full',
}, async () => {
  const fleet = await withAgent('go');
  fleet.world.config({ fleet: { leaseSeconds: 10 } });
  const worker = await fleet.worker(fleet.machine());
  await fleet.world.call('start');
  await worker.kill('SIGKILL');
  const paused = await fleet.cli('pause', 'p', 'a');
  expect(paused).toMatchObject({ code: 3, err: expect.stringMatching(/has not answered[\s\S]*lease/) });
  const [{ id } = { id: '' }] = fleet.store.fleet.workers();
  // Its process is gone, but its agent may run until then.
  expect(await fleet.cli('fleet', 'remove', id)).toMatchObject({
    code: 3,
    err: expect.stringContaining('may still run agents'),
  });
  await waitFor('its removal', async () => (await fleet.cli('fleet', 'remove', id)).code === 0);
  await fleet.until('no worker in the list', ({ fleet: { workers } }) => workers().length === 0);
});
