import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { FleetWorld } from '../support/fleet.ts';
import { git } from '../support/repo.ts';

async function finishedOnOtherMachine(): Promise<FleetWorld> {
  const fleet = await FleetWorld.open();
  const { world } = fleet;
  world.workflow('work', [{ id: 'build', type: 'agent', prompt: 'Build it.' }]);
  world.agent('agent', 'commit');
  world.plan('p', { repo: 'acme/scratch', tickets: { a: {}, b: { order: 1 } } });
  await fleet.upload('p');
  const worker = await fleet.worker(fleet.machineWithClone());
  await fleet.until('the plan to be complete', (store) => store.plan('p').status === 'complete');
  await worker.kill('SIGINT');
  return fleet;
}

/** Another process merges now. */
async function takeRole({ store, database }: FleetWorld): Promise<void> {
  const claim = JSON.stringify({ ...store.holder('test').claim(new Date().toISOString()), token: 'other' });
  await database.query(
    "insert into signalbox.holders (token, by, identity, started, lease_ms) values ('other', 'merge', $1, true, 60000)",
    [claim],
  );
  await database.query(
    `insert into signalbox.roles (name, token, claim) values ('merge-train', 'other', $1)
     on conflict (name) do update set token = excluded.token, claim = excluded.claim`,
    [claim],
  );
}

const landed = (fleet: FleetWorld) => fleet.store.tickets('p').map((ticket) => ticket.landed?.into);

it('work of another machine is merged from its hand-over, by one process at a time', {
  tags: 'full',
}, async () => {
  const fleet = await finishedOnOtherMachine();
  const { world, database } = fleet;
  await takeRole(fleet);
  const merge = () => world.invoke(['merge', 'p'], fleet.env(), world.repo).ended;
  expect(await merge()).toMatchObject({
    code: 3,
    err: expect.stringContaining('Another process of the fleet is merging'),
  });
  await database.query("delete from signalbox.holders where token = 'other'");
  expect(await merge()).toMatchObject({ code: 0 });
  await fleet.store.refresh();
  expect(landed(fleet)).toEqual([expect.any(String), expect.any(String)]);
  expect(git(world.repo, 'branch', '--list', 'ticket/*').split('\n')).toHaveLength(2);
  expect(await database.query("select 1 from signalbox.roles where name = 'merge-train'")).toEqual([]);
});

it('a merge that has lost its lease during the checks merges nothing', { tags: 'full' }, async () => {
  const fleet = await finishedOnOtherMachine();
  const { world } = fleet;
  const [begun, go] = [join(world.dir, 'begun'), join(world.dir, 'go-on')];
  world.config({ checks: [`touch ${begun}; while [ ! -e ${go} ]; do sleep 0.05; done`] });
  const merge = world.invoke(['merge', 'p'], fleet.env(), world.repo);
  await world.until('begun');
  await takeRole(fleet);
  writeFileSync(go, '');
  expect(await merge.ended).toMatchObject({
    code: 3,
    err: expect.stringContaining('Another process of the fleet is merging'),
  });
  await fleet.store.refresh();
  expect(landed(fleet)).toEqual([undefined, undefined]);
  expect(git(world.repo, 'branch', '--list', 'signalbox/*')).toBe('');
});

it('a daemon with the setting fleet.merge merges what is finished', { tags: 'full' }, async () => {
  const fleet = await finishedOnOtherMachine();
  const { world } = fleet;
  const home = fleet.machineWithClone();
  const file = join(home, 'config.yaml');
  const config = JSON.parse(readFileSync(file, 'utf8')) as object;
  writeFileSync(file, JSON.stringify({ ...config, fleet: { merge: true } }));
  const daemon = world.start(['daemon', '--plain'], fleet.env(home));
  await fleet.until('both tickets to be merged', () => landed(fleet).every((into) => into !== undefined));
  const ended = await daemon.kill('SIGINT');
  expect(ended).toMatchObject({ code: 0 });
  expect(ended.out).toMatch(/works on postgres:/);
  expect(ended.out).toMatch(/· p: Checking 2 branches/);
  expect(ended.out + ended.err).not.toContain('✗');
});
