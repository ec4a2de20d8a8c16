import { expect, it } from 'vitest';
import { type AtWork, crowded } from '../../../src/model/limits/decide-agent-start.ts';

const busy = (now: number | null, age = 600_000, expected = 500): AtWork => ({ expected, now, age });

it.each<[string, number, number, AtWork[], boolean]>([
  ['one may always run', 500, 10, [], true],
  ['enough is free', 500, 500, [busy(500)], true],
  ['too little is free', 500, 499, [busy(500)], false],
  ['what runs will still grow', 500, 900, [busy(50)], false],
  ['what is larger than expected has it already', 500, 500, [busy(900)], true],
  ['an unmeasured one that has just begun is still to come', 500, 900, [busy(null, 1000)], false],
  ['an unmeasured one that is old has what it needs', 500, 500, [busy(null)], true],
  ['the question is turned off', 0, 0, [busy(500)], true],
])('%s', (_, need, free, atWork, fits) => {
  const answer = crowded({ agent: 'claude', need, free, atWork });
  expect(answer === null).toBe(fits);
  if (!fits) expect(answer).toMatch(/claude needs about 500 MB, \d+ MB are left/);
});
