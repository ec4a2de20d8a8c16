import { describe, expect, it } from 'vitest';
import { type BoardInput, boardOf, isTooSilent } from '../../../src/report/board/make-board.ts';
import { statusOf } from '../../../src/report/plan-and-ticket-status.ts';
import { planLines } from '../../../src/report/status-text.ts';
import { style, waitTime } from '../../../src/report/style-and-phrases.ts';
import type { StoreView } from '../../../src/store/store-interface.ts';
import { at, attempt, CLAIM, NOW, plan, ticket } from '../../model/build.ts';

const now = Date.parse(NOW);
const used = (costUsd: number | null, inputTokens = 1000) => ({
  inputTokens,
  outputTokens: 0,
  cacheReadTokens: null,
  cacheWriteTokens: null,
  costUsd,
});

function viewOf(...plans: { id: string; createdAt?: string; tickets: Record<string, object> }[]): StoreView {
  const all = plans.map(({ tickets, ...fields }) => ({
    plan: plan({ ...fields, tickets: Object.keys(tickets).map((ticketId, order) => ({ ticketId, order })) }),
    tickets: Object.entries(tickets).map(([ticketId, more]) =>
      ticket({ planId: fields.id, ticketId, ...more }),
    ),
  }));
  return {
    plans: all.map((each) => each.plan),
    tickets: new Map(
      all.flatMap((each) => each.tickets).map((each) => [`${each.planId}/${each.ticketId}`, each]),
    ),
    problems: [],
  };
}

function board(view: StoreView, more: Partial<BoardInput> = {}) {
  return boardOf({
    view,
    isShown: () => true,
    holder: { isLive: () => true, leaseLeft: () => undefined, daemon: () => undefined },
    drivers: { daemon: more.holder?.daemon() !== undefined },
    isHere: () => true,
    now,
    maximum: 4,
    today: { usd: null, unpriced: 0, budgetUsd: null },
    limits: [],
    output: () => undefined,
    idleSeconds: () => null,
    ...more,
  });
}

const RUNNING = {
  status: 'running',
  claim: CLAIM,
  currentPhase: 'implement',
  phaseHistory: [
    attempt('implement', 'failure', { agent: 'claude', startedAt: at(-300), usage: used(0.5) }),
    attempt('implement', 'running', { agent: 'claude', attempt: 2, startedAt: at(-60), usage: used(0.25) }),
  ],
};

describe('the board', () => {
  it('has questions before all else that needs a person', () => {
    const ask = attempt('ask', 'running', { asks: 'Go on?', decisions: ['yes'], startedAt: at(-60) });
    const { rows } = board(
      viewOf(
        { id: 'new', createdAt: at(-1), tickets: { failed: { status: 'failed', error: 'it broke' } } },
        {
          id: 'old',
          createdAt: at(-9),
          tickets: {
            gate: {
              status: 'needs_attention',
              currentPhase: 'ask',
              hold: { kind: 'gate', reason: 'Go on?', until: null },
              phaseHistory: [ask],
            },
          },
        },
      ),
    );
    expect(rows.map(({ ticketId }) => ticketId)).toEqual(['gate', 'failed']);
  });

  it('has what needs a person first, then what runs, waits and is done, the newest plan first', () => {
    const { rows, counts } = board(
      viewOf(
        {
          id: 'old',
          createdAt: at(-900),
          tickets: {
            a: { status: 'complete' },
            b: { status: 'failed', error: 'no commit' },
            c: { status: 'failed', cancelledAt: NOW },
            d: { status: 'paused' },
          },
        },
        { id: 'new', createdAt: at(-10), tickets: { e: RUNNING, f: {}, g: { status: 'needs_attention' } } },
      ),
    );
    expect(rows.map((row) => `${row.section}: ${row.planId}/${row.ticketId}`)).toEqual([
      'need you: new/g',
      'need you: old/b',
      'running: new/e',
      'waiting: new/f',
      'waiting: old/d',
      'done: old/a',
      'done: old/c',
    ]);
    expect(counts).toEqual({ 'need you': 2, running: 1, waiting: 2, done: 2 });
  });

  it('has the same reason and next command as status', () => {
    const { rows } = board(viewOf({ id: 'p', tickets: { a: { status: 'failed', error: 'no commit' } } }));
    expect(rows).toMatchObject([{ why: 'no commit', next: 'signalbox retry p a' }]);
  });

  it('shows of a running ticket since when it is in its phase, what its agent does and what it used', () => {
    const { rows, engines, running } = board(viewOf({ id: 'p', tickets: { a: RUNNING } }), {
      output: () => ({ action: 'Bash npm test', printedAt: now - 20_000 }),
      idleSeconds: () => 900,
    });
    expect(rows).toMatchObject([
      {
        phase: 'implement',
        since: at(-300),
        agent: 'claude',
        action: 'Bash npm test',
        printedAt: at(-20),
        idleSeconds: 900,
        usage: { costUsd: 0.75, inputTokens: 2000 },
        machine: null,
      },
    ]);
    expect(engines).toEqual([{ by: 'run', pid: 1, host: 'here', isElsewhere: false }]);
    expect(running).toBe(1);
  });

  it('counts the time of a ticket as status does: without the time in which it had failed, or was somewhere else', () => {
    const again = (startedAt: string) => attempt('implement', 'running', { attempt: 2, startedAt });
    const first = attempt('implement', 'failure', { startedAt: at(-1100) });
    const gate = { kind: 'gate', reason: 'Ship it?', until: null };
    const tickets = {
      retried: { ...RUNNING, since: at(-6), phaseHistory: [first, again(at(-5))] },
      'next-phase': { ...RUNNING, since: at(-900) },
      'asks-again': {
        status: 'needs_attention',
        hold: gate,
        since: at(-5),
        phaseHistory: [first, again(at(-5))],
      },
      stopped: { status: 'paused', since: at(-7), phaseHistory: [first, again(at(-50))] },
    };
    const view = viewOf({ id: 'p', tickets });
    const shown = statusOf({
      view,
      holder: { isLive: () => true, leaseLeft: () => undefined },
      daemon: true,
      now,
    });
    const said = shown.flatMap((each) => planLines(each, style(false), now, { detailed: false })).join('\n');
    const { rows } = board(view);
    for (const [name, seconds] of Object.entries({
      retried: 6,
      'next-phase': 300,
      'asks-again': 5,
      stopped: 7,
    })) {
      expect([name, rows.find(({ ticketId }) => ticketId === name)?.since]).toEqual([name, at(-seconds)]);
      expect(said).toMatch(new RegExp(`${name} .* for ${waitTime(seconds * 1000)} `));
    }
  });

  it('names the machine of a ticket whose engine cannot be seen from here, or whose worktree is elsewhere', () => {
    const holder = { isLive: () => true, leaseLeft: () => 30_000, daemon: () => undefined };
    const claim = { ...CLAIM, host: 'builder-2' };
    const { rows, engines } = board(viewOf({ id: 'p', tickets: { a: { ...RUNNING, claim } } }), { holder });
    expect(rows).toMatchObject([{ machine: 'builder-2' }]);
    expect(engines).toMatchObject([{ host: 'builder-2', isElsewhere: true }]);
    const machine = { host: 'builder-3', state: '/state' };
    const rested = viewOf({ id: 'p', tickets: { a: { status: 'failed', machine } } });
    expect(board(rested, { isHere: () => false }).rows).toMatchObject([{ machine: 'builder-3' }]);
    expect(board(rested).rows).toMatchObject([{ machine: null }]);
  });

  it('has the address of a pull request only where a browser may open it', () => {
    const urls = ['https://example.test/1', 'javascript:alert(1)', 'file:///etc/passwd', '--help', 7];
    const tickets = Object.fromEntries(urls.map((pr_url, at) => [`t${at}`, { context: { pr_url } }]));
    const { rows } = board(viewOf({ id: 'p', tickets }));
    expect(rows.map(({ pullRequest }) => pullRequest)).toEqual([urls[0], null, null, null, null]);
  });

  it('counts engines that are alive once each, and no person in a session', () => {
    const daemon = { ...CLAIM, token: 'd', by: 'daemon', pid: 2 };
    const view = viewOf({
      id: 'p',
      tickets: { a: RUNNING, b: RUNNING, c: { claim: { ...CLAIM, token: 's', by: 'session' } } },
    });
    const isLive = ({ token }: { token: string }) => token !== 'dead';
    const { engines } = board(view, {
      holder: { isLive, leaseLeft: () => undefined, daemon: () => daemon },
    });
    expect(engines.map(({ by, pid }) => `${by} ${pid}`)).toEqual(['daemon 2', 'run 1']);
    const dead = { ...RUNNING, claim: { ...CLAIM, token: 'dead' } };
    const left = board(viewOf({ id: 'p', tickets: { a: dead } }), {
      holder: { isLive, leaseLeft: () => undefined, daemon: () => undefined },
    });
    expect([left.engines, left.running]).toEqual([[], 0]);
    expect(left.rows).toMatchObject([{ section: 'running', why: 'its engine is gone' }]);
  });

  it('shows what a gate asks, and which decisions it takes', () => {
    const gate = {
      status: 'needs_attention',
      currentPhase: 'approve',
      hold: { kind: 'gate', reason: 'Ship it?', until: null },
      phaseHistory: [attempt('approve', 'running', { decisions: ['yes', 'no'], startedAt: at(-90) })],
    };
    const { rows } = board(viewOf({ id: 'p', tickets: { a: gate, b: {} } }));
    expect(rows).toMatchObject([
      { why: 'Ship it?', decisions: ['yes', 'no'], since: at(-90) },
      { decisions: [] },
    ]);
  });

  it.each([
    [at(-299), 900, false],
    [at(-301), 900, true],
    [at(-9000), null, false],
  ])('printed at %s with a limit of %s: too silent %s', (printed, idleSeconds, isSilent) => {
    const { rows } = board(viewOf({ id: 'p', tickets: { a: RUNNING } }), {
      output: () => ({ action: null, printedAt: Date.parse(printed) }),
      idleSeconds: () => idleSeconds,
    });
    expect(rows.map((row) => isTooSilent(row, now))).toEqual([isSilent]);
  });

  it('keeps rows of tickets that have not changed, and only these', () => {
    const kept = new Map();
    const view = viewOf({ id: 'p', tickets: { a: {}, b: {}, c: RUNNING } });
    const first = board(view, { kept }).rows;
    const again = board(view, { kept }).rows;
    const byId = (rows: typeof first, id: string) => rows.find(({ ticketId }) => ticketId === id);
    expect(again.map(({ ticketId }) => ticketId)).toEqual(['c', 'a', 'b']);
    expect(byId(again, 'a')).toBe(byId(first, 'a'));
    const changed = new Map(view.tickets);
    const old = view.tickets.get('p/b');
    if (old) changed.set('p/b', { ...old, title: 'Another title' });
    const after = board({ ...view, tickets: changed }, { kept }).rows;
    expect(byId(after, 'a')).toBe(byId(first, 'a'));
    expect(byId(after, 'b')?.title).toBe('Another title');
  });
});
