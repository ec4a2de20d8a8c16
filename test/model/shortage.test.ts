import { describe, expect, it } from 'vitest';
import { shortageHold } from '../../src/model/state/attempt-end-and-backoff.ts';

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
