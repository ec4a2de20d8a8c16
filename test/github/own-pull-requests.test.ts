import { describe, expect, it } from 'vitest';
import { type OwnWork, ownPullRequest } from '../../src/github/pull-request.ts';

const OURS = 'a'.repeat(40);
const pull = (number: number, state: 'OPEN' | 'CLOSED' | 'MERGED', head: string, createdAt: string) => ({
  ...{ number, state, head },
  createdAt: `2026-01-${createdAt}T00:00:00Z`,
});
const work: OwnWork = { number: null, commits: [OURS], since: '2026-01-10T00:00:00.400Z' };

describe('which pull request is ours', () => {
  const rows: [string, ReturnType<typeof pull>[], Partial<OwnWork>, number | undefined][] = [
    ['none', [], {}, undefined],
    ['an older one that was merged', [pull(1, 'MERGED', 'x', '01')], {}, undefined],
    ['an older one that was closed', [pull(1, 'CLOSED', 'x', '01')], {}, undefined],
    ['one that was merged with our commit', [pull(1, 'MERGED', OURS, '01')], {}, 1],
    ['one that was opened after our push', [pull(1, 'CLOSED', 'x', '11')], {}, 1],
    ['one that was opened in the second of our push', [pull(1, 'MERGED', 'x', '10')], {}, 1],
    [
      'one that was merged before we pushed at all',
      [pull(1, 'MERGED', 'x', '11')],
      { since: null },
      undefined,
    ],
    ['the open one', [pull(2, 'CLOSED', OURS, '12'), pull(1, 'OPEN', 'x', '01')], {}, 1],
    ['the newest of two', [pull(2, 'MERGED', 'x', '12'), pull(1, 'MERGED', OURS, '11')], {}, 2],
    ['the one that is known', [pull(2, 'OPEN', OURS, '12'), pull(1, 'CLOSED', 'x', '01')], { number: 1 }, 1],
    ['not another than the one that is known', [pull(2, 'OPEN', OURS, '12')], { number: 1 }, undefined],
  ];
  it.each(rows)('%s', (_name, pulls, more, expected) => {
    expect(ownPullRequest(pulls, { ...work, ...more }, ({ head }) => head)?.number).toBe(expected);
  });
});
