import { expect, it } from 'vitest';
import { FleetWorld } from '../support/fleet.ts';
import { commitsOf } from '../support/repo.ts';
import { within } from '../support/within.ts';

const PHASES = [
  { id: 'build', type: 'agent', prompt: 'Build it.', onSuccess: 'review' },
  { id: 'review', type: 'agent', prompt: 'Review it.' },
];

it('two workers run a plan while a foreground run watches', async () => {
  const fleet = await FleetWorld.open();
  const { world } = fleet;
  world.workflow('work', PHASES);
  world.agent('agent', 'go; commit');
  world.plan('p', { tickets: { a: {}, b: {}, c: { blockedBy: ['a'] } } });
  await fleet.upload('p');
  const workers = [
    await fleet.worker(fleet.machine(), ['--slots', '1']),
    await fleet.worker(fleet.machine(), ['--slots', '1']),
  ];

  const run = world.invoke(['run', 'p', '--plain'], fleet.env());
  await fleet.until(
    'the run to watch, and both workers at work',
    (store) => store.plan('p').claim !== null && store.tickets('p').filter(({ claim }) => claim).length === 2,
  );
  world.go();
  const ended = await run.ended;
  expect(ended).toMatchObject({ code: 0, err: '' });
  expect(ended.out).toMatch(/c: review ✓[\s\S]*3 of 3 done/);
  await fleet.store.refresh();
  expect(fleet.store.plan('p')).toMatchObject({ status: 'complete', claim: null });
  const tickets = fleet.store.tickets('p');
  expect(tickets.map(({ status }) => status)).toEqual(['complete', 'complete', 'complete']);
  expect(tickets.every(({ dispatch }) => dispatch?.at === null)).toBe(true);
  expect(new Set(tickets.map(({ dispatch }) => dispatch?.to)).size).toBe(2);
  expect(commitsOf(world.repo, 'ticket/p/c')).toHaveLength(4);
  for (const worker of workers)
    expect(await worker.kill('SIGINT')).toMatchObject({
      code: 0,
      err: expect.stringContaining('No more tickets'),
    });
  await fleet.until('no worker in the list', (store) => store.fleet.workers().length === 0);
});

it('a worker that is alone fills its only slot again at once', async () => {
  const fleet = await FleetWorld.open();
  const { world } = fleet;
  world.config({ pollInterval: 60 });
  world.workflow('work', [{ id: 'build', type: 'agent', prompt: 'Build it.' }]);
  world.agent('agent', 'commit');
  world.plan('p', { tickets: { a: { order: 1 }, b: { order: 2 } } });
  await fleet.upload('p');
  const worker = await fleet.worker(fleet.machine(), ['--slots', '1']);
  await fleet.reaches('p', 'b', 'complete');
  const [a, b] = fleet.store.tickets('p').map(({ phaseHistory }) => phaseHistory.at(-1));
  // Without a wake-up it is noticed after a quarter of the lease.
  expect(Date.parse(b?.startedAt ?? '') - Date.parse(a?.completedAt ?? '')).toBeLessThan(within(10_000));
  await worker.kill('SIGINT');
});
