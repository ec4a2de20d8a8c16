import { writeFileSync } from 'node:fs';
import { describe, expect } from 'vitest';
import { commitsOf, it, story, type World } from '../support/index.ts';

interface Status {
  tickets: { ticketId: string; status: string; why: string; next: string }[];
  problems: { ticketId: string | null; path: string; message: string }[];
}

function prepare(world: World, body = '[ $SIGNALBOX_TICKET != fails ] || exit 1; commit'): void {
  world.agent('agent', body);
  world.workflow('work', [{ id: 'build', type: 'agent', prompt: 'Build.' }]);
}

const whyOf = (status: Status) =>
  Object.fromEntries(status.tickets.map((ticket) => [ticket.ticketId, ticket.why]));

describe('dependencies', () => {
  it.concurrent('a failed blocker shows its dependents as blocked, with the reason; a retry sets them free', {
    tags: 'full',
  }, async ({ world }) => {
    prepare(world, `[ $SIGNALBOX_TICKET != fails ] || [ -e '${world.dir}/mended' ] || exit 1; commit`);
    world.plan('p', {
      tickets: { fails: {}, child: { blockedBy: ['fails'] }, grandchild: { blockedBy: ['child'] }, free: {} },
    });
    expect((await world.cli('run', 'p')).code).toBe(1);
    const status = await world.json<Status>('status', '--plan', 'p');
    expect(whyOf(status)).toMatchObject({
      child: 'waits for fails (failed)',
      grandchild: 'waits for child (itself blocked)',
      free: '',
    });
    // What sets them free is told of each of them, however far away it is.
    const retry = 'signalbox retry p fails';
    expect(status.tickets.map(({ next }) => next)).toEqual([retry, retry, retry, '']);
    expect(status.tickets.map((ticket) => ticket.status)).toEqual(['failed', 'queued', 'queued', 'complete']);
    expect(
      world
        .calls('start')
        .map((call) => call.ticket)
        .sort(),
    ).toEqual(['p/fails', 'p/free']);
    world.append('mended', '');
    expect((await world.cli('retry', 'p', 'fails')).code).toBe(0);
    expect((await world.cli('run', 'p')).code).toBe(0);
    expect(world.readPlan('p').status).toBe('complete');
    // What it waited for is what it builds upon.
    expect(commitsOf(world.repo, 'ticket/p/grandchild')).toHaveLength(3);
  });

  it.concurrent('a cycle and an unknown id are refused before anything runs; other plans go on', {
    tags: 'full',
  }, async ({ world }) => {
    prepare(world);
    world.plan('cycle', { tickets: { x: { blockedBy: ['y'] }, y: { blockedBy: ['x'] }, z: {} } });
    world.plan('unknown', { tickets: { x: { blockedBy: ['nobody'] }, z: {} } });
    world.plan('crossed', { tickets: { x: { blockedBy: ['cycle/nobody'] } } });
    world.plan('fine', { tickets: { x: {} } });
    const expected = {
      cycle: 'Tickets wait for each other: x → y → x',
      unknown: 'Ticket "x" is blocked by "nobody", which does not exist.',
      crossed: 'Ticket "x" is blocked by "cycle/nobody", which does not exist.',
    };
    for (const [plan, message] of Object.entries(expected)) {
      const { code, err } = await world.cli('run', plan);
      expect(code, plan).toBe(2);
      expect(err).toContain(message);
    }
    const daemon = world.invoke(['daemon']);
    await world.reaches('fine', 'x', 'complete');
    for (const message of Object.values(expected)) await daemon.says(message);
    await daemon.kill('SIGTERM');
    expect(world.calls('start').map((call) => call.ticket)).toEqual(['fine/x']);
  });

  it.concurrent('a ticket may wait for one of another plan', { tags: 'full' }, async ({ world }) => {
    prepare(world, 'go; commit');
    world.plan('base', { tickets: { first: {} } });
    world.plan('next', { tickets: { second: { blockedBy: ['base/first'] } } });
    const daemon = world.invoke(['daemon']);
    await world.call('start', { ticket: 'base/first' });
    const held = await world.reaches('next', 'second', (ticket) => ticket.hold?.kind === 'blocked');
    expect(held.hold?.reason).toBe('waits for base/first (not complete yet)');
    world.go();
    await world.reaches('next', 'second', 'complete');
    await daemon.kill('SIGTERM');
    expect(world.calls('start').map((call) => call.ticket)).toEqual(['base/first', 'next/second']);
    expect(commitsOf(world.repo, 'ticket/next/second')).toHaveLength(2);
  });

  it.concurrent('one at a time, tickets start in their order; a blocker goes before its order', {
    tags: 'full',
  }, async ({ world }) => {
    prepare(world);
    world.plan('p', {
      concurrency: 1,
      tickets: {
        e: { order: 5 },
        b: { order: 2, blockedBy: ['d'] },
        d: { order: 4 },
        a: { order: 1 },
        c: { order: 3 },
      },
    });
    expect((await world.cli('run', 'p', '-c', '4')).code).toBe(0);
    expect(world.calls('start').map((call) => call.ticket)).toEqual(['p/a', 'p/c', 'p/d', 'p/b', 'p/e']);
  });

  it.concurrent('never more at once than allowed, and a plan that stops at its first failure starts no more', {
    tags: 'full',
  }, async ({ world }) => {
    prepare(
      world,
      `mkdir '${world.dir}/in'/$SIGNALBOX_TICKET; [ $(ls '${world.dir}/in' | wc -l) -le 2 ] || note crowd
      sleep 0.05; rmdir '${world.dir}/in'/$SIGNALBOX_TICKET; [ $SIGNALBOX_TICKET != fails ] || exit 1`,
    );
    world.append('in/.keep', '');
    const ids = ['a', 'b', 'c', 'd', 'e', 'f'];
    world.plan('p', { tickets: Object.fromEntries(ids.map((id) => [id, {}])) });
    world.plan('q', {
      stopOnFailure: true,
      concurrency: 1,
      tickets: { ok: {}, fails: { order: 1 }, never: { order: 2 } },
    });
    expect((await world.cli('run', 'p', '-c', '2')).code).toBe(0);
    expect(world.calls('crowd')).toEqual([]);
    expect((await world.cli('run', 'q')).code).toBe(1);
    expect(world.ticket('q', 'never')).toMatchObject({ status: 'queued', hold: { kind: 'blocked' } });
    expect(world.ticket('q', 'never').hold?.reason).toContain('fails failed');
  });

  it.concurrent('a draft is never dispatched, an archived plan neither, and run says what to do', async ({
    world,
  }) => {
    prepare(world);
    world.plan('draft', { status: 'draft', tickets: { a: {} } });
    world.plan('archived', { status: 'archived', tickets: { a: {} } });
    const draft = await world.cli('run', 'draft');
    expect(draft.code).toBe(1);
    expect(draft.err).toContain('signalbox plan approve draft');
    expect((await world.cli('run', 'archived')).code).toBe(1);
    expect((await world.cli('tick')).code).toBe(0);
    expect(world.calls()).toEqual([]);
  });

  it.concurrent('one malformed file holds back only itself, and status names it with the reason', async ({
    world,
  }) => {
    prepare(world);
    world.plan('p', {
      tickets: { good: {}, torn: {}, empty: {}, typed: {}, waits: { blockedBy: ['torn'] } },
    });
    writeFileSync(world.ticketFile('p', 'torn'), '{"planId": "p", "ticketId"');
    writeFileSync(world.ticketFile('p', 'empty'), '');
    world.writeTicket('p', 'typed', { title: 42 });
    world.plan('q', { tickets: { fine: {} } });
    world.plan('bad', { tickets: { x: {} } });
    writeFileSync(world.planFile('bad'), 'not json');
    world.plan('renamed', { id: 'other', tickets: { x: {} } });
    const daemon = world.invoke(['daemon']);
    await world.reaches('p', 'good', 'complete');
    await world.reaches('q', 'fine', 'complete');
    await world.reaches(
      'p',
      'waits',
      (ticket) => ticket.hold?.reason === 'waits for torn (its file cannot be read)',
    );
    await daemon.kill('SIGTERM');
    const status = await world.json<Status>('status', '--plan', 'p');
    const message = (id: string) => status.problems.find((problem) => problem.ticketId === id)?.message;
    expect(message('torn')).toContain(`${world.ticketFile('p', 'torn')}:1:`);
    expect(message('empty')).toContain('the file is empty');
    expect(message('typed')).toContain('title: ');
    const all = await world.cli('status');
    expect(all.out).toContain(world.planFile('bad'));
    expect(all.out).toContain('the plan calls itself "other" but its directory is "renamed"');
    expect(story(world.ticket('p', 'good'))).toEqual(['build success']);
    expect(world.readPlan('p').status).toBe('active');
  });
});
