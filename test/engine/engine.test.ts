import { describe, expect, vi } from 'vitest';
import { driveTicket } from '../../src/engine/drive-ticket.ts';
import { Engine } from '../../src/engine/engine.ts';
import { SignalboxError } from '../../src/model/errors.ts';
import type { EngineEvent } from '../../src/model/events.ts';
import { Plan } from '../../src/model/plan-schema.ts';
import { Ticket } from '../../src/model/ticket-schema.ts';
import { it, type World, waitFor } from '../support/index.ts';
import { MemoryStore } from '../support/memory-store.ts';
import { firstOnly } from '../support/tiers.ts';
import { withoutFiles } from '../support/without-files.ts';
import { partsOf } from './parts.ts';

const OPTIONS = { maxConcurrency: 4, checkEveryMs: 60_000 };

function prepare(world: World): void {
  world.agent('agent', 'go; commit');
  world.workflow('work', [{ id: 'build', type: 'agent', prompt: 'Build.' }]);
  world.plan('p', { tickets: { a: {}, b: { blockedBy: ['a'] } } });
}

describe('the engine', () => {
  it.concurrent('starts nothing more once it was told to stop, wherever it is in its round', async ({
    world,
  }) => {
    prepare(world);
    const engine = new Engine(await partsOf(world), { ...OPTIONS, mode: 'forever' });
    const running = engine.run();
    await engine.stop('leave', 'the test');
    await running;
    expect(engine.inFlight).toBe(0);
    expect(world.calls()).toEqual([]);
    expect(world.ticket('p', 'a').claim).toBeNull();
  });

  it.runIf(process.platform === 'linux')(
    'can be stopped when no file can be opened to see what still runs',
    async ({ world }) => {
      world.agent('agent', 'note working; go; commit');
      world.workflow('work', [{ id: 'build', type: 'agent', prompt: 'Build.' }]);
      world.plan('p', { tickets: { a: {} } });
      const parts = await partsOf(world);
      const { storage } = parts.machine;
      const engine = new Engine(parts, { ...OPTIONS, mode: 'until-idle', scope: { planId: 'p' } });
      const running = engine.run().catch((error: unknown) => error);
      await world.call('working');
      const full = new SignalboxError('state/storage', 'Too many files are open.');
      void storage.write(() => Promise.reject(full)).catch(() => undefined);
      await waitFor('trouble', () => storage.trouble);
      await withoutFiles(() => engine.stop('leave', 'the test'));
      expect(await running).toBe(full);
      world.go();
      await world.call('end');
    },
  );

  it.concurrent('looks at claimed tickets and not at all of them, when it takes a slot beside another engine', {
    tags: 'full',
  }, async ({ world }) => {
    world.agent('agent', 'commit');
    world.workflow('work', [{ id: 'build', type: 'agent', prompt: 'Build.' }]);
    world.plan('p', { tickets: { a: {}, b: {}, c: {}, d: {}, e: {} } });
    const parts = await partsOf(world);
    const other = (await partsOf(world)).store.holder('other');
    await other.start();
    const changes = vi.spyOn(parts.store, 'changes');
    await new Engine(parts, { ...OPTIONS, mode: 'until-idle', scope: { planId: 'p' } }).run();
    await other.stop();
    expect(world.readPlan('p').status).toBe('complete');
    // The first one has to: it cannot know what was claimed before.
    expect(changes.mock.calls.filter(([, look]) => look === 'open').length).toBeLessThanOrEqual(1);
  });

  for (const [index, checks] of [2, 1, 3, 4, 5, 6].entries())
    it.concurrent(
      `does the work of another one that dies after ${checks} checks whether it lives`,
      firstOnly(index),
      async ({ world }) => {
        world.agent('agent', 'commit');
        world.workflow('work', [{ id: 'build', type: 'agent', prompt: 'Build.' }]);
        world.plan('p', { tickets: { a: {} } });
        const parts = await partsOf(world);
        const other = parts.store.holder('other').claim(parts.now());
        const ref = { planId: 'p', ticketId: 'a' };
        await parts.store.updateTicket(ref, (ticket) => ({ ...ticket, claim: other }));
        const isLive = parts.holder.isLive.bind(parts.holder);
        let seen = 0;
        vi.spyOn(parts.holder, 'isLive').mockImplementation((claim) =>
          claim.token === other.token ? ++seen <= checks : isLive(claim),
        );
        const options = { maxConcurrency: 4, checkEveryMs: 20 };
        await new Engine(parts, { ...options, mode: 'until-idle', scope: { planId: 'p' } }).run();
        expect(world.ticket('p', 'a').status).toBe('complete');
      },
    );

  it.concurrent('counts a claim of another engine of which it was not told', async ({ world }) => {
    world.agent('agent', 'commit');
    world.workflow('work', [{ id: 'build', type: 'agent', prompt: 'Build.' }]);
    world.plan('p', { tickets: { a: {} } });
    world.plan('q', { status: 'paused', tickets: { x: {} } });
    const parts = await partsOf(world);
    const other = (await partsOf(world)).store;
    const holder = other.holder('other');
    parts.store.glance();
    await parts.holder.start();
    await holder.start();
    const ref = { planId: 'q', ticketId: 'x' };
    await other.updateTicket(ref, (ticket) => ({ ...ticket, claim: holder.claim(parts.now()) }));
    holder.noteClaimed(['q/x']);
    const drive = (maxConcurrency: number) =>
      driveTicket(
        parts,
        { planId: 'p', ticketId: 'a' },
        {
          slot: true,
          maxConcurrency,
          signal: new AbortController().signal,
          onClaim: () => undefined,
          lost: false,
        },
      );
    await drive(1);
    expect(world.ticket('p', 'a').status).toBe('queued');
    expect(holder.lastClaimed()).toEqual(['q/x']);
    await drive(2);
    expect(world.ticket('p', 'a').status).toBe('complete');
    await Promise.all([holder.stop(), parts.holder.stop()]);
  });

  it.concurrent('sees a pause that comes together with its own write to the same ticket', async ({
    world,
  }) => {
    prepare(world);
    const parts = await partsOf(world);
    const engine = new Engine(parts, { ...OPTIONS, mode: 'until-idle', scope: { planId: 'p' } });
    const running = engine.run();
    await world.call('start');
    const somebodyElse = (await partsOf(world)).store;
    const ref = { planId: 'p', ticketId: 'a' };
    const pause = somebodyElse.updateTicket(ref, (ticket) => ({ ...ticket, status: 'paused' }));
    // Our own write follows before the file system has told anybody about the other one.
    const own = parts.store.updateTicket(ref, (ticket) => ({ ...ticket, description: 'ours' }));
    await Promise.all([pause, own]);
    await running;
    expect(world.ticket('p', 'a')).toMatchObject({ status: 'paused', claim: null, description: 'ours' });
  });

  it.concurrent('sees a pause that it has already read while looking for something else', async ({
    world,
  }) => {
    prepare(world);
    const parts = await partsOf(world);
    const engine = new Engine(parts, { ...OPTIONS, mode: 'until-idle', scope: { planId: 'p' } });
    const running = engine.run();
    await world.call('start');
    const somebodyElse = (await partsOf(world)).store;
    const ref = { planId: 'p', ticketId: 'a' };
    await somebodyElse.updateTicket(ref, (ticket) => {
      return { ...ticket, status: 'paused' };
    });
    parts.store.view();
    await running;
    expect(world.ticket('p', 'a').status).toBe('paused');
  });

  it.concurrent('sees a ticket that a planner adds just when the plan would have been complete', async ({
    world,
  }) => {
    prepare(world);
    world.go();
    const parts = await partsOf(world);
    const { store } = parts;
    const update = store.updatePlan.bind(store);
    let added = false;
    // Between the engine's look, which found all tickets complete, and its write.
    store.updatePlan = (id, change) => {
      const isLast = ['a', 'b'].every((ticketId) => world.ticket('p', ticketId).status === 'complete');
      if (isLast && !added) {
        added = true;
        world.writeTicket('p', 'late', { title: 'Late' });
        world.editPlan('p', (plan) => {
          plan.tickets.push({ ticketId: 'late', order: 2, blockedBy: [] });
        });
      }
      return update(id, change);
    };
    await new Engine(parts, { ...OPTIONS, mode: 'until-idle', scope: { planId: 'p' } }).run();
    expect(added).toBe(true);
    expect(world.ticket('p', 'late').status).toBe('complete');
    expect(store.plan('p').status).toBe('complete');
  });

  it.concurrent('lands what is in the air when the state directory can no longer be written', async ({
    world,
  }) => {
    prepare(world);
    world.config({ storage: { waitSeconds: 0 } });
    const told: EngineEvent[] = [];
    const parts = await partsOf(world, (event) => told.push(event));
    const engine = new Engine(parts, { ...OPTIONS, mode: 'forever' });
    const running = engine.run();
    await world.call('start');
    const { SignalboxError } = await import('../../src/model/errors.ts');
    parts.store.updateTicket = async () => {
      throw new SignalboxError('state/storage', 'the disk is full');
    };
    world.go();
    await expect(running).rejects.toThrow('the disk is full');
    expect(engine.inFlight).toBe(0);
    expect(
      told.some((event) => event.type === 'problem' && event.message.startsWith('the disk is full')),
    ).toBe(true);
  });

  it.concurrent('takes over after such an end without running anything twice', async ({ world }) => {
    prepare(world);
    world.config({ storage: { waitSeconds: 0 } });
    world.go();
    const parts = await partsOf(world);
    const original = parts.store.updateTicket.bind(parts.store);
    const { SignalboxError } = await import('../../src/model/errors.ts');
    parts.store.updateTicket = async (ref, change) => {
      if (world.calls('end').length > 0) throw new SignalboxError('state/storage', 'the disk is full');
      return original(ref, change);
    };
    await expect(new Engine(parts, { ...OPTIONS, mode: 'forever' }).run()).rejects.toThrow(
      'the disk is full',
    );
    expect(world.ticket('p', 'a').status).toBe('running');
    // The claim is that of the test's own process, which lives: to others it is held.
    world.writeTicket('p', 'a', { ...world.ticket('p', 'a'), claim: null });
    const again = await world.cli('run', 'p');
    expect(again.code, again.out + again.err).toBe(0);
    expect(world.calls('end', { ticket: 'p/a' })).toHaveLength(1);
  });

  it.concurrent('tells each problem once, however often it looks', async ({ world }) => {
    prepare(world);
    world.plan('cycle', { tickets: { x: { blockedBy: ['x'] } } });
    const told: EngineEvent[] = [];
    const engine = new Engine(await partsOf(world, (event) => told.push(event)), {
      ...OPTIONS,
      mode: 'forever',
    });
    const running = engine.run();
    world.go();
    await waitFor('the plan', () => told.some((event) => event.type === 'plan:status'));
    await engine.stop('leave', 'the test');
    await running;
    expect(told.filter((event) => event.type === 'problem')).toHaveLength(1);
  });

  it.concurrent('drives plans that are in no file', async ({ world }) => {
    world.agent('agent', 'go; commit');
    world.workflow('work', [
      { id: 'build', type: 'agent', prompt: 'Build.', onSuccess: 'check' },
      { id: 'check', type: 'script', command: 'check.sh' },
    ]);
    world.script('check.sh', 'true');
    world.go();
    const store = new MemoryStore();
    const entries = { tickets: [{ ticketId: 'a' }, { ticketId: 'b', order: 1, blockedBy: ['a'] }] };
    const tickets = ['a', 'b'].map((ticketId) => Ticket.parse({ planId: 'p', ticketId, title: ticketId }));
    await store.create(
      Plan.parse({ id: 'p', status: 'active', repo: world.repo, workflow: 'work', ...entries }),
      tickets,
    );
    const told: EngineEvent[] = [];
    const parts = await partsOf(world, (event) => told.push(event), store);
    await new Engine(parts, { ...OPTIONS, mode: 'until-idle', scope: { planId: 'p' } }).run();
    expect(told.filter(({ type }) => type === 'problem')).toEqual([]);
    const ended = [...store.view().tickets.values()].map(({ status, error }) => ({ status, error }));
    expect(ended).toEqual([1, 2].map(() => ({ status: 'complete', error: null })));
    expect(store.plan('p').status).toBe('complete');
    expect(store.events('p').length).toBeGreaterThan(0);
    expect(world.exists('home/state/jobs/p/a')).toBe(true);
    for (const shared of ['plans', 'workflows', 'engines', 'locks'])
      expect(world.exists(`home/state/${shared}`), shared).toBe(false);
  });

  it.concurrent('leaves a plan alone whose kind is not registered, whatever store it is in', async ({
    world,
  }) => {
    prepare(world);
    const store = new MemoryStore();
    const plan = { id: 'p', status: 'active', repo: world.repo, tickets: [{ ticketId: 'a' }] };
    const ticket = Ticket.parse({ planId: 'p', ticketId: 'a', title: 'a' });
    await store.create({ ...Plan.parse(plan), kind: 'other' } as Plan, [ticket]);
    const told: EngineEvent[] = [];
    const parts = await partsOf(world, (event) => told.push(event), store);
    await new Engine(parts, { ...OPTIONS, mode: 'once' }).run();
    expect(told).toMatchObject([
      { type: 'problem', planId: 'p', message: expect.stringContaining('"other"') },
    ]);
    expect(store.ticket({ planId: 'p', ticketId: 'a' })).toMatchObject({ status: 'queued', rev: ticket.rev });
  });
});
