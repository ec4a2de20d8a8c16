import { describe, expect } from 'vitest';
import { openPullRequest } from '../../../src/features/pull-requests/push-and-open-pull-request.ts';
import { type ReviewAnswer, reviewOf } from '../../../src/features/pull-requests/watch-pull-request.ts';
import type { FakePullRequest, FakeReview } from '../../support/gh/fake-gh.ts';
import { it } from '../../support/index.ts';
import { Bench, issue } from './bench.ts';

type Given = Partial<FakeReview> & Pick<FakeReview, 'state'>;
const said = (given: Given): FakeReview => ({
  author: { login: 'ann' },
  authorAssociation: 'MEMBER',
  body: '',
  submittedAt: '2030-01-01T00:00:00Z',
  ...given,
});

const WAITS: ReviewAnswer = { waiting: 'Pull request #1 waits for a review.' };
const approved = (message: string): ReviewAnswer => ({ decision: 'approve', message });
const rejected = (message: string): ReviewAnswer => ({ decision: 'reject', message });

const ROWS: [string, Partial<FakePullRequest>, ReviewAnswer][] = [
  ['nobody', {}, WAITS],
  ['a comment', { reviews: [said({ state: 'COMMENTED', body: 'Hm.' })] }, WAITS],
  ['an approval', { reviews: [said({ state: 'APPROVED' })] }, approved('ann approves.')],
  [
    'an approval of other commits',
    { reviews: [said({ state: 'APPROVED', commit: { oid: 'f'.repeat(40) } })] },
    WAITS,
  ],
  [
    'a stranger, where GitHub has no rule',
    { reviewDecision: '', reviews: [said({ state: 'APPROVED', authorAssociation: 'NONE' })] },
    WAITS,
  ],
  [
    'a stranger who wants changes, where GitHub has a rule',
    {
      reviewDecision: 'REVIEW_REQUIRED',
      reviews: [said({ state: 'CHANGES_REQUESTED', body: 'Add my key.', authorAssociation: 'NONE' })],
    },
    WAITS,
  ],
  [
    'one of two whose wish for older commits stands, where GitHub has no rule',
    {
      reviewDecision: '',
      reviews: [
        said({ state: 'APPROVED', author: { login: 'bob' } }),
        said({ state: 'CHANGES_REQUESTED', commit: { oid: 'f'.repeat(40) } }),
      ],
    },
    WAITS,
  ],
  [
    'a member, where GitHub has no rule',
    {
      reviewDecision: '',
      reviews: [said({ state: 'APPROVED', body: 'Good.', authorAssociation: 'MEMBER' })],
    },
    approved('ann approves: Good.'),
  ],
  [
    'an approval that is not enough',
    { reviewDecision: 'REVIEW_REQUIRED', reviews: [said({ state: 'APPROVED' })] },
    WAITS,
  ],
  [
    'one who changed her mind',
    {
      reviews: [
        said({ state: 'APPROVED', body: 'Yes.', submittedAt: '2030-01-02T00:00:00Z' }),
        said({ state: 'CHANGES_REQUESTED', body: 'No.' }),
      ],
      reviewDecision: 'APPROVED',
    },
    approved('ann approves: Yes.'),
  ],
  ['one whose review was dismissed', { reviews: [said({ state: 'DISMISSED', body: 'No.' })] }, WAITS],
  [
    'one of two who wants changes',
    {
      reviews: [
        said({ state: 'APPROVED', author: { login: 'bob' } }),
        said({ state: 'CHANGES_REQUESTED', body: 'Line 3.' }),
      ],
    },
    rejected('ann requests changes: Line 3.'),
  ],
  ['a merge', { state: 'MERGED' }, approved('Pull request #1 was merged.')],
  ['a closed one', { state: 'CLOSED' }, rejected('Pull request #1 was closed without being merged.')],
];

describe('the review of a pull request', () => {
  it('is the answer to a gate', { tags: 'full' }, async ({ world }) => {
    const bench = new Bench(world);
    world.plan('p', { tickets: { '12': issue(12) } });
    await bench.work('12');
    const parts = await bench.parts();
    const ref = { planId: 'p', ticketId: '12' };
    expect(await reviewOf(parts, ref)).toEqual({
      waiting: 'feature/12-add-a-thing has no pull request.',
    });
    await openPullRequest(parts, ref);
    for (const [name, change, answer] of ROWS) {
      bench.gh.pullRequest(1, (pull) => {
        delete pull.reviewDecision;
        Object.assign(pull, { state: 'OPEN', reviews: [] }, change);
      });
      expect(await reviewOf(parts, ref), name).toEqual(answer);
    }
  });

  it('is cut where it is longer than anybody reads', async ({ world }) => {
    const bench = new Bench(world);
    world.plan('p', { tickets: { '12': issue(12) } });
    await bench.work('12');
    const parts = await bench.parts();
    const ref = { planId: 'p', ticketId: '12' };
    await openPullRequest(parts, ref);
    bench.gh.pullRequest(1, (pull) => {
      pull.reviews = [said({ state: 'CHANGES_REQUESTED', body: 'x'.repeat(60_000) })];
    });
    const answer = await reviewOf(parts, ref);
    expect('message' in answer && answer.message.length).toBe(8000);
  });
});
