import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { openEngine } from '../../src/api/open-engine-with-features.ts';
import { loadSettings } from '../../src/config/load-settings.ts';
import { readerRedactor } from '../../src/sandbox/secret-redactors-and-fingerprints.ts';
import { grants } from '../../src/store/postgres/init-fleet.ts';
import { storeAt } from '../store/postgres/support.ts';
import { says } from '../support/cli.ts';
import { FleetWorld } from '../support/fleet.ts';

/** The most connections that a user had while `work` ran. */
async function mostConnections(
  fleet: FleetWorld,
  user: string,
  work: () => Promise<unknown>,
): Promise<number> {
  let isOver = false;
  let most = 0;
  const count = async () => {
    while (!isOver) {
      const [row] = await fleet.database.query<{ count: number }>(
        'select count(*)::integer as count from pg_stat_activity where usename = $1 and datname = current_database() and pid <> pg_backend_pid()',
        [user],
      );
      most = Math.max(most, row?.count ?? 0);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  const counting = count();
  await work().finally(() => {
    isOver = true;
  });
  await counting;
  return most;
}

it('a worker, a person and a viewer may do their work with the printed grants, and no more; commands are recorded', {
  tags: 'full',
}, async () => {
  const fleet = await FleetWorld.open();
  const { world, database } = fleet;
  const as = async (role: 'worker' | 'person' | 'viewer') => {
    // Roles belong to all databases of a server, so each test has its own.
    const name = `${database.name}_${role}`;
    for (const line of grants()[role]) await database.query(line.replaceAll(`signalbox_${role}`, name));
    await database.query(`alter role ${name} login password 'role-secret'`);
    onTestFinished(async () => {
      await database.query(`drop owned by ${name} cascade`);
      await database.query(`drop role ${name}`);
    });
    return { name, address: database.address.replace(/\/\/.*@/, `//${name}:role-secret@`) };
  };
  const [worker, person, viewer] = [await as('worker'), await as('person'), await as('viewer')];
  world.workflow('work', [
    { id: 'build', type: 'agent', prompt: 'Build it.', onSuccess: 'decide' },
    { id: 'decide', type: 'gate', on: { ship: 'done' } },
    { id: 'done', type: 'terminal' },
  ]);
  world.agent(
    'agent',
    `env > ${join(world.dir, 'agent.env')}; cat /proc/[0-9]*/cmdline | tr '\\0' ' ' > ${join(world.dir, 'arguments')}; go; commit`,
  );
  const home = fleet.machine();
  const cli = async (address: string, ...args: string[]) => {
    const ended = await world.invoke(args, fleet.env(world.home, address), world.repo).ended;
    expect(ended.out + ended.err).not.toContain('role-secret');
    return ended;
  };
  const anna = (...args: string[]) => cli(person.address, ...args);

  const running = await fleet.worker(home, [], worker.address);
  const worked = await mostConnections(fleet, worker.name, async () => {
    for (const args of [
      ['plan', 'new', 'sprint', '--repo', world.repo],
      ['plan', 'add', 'sprint', 'A-1', '--title', 'First'],
      ['plan', 'approve', 'sprint'],
    ])
      expect(await anna(...args)).toMatchObject({ code: 0, err: '' });
    await world.call('start');
    expect(await anna('pause', 'sprint', 'A-1')).toMatchObject({ code: 0 });
    expect(await anna('resume', 'sprint', 'A-1')).toMatchObject({ code: 0 });
    await world.call('start', {}, 2);
    world.go();
    await fleet.reaches('sprint', 'A-1', 'needs_attention');
    for (const args of [
      ['status'],
      ['logs', 'sprint', 'A-1'],
      ['diff', 'sprint', 'A-1'],
      ['report'],
      ['sessions', 'sprint', 'A-1'],
      ['fleet', 'status'],
      ['plan', 'show', 'sprint'],
    ])
      expect(await cli(viewer.address, ...args), args.join(' ')).toMatchObject({ code: 0, err: '' });
    for (const args of [
      ['plan', 'new', 'other', '--repo', world.repo],
      ['plan', 'archive', 'sprint'],
      ['respond', 'sprint', 'A-1', 'ship'],
      ['fleet', 'drain', 'x'],
    ])
      expect(await cli(viewer.address, ...args), args.join(' ')).toMatchObject({
        code: 2,
        err: expect.stringContaining('signalbox fleet init prints the grants'),
      });
    expect(await anna('fleet', 'init')).toMatchObject({ code: 2 });
    expect(await anna('respond', 'sprint', 'A-1', 'ship')).toMatchObject({ code: 0 });
    await fleet.reaches('sprint', 'A-1', 'complete');
  });
  expect(worked).toBeLessThanOrEqual(5);
  expect(running.soFar).not.toContain('role-secret');

  const seen =
    readFileSync(join(world.dir, 'agent.env'), 'utf8') + readFileSync(join(world.dir, 'arguments'), 'utf8');
  expect(seen).not.toMatch(/role-secret|postgres:\/\//);
  const records = await database.query(
    'select command, about, person, machine, database_user from signalbox.commands order by number',
  );
  const by = { person: 'anna', machine: expect.any(String), database_user: person.name };
  for (const [command, about] of [
    ['plan new', 'sprint'],
    ['plan add', 'sprint'],
    ['plan approve', 'sprint'],
    ['pause', 'sprint/A-1'],
    ['resume', 'sprint/A-1'],
    ['respond', 'sprint/A-1'],
  ])
    expect(records).toContainEqual({ command, about, ...by });
  expect(records).toContainEqual(expect.objectContaining({ command: 'fleet init' }));
  // What a worker does for its tickets is no command.
  expect(records.filter(({ database_user }) => database_user === worker.name)).toEqual([
    expect.objectContaining({ command: 'worker' }),
  ]);
  await running.kill('SIGINT');
});

it('agents get no variable that leads into the store, and the password is removed from what they print', async () => {
  const { world, database } = await FleetWorld.open();
  const logins = ['PGPASSWORD', 'PGSSLMODE', 'PG_ANY', 'DATABASE_URL', 'SIGNALBOX_STORE'];
  const env = { ...world.env, ...Object.fromEntries(logins.map((name) => [name, 'x'])) };
  const packageDir = new URL('../..', import.meta.url).pathname;
  const settings = await loadSettings({ cwd: world.dir, env, packageDir });
  const store = await storeAt(database.address);
  const engine = openEngine({ settings, env, by: 'worker', store });
  expect(Object.keys(engine.env).filter((name) => logins.includes(name))).toEqual([]);
  const { password } = database.server;
  expect(engine.redact(`It is ${password}.`)).toBe('It is [redacted].');
  mkdirSync(world.stateDir, { recursive: true });
  engine.rememberSecrets();
  expect(readerRedactor(settings, {}, engine.machine.fingerprints)(password)).toBe('[redacted]');
});

it('a command has at most two connections', { tags: 'full' }, async () => {
  const fleet = await FleetWorld.open();
  const { world } = fleet;
  world.workflow('work', [{ id: 'build', type: 'agent', prompt: 'Build it.' }]);
  world.plan('p', { tickets: { a: {} } });
  await fleet.upload('p');
  const before = await mostConnections(fleet, 'postgres', () => fleet.store.refresh());
  for (const args of [
    ['run', 'p', '--plain'],
    ['run', '--task', 'Fix it', '--phases', 'exec'],
  ]) {
    const run = world.start(args, fleet.env(), world.repo);
    const most = await mostConnections(fleet, 'postgres', async () => {
      await says(run, 'no worker is running');
      run.kill('SIGINT');
      await run.ended;
    });
    expect(most - before, args.join(' ')).toBeLessThanOrEqual(2);
  }
});

it('a worker in the background is started once per state directory, with at most two connections', {
  tags: 'full',
}, async () => {
  const fleet = await FleetWorld.open();
  const before = await mostConnections(fleet, 'postgres', () => fleet.store.refresh());
  const start = () => fleet.cli('worker', '--detach', '--slots', '1');
  let started: Awaited<ReturnType<typeof start>> | undefined;
  const most = await mostConnections(fleet, 'postgres', async () => {
    started = await start();
  });
  onTestFinished(async () => {
    await fleet.store.refresh();
    const [worker] = fleet.store.fleet.workers();
    if (worker) process.kill(worker.pid, 'SIGTERM');
  });
  expect(started).toMatchObject({ code: 0, err: '' });
  // Two, and up to three of the worker that starts.
  expect(most - before).toBeLessThanOrEqual(5);
  expect(await start()).toMatchObject({ code: 3, err: expect.stringContaining('is already running') });
  await fleet.store.refresh();
  expect(fleet.store.fleet.workers()).toHaveLength(1);
});
