import { describe, expect } from 'vitest';
import { it, layOut } from './support.ts';

/** Sentences for people may be worded anew; they have to be there where they were. */
const SENTENCES = new Set(['why', 'message', 'hint']);

function withoutWording(value: unknown, key = ''): unknown {
  if (typeof value === 'string') {
    // A next step may be a sentence; the command in it stays.
    if (key === 'next') return /signalbox .*/.exec(value)?.[0] ?? value !== '';
    return SENTENCES.has(key) ? value !== '' : value;
  }
  // Durations are whole milliseconds now.
  if (typeof value === 'number') return Math.round(value * 1000) / 1000;
  if (Array.isArray(value)) return value.map((each) => withoutWording(each));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, withoutWording(each, name)]));
}

describe('a home of version 0.1', () => {
  it('is shown as 0.1 itself shows it', async ({ world }) => {
    const { printed } = layOut(world);
    expect(printed.length).toBeGreaterThan(10);
    for (const { args, printed: before } of printed) {
      const { out, err } = await world.invoke([...args.split(' '), '--json'], {}, world.repo).ended;
      expect(err, args).toBe('');
      const lines = args.startsWith('logs');
      const now: unknown = lines
        ? out
            .trim()
            .split('\n')
            .map((line) => JSON.parse(line))
        : JSON.parse(out);
      // New fields may be added.
      expect(withoutWording(now), args).toMatchObject(withoutWording(before) as object);
    }
  });
});
