import { describe, expect } from 'vitest';
import { openEngine } from '../../src/api/open-engine-with-features.ts';
import { loadSettings } from '../../src/config/load-settings.ts';
import { BoardReader } from '../../src/report/board/read-board.ts';
import { postgresStore } from '../../src/store/postgres/open-postgres.ts';
import type {
  Board,
  TicketPage,
  Transcript,
} from '../../src/web/schemas-of-api-answers-events-and-bodies.ts';
import { attempt } from '../model/build.ts';
import { FleetWorld } from '../support/fleet.ts';
import { it, waitFor } from '../support/index.ts';
import { within } from '../support/within.ts';
import { Stream, TestSite } from './site.ts';

const REF = { planId: 'p', ticketId: 'a' };

/** A plan in PostgreSQL, and the page of a machine that reads it. */
async function opened() {
  const fleet = await FleetWorld.open();
  const { world, database } = fleet;
  world.workflow('work', [{ id: 'implement', type: 'agent', prompt: 'Do it.' }]);
  world.plan('p', { repo: 'acme/scratch', tickets: { a: { title: 'First' }, b: {} } });
  await fleet.upload('p');
  const env = { ...world.env, USER: 'ada' } as Record<string, string>;
  const settings = await loadSettings({ cwd: world.dir, env, packageDir: process.cwd(), flags: {} });
  const address = { text: database.address, from: 'file' } as const;
  const store = await postgresStore({ address, env, cwd: '/', stateDir: settings.stateDir });
  const engine = openEngine({ settings, env, by: 'web', door: 'web', store, handsOver: true });
  await engine.store.refresh();
  const site = await TestSite.open(world, { engine });
  return { fleet, engine, site };
}

/** The ticket runs on another machine, which has stored what its agent printed. */
async function runElsewhere({ store }: FleetWorld, text: string) {
  const holder = store.holder('worker');
  const claim = { ...holder.claim(new Date().toISOString()), host: 'build-2' };
  const open = attempt('implement', 'running', { agent: 'claude', startedAt: new Date().toISOString() });
  const machine = { host: 'build-2', state: '/elsewhere' };
  await store.updateTicket(REF, (ticket) => ({
    ...{ ...ticket, claim, machine, status: 'running', currentPhase: 'implement' },
    phaseHistory: [open],
  }));
  const key = 'implement#1#1';
  await store.output.begin(REF, key, holder.token);
  await store.output.add(REF, key, holder.token, [
    { stream: 'adapter', number: 0, text: 'claude' },
    { stream: 'stdout', number: 0, text },
  ]);
}

const said = (text: string) =>
  `${JSON.stringify({ type: 'assistant', message: { content: [{ type: 'text', text }] } })}\n`;

describe('on the store of a fleet, the page', () => {
  it('answers with what others have written, also while no page is open', async () => {
    const { fleet, site } = await opened();
    const titleOf = async () => (await site.get<Board>('/board')).rows[0]?.title;
    expect(await titleOf()).toBe('First');
    await fleet.store.updateTicket(REF, (ticket) => ({ ...ticket, title: 'Second' }));
    expect(await titleOf()).toBe('Second');
    const paused = await site.post('/plans/p/tickets/a/pause', { by: 'Grace' });
    expect(paused.status).toBe(200);
    await fleet.store.refresh();
    expect(fleet.store.events('p')[0]).toMatchObject({ type: 'command', by: 'Grace', door: 'web' });
    await site.close();
  });

  it('is told of changes and events of other machines, and says since when the store does not answer', {
    tags: 'full',
  }, async () => {
    const { fleet, site } = await opened();
    const stream = new Stream(site);
    await stream.next('snapshot');
    expect((await fleet.cli('pause', 'p', 'b')).code).toBe(0);
    await stream.next<{ events: object[] }>('change', ({ events }) => events.length > 0);
    const before = Date.now();
    await fleet.setReachable(false);
    const { readAt } = await stream.next<{ readAt: string | null }>('beat', (beat) => beat.readAt !== null);
    expect(Date.parse(readAt ?? '')).toBeLessThanOrEqual(before);
    const late = new Stream(site);
    await late.next('snapshot');
    await late.next<{ readAt: string | null }>('beat', (beat) => beat.readAt === readAt);
    expect((await site.send('/api/v1/board')).status).toBe(503);
    expect((await site.post('/plans/p/tickets/a/pause', {})).status).toBe(503);
    const beats = stream.messages.length;
    await fleet.setReachable(true);
    await waitFor('a beat of a store that answers', () =>
      stream.messages.slice(beats).some(({ data }) => (data as { readAt?: unknown }).readAt === null),
    );
    for (const each of [stream, late]) each.close();
    await site.close();
  });

  it('shows what an agent on another machine prints, and which machine that is', async () => {
    const { fleet, engine, site } = await opened();
    await runElsewhere(fleet, said('Reading the code.'));
    const page = await site.get<TicketPage>('/plans/p/tickets/a');
    expect(page.row.machine).toBe('build-2');
    const path = '/plans/p/tickets/a/attempts/implement%231%231';
    const transcript = await site.get<Transcript>(`${path}/transcript`);
    expect(transcript.entries).toMatchObject([{ kind: 'text', text: 'Reading the code.' }]);
    const raw = await site.get<{ text: string }>(`${path}/output?stream=stdout`);
    expect(raw.text).toContain('Reading the code.');
    const { store, settings, machine } = engine;
    const source = { store, settings, machine, redact: String, startedAt: 0, isShown: () => true };
    const reader = new BoardReader(source);
    const seen = (action: string | null) =>
      waitFor('the last action', () =>
        reader.read(Date.now()).rows[0]?.action === action ? action : undefined,
      );
    expect(reader.read(Date.now()).rows[0]).toMatchObject({ machine: 'build-2', action: null });
    await seen('Reading the code.');
    const { printedAt } = reader.read(Date.now()).rows[0] ?? {};
    expect(Math.abs(Date.now() - Date.parse(printedAt ?? ''))).toBeLessThan(within(10_000));
    // A store that does not answer would block this process while it is asked for a log.
    await new Promise<void>((more) => void expect(reader.logTail(REF, more)).toEqual([]));
    expect(reader.logTail(REF).join('\n')).toContain('Reading the code.');
    const printed = await fleet.cli('top', '--json');
    expect(JSON.parse(printed.out)).toMatchObject({
      counts: { running: 1 },
      rows: [{ machine: 'build-2', action: 'Reading the code.' }, {}],
    });
    expect((await fleet.cli('top')).out).toMatch(/^1 engine: worker[\s\S]*● a +First/m);
    await fleet.store.updateTicket(REF, (ticket) => ({ ...ticket, claim: null, status: 'failed' }));
    expect((await site.get<TicketPage>('/plans/p/tickets/a')).row.machine).toBe('build-2');
    await site.close();
  });
});
