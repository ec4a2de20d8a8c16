import { describe, expect, it } from 'vitest';
import { objectionTo, standingOf } from '../../src/github/pull-request-state-and-feedback.ts';
import { type Check, type Comment, readWatched, type Watched } from '../../src/github/query-pull-requests.ts';

const HEAD = 'a'.repeat(40);
const pull = (more: Partial<Watched> = {}): Watched => ({
  ...{ number: 7, url: 'https://github.com/acme/web/pull/7', state: 'OPEN', isDraft: false },
  ...{ branch: 'b', owner: 'acme', hasBranch: true, head: HEAD, base: 'main', baseCommit: 'c0' },
  ...{ mergeable: 'MERGEABLE', decision: '', reviews: [], threads: [], comments: [], checks: [] },
  ...{ createdAt: '2026-01-01T00:00:00Z', mergedAt: '', earlier: {}, cut: false },
  ...more,
});
const said = (more: Partial<Comment> = {}): Comment => ({
  ...{ id: 'x', author: 'ann', association: 'MEMBER', own: false, text: 'Hm.', at: '2026-01-01T00:00:00Z' },
  ...{ state: '', commit: '' },
  ...more,
});
const check = (state: Check['state']): Check => ({ id: state, name: 'build', state, result: state, url: '' });
const ours = {
  heads: [HEAD],
  lags: false,
  left: false,
  gone: false,
  answered: new Set<string>(),
  reviewers: [],
  opening: 'gh pr create --head t',
};
const review = (state: string, more: Partial<Comment> = {}) => said({ state, commit: HEAD, ...more });
const thread = (resolved: boolean, ...comments: Comment[]) => ({ path: 'a.ts', line: 3, resolved, comments });

describe('where a pull request stands', () => {
  const rows: [string, Watched | null, string][] = [
    ['nothing yet', null, 'waiting: there is no pull request'],
    ['nobody has said anything', pull(), 'waiting: pull request #7 waits for a review'],
    ['merged', pull({ state: 'MERGED', hasBranch: false }), 'merged'],
    ['closed', pull({ state: 'CLOSED' }), 'closed'],
    ['closed with its branch deleted', pull({ state: 'CLOSED', hasBranch: false }), 'deleted'],
    ['open with its branch deleted', pull({ hasBranch: false }), 'deleted'],
    ['a commit of somebody else', pull({ head: 'f'.repeat(40) }), 'moved'],
    ['changes requested', pull({ reviews: [review('CHANGES_REQUESTED')] }), 'changes'],
    [
      'changes requested without words',
      pull({ reviews: [review('CHANGES_REQUESTED', { text: '' })] }),
      'changes',
    ],
    [
      'changes requested by a stranger',
      pull({ reviews: [review('CHANGES_REQUESTED', { association: 'NONE' })] }),
      'waiting: ',
    ],
    [
      'changes requested by a stranger where the repository has a rule',
      pull({ decision: 'REVIEW_REQUIRED', reviews: [review('CHANGES_REQUESTED', { association: 'NONE' })] }),
      'waiting: pull request #7 waits for a review',
    ],
    ['a review of words', pull({ reviews: [review('COMMENTED')] }), 'changes'],
    ['a review without words', pull({ reviews: [review('COMMENTED', { text: '' })] }), 'waiting: '],
    ['an open thread', pull({ threads: [thread(false, said())] }), 'changes'],
    ['a resolved thread', pull({ threads: [thread(true, said())] }), 'waiting: '],
    ['a comment', pull({ comments: [said()] }), 'changes'],
    [
      'a comment of our own account',
      pull({ comments: [said({ own: true, association: 'NONE' })] }),
      'changes',
    ],
    [
      'our own comment',
      pull({ comments: [said({ own: true, text: '<!-- signalbox-comment k -->\nDone.' })] }),
      'waiting: ',
    ],
    ['a conflict', pull({ mergeable: 'CONFLICTING' }), 'conflict'],
    ['a conflict and a comment', pull({ mergeable: 'CONFLICTING', comments: [said()] }), 'changes'],
    ['a red check', pull({ checks: [check('failed'), check('passed')] }), 'red'],
    [
      'a red check while another runs',
      pull({ checks: [check('failed'), check('pending')] }),
      'waiting: pull request #7: 1 of 2 checks',
    ],
    ['a red check and a conflict', pull({ checks: [check('failed')], mergeable: 'CONFLICTING' }), 'conflict'],
    ['approved', pull({ reviews: [review('APPROVED')] }), 'approved'],
    [
      'approved while checks run',
      pull({ reviews: [review('APPROVED')], checks: [check('pending')] }),
      'waiting: ',
    ],
    ['approved, with a red check', pull({ reviews: [review('APPROVED')], checks: [check('failed')] }), 'red'],
    ['approved by a stranger', pull({ reviews: [review('APPROVED', { association: 'NONE' })] }), 'waiting: '],
    [
      'approved before the last push',
      pull({ reviews: [review('APPROVED', { commit: 'old' })] }),
      'waiting: ',
    ],
    [
      'approved by one while the wish of another stands',
      pull({
        reviews: [
          review('CHANGES_REQUESTED', { id: 'old', commit: 'old', text: '' }),
          review('APPROVED', { author: 'bob', at: '2026-01-02T00:00:00Z' }),
        ],
      }),
      'waiting: pull request #7 waits for ann, who requested changes',
    ],
    [
      'a wish that was answered and stands by the rule of the repository',
      pull({
        decision: 'CHANGES_REQUESTED',
        reviews: [review('CHANGES_REQUESTED', { id: 'old', commit: 'old', text: '' })],
      }),
      'waiting: pull request #7 waits for ann, who requested changes',
    ],
    [
      'a wish that nobody who is heard has by that rule',
      pull({
        decision: 'CHANGES_REQUESTED',
        reviews: [review('CHANGES_REQUESTED', { association: 'NONE' })],
      }),
      'waiting: pull request #7 waits for a reviewer, who requested changes',
    ],
    ['approved by the rule of the repository', pull({ decision: 'APPROVED' }), 'approved'],
    [
      'not yet approved by that rule',
      pull({ decision: 'REVIEW_REQUIRED', reviews: [review('APPROVED')] }),
      'waiting: ',
    ],
  ];
  it.each(rows)('%s', (_name, watched, expected) => {
    const standing = standingOf(watched, 'review', { ...ours, answered: new Set(['review:old']) });
    const text = 'waiting' in standing ? `waiting: ${standing.waiting}` : standing.outcome;
    expect(text.startsWith(expected), text).toBe(true);
  });

  it('tells a branch that was deleted before anybody opened a pull request', () => {
    for (const awaited of ['open', 'review'] as const)
      expect(standingOf(null, awaited, { ...ours, gone: true })).toMatchObject({ outcome: 'deleted' });
  });

  it('hands the words of an approval to people', () => {
    const words = pull({ reviews: [review('APPROVED', { text: 'Fine, but\nrename foo.' })] });
    expect(standingOf(words, 'review', ours)).toEqual({
      outcome: 'approved',
      message: 'ann approved it.\nann: Fine, but\nrename foo.',
      ids: [],
    });
  });

  it.each<[string, Watched, string | undefined]>([
    ['nothing', pull({ reviews: [review('APPROVED')], checks: [check('passed')] }), undefined],
    ['words alone', pull({ reviews: [review('COMMENTED')], comments: [said()] }), undefined],
    ['a request', pull({ reviews: [review('CHANGES_REQUESTED')] }), 'waits for ann, who requested changes'],
    ['a request taken back', pull({ reviews: [review('CHANGES_REQUESTED'), review('APPROVED')] }), undefined],
    [
      'a rule',
      pull({ decision: 'CHANGES_REQUESTED', reviews: [] }),
      'waits for a reviewer, who requested changes',
    ],
    ['a stranger', pull({ reviews: [review('CHANGES_REQUESTED', { association: 'NONE' })] }), undefined],
    ['a red check', pull({ checks: [check('failed'), check('passed')] }), 'has red checks: build'],
  ])('%s stands against a merge', (_name, watched, expected) => {
    expect(objectionTo(watched, [])).toBe(expected);
  });

  it('does not ask twice for what was answered, and asks again for what is new', () => {
    const before = pull({
      reviews: [review('CHANGES_REQUESTED', { id: 'r1' })],
      threads: [thread(false, said({ id: 't1' }))],
      comments: [said({ id: 'c1' })],
      checks: [check('failed')],
      mergeable: 'CONFLICTING',
    });
    const first = standingOf(before, 'review', ours);
    if (!('outcome' in first)) throw new Error(first.waiting);
    const answered = new Set(first.ids);
    expect(standingOf(before, 'review', { ...ours, answered })).toHaveProperty('waiting');
    const replied = {
      ...before,
      threads: [thread(false, said({ id: 't1' }), said({ id: 't2', text: 'Still.' }))],
    };
    expect(standingOf(replied, 'review', { ...ours, answered })).toMatchObject({
      outcome: 'changes',
      message: 'ann on a.ts:3:\nHm.\n\nann on a.ts:3:\nStill.',
    });
  });

  it('keeps within what a script may print, and leaves the rest for the next round', () => {
    const comments = Array.from({ length: 20 }, (_, index) =>
      said({ id: `c${index}`, text: 'ü'.repeat(2000) }),
    );
    const standing = standingOf(pull({ comments }), 'review', ours);
    if (!('outcome' in standing)) throw new Error(standing.waiting);
    expect(Buffer.byteLength(standing.message)).toBeLessThan(13_000);
    expect(standing.ids).toEqual(['comment:c0', 'comment:c1']);
    expect(standing.message).toContain('18 more in the next round');
  });

  it('tells a push that is not shown yet, and commits that were not merged', () => {
    const moved = pull({ head: 'e'.repeat(40) });
    expect(standingOf(moved, 'review', { ...ours, lags: true })).toEqual({
      waiting: 'pull request #7 does not show the last push yet',
    });
    const merged = pull({ state: 'MERGED' });
    for (const awaited of ['review', 'merge', 'end'] as const)
      expect(standingOf(merged, awaited, { ...ours, left: true })).toMatchObject({ outcome: 'unmerged' });
    expect(standingOf(merged, 'open', ours)).toMatchObject({ outcome: 'merged', message: merged.url });
  });

  it('hands over a long thread in parts, each of them once', () => {
    const words = Array.from({ length: 5 }, (_, index) =>
      said({ id: `t${index}`, text: `${index} ${'😀'.repeat(1400)}` }),
    );
    const long = pull({ threads: [thread(false, ...words)], comments: [said({ id: 'c' })] });
    const answered = new Set<string>();
    const rounds: string[][] = [];
    for (let round = 0; round < 9; round++) {
      const standing = standingOf(long, 'review', { ...ours, answered: new Set(answered) });
      if ('waiting' in standing) break;
      expect(Buffer.byteLength(standing.message)).toBeLessThan(13_000);
      rounds.push(standing.ids);
      for (const id of standing.ids) answered.add(id);
    }
    expect(rounds[0]).toEqual(['thread:t0', 'comment:c']);
    expect(rounds.flat().sort()).toEqual(['comment:c', ...words.map(({ id }) => `thread:${id}`)]);
  });

  it('waits for an end, for a merge or for a beginning in the same way', () => {
    expect(standingOf(pull({ comments: [said()] }), 'end', ours)).toEqual({
      waiting: 'pull request #7 is open',
    });
    expect(standingOf(pull({ state: 'MERGED' }), 'end', ours)).toMatchObject({ outcome: 'merged' });
    expect(standingOf(pull({ comments: [said()] }), 'merge', ours)).toMatchObject({ outcome: 'changes' });
    expect(standingOf(pull(), 'merge', ours)).toEqual({ waiting: 'pull request #7 waits to be merged' });
    expect(standingOf(pull({ isDraft: true }), 'merge', ours)).toEqual({
      waiting: `pull request #7 is a draft; make it ready: gh pr ready ${pull().url}`,
    });
    expect(standingOf(null, 'open', ours)).toEqual({
      waiting: 'there is no pull request for the branch yet; open it: gh pr create --head t',
    });
    expect(standingOf(pull(), 'open', ours)).toMatchObject({ outcome: 'open', message: pull().url });
    expect(standingOf(pull({ isDraft: true }), 'open', ours)).toEqual({
      waiting: `pull request #7 is a draft; make it ready: gh pr ready ${pull().url}`,
    });
  });

  it('reads statuses of older services as checks', () => {
    const contexts = [
      { id: '1', context: 'ci/old', state: 'ERROR', targetUrl: 'https://ci.example/1' },
      { id: '2', context: 'ci/slow', state: 'PENDING' },
      { id: '3', name: 'lint', status: 'COMPLETED', conclusion: 'SKIPPED' },
    ];
    const commit = { statusCheckRollup: { contexts: { nodes: contexts } } };
    const read = readWatched({ number: 1, state: 'OPEN', commits: { nodes: [{ commit }] } });
    expect(read?.checks.map(({ name, state }) => `${name} ${state}`)).toEqual([
      ...['ci/old failed', 'ci/slow pending', 'lint passed'],
    ]);
    expect(readWatched({ number: 'one' })).toBeUndefined();
  });
});
