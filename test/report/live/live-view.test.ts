import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Ticket } from '../../../src/model/ticket.ts';
import { Attempt } from '../../../src/model/ticket-schema.ts';
import type { Answer } from '../../../src/report/live/answer-box.ts';
import { Live, type LiveOptions } from '../../../src/report/live/live-view.ts';
import { printable } from '../../../src/report/printable-text.ts';
import { style } from '../../../src/report/style-and-phrases.ts';
import { attemptOf, START, status, ticket, usage } from '../samples.ts';
import { Terminal } from '../terminal.ts';

beforeEach(() => void vi.useFakeTimers({ now: START }));
afterEach(() => void vi.useRealTimers());

function open(
  size: { rows?: number; verbose?: boolean; color?: boolean } & Pick<
    LiveOptions,
    'answer' | 'readKeys' | 'refresh'
  > = {},
) {
  const { answer, readKeys, refresh } = size;
  const terminal = new Terminal(118, size.rows ?? 24);
  let tickets: Ticket[] = [ticket('parser'), ticket('docs')];
  const live = new Live({
    screen: terminal,
    style: style(size.color ?? false),
    withPlan: false,
    safe: (line) => printable(line, true),
    verbose: size.verbose ?? false,
    tickets: () => tickets,
    ...(answer && readKeys ? { answer, readKeys } : {}),
    ...(refresh ? { refresh } : {}),
  });
  const store = (...now: Ticket[]) => {
    tickets = now;
  };
  return { live, terminal, store };
}

const rule = '─'.repeat(59);
const implement = attemptOf('parser', 'implement');

describe('the live view', () => {
  it('clears from the cursor on, writes the new lines and the block, and goes back to its beginning', () => {
    const { live, terminal } = open();
    live.event(implement.start('claude'));
    expect(terminal.writes).toEqual([]);
    vi.advanceTimersByTime(0);
    live.event(implement.end({ usage: usage(900) }));
    vi.advanceTimersByTime(100);
    const block = (row: string, cost: string) =>
      `\u001b[?7l${rule}\n${row}\n◌ docs    queued       0s  waits for a free slot\nProgress: parser ⏳ docs ⏳\n${cost}\u001b[?7h\r\u001b[4A`;
    expect(terminal.writes).toEqual([
      block('● parser  implement    0s', '0s'),
      `\r\u001b[2K\u001b[C\u001b[J\r· parser: implement ✓ (1.2s · 900 tokens · cost unknown)\n${block(
        `● parser  implement    0s${' '.repeat(16)}900 · cost unknown`,
        '0s · 900 tokens · cost unknown',
      )}`,
    ]);
  });

  it('takes over the tickets of the store once for each drawing, however often they change', () => {
    const terminal = new Terminal(80, 24);
    const tickets = Array.from({ length: 10_000 }, (_, number) => ticket(`t${number}`));
    let reads = 0;
    const live = new Live({
      screen: terminal,
      style: style(false),
      withPlan: false,
      safe: (line) => line,
      verbose: false,
      tickets: () => {
        reads += 1;
        return tickets;
      },
    });
    for (let times = 0; times < 50; times += 1) live.changed();
    expect(reads).toBe(0);
    vi.advanceTimersByTime(0);
    expect(reads).toBe(1);
    expect(terminal.writes.join('')).toContain('Progress: 10000 ⏳');
  });

  it('makes way for the shell, and comes back below what that has written', () => {
    const { live, terminal } = open();
    live.event(implement.start('claude'));
    vi.advanceTimersByTime(100);
    live.leave();
    expect(terminal.writes.at(-1)).toBe('\r\u001b[2K\u001b[C\u001b[J\r');
    const count = terminal.writes.length;
    live.event(status('docs', 'complete'));
    live.changed();
    live.resized();
    vi.advanceTimersByTime(5000);
    expect(terminal.writes).toHaveLength(count);
    live.back();
    vi.advanceTimersByTime(100);
    expect(terminal.writes).toHaveLength(count + 1);
    expect(terminal.writes.at(-1)).toMatch(/^✓ docs +complete\n.\[\?7l─+\n● parser/);
  });

  it('leaves the lines alone on the screen when it is closed', () => {
    const { live, terminal } = open({ color: true });
    live.event(
      status('docs', 'queued', { hold: { kind: 'blocked', reason: 'waits for parser', until: null } }),
    );
    live.event(implement.start('claude'));
    vi.advanceTimersByTime(500);
    live.event(implement.text('Reading…'));
    live.event(implement.end());
    vi.advanceTimersByTime(500);
    live.event(status('parser', 'complete'));
    live.close();
    live.close();
    const lines = ['◌ docs    waits for parser', '· parser: implement ✓ (1.2s)', '✓ parser  complete'];
    expect(terminal.lines).toEqual(lines);
    live.print('The\u0007 end.');
    live.event({ type: 'plan:status', planId: 'tea', status: 'complete' });
    vi.advanceTimersByTime(5000);
    expect(terminal.lines).toEqual([...lines, 'The end.', 'tea: plan complete']);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('draws at most ten times a second, however much an agent says', () => {
    const { live, terminal } = open();
    live.event(implement.start());
    for (let ms = 0; ms < 2000; ms++) {
      live.event(implement.text(`word ${ms}`));
      vi.advanceTimersByTime(1);
    }
    expect(terminal.writes.length).toBeGreaterThan(15);
    expect(terminal.writes.length).toBeLessThanOrEqual(21);
    vi.advanceTimersByTime(100);
    expect(terminal.lines.join('\n')).toContain('word 1999');
  });

  it('writes once a second while nothing but time changes, and not at all when that shows nowhere', () => {
    const { live, terminal } = open();
    live.event(implement.start());
    vi.advanceTimersByTime(10_050);
    expect(terminal.writes).toHaveLength(11);
    expect(terminal.lines[1]).toBe('● parser  implement    10s');
    vi.setSystemTime(START + 2 * 3_600_000);
    vi.advanceTimersByTime(1000);
    const before = terminal.writes.length;
    vi.advanceTimersByTime(58_000);
    expect(terminal.writes.length).toBe(before);
  });

  it('goes on drawing when the clock is set back', () => {
    const { live, terminal } = open();
    live.event(implement.start());
    vi.advanceTimersByTime(100);
    vi.setSystemTime(START - 86_400_000);
    live.event(implement.text('Still here.'));
    vi.advanceTimersByTime(100);
    expect(terminal.lines[1]).toBe('● parser  implement    0s  Still here.');
  });

  it('does not write what is on the screen already', () => {
    const { live, terminal } = open();
    live.event(implement.start());
    vi.advanceTimersByTime(10);
    live.event(implement.tool('read', 'x', true));
    vi.advanceTimersByTime(900);
    expect(terminal.writes).toHaveLength(1);
  });

  it('keeps every line when more is to be shown than fits on the screen', () => {
    const { live, terminal, store } = open({ rows: 11 });
    const ids = Array.from({ length: 30 }, (_, at) => `t${at}`);
    store(...ids.map((id) => ticket(id)));
    for (const id of ids) {
      live.event(attemptOf(id, 'implement').start());
      live.event(attemptOf(id, 'implement').end());
      vi.advanceTimersByTime(70);
    }
    expect(terminal.lines.slice(-2)).toEqual(['Progress: 30 ⏳', '2s']);
    live.close();
    expect(terminal.lines).toEqual(ids.map((id) => `· ${`${id}:`.padEnd(4)} implement ✓ (1.2s)`));
  });

  it('shows starts, sessions and what agents say as lines only when asked to', () => {
    const told = (verbose: boolean) => {
      const { live, terminal } = open({ verbose });
      live.event(implement.start('claude'));
      live.event(implement.session('s-1'));
      vi.advanceTimersByTime(100);
      expect(terminal.lines.find((line) => line.startsWith('● parser  '))).toContain('the agent has started');
      live.event(implement.text('Reading…'));
      live.event(implement.tool('read', 'src/teas.js'));
      live.close();
      return terminal.lines;
    };
    expect(told(false)).toEqual([]);
    expect(told(true)).toEqual([
      '● parser: implement started (claude)',
      '  parser: implement session s-1',
      '  parser │ Reading…',
      '  parser │ read src/teas.js',
    ]);
  });

  it('sends an answer once, shows why it was refused, and waits for one that is being written', async () => {
    const asks = { kind: 'gate', reason: 'ok?', until: null } as const;
    const attempt = { phase: 'ask', status: 'running', startedAt: new Date(START).toISOString() };
    const phaseHistory = [Attempt.parse({ ...attempt, decisions: ['yes', 'no'] })];
    const sent: Answer[] = [];
    const wanted: boolean[] = [];
    const { live, terminal, store } = open({
      answer: async (answer) => {
        if (answer.decision === 'no') throw new Error('Not allowed.');
        sent.push(answer);
        store(ticket('parser', { status: 'complete' }), ticket('docs'));
      },
      readKeys: (on) => wanted.push(on) > 0 && on,
    });
    const { signal } = new AbortController();
    const gate = { status: 'needs_attention', currentPhase: 'ask', hold: asks, phaseHistory } as const;
    store(ticket('parser', gate), ticket('docs'));
    live.event(status('parser', 'needs_attention', { hold: asks, phase: 'ask' }));
    await vi.advanceTimersByTimeAsync(200);
    expect(terminal.lines).toContain('  Press a to answer here.');
    const later = live.answered(signal);
    await vi.advanceTimersByTimeAsync(200);
    expect(terminal.lines).toContain('  Press a to answer here, q for later.');
    live.keys('q');
    expect(await later).toBe(false);
    for (const keys of ['a', '\u001b[D', '\r', '\r']) live.keys(keys);
    await vi.advanceTimersByTimeAsync(200);
    expect(terminal.lines).toContain('  Not allowed.');
    const answered = live.answered(signal);
    for (const keys of ['\u001b[Cfi', 'ne', '\r', '\r']) live.keys(keys);
    expect(await answered).toBe(true);
    const ref = { planId: 'tea', ticketId: 'parser' };
    expect(sent).toEqual([{ ...ref, decision: 'yes', message: 'fine', attempt: 'ask#1#1' }]);
    await vi.advanceTimersByTimeAsync(1200);
    expect(wanted.at(-1)).toBe(false);
    live.close();
  });

  it('asks at the end of a run until the question is answered elsewhere or keys cannot be read', async () => {
    const asks = { kind: 'gate', reason: 'ok?', until: null } as const;
    const attempt = { phase: 'ask', status: 'running', startedAt: new Date(START).toISOString() };
    const gate = ticket('parser', {
      status: 'needs_attention',
      hold: asks,
      phaseHistory: [Attempt.parse({ ...attempt, decisions: ['yes', 'no'] })],
    });
    let isInForeground = true;
    const { live, store } = open({ answer: async () => undefined, readKeys: (on) => on && isInForeground });
    const { signal } = new AbortController();
    expect(await live.answered(signal)).toBe(false);
    store(gate);
    live.changed();
    const elsewhere = live.answered(signal);
    store(ticket('parser', { status: 'complete' }));
    live.changed();
    await vi.advanceTimersByTimeAsync(200);
    expect(await elsewhere).toBe(false);
    store(gate);
    live.changed();
    const away = live.answered(signal);
    isInForeground = false;
    await vi.advanceTimersByTimeAsync(1200);
    expect(await away).toBe(false);
    live.close();
  });

  it('waits until an answer is sent, also where the store shows it before', async () => {
    const asks = { kind: 'gate', reason: 'ok?', until: null } as const;
    const attempt = { phase: 'ask', status: 'running', startedAt: new Date(START).toISOString() };
    const phaseHistory = [Attempt.parse({ ...attempt, decisions: ['yes'] })];
    const answer = async () => {
      store(ticket('parser', { status: 'ready' }));
      live.changed();
      await new Promise((sent) => setTimeout(sent, 500));
    };
    const { live, store } = open({ answer, readKeys: (wanted) => wanted });
    store(ticket('parser', { status: 'needs_attention', currentPhase: 'ask', hold: asks, phaseHistory }));
    live.changed();
    const answered = live.answered(new AbortController().signal);
    for (const keys of ['a', '\r']) live.keys(keys);
    await vi.advanceTimersByTimeAsync(1000);
    expect(await answered).toBe(true);
    live.close();
  });

  it('keeps a message whose question is answered elsewhere', async () => {
    const asks = { kind: 'gate', reason: 'ok?', until: null } as const;
    const attempt = { phase: 'ask', status: 'running', startedAt: new Date(START).toISOString() };
    const phaseHistory = [Attempt.parse({ ...attempt, decisions: ['yes', 'no'] })];
    let isReading = false;
    const readKeys = (wanted: boolean) => (isReading = wanted);
    const { live, terminal, store } = open({ answer: async () => undefined, readKeys });
    store(ticket('parser', { status: 'needs_attention', currentPhase: 'ask', hold: asks, phaseHistory }));
    live.changed();
    for (const keys of ['a', 'a draft']) live.keys(keys);
    store(ticket('parser', { status: 'complete' }));
    live.changed();
    await vi.advanceTimersByTimeAsync(200);
    expect(terminal.lines).toContain('tea/parser no longer asks.');
    expect(terminal.lines).toContain('  Not sent: a draft');
    expect(isReading).toBe(true);
    live.close();
    expect(terminal.lines).toContain('Not sent to tea/parser: a draft');
  });

  it('asks at the end of a run also what the store has not reported yet', async () => {
    const hold = { kind: 'gate', reason: 'ok?', until: null } as const;
    const attempt = { phase: 'ask', status: 'running', startedAt: new Date(START).toISOString() };
    const phaseHistory = [Attempt.parse({ ...attempt, decisions: ['yes', 'no'] })];
    const { live, terminal, store } = open({
      answer: async () => undefined,
      readKeys: (on) => on,
      refresh: async () => store(ticket('parser', { status: 'needs_attention', hold, phaseHistory })),
    });
    const later = live.answered(new AbortController().signal);
    await vi.advanceTimersByTimeAsync(200);
    expect(terminal.lines).toContain('  Press a to answer here, q for later.');
    live.keys('q');
    expect(await later).toBe(false);
    live.close();
  });

  it('takes over what somebody else changes in the store', () => {
    const { live, terminal, store } = open();
    live.event(implement.start());
    vi.advanceTimersByTime(100);
    store(ticket('parser'), ticket('docs', { status: 'paused' }), ticket('new'));
    live.changed();
    vi.advanceTimersByTime(100);
    expect(terminal.lines.slice(1)).toEqual([
      '● parser  implement    0s',
      '◌ new     queued       0s  waits for a free slot',
      'Progress: parser ⏳ docs ⏳ new ⏳',
      '0s',
    ]);
  });
});
