import { existsSync, renameSync } from 'node:fs';
import { describe, expect } from 'vitest';
import { fromSnapshot, withChange } from '../../page/live/board-state.ts';
import { bySection } from '../../page/logic/fold-rows.ts';
import type { StoredEvent } from '../../src/model/events.ts';
import { NumberedBoardChanges } from '../../src/web/numbered-board-changes.ts';
import {
  type Board,
  Board as BoardSchema,
  type Change,
  Change as ChangeSchema,
} from '../../src/web/schemas-of-api-answers-events-and-bodies.ts';
import { it, type World, waitFor } from '../support/index.ts';
import { Stream, TestSite } from './site.ts';

async function opened(world: World): Promise<TestSite> {
  world.workflow('work', [
    { id: 'ask', type: 'gate', prompt: 'Go on?', on: { approve: 'done', reject: 'done' } },
    { id: 'done', type: 'terminal' },
  ]);
  world.plan('p', { tickets: { a: {}, b: {} } });
  return TestSite.open(world);
}

const event = (status: string): StoredEvent => ({
  type: 'plan:status',
  planId: 'p',
  status,
  v: 1,
  at: 'now',
});

describe.concurrent('the stream', () => {
  it('begins with everything and continues with what changes', async ({ world }) => {
    const site = await opened(world);
    const stream = new Stream(site);
    const board = await stream.next<Board>('snapshot');
    BoardSchema.parse(board);
    expect(board.rows.map(({ ticketId, status }) => `${ticketId} ${status}`)).toEqual([
      'a queued',
      'b queued',
    ]);
    await site.post('/plans/p/tickets/a/pause', { by: 'Grace' });
    const change = await stream.next<Change>('change', ({ events }) => events.length > 0);
    ChangeSchema.parse(change);
    expect(change.rows).toMatchObject([{ ticketId: 'a', status: 'paused' }]);
    expect(change.events[0]).toMatchObject({ type: 'command', command: 'pause', by: 'Grace', door: 'web' });
    stream.close();
    await site.close();
  });

  it('lets a page that is kept open show tickets in the order of `top`, however they move', async ({
    world,
  }) => {
    const site = await opened(world);
    const done = { status: 'complete' as const, currentPhase: 'done' };
    world.plan('q', { createdAt: '2020-01-01T00:00:00.000Z', tickets: { z: {}, y: done, x: {}, w: done } });
    const stream = new Stream(site);
    let kept = fromSnapshot(await stream.next<Board>('snapshot'));
    world.writeTicket('q', 'x', { ...world.ticket('q', 'x'), ...done });
    await site.post('/plans/p/tickets/b/pause', {});
    const moved = await stream.next<Change>('change', ({ rows }) =>
      rows.some(({ ticketId }) => ticketId === 'x'),
    );
    kept = withChange(kept, moved);
    const late = new Stream(site);
    const fresh = fromSnapshot(await late.next<Board>('snapshot'));
    for (const { rows, plans } of [kept, fresh])
      expect(bySection(rows.values(), plans).done.map(({ ticketId }) => ticketId)).toEqual(['y', 'x', 'w']);
    for (const each of [stream, late]) each.close();
    await site.close();
  });

  it('continues after a break where it was', async ({ world }) => {
    const site = await opened(world);
    const first = new Stream(site);
    await first.next('snapshot');
    const { lastId } = first;
    first.close();
    await site.post('/plans/p/tickets/b/pause', {});
    const second = new Stream(site, { lastId });
    const change = await second.next<Change>('change', ({ rows }) => rows.length > 0);
    expect(change.rows).toMatchObject([{ ticketId: 'b', status: 'paused' }]);
    await second.next<Change>('change', ({ events }) => events.length > 0);
    expect(second.messages.map((each) => each.event)).not.toContain('snapshot');
    second.close();
    // One that has missed nothing hears at once that it is connected, before anything changes.
    const third = new Stream(site, { lastId: second.lastId });
    await waitFor('the connection', () => third.status === 200);
    await site.post('/plans/p/tickets/a/pause', {});
    await third.next<Change>('change', ({ rows }) => rows.length > 0);
    expect(third.messages[0]).toMatchObject({ event: 'beat', data: { readAt: null } });
    third.close();
    await site.close();
  });

  it('begins again with an id of another server', async ({ world }) => {
    const site = await opened(world);
    for (const lastId of ['0123456789ab.5', 'nonsense', '1.', '-1', 'x'.repeat(500)]) {
      const stream = new Stream(site, { lastId });
      await stream.next('snapshot');
      expect(stream.messages.slice(0, 2)).toMatchObject([
        { event: 'reset', data: { reason: 'restarted' } },
        { event: 'snapshot' },
      ]);
      stream.close();
    }
    await site.close();
  });

  it('reports plans and tickets that are gone', async ({ world }) => {
    const site = await opened(world);
    world.plan('q', { status: 'draft', tickets: { c: {} } });
    const stream = new Stream(site);
    await stream.next<Board>('snapshot', ({ plans }) => plans.length === 2);
    expect((await world.cli('plan', 'delete', 'q')).code).toBe(0);
    const change = await stream.next<Change>('change', ({ gone }) => gone.length > 0);
    expect(change.gone.sort()).toEqual(['q', 'q/c']);
    stream.close();
    await site.close();
  });
});

describe('a state directory that is moved away', () => {
  it('leaves the board as it was, with the time since when, until it is back', async ({ world }) => {
    const site = await opened(world);
    const stream = new Stream(site);
    await stream.next('snapshot');
    // The watch reports this at once; a disk that is gone is found by the next check.
    const [plans, away] = [`${world.stateDir}/plans`, `${world.stateDir}/away`];
    renameSync(plans, away);
    await stream.next<{ readAt: string | null }>('beat', ({ readAt }) => readAt !== null);
    expect((await site.send('/api/v1/board')).status).toBe(503);
    expect((await site.post('/plans/p/tickets/a/pause', {})).status).toBe(503);
    const late = new Stream(site);
    expect((await late.next<Board>('snapshot')).rows).toHaveLength(2);
    // A reader takes what it hears for current until a beat says otherwise.
    await waitFor('a beat after the snapshot', () => late.last?.event === 'beat');
    expect(late.messages.map(({ event }) => event)).toEqual(['snapshot', 'beat']);
    expect(late.last?.data).toMatchObject({ readAt: expect.any(String) });
    expect(existsSync(plans)).toBe(false);
    const before = stream.messages.length;
    renameSync(away, plans);
    await waitFor('the end of it', () =>
      stream.messages.slice(before).some(({ data }) => (data as { readAt?: unknown }).readAt === null),
    );
    expect((await site.post('/plans/p/tickets/a/pause', {})).status).toBe(200);
    await stream.next<Change>('change', ({ rows }) => rows[0]?.status === 'paused');
    expect(stream.messages.flatMap(({ data }) => (data as { gone?: string[] }).gone ?? [])).toEqual([]);
    for (const each of [stream, late]) each.close();
    await site.close();
  });
});

describe('the feed', () => {
  const row = (ticketId: string, why = '') => ({ planId: 'p', ticketId, why }) as Board['rows'][number];
  const board = (rows: Board['rows']) =>
    ({ at: '', rows, plans: [], running: 0, counts: {} }) as unknown as Board;

  it('keeps of every row the latest state only', () => {
    const feed = new NumberedBoardChanges();
    feed.update(board([row('a')]));
    const { id } = feed.snapshot('now');
    for (let n = 0; n < 10; n++) feed.update(board([row('a', String(n))]));
    expect(feed.since(id)).toMatchObject({ rows: [{ ticketId: 'a', why: '9' }] });
    expect(feed.since(feed.id)).toMatchObject({ rows: [], gone: [], events: [] });
    expect(feed.update(board([row('a', '9')]))).toBe(false);
  });

  it('does not compare rows that are the ones of the last reading', () => {
    const feed = new NumberedBoardChanges();
    let compared = 0;
    const rows = Array.from({ length: 100 }, (_, n) => ({ ...row(`t${n}`), toJSON: () => ++compared }));
    feed.update(board(rows));
    expect(feed.update(board([...rows]))).toBe(false);
    expect(compared).toBe(100);
  });

  it('asks a reader that has missed events, or rows that are gone, to begin again', () => {
    const feed = new NumberedBoardChanges();
    feed.update(board([row('a')]));
    const { id } = feed.snapshot('now');
    for (let n = 0; n < 2000; n++) feed.addEvent(event(String(n)));
    expect(feed.since(id)).toMatchObject({ rows: [] });
    feed.addEvent(event('one more'));
    expect(feed.since(id)).toBe('too old');
    const later = feed.id;
    feed.update(board(Array.from({ length: 3000 }, (_, n) => row(`t${n}`))));
    feed.update(board([]));
    expect(feed.since(later)).toBe('too old');
    expect(feed.since(feed.id)).toMatchObject({ rows: [] });
  });

  it('does not keep more events than a few megabytes', () => {
    const feed = new NumberedBoardChanges();
    feed.update(board([]));
    const { id } = feed.snapshot('now');
    for (let n = 0; n < 100; n++) feed.addEvent(event('x'.repeat(100_000)));
    expect(feed.since(id)).toBe('too old');
  });
});
