import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { openEngine } from '../../src/cli/open-settings-store-and-engine.ts';
import { grants } from '../../src/store/postgres/init-fleet.ts';
import { openPostgres } from '../../src/store/postgres/open-postgres.ts';
import type { Store } from '../../src/store/store-interface.ts';
import { says } from '../support/cli.ts';
import { CliCall } from '../support/cli-call.ts';
import { testIo } from '../support/io.ts';
import { asOwner, type Database, scratchDatabase } from '../support/postgres.ts';
import { waitFor } from '../support/wait-for.ts';
import { World } from '../support/world.ts';

let database: Database;
let world: World;
beforeEach(async () => {
  database = await scratchDatabase();
  world = new World();
  world.workflow('work', [
    { id: 'decide', type: 'gate', on: { ship: 'done' } },
    { id: 'done', type: 'terminal' },
  ]);
  onTestFinished(() => world.close());
});

/** The address as an argument may have it. */
const shown = () => database.address.replace(/:[^:@]*@/, '@');
/** Runs a command on the store of the test, and sees that nothing shows the password. */
async function fleet(...args: string[]) {
  const ended = await world.invoke(args, { SIGNALBOX_STORE: database.address, USER: 'anna' }).ended;
  expect(ended.out + ended.err).not.toContain(database.server.password);
  return ended;
}
async function store(): Promise<Store> {
  const address = { text: database.address, from: 'file' } as const;
  const opened = await openPostgres({ address, env: {}, cwd: '/' });
  onTestFinished(() => opened.close());
  return opened;
}

describe('the address of the store', () => {
  it('is an argument without a password, a variable, or a file that only its owner can read', async () => {
    const password = { PGPASSWORD: database.server.password };
    const none = `No plans in ${shown()}.`;
    const argument = await world.invoke(['status', '--store', shown()], password).ended;
    expect(argument).toMatchObject({ code: 0, err: '' });
    expect(argument.out).toContain(none);
    expect((await fleet('status')).out).toContain(none);
    mkdirSync(world.home, { recursive: true });
    const file = join(world.home, 'store-address');
    writeFileSync(file, `${database.address}\n`, { mode: 0o600 });
    expect((await world.cli('status')).out).toContain(none);
    writeFileSync(`${file}2`, database.address, { mode: 0o644 });
    const passfile = { PGPASSFILE: `${file}2` };
    const open = await world.invoke(['status', '--store', shown()], passfile).ended;
    expect(open).toMatchObject({ code: 2, err: expect.stringContaining('chmod 600') });
  });

  it('is refused with a password in an argument, and what to do instead is said', async () => {
    for (const args of [
      ['status', '--store', database.address],
      ['fleet', 'init', database.address],
      ['--store', database.address, 'plan', 'list'],
    ]) {
      const { code, out, err } = await world.cli(...args);
      expect(code).toBe(2);
      expect(err).toContain('PGPASSFILE');
      expect(out + err).not.toContain(database.server.password);
    }
    // An address where something else belongs; as a path it has one slash less.
    for (const args of [
      ['plan', 'show', database.address, '--debug'],
      ['status', '-C', database.address, '--debug'],
    ]) {
      const { code, err } = await world.cli(...args);
      expect(code).toBe(2);
      expect(err).toContain(':…@');
      expect(err).not.toContain(database.server.password);
    }
  });

  it('leads nowhere: says so, with another exit code', async () => {
    const away = database.address.replace(/:\d+\//, ':1/');
    const ended = await world.invoke(['status'], { SIGNALBOX_STORE: away }).ended;
    expect(ended).toMatchObject({ code: 4, err: expect.stringContaining('nothing listens there') });
    expect(ended.err).not.toContain(database.server.password);
    const wrong = database.address.replace(/:[^:@]*@/, ':wrong@');
    const refused = await world.invoke(['status', '--json'], { SIGNALBOX_STORE: wrong }).ended;
    expect(refused.code).toBe(2);
    expect(JSON.parse(refused.err)).toMatchObject({ error: { code: 'store/password' } });
    const none = await world.invoke(['status', '--store', shown()]).ended;
    expect(none).toMatchObject({ code: 2, err: expect.stringContaining('and none was given') });
    const uncoded = database.address.replace(/:[^:@]*@/, ':se#cret@');
    const unread = await world.invoke(['status'], { SIGNALBOX_STORE: uncoded }).ended;
    expect(unread).toMatchObject({ code: 2, err: expect.stringContaining('"#" is written as %23') });
  });
});

describe('fleet init', () => {
  it('makes a store that commands can use, and prints the rights of the roles', async () => {
    database = await scratchDatabase({ empty: true });
    expect(await fleet('status')).toMatchObject({ code: 2, err: expect.stringContaining('fleet init') });
    const env = { PGPASSWORD: database.server.password };
    const made = await world.invoke(['fleet', 'init', shown()], env).ended;
    expect(made).toMatchObject({ code: 0, err: '' });
    for (const role of ['worker', 'person', 'viewer'])
      expect(made.out).toContain(`create role signalbox_${role} nologin;`);
    expect(await fleet('status')).toMatchObject({ code: 0 });
    const again = JSON.parse((await fleet('fleet', 'init', '--json')).out) as Record<string, unknown>;
    expect(again).toMatchObject({ store: shown(), schema: { from: 1, to: 1 } });
  });
});

describe('commands on the store', () => {
  it('make, change and show plans', async () => {
    expect(await fleet('plan', 'new', 'sprint', '--repo', world.repo)).toMatchObject({ code: 0 });
    expect(await fleet('plan', 'add', 'sprint', 'A-1', '--title', 'First')).toMatchObject({ code: 0 });
    expect(await fleet('plan', 'edit', 'sprint', 'A-1', '--title', 'Better')).toMatchObject({ code: 0 });
    expect((await fleet('plan', 'show', 'sprint')).out).toContain('Better');
    expect(await fleet('plan', 'approve', 'sprint')).toMatchObject({ code: 0, err: '' });
    expect((await fleet('status', 'sprint')).out).toContain('A-1');
    expect(await fleet('stop', 'sprint')).toMatchObject({ code: 0 });
    const kept = await store();
    expect(kept.plan('sprint').status).toBe('paused');
    expect(kept.ticket({ planId: 'sprint', ticketId: 'A-1' }).title).toBe('Better');
    expect((await fleet('logs', 'sprint')).out).toContain('paused');
    expect(await fleet('report')).toMatchObject({ code: 0 });
    expect(await fleet('sessions', 'sprint', 'A-1')).toMatchObject({ code: 0 });
    expect(await fleet('plan', 'delete', 'sprint')).toMatchObject({ code: 0 });
    await kept.refresh();
    expect(kept.hasPlan('sprint')).toBe(false);
  });

  it('drive no ticket themselves: a run says that no worker is there, and how to start one', async () => {
    await fleet('plan', 'new', 'sprint', '--repo', world.repo);
    await fleet('plan', 'add', 'sprint', 'A-1', '--title', 'First');
    await fleet('plan', 'approve', 'sprint');
    expect(await fleet('tick')).toMatchObject({ code: 2, err: expect.stringContaining('signalbox worker') });
    const run = world.invoke(['run', 'sprint', '--plain'], { SIGNALBOX_STORE: database.address });
    const none = 'A-1 waits: no worker is running. Start one: signalbox worker';
    await says(run, `! ${none}`);
    // A worker comes, and goes again.
    const kept = await store();
    const holder = kept.holder('worker');
    await holder.start();
    const place = { id: 'w', host: 'here', version: '1', slots: 2, labels: [], repos: [] };
    await kept.fleet?.join(holder, place);
    await says(run, 'no worker has the repository');
    await kept.fleet?.drain('w');
    await says(run, 'no worker takes new tickets (draining: w). Start one: signalbox worker');
    await holder.stop();
    await kept.fleet?.remove('w');
    await waitFor('the same reason again', () => run.soFar.split(none).length === 3);
    run.kill('SIGINT');
    expect(await run.ended).toMatchObject({ code: 130 });
    await kept.refresh();
    expect(kept.plan('sprint')).toMatchObject({ status: 'paused', claim: null });
  });

  it('wait in top for the same reason as in status, and a worker without a ticket is an engine, too', async () => {
    await fleet('plan', 'new', 'sprint', '--repo', world.repo);
    await fleet('plan', 'add', 'sprint', 'A-1', '--title', 'First');
    await fleet('plan', 'approve', 'sprint');
    const reasons = async () => {
      const [plan] = JSON.parse((await fleet('status', '--json')).out);
      const board = JSON.parse((await fleet('top', '--json')).out);
      const { why, next } = plan.tickets[0];
      expect(board.rows).toMatchObject([{ why, next }]);
      return why;
    };
    expect(await reasons()).toContain('no worker is running');
    const kept = await store();
    const holder = kept.holder('worker');
    await holder.start();
    const place = { id: 'w', host: 'here', version: '1', slots: 2, labels: [], repos: [] };
    await kept.fleet?.join(holder, place);
    expect(await reasons()).toContain('no worker has the repository');
    expect((await fleet('top')).out).toContain('1 engine: worker · 0 of 2 running');
    const env = { ...world.env, SIGNALBOX_STORE: database.address, NO_COLOR: '1' };
    const overview = await new CliCall([], { cwd: world.repo, env, terminal: true, columns: 80 }).ended;
    expect(overview.out).toContain('1 running or waiting');
    expect(overview.out).not.toContain('signalbox run sprint');
    // A daemon drives no tickets here.
    const daemon = kept.holder('daemon');
    await daemon.start();
    await daemon.claimDaemon(new Date().toISOString());
    await fleet('pause', 'sprint', 'A-1');
    // Also while a run watches.
    await kept.updatePlan('sprint', (plan) => ({ ...plan, claim: daemon.claim(new Date().toISOString()) }));
    expect((await fleet('resume', 'sprint', 'A-1')).out).toBe(
      'sprint/A-1 is ready. A worker of the fleet continues it.\n',
    );
  });

  it('wait in the live block of a worker for the same reason, too', async () => {
    world.config({ repos: { 'acme/scratch': world.repo } });
    await fleet('plan', 'new', 'sprint', '--repo', world.repo);
    await fleet('plan', 'add', 'sprint', 'A-1', '--title', 'First');
    await fleet('plan', 'add', 'sprint', 'A-2', '--title', 'Second', '--worker-labels', 'gpu');
    await fleet('plan', 'approve', 'sprint');
    const env = { ...world.env, SIGNALBOX_STORE: database.address, NO_COLOR: '1' };
    const worker = new CliCall(['worker'], { cwd: world.dir, env, terminal: true, columns: 120 });
    await says(worker, /◌ sprint\/A-2 +queued +\d+s +no worker with that repository has the labels gpu\./);
    worker.kill('SIGINT');
    expect((await worker.ended).out).not.toContain('free slot');
  });

  it('share the connections of a view that is open', async () => {
    const opened = await store();
    const { io } = testIo({ env: { ...world.env, SIGNALBOX_STORE: database.address }, cwd: world.repo });
    expect((await openEngine(io, {}, 'respond', { opened })).store).toBe(opened);
  });

  it('say that a run which is left to the workers has none', async () => {
    const task = ['run', '--task', 'Fix it', '--phases', 'exec', '--detach'];
    const run = await world.invoke(task, { SIGNALBOX_STORE: database.address }, world.repo).ended;
    expect(run).toMatchObject({
      code: 0,
      out: expect.stringContaining(
        'waits: no worker is running. Start one (signalbox worker). Watch it with:',
      ),
    });
  });

  it('are held by a run of a task for as long as the settings say', { tags: 'full' }, async () => {
    world.config({ fleet: { leaseSeconds: 25 } });
    const task = ['run', '--task', 'Fix the typo', '--plain'];
    const run = world.invoke(task, { SIGNALBOX_STORE: database.address }, world.repo);
    await says(run, 'no worker is running');
    expect(await database.query('select lease_ms from signalbox.holders')).toEqual([{ lease_ms: 25_000 }]);
    run.kill('SIGINT');
    expect(await run.ended).toMatchObject({ code: 130 });
  });

  it('name a repository that only workers have, as they know it', async () => {
    for (const repo of ['acme/api', 'https://github.com/acme/api.git']) {
      await fleet('plan', 'new', 'named', '--repo', repo);
      await fleet('plan', 'add', 'named', 'A-1', '--title', 'First', '--repo', repo);
      expect(await fleet('plan', 'edit', 'named', '--repo', repo)).toMatchObject({ code: 0, err: '' });
      expect(await fleet('plan', 'approve', 'named')).toMatchObject({ code: 0, err: '' });
      const kept = await store();
      expect(kept.plan('named')).toMatchObject({ repo, status: 'active' });
      expect(kept.ticket({ planId: 'named', ticketId: 'A-1' }).repo).toBe(repo);
      await fleet('plan', 'delete', 'named', '--force');
    }
  });

  it('refuse to be the daemon for a login that may not schedule, before it takes the role', async () => {
    const name = `${database.name}_person`;
    for (const line of grants().person) await database.query(line.replaceAll('signalbox_person', name));
    await database.query(`alter role ${name} login password 'role-secret'`);
    onTestFinished(async () => {
      await database.query(`drop owned by ${name} cascade`);
      await database.query(`drop role ${name}`);
    });
    const address = database.address.replace(/\/\/.*@/, `//${name}:role-secret@`);
    const daemon = await world.invoke(['daemon', '--plain'], { SIGNALBOX_STORE: address }).ended;
    expect(daemon).toMatchObject({ code: 2, err: expect.stringContaining('signalbox_queue') });
    expect(await database.query('select name from signalbox.roles')).toEqual([]);
  });

  it('say that workers run all active plans where a run is to be detached', async () => {
    await fleet('plan', 'new', 'sprint', '--repo', world.repo);
    expect(await fleet('run', 'sprint', '--detach')).toMatchObject({
      code: 2,
      err: expect.stringContaining('the workers of the fleet run all active plans already'),
    });
  });

  it('need a repository for a worker', async () => {
    expect(await world.cli('worker')).toMatchObject({
      code: 2,
      err: expect.stringContaining('SIGNALBOX_STORE'),
    });
    expect(await fleet('worker')).toMatchObject({ code: 2, err: expect.stringContaining('repos:') });
  });
});

describe('plans of a home', () => {
  it('move into the store and back, with their tickets and events, and stay archived where they were', async () => {
    world.config({ repos: { 'acme/api': world.repo } });
    world.plan('p', { repo: world.repo, tickets: { a: {}, b: { blockedBy: ['a'] } } });
    world.plan('busy', { tickets: { a: { status: 'running' } } });
    const refused = await fleet('fleet', 'import');
    expect(refused).toMatchObject({ code: 3, err: expect.stringContaining('signalbox pause busy') });
    const moved = await fleet('fleet', 'import', 'p');
    expect(moved).toMatchObject({ code: 0, err: '' });
    expect(moved.out).toContain('1 plan moved to postgres://');
    expect(world.readPlan('p').status).toBe('archived');
    expect((await world.cli('status', 'p')).out).toContain(
      `the plan is archived: it was moved to ${shown()}`,
    );
    expect((await world.cli('run', 'p')).err).toContain(`It was moved to ${shown()}.`);
    const there = await store();
    expect(there.plan('p')).toMatchObject({
      status: 'active',
      repositories: { [world.repo]: 'acme/api' },
      tickets: [{ ticketId: 'a' }, { blockedBy: ['a'] }],
    });
    expect((await fleet('fleet', 'import', 'p')).err).toMatch(
      /A plan "p" already exists[\s\S]*moved there before/,
    );
    rmSync(world.stateDir, { recursive: true });
    expect(await fleet('fleet', 'export', 'p')).toMatchObject({ code: 0 });
    expect(world.readPlan('p').status).toBe('active');
    expect(world.ticket('p', 'b')).toMatchObject({ title: 'Title of b', status: 'queued' });
  });

  it('stay where they are, with an archived copy, where a move is interrupted, and the next try moves them', async () => {
    world.config({ repos: { 'acme/api': world.repo } });
    world.plan('p', { repo: world.repo, tickets: { a: {} } });
    expect(await fleet('fleet', 'import', 'p')).toMatchObject({ code: 0 });
    rmSync(world.stateDir, { recursive: true });
    const setReadOnly = (how: string) =>
      asOwner(database.server, 'postgres', (query) =>
        query(`alter database ${database.name} set default_transaction_read_only = ${how}`),
      );
    await setReadOnly('on');
    expect(await fleet('fleet', 'export', 'p')).toMatchObject({ code: 1 });
    expect(world.readPlan('p').status).toBe('archived');
    await setReadOnly('off');
    expect((await store()).plan('p').status).toBe('active');
    expect(await fleet('fleet', 'export', 'p')).toMatchObject({ code: 0, err: '' });
    expect(world.readPlan('p')).toMatchObject({ status: 'active' });
    expect(world.readPlan('p').movedTo).toBeUndefined();
  });

  it('are driven by workers, and doctor says which Node those need', async () => {
    const { out } = await fleet('doctor');
    expect(out).toMatch(/fleet +Node \d+\.\d+/);
    expect(out).toContain('PgBouncer in transaction mode');
    expect(out).toMatch(/✓ store +postgres:/);
    const away = { SIGNALBOX_STORE: database.address.replace(/:\d+\//, ':1/') };
    const unreachable = await world.invoke(['doctor'], away).ended;
    expect(unreachable).toMatchObject({
      code: 1,
      out: expect.stringMatching(/✗ store +Cannot reach the store/),
    });
  });
});
