import { describe, expect, it } from 'vitest';
import { steadyClock } from '../../src/engine/context.ts';

/** A clock whose wall and monotonic time are set by hand, in seconds. */
function clock(start: number) {
  const time = { wall: start, mono: 0 };
  const now = steadyClock(
    () => time.wall * 1000,
    () => time.mono * 1000,
  );
  return { time, seconds: () => Date.parse(now()) / 1000 };
}

describe('the steady clock', () => {
  it('goes with the wall clock', () => {
    const { time, seconds } = clock(1000);
    Object.assign(time, { wall: 1005, mono: 5 });
    expect(seconds()).toBe(1005);
  });

  it('does not go back with it', () => {
    const { time, seconds } = clock(1000);
    Object.assign(time, { wall: 400, mono: 5 });
    expect(seconds()).toBe(1005);
    Object.assign(time, { wall: 401, mono: 6 });
    expect(seconds()).toBe(1006);
  });

  it('jumps forward with it, as after a sleep of the machine', () => {
    const { time, seconds } = clock(1000);
    Object.assign(time, { wall: 9000, mono: 5 });
    expect(seconds()).toBe(9000);
  });
});
