import { join } from 'node:path';
import { expect, it } from 'vitest';
import { FleetWorld } from '../support/fleet.ts';

it('a task is run by a worker, watched or left alone, while a daemon schedules', {
  tags: 'full',
}, async () => {
  const fleet = await FleetWorld.open();
  const { world } = fleet;
  world.workflow('work', [{ id: 'build', type: 'agent', prompt: 'Build it.' }]);
  world.agent('agent', 'commit');
  const daemon = world.start(['daemon', '--plain'], fleet.env());
  await fleet.until('the daemon to schedule', (store) => store.holder('test').daemon() !== undefined);
  const worker = await fleet.worker(fleet.machine(), ['--slots', '1']);
  // Only the worker needs the agent.
  world.config({ agents: { agent: { command: join(world.dir, 'nowhere') } } });
  const task = (...more: string[]) =>
    world.invoke(['run', '--task', 'Fix the typo', '--phases', 'exec', ...more], fleet.env(), world.repo)
      .ended;
  const run = await task();
  expect(run).toMatchObject({ code: 0, err: '' });
  const left = await task('--detach');
  expect(left).toMatchObject({ code: 0 });
  expect(left.out).toContain('The workers of the fleet continue');
  await fleet.until('both plans to be complete', (store) => {
    const { plans } = store.view();
    return plans.length === 2 && plans.every(({ status }) => status === 'complete');
  });
  expect(world.calls('start')).toHaveLength(2);
  expect(await worker.kill('SIGINT')).toMatchObject({ code: 0 });
  expect(await daemon.kill('SIGINT')).toMatchObject({ code: 0 });
});
