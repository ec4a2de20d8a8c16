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

it('output of another machine is shown live, and a pause ends the agent there', async () => {
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
  expect(await pause).toMatchObject({ code: 0, err: '' });
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

it('a pause of an agent on a silent machine says when its lease ends', { tags: 'full' }, async () => {
  const fleet = await withAgent('go');
  const { world } = fleet;
  world.config({ fleet: { leaseSeconds: 10 } });
  const worker = await fleet.worker(fleet.machine());
  await world.call('start');
  await worker.kill('SIGKILL');
  const paused = await fleet.cli('pause', 'p', 'a');
  expect(paused).toMatchObject({ code: 3, err: expect.stringMatching(/has not stopped[\s\S]*lease/) });
});
