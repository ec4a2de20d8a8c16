import { describe, expect } from 'vitest';
import { commentOnPull } from '../../../src/features/pull-requests/answer-review.ts';
import { forgeJournal } from '../../../src/features/pull-requests/ticket-on-github.ts';
import { markOf } from '../../../src/github/pull-request.ts';
import { it, waitFor } from '../../support/index.ts';
import { Bench } from './bench.ts';

describe('a comment that was cut off', () => {
  it('is waited for: one that arrives late is found, and not made again', async ({ world }) => {
    const bench = new Bench(world);
    world.plan('p', { tickets: { a: {} } });
    await bench.work('a');
    await bench.open('a');
    const ref = { planId: 'p', ticketId: 'a' };
    const parts = await bench.parts();
    const never = new Promise<object>(() => undefined);
    void forgeJournal(parts, ref).record('comment', { number: 1, key: 'k' }, () => never);
    const body = `${markOf('k')}\nDone.\n`;
    const arrive = () =>
      bench.gh.pullRequest(1, (pull) => {
        const createdAt = new Date().toISOString();
        pull.comments.push({ author: { login: 'octo' }, body, createdAt, url: 'https://github.com/late' });
      });
    const looks = () => bench.gh.calls('api graphql').length;
    const before = looks();
    const commenting = commentOnPull(parts, ref, { key: 'k', text: 'Done.' });
    await waitFor('a second look for it', () => looks() > before + 1);
    arrive();
    const done = await commenting;
    expect(bench.gh.calls('pr comment')).toEqual([]);
    expect(done).toMatchObject({ posted: false, url: 'https://github.com/late' });
    expect(bench.pulls()[0]?.comments).toHaveLength(1);
    expect(forgeJournal(parts, ref).unsettled()).toEqual([]);
  });
});
