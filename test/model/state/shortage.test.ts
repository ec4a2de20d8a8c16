import { describe, expect, it } from 'vitest';
import { shortageHold } from '../../../src/model/state/attempt-end-types-and-waits.ts';
import { command } from '../../../src/model/state/commands.ts';
import { reduce } from '../../../src/model/state/reduce.ts';
import { attempt, NOW, running, script, workflow } from '../build.ts';

const BEGAN = Date.parse('2026-01-01T00:00:00.000Z');
const at = (seconds: number) => new Date(BEGAN + seconds * 1000).toISOString();

describe('the wait for a shortage', () => {
  it.each([
    [0, 5],
    [5, 5],
    [10, 10],
    [40, 40],
    [600, 60],
    [-5, 5],
  ])('after %i s is %i s', (lasted, wait) => {
    expect(shortageHold('full', at(0), at(lasted))).toEqual({
      kind: 'shortage',
      reason: 'full',
      since: at(0),
      until: at(lasted + wait),
    });
  });

  it('is for a person to end after an hour', () => {
    expect(shortageHold('full', at(0), at(3599)).person).toBeUndefined();
    expect(shortageHold('full', at(0), at(3600))).toMatchObject({ person: true, until: at(3660) });
  });
});

describe('a shortage that is met when the process of an attempt has ended', () => {
  const flow = workflow(script('a'));
  const open = running('a', { phaseHistory: [attempt('a', 'running')] });
  const end = { type: 'waiting', gate: false, until: null, reason: 'full', shortSince: NOW } as const;
  const held = reduce(flow, { ...open, claim: null }, { type: 'end', end }, NOW);

  it('leaves the attempt open: its result is judged later', () => {
    expect(held.phaseHistory).toEqual(open.phaseHistory);
    expect(held).toMatchObject({ status: 'ready', hold: { kind: 'shortage', reason: 'full' }, retries: {} });
  });

  it('is no part of an attempt that begins only after it', () => {
    expect(reduce(flow, held, { type: 'restart' }, at(60)).phaseHistory).toEqual([
      { ...open.phaseHistory[0], startedAt: at(60) },
    ]);
  });

  it('is waited for no longer when a person says so', () => {
    const next = command(flow, held, { type: 'retry', ready: true }, NOW);
    expect(next).toMatchObject({ status: 'ready', hold: null, phaseHistory: open.phaseHistory });
  });
});
