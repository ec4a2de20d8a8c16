import { join } from 'node:path';
import { expect, it } from 'vitest';
import { FleetWorld } from '../support/fleet.ts';
import { commitsOf, git } from '../support/repo.ts';

it('a plan that was begun with files continues on another machine with its commits, and comes back with all of them', {
  tags: 'full',
}, async () => {
  const fleet = await FleetWorld.open();
  const { world } = fleet;
  world.workflow('work', [
    { id: 'build', type: 'agent', prompt: 'Build it.', onSuccess: 'decide' },
    { id: 'decide', type: 'gate', on: { go: 'polish' } },
    { id: 'polish', type: 'agent', prompt: 'Polish it.' },
  ]);
  world.agent('agent', 'commit');
  world.plan('p', { repo: 'acme/scratch', tickets: { a: {}, b: {} } });
  const home = fleet.machineWithClone();
  const begun = await world.cli('run', 'p', '--plain');
  expect(begun.out).toContain('decide');
  const before = commitsOf(world.repo, 'ticket/p/a').length;

  expect(await fleet.cli('fleet', 'import', 'p')).toMatchObject({ code: 0, err: '' });
  await fleet.store.refresh();
  expect(fleet.store.ticket({ planId: 'p', ticketId: 'a' }).handOver).toMatchObject({
    commits: expect.any(String),
  });
  const worker = await fleet.worker(home);
  expect(await fleet.cli('respond', 'p', 'a', 'go')).toMatchObject({ code: 0 });
  await fleet.reaches('p', 'a', 'complete');
  await worker.kill('SIGINT');

  // The other ticket has not left this machine; the finished one comes back as a branch.
  expect(await fleet.cli('fleet', 'export', 'p')).toMatchObject({ code: 0, err: '' });
  expect(commitsOf(world.repo, 'ticket/p/a')).toHaveLength(before + 1);
  const ticket = world.ticket('p', 'a');
  expect([ticket.status, ticket.machine, ticket.dispatch]).toEqual(['complete', undefined, undefined]);
  expect(await world.cli('respond', 'p', 'b', 'go')).toMatchObject({ code: 0 });
  expect(await world.cli('run', 'p', '--plain')).toMatchObject({ code: 0 });
  expect(git(world.repo, 'branch', '--list', 'ticket/p/b')).not.toBe('');
});

it('a plan with work under way on another machine is exported there alone', { tags: 'full' }, async () => {
  const fleet = await FleetWorld.open();
  const { world } = fleet;
  world.workflow('work', [
    { id: 'build', type: 'agent', prompt: 'Build it.', onSuccess: 'decide' },
    { id: 'decide', type: 'gate', on: { go: 'done' } },
    { id: 'done', type: 'terminal' },
  ]);
  world.agent('agent', 'commit');
  world.plan('p', { repo: 'acme/scratch', tickets: { a: {} } });
  world.plan('q', { repo: 'acme/scratch', status: 'draft', tickets: { a: {} } });
  expect(await fleet.cli('fleet', 'import', 'p', 'q')).toMatchObject({ code: 0, err: '' });
  const home = fleet.machineWithClone();
  const worker = await fleet.worker(home);
  await fleet.reaches('p', 'a', 'needs_attention');
  await worker.kill('SIGINT');
  expect(await fleet.cli('fleet', 'export', 'q', 'p')).toMatchObject({
    code: 3,
    err: expect.stringContaining('Export the plan there'),
  });
  await fleet.store.refresh();
  expect(fleet.store.plan('q').status).toBe('draft');
  expect(await world.invoke(['fleet', 'export', 'p'], fleet.env(home)).ended).toMatchObject({
    code: 0,
    err: '',
  });
});

it('a plan that another machine finished, and that was exported, can be imported again', {
  tags: 'full',
}, async () => {
  const fleet = await FleetWorld.open();
  const { world } = fleet;
  world.workflow('work', [{ id: 'build', type: 'agent', prompt: 'Build it.' }]);
  world.agent('agent', 'commit');
  world.plan('p', { repo: 'acme/scratch', tickets: { a: {} } });
  await fleet.upload('p');
  const worker = await fleet.worker(fleet.machineWithClone());
  await fleet.reaches('p', 'a', 'complete');
  await worker.kill('SIGINT');
  await world.cli('plan', 'delete', 'p', '--force');
  expect(await fleet.cli('fleet', 'export', 'p')).toMatchObject({ code: 0, err: '' });

  expect(await fleet.cli('fleet', 'import', 'p')).toMatchObject({ code: 0, err: '' });
  await fleet.store.refresh();
  const { handOver } = fleet.store.ticket({ planId: 'p', ticketId: 'a' });
  expect(handOver?.commits).toBe(git(world.repo, 'rev-parse', 'ticket/p/a').trim());

  // Also where nothing of the plan is left in the store.
  expect(await fleet.cli('fleet', 'export', 'p')).toMatchObject({ code: 0, err: '' });
  expect(await fleet.cli('plan', 'delete', 'p', '--force')).toMatchObject({ code: 0 });
  expect(await fleet.cli('fleet', 'import', 'p')).toMatchObject({ code: 0, err: '' });
});

it('a plan whose tickets share a worktree is imported with what they have done', {
  tags: 'full',
}, async () => {
  const fleet = await FleetWorld.open();
  const { world } = fleet;
  world.workflow('work', [{ id: 'build', type: 'agent', prompt: 'Build it.' }]);
  world.agent('agent', 'commit');
  const tickets = { a: {}, b: { blockedBy: ['a'] }, c: { blockedBy: ['b'] } };
  world.plan('p', { repo: 'acme/scratch', workspace: 'shared', tickets });
  fleet.machineWithClone();
  expect(await world.cli('run', 'p', '--plain')).toMatchObject({ code: 0 });
  expect(await fleet.cli('fleet', 'import', 'p')).toMatchObject({ code: 0, err: '' });
  await fleet.store.refresh();
  const moved = fleet.store.tickets('p');
  expect(moved.map(({ handOver }) => handOver?.commits)).toEqual(moved.map(({ tip }) => tip));
  expect(git(join(world.dir, 'origin.git'), 'rev-parse', 'refs/signalbox/p/@tree')).toBe(moved[2]?.tip);
});
