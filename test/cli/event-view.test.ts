import { afterEach, describe, expect, it } from 'vitest';
import { eventView, stopOnSignals } from '../../src/cli/event-view.ts';
import type { Io } from '../../src/cli/io.ts';
import type { EngineEvent } from '../../src/model/events.ts';

const event: EngineEvent = { type: 'plan:status', planId: 'tea', status: 'complete' };

function makeIo(more: Partial<Io> = {}) {
  const said: string[] = [];
  const note = (text: string) => void said.push(text);
  const io: Io = {
    cwd: '/',
    env: {},
    out: note,
    err: note,
    tty: false,
    color: false,
    exit: () => undefined,
    ...more,
  };
  return { io, said };
}

describe('eventView', () => {
  it.each([
    ['piped', {}, {}],
    ['on a terminal that cannot move its cursor', { tty: true, env: { TERM: 'dumb' } }, {}],
    ['with --plain', { tty: true }, { plain: true }],
  ])('prints a line per event %s', async (_when, more, options) => {
    const { io, said } = makeIo(more);
    const view = await eventView(io, { withPlan: false, ...options });
    view.listen(event);
    view.err('a word');
    view.close();
    expect(said).toEqual(['tea: plan complete', 'a word']);
  });

  it('prints an object per event with --json, also on a terminal', async () => {
    const { io, said } = makeIo({ tty: true });
    const view = await eventView(io, { withPlan: false, json: true });
    view.listen(event);
    expect(JSON.parse(said[0] ?? '')).toEqual({ ...event, at: expect.stringMatching(/^\d{4}-.*Z$/) });
  });
});

describe('stopOnSignals', () => {
  let unhook: (() => void) | undefined;
  afterEach(() => unhook?.());

  it('asks to stop at the first signal and says so', () => {
    const said: string[] = [];
    const abort = new AbortController();
    unhook = stopOnSignals(
      { err: (text) => void said.push(text), close: () => undefined },
      abort,
      'the agents',
    );
    process.emit('SIGINT', 'SIGINT');
    expect(abort.signal.reason).toBe('SIGINT');
    expect(said).toEqual(['\nStopping the agents… (again to leave at once)']);
  });

  it('lets go of the signals', () => {
    const before = process.listenerCount('SIGTERM');
    stopOnSignals({ err: () => undefined, close: () => undefined }, new AbortController(), 'x')();
    expect(process.listenerCount('SIGTERM')).toBe(before);
  });
});
