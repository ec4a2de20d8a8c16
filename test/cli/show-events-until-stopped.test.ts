import { EventEmitter } from 'node:events';
import { describe, expect, it, vi } from 'vitest';
import { eventView, untilStopped } from '../../src/cli/show-events-until-stopped.ts';
import type { EngineEvent } from '../../src/model/events.ts';
import { testIo } from '../support/io.ts';

const event: EngineEvent = { type: 'plan:status', planId: 'tea', status: 'complete' };

const terminal = { columns: () => 80, rows: () => 24, onResize: () => () => undefined };
const onTerminal = { tty: true, stdout: { ...testIo().io.stdout, terminal } };

describe('eventView', () => {
  it.each([
    ['piped', {}, {}],
    ['on a terminal that cannot move its cursor', { ...onTerminal, env: { TERM: 'dumb' } }, {}],
    ['with --plain', onTerminal, { plain: true }],
  ])('prints a line per event %s', async (_when, more, options) => {
    const { io, said } = testIo(more);
    const view = await eventView(io, { withPlan: false, ...options });
    view.listen(event);
    view.err('a word');
    view.close();
    expect(said).toEqual(['tea: plan complete', 'a word']);
  });

  it.each([
    [onTerminal, {}, 1],
    [onTerminal, { plain: true }, 1],
    [onTerminal, { json: true }, 0],
    [onTerminal, { quiet: true }, 0],
    [{}, {}, 0],
  ])('says within a second what a terminal waits for: %#', async (more, options, lines) => {
    vi.useFakeTimers();
    const begin = async () => {
      const { io, said } = testIo(more);
      const stdout = { ...io.stdout, write: (text: string) => void said.push(text) };
      const view = await eventView({ ...io, stdout } as typeof io, { withPlan: false, ...options });
      const waits = () => said.filter((line) => line.includes('· Preparing the run…')).length;
      return { view, waits };
    };
    const [silent, early] = [await begin(), await begin()];
    early.view.out('something');
    vi.advanceTimersByTime(999);
    for (const { view } of [silent, early]) view.close();
    expect([silent.waits(), early.waits()]).toEqual([lines, 0]);
    vi.useRealTimers();
  });

  it('prints an object per event with --json, also on a terminal', async () => {
    const { io, said } = testIo(onTerminal);
    const view = await eventView(io, { withPlan: false, json: true });
    view.listen(event);
    expect(JSON.parse(said[0] ?? '')).toEqual({ ...event, at: expect.stringMatching(/^\d{4}-.*Z$/) });
  });
});

describe('untilStopped', () => {
  const emitter = new EventEmitter();
  const { io } = testIo({
    signals: {
      on(names, listener) {
        for (const name of names) emitter.on(name, listener);
        return () => void names.map((name) => emitter.off(name, listener));
      },
      raise: () => undefined,
    },
  });

  it('asks to stop at the first signal and says so', async () => {
    const said: string[] = [];
    const view = { err: (text: string) => void said.push(text), close: () => void said.push('closed') };
    const work = async (signal: AbortSignal) => {
      emitter.emit('SIGINT', 'SIGINT');
      return signal.reason;
    };
    expect(await untilStopped(io, { view, what: 'the agents', stateDir: '/nowhere' }, work)).toBe('SIGINT');
    expect(said).toEqual([['', 'Stopping the agents… (press Ctrl-C again to leave at once)'], 'closed']);
    expect(emitter.eventNames()).toEqual([]);
  });
});
