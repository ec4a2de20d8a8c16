import { mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { Layout } from '../../src/store/layout.ts';
import { latestShown, readTmuxRecord, writeTmuxRecord } from '../../src/store/tmux-record.ts';
import { scratch } from './scratch.ts';

function layoutWith(...planIds: string[]): Layout {
  const layout = new Layout(scratch());
  for (const planId of planIds) mkdirSync(layout.planDir(planId), { recursive: true });
  return layout;
}

describe('where a run is shown', () => {
  it('is kept with the plan', () => {
    const layout = layoutWith('p');
    expect(readTmuxRecord(layout, 'p')).toBeUndefined();
    writeTmuxRecord(layout, 'p', { session: 's', socket: '/tmp/x' });
    expect(readTmuxRecord(layout, 'p')).toEqual({ session: 's', socket: '/tmp/x' });
  });

  it.each(['', 'null', '[]', '{', '{"session": 1}', '{"session": "s"}'])('is nowhere in %j', (text) => {
    const layout = layoutWith('p');
    writeFileSync(layout.tmux('p'), text);
    expect(readTmuxRecord(layout, 'p')).toBeUndefined();
  });

  it('is found for the plan that was shown last', () => {
    const layout = layoutWith('a', 'b', 'c', 'none');
    for (const [planId, time] of [
      ['a', 100],
      ['b', 300],
      ['c', 200],
    ] as const) {
      writeTmuxRecord(layout, planId, { session: planId, socket: '/tmp/x' });
      utimesSync(layout.tmux(planId), time, time);
    }
    expect(latestShown(layout, ['a', 'b', 'c', 'none'])).toBe('b');
    expect(latestShown(layout, ['none'])).toBeUndefined();
  });
});
