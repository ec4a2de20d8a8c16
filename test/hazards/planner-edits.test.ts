import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { describe, expect } from 'vitest';
import { it, story, type World, waitFor } from '../support/index.ts';

function prepare(world: World): void {
  world.agent('agent', 'alone; note at; go; commit');
  world.workflow('work', [
    {
      id: 'build',
      type: 'agent',
      prompt: 'Build {{ title }}.',
      expect: { commits: true },
      onSuccess: 'polish',
    },
    { id: 'polish', type: 'agent', prompt: 'Polish {{ title }}.' },
  ]);
}

describe('a planner or editor writes while the engine works', () => {
  it.concurrent('an old copy saved over a running ticket: their fields are taken, ours are kept', {
    tags: 'full',
  }, async ({ world }) => {
    prepare(world);
    world.plan('p', { tickets: { a: {} } });
    const daemon = world.start(['daemon']);
    await world.call('at');
    world.writeTicket('p', 'a', { title: 'A better title', status: 'queued', note: 'mine', labels: ['x'] });
    // The claim is put back at once, so that no other engine takes the ticket for a free one.
    const mended = await world.reaches('p', 'a', (ticket) => ticket.claim?.pid === daemon.pid);
    expect(mended).toMatchObject({ status: 'running', title: 'A better title' });
    expect((await world.cli('tick')).code).toBe(0);
    world.go();
    await daemon.says('p: plan complete');
    const ticket = world.ticket('p', 'a');
    expect(story(ticket)).toEqual(['build success', 'polish success']);
    expect(ticket).toMatchObject({ title: 'A better title', note: 'mine', labels: ['x'], claim: null });
    expect(world.promptOf('p', 'a', 'polish.1.1')).toBe('Polish A better title.');
    expect(world.calls('start')).toHaveLength(2);
    expect(world.calls('clash')).toEqual([]);
  });

  it.concurrent('a ticket file truncated mid-run is restored and the broken text kept beside it', {
    tags: 'full',
  }, async ({ world }) => {
    prepare(world);
    world.plan('p', { tickets: { a: {}, b: { order: 1 } } });
    const run = world.invoke(['run', 'p', '-c', '1']);
    await world.call('at', { ticket: 'p/a' });
    const file = world.ticketFile('p', 'a');
    const broken = readFileSync(file, 'utf8').slice(0, 100);
    writeFileSync(file, broken);
    await run.says('not valid JSON');
    await waitFor('the file to be restored', () => existsSync(`${file}.broken`));
    world.go();
    const { code, out, err } = await run.ended;
    expect(code, out + err).toBe(0);
    expect(story(world.ticket('p', 'a'))).toEqual(['build success', 'polish success']);
    expect(readFileSync(`${file}.broken`, 'utf8')).toBe(broken);
    expect(world.calls('start', { ticket: 'p/a' })).toHaveLength(2);
  });

  it.concurrent('a file that is broken for a moment, as editors do, is simply waited for', async ({
    world,
  }) => {
    prepare(world);
    world.plan('p', { tickets: { a: {} } });
    const run = world.invoke(['run', 'p']);
    await world.call('at');
    const file = world.ticketFile('p', 'a');
    const text = readFileSync(file, 'utf8');
    writeFileSync(file, '');
    writeFileSync(file, text.replace('Title of a', 'Retitled'));
    world.go();
    expect((await run.ended).code).toBe(0);
    expect(world.ticket('p', 'a').title).toBe('Retitled');
    expect(existsSync(`${file}.broken`)).toBe(false);
  });

  it.concurrent('a deleted ticket file comes back: the work under way is not forgotten', {
    tags: 'full',
  }, async ({ world }) => {
    prepare(world);
    world.plan('p', { tickets: { a: {} } });
    const run = world.invoke(['run', 'p']);
    await world.call('at');
    world.remove(world.ticketFile('p', 'a'));
    await waitFor('the file to come back', () => existsSync(world.ticketFile('p', 'a')));
    world.go();
    expect((await run.ended).code).toBe(0);
    expect(world.ticket('p', 'a').status).toBe('complete');
  });

  it.concurrent('a person’s pause in the file itself takes effect', { tags: 'full' }, async ({ world }) => {
    prepare(world);
    world.plan('p', { tickets: { a: {} } });
    const run = world.invoke(['run', 'p']);
    await world.call('at');
    world.writeTicket('p', 'a', { title: 'Stop this', status: 'paused' });
    expect((await run.ended).code).toBe(1);
    expect(world.ticket('p', 'a')).toMatchObject({ status: 'paused', title: 'Stop this', claim: null });
    expect(story(world.ticket('p', 'a'))).toEqual(['build interrupted']);
  });

  it.concurrent('a daemon starts what is dropped into its directories without waiting for its timer', {
    tags: 'full',
  }, async ({ world }) => {
    prepare(world);
    world.go();
    const daemon = world.invoke(['daemon']);
    await daemon.says('works on');
    world.plan('p', { tickets: { a: {} } });
    await world.reaches('p', 'a', 'complete');
    world.plan('q', { tickets: { first: {} } });
    await world.reaches('q', 'first', 'complete');
    // One more ticket for a plan that is there: its file first, then the plan that lists it.
    world.writeTicket('q', 'second', { title: 'Second' });
    world.editPlan('q', (plan) => {
      plan.status = 'active';
      plan.tickets.push({ ticketId: 'second', order: 1, blockedBy: ['first'] });
    });
    await world.reaches('q', 'second', 'complete');
    // A draft is not touched until somebody approves it.
    world.plan('r', { status: 'draft', tickets: { later: {} } });
    world.plan('s', { tickets: { probe: {} } });
    await world.reaches('s', 'probe', 'complete');
    expect(world.ticket('r', 'later').status).toBe('queued');
    expect((await world.cli('plan', 'approve', 'r')).code).toBe(0);
    await world.reaches('r', 'later', 'complete');
    expect(world.calls('clash')).toEqual([]);
  });
});
