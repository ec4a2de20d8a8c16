import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { backoffSeconds } from '../../../src/model/state/attempt-end-types-and-waits.ts';
import { Retry } from '../../../src/model/workflow.ts';

describe('backoffSeconds', () => {
  it.each([
    [{ delaySeconds: 0 }, [0, 0, 0]],
    [{ delaySeconds: 5 }, [5, 10, 20]],
    [{ delaySeconds: 5, factor: 1 }, [5, 5, 5]],
    [{ delaySeconds: 100, factor: 10 }, [100, 600, 600]],
    [{ delaySeconds: 100, maxDelaySeconds: 30 }, [30, 30, 30]],
  ])('%j', (fields, expected) => {
    const rule = Retry.parse({ max: 3, ...fields });
    expect([1, 2, 3].map((n) => backoffSeconds(rule, n))).toEqual(expected);
  });

  it('is always a time that can be written down, whatever the numbers', () => {
    const most = 10 * 365 * 86_400;
    const rule = fc.record({
      max: fc.integer({ min: 0, max: 20 }),
      delaySeconds: fc.double({ min: 0, max: most, noNaN: true }),
      factor: fc.double({ min: 1, noNaN: true, noDefaultInfinity: true }),
      maxDelaySeconds: fc.double({ min: 1e-3, max: most, noNaN: true }),
    });
    fc.assert(
      fc.property(rule, fc.integer({ min: 1, max: 21 }), (given, n) => {
        const seconds = backoffSeconds(Retry.parse(given), n);
        expect(seconds).toBeGreaterThanOrEqual(0);
        expect(() => new Date(Date.now() + seconds * 1000).toISOString()).not.toThrow();
      }),
    );
  });
});
