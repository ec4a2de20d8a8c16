import { describe, expect } from 'vitest';
import type { GhOptions } from '../../src/github/gh/run-gh.ts';
import { findComment, findPullRequests } from '../../src/github/pull-request.ts';
import { decidingReviews } from '../../src/github/pull-request-state-and-feedback.ts';
import { queryWatches } from '../../src/github/query-pull-requests.ts';
import { Bench } from '../features/pull-requests/bench.ts';
import { it, type World } from '../support/index.ts';
import { GithubApi } from './github-api.ts';

/** A ticket with an open pull request, seen through the real GitHub CLI. */
async function real(world: World) {
  const bench = new Bench(world);
  world.plan('p', { tickets: { a: {} } });
  await bench.work('a');
  const { url } = await bench.open('a');
  await (await bench.parts()).store.updateTicket({ planId: 'p', ticketId: 'a' }, (ticket) => ({
    ...ticket,
    context: { pr_url: url },
  }));
  bench.gh.change((state) => Object.assign(state, { host: 'github.localhost' }));
  const api = await GithubApi.start(bench.gh);
  const ssh = bench.overSsh('git@github.localhost:acme/web.git');
  world.config({ ghCommand: 'gh', forge: { cacheSeconds: 0 } });
  const env = { ...world.env, ...api.env, ...ssh } as Record<string, string>;
  const repository = { host: 'github.localhost', owner: 'acme', name: 'web' };
  const options: GhOptions = { gh: 'gh', cwd: world.repo, env };
  return { bench, api, env, repository, options };
}

describe('the real GitHub CLI', () => {
  it('answers polls, with feedback, in one question each', async ({ world }) => {
    const { bench, api, env } = await real(world);
    try {
      const poll = (...more: string[]) => world.start(['forge', 'poll', 'p', 'a', ...more], env).ended;
      expect(await poll()).toMatchObject({ code: 1, out: 'pull request #1 waits for a review\n' });
      expect(api.requests).toEqual([
        expect.stringMatching(/^POST http:\/\/api\.github\.localhost\S*\/graphql$/),
      ]);
      bench.gh.pullRequest(1, (pull) => {
        const at = new Date().toISOString();
        const author = { login: 'ann' };
        pull.reviews.push({ author, state: 'CHANGES_REQUESTED', body: 'Name it better.', submittedAt: at });
        const comments = [{ author, body: 'Here.', createdAt: at }];
        pull.reviewThreads.push({ id: 'T1', isResolved: false, path: 'a.txt', line: 1, comments });
        pull.statusCheckRollup.push({
          ...{ __typename: 'CheckRun', name: 'build', status: 'COMPLETED', conclusion: 'FAILURE' },
        });
      });
      const { code, out } = await poll('--json');
      expect(code).toBe(0);
      expect(JSON.parse(out)).toMatchObject({
        outcome: 'changes',
        message:
          'ann requests changes:\nName it better.\n\nann on a.txt:1:\nHere.\n\nThe check build ended with FAILURE.',
      });
      bench.gh.pullRequest(1, (pull) => Object.assign(pull, { state: 'CLOSED' }));
      expect((await poll()).out.split('\n')[0]).toBe('closed');
      const shown = await world.start(['forge', 'budget'], env).ended;
      expect(shown.out).toMatch(/^github\.localhost: 5000 of 5000 points left/);
    } finally {
      await api.close();
    }
  });

  it('waits out a used-up budget', async ({ world }) => {
    const { bench, api, env } = await real(world);
    try {
      const resetAt = new Date(Math.ceil(Date.now() / 1000 + 600) * 1000).toISOString();
      bench.gh.change((state) => Object.assign(state.rateLimit, { remaining: 0, resetAt }));
      for (let times = 0; times < 2; times += 1) {
        const { code, out } = await world.start(['forge', 'poll', 'p', 'a'], env).ended;
        expect(code).toBe(1);
        expect(out).toContain(resetAt);
      }
      expect(api.requests).toHaveLength(1);
    } finally {
      await api.close();
    }
  });

  it('lists pull requests of a branch, reads reviews and finds our comments', async ({ world }) => {
    const { bench, api, repository, options } = await real(world);
    try {
      const head = { repository, branch: 'ticket/p/a', owner: 'acme' };
      const [found] = await findPullRequests(head, options);
      expect(found).toMatchObject({
        number: 1,
        state: 'OPEN',
        baseRefName: 'main',
        headRefOid: bench.tip('ticket/p/a'),
      });
      bench.gh.pullRequest(1, (pull) => {
        const at = new Date().toISOString();
        const commit = { oid: bench.tip('ticket/p/a') };
        const ann = { author: { login: 'ann' }, authorAssociation: 'MEMBER', submittedAt: at, commit };
        pull.reviews.push({ ...ann, state: 'APPROVED', body: 'Good.' });
        const body = '<!-- signalbox-comment k -->\nDone.';
        pull.comments.push({
          author: { login: 'octo' },
          body,
          createdAt: at,
          url: 'https://example.invalid/1',
        });
      });
      const watch = { branch: 'ticket/p/a', number: 1, owner: null };
      const { pulls } = await queryWatches(repository, [watch], options);
      expect(pulls.flat().map(decidingReviews)).toMatchObject([[{ author: 'ann', state: 'APPROVED' }]]);
      const wanted = { repository, number: 1 };
      expect(await findComment({ ...wanted, key: 'k' }, options)).toBe('https://example.invalid/1');
      expect(await findComment({ ...wanted, key: 'other' }, options)).toBeUndefined();
    } finally {
      await api.close();
    }
  });
});
