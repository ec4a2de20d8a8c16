import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { openEngine } from '../../../src/api/open-engine-with-features.ts';
import { loadSettings } from '../../../src/config/load-settings.ts';
import { forgeJournal } from '../../../src/features/pull-requests/ticket-on-github.ts';
import { watchPull } from '../../../src/features/pull-requests/watch-pull-request.ts';
import { ENDINGS } from '../../support/gh/fake-gh.ts';
import { it } from '../../support/index.ts';
import { Bench } from './bench.ts';

const TEN = Array.from({ length: 10 }, (_, index) => `t${index}`);

/** Tickets with an open pull request each, as `forge pr` leaves them. */
async function waiting(bench: Bench, ids: readonly string[]): Promise<void> {
  bench.world.plan('p', { tickets: Object.fromEntries(ids.map((id) => [id, {}])) });
  const parts = await bench.parts();
  for (const ticketId of ids) {
    await bench.work(ticketId);
    const { url } = await bench.open(ticketId);
    const ref = { planId: 'p', ticketId };
    await parts.store.updateTicket(ref, (ticket) => ({
      ...ticket,
      status: 'ready',
      hold: { kind: 'poll', reason: 'waits', until: null },
      context: { pr_url: url },
    }));
  }
}

const queries = (bench: Bench) => bench.gh.calls('api graphql').length;

describe('waiting for pull requests', () => {
  it('costs one question for ten tickets, and none while the answer is fresh', { tags: 'full' }, async ({
    world,
  }) => {
    const bench = new Bench(world);
    await waiting(bench, TEN);
    const before = queries(bench);
    const parts = await bench.parts();
    const all = await Promise.all(
      TEN.map((ticketId) => watchPull(parts, { planId: 'p', ticketId }, 'review')),
    );
    for (const each of all)
      expect(each).toMatchObject({ waiting: expect.stringMatching(/waits for a review/) });
    expect(queries(bench) - before).toBe(1);
    const [call] = bench.gh.calls('api graphql').slice(-1);
    const query = call?.argv.find((word) => word.startsWith('query=')) ?? '';
    expect(query.match(/pullRequest\(number: \d+\)/g)).toHaveLength(10);
    expect(query).not.toContain('ticket/p/');
  });

  it('leaves a reserve of the budget alone, tells it, and asks again after the reset', async ({ world }) => {
    const bench = new Bench(world);
    await waiting(bench, ['a']);
    const resetAt = new Date(Date.now() + 3_600_000).toISOString();
    bench.gh.change((state) => Object.assign(state.rateLimit, { remaining: 400, resetAt }));
    world.config({ forge: { cacheSeconds: 0 } });
    const ref = { planId: 'p', ticketId: 'a' };
    let now = Date.now();
    const env = bench.env;
    const settings = await loadSettings({ cwd: world.dir, env, flags: {}, packageDir: world.dir });
    const parts = openEngine({ settings, env, by: 'test' });
    parts.now = () => new Date(now).toISOString();
    expect(await watchPull(parts, ref, 'review')).toEqual({ waiting: 'pull request #1 waits for a review' });
    const before = queries(bench);
    expect(await watchPull(parts, ref, 'review')).toEqual({
      waiting: `GitHub's budget is low (399 of 5000); the next request is sent after ${resetAt}`,
      unseen: true,
    });
    expect(queries(bench)).toBe(before);
    const shown = await world.invoke(['forge', 'budget', '--json'], env).ended;
    expect(JSON.parse(shown.out)).toMatchObject([
      { host: 'github.com', remaining: 399, limit: 5000, resetAt },
    ]);
    now += 3_700_000;
    expect(await watchPull(parts, ref, 'review')).toEqual({ waiting: 'pull request #1 waits for a review' });
    expect(queries(bench)).toBe(before + 1);
  });

  it('waits through a refused, broken or unreachable GitHub, and fails where waiting is no use', {
    tags: 'full',
  }, async ({ world }) => {
    const bench = new Bench(world);
    await waiting(bench, ['a']);
    world.config({ forge: { cacheSeconds: 0 } });
    const ref = { planId: 'p', ticketId: 'a' };
    const look = async () => watchPull(await bench.parts(), ref, 'review');
    const next = () => bench.gh.calls('api graphql').length;
    for (const ending of [ENDINGS.network, ENDINGS.badGateway]) {
      bench.gh.fail({ call: 'api graphql', from: next() + 1, ...ending });
      expect(await look()).toHaveProperty('waiting');
    }
    bench.gh.fail({ call: 'api graphql', from: next() + 1, ...ENDINGS.badToken });
    await expect(look()).rejects.toMatchObject({ code: 'gh/auth' });
    const resetAt = new Date(Math.ceil(Date.now() / 1000 + 600) * 1000).toISOString();
    bench.gh.change((state) => Object.assign(state.rateLimit, { remaining: 0, resetAt }));
    expect(await look()).toEqual({
      waiting: `GitHub accepts no more requests until ${resetAt}: rate limit`,
      unseen: true,
    });
    const before = queries(bench);
    expect(await look()).toEqual({
      waiting: expect.stringContaining(`sent after ${resetAt}`),
      unseen: true,
    });
    expect(queries(bench)).toBe(before);
    const ended = await world.invoke(['forge', 'poll', 'p', 'a'], bench.env).ended;
    expect(ended.code).toBe(1);
  });

  it('listens to nobody who may not write, unless the settings name them', async ({ world }) => {
    const bench = new Bench(world);
    await waiting(bench, ['a']);
    world.config({ forge: { cacheSeconds: 0 } });
    const say = (login: string, authorAssociation: string) =>
      bench.gh.pullRequest(1, (pull) => {
        const createdAt = new Date().toISOString();
        pull.comments.push({ author: { login }, authorAssociation, body: `I am ${login}.`, createdAt });
      });
    say('mallory', 'NONE');
    say('bot', 'CONTRIBUTOR');
    const look = async () => watchPull(await bench.parts(), { planId: 'p', ticketId: 'a' }, 'review');
    expect(await look()).toHaveProperty('waiting');
    world.config({ forge: { cacheSeconds: 0, reviewers: ['Bot'] } });
    expect(await look()).toMatchObject({ outcome: 'changes', message: 'bot comments:\nI am bot.' });
    const dir = join(world.stateDir, 'jobs', 'p', 'a');
    const files = readdirSync(dir).filter((name) => name.startsWith('feedback-'));
    expect(files.map((name) => JSON.parse(readFileSync(join(dir, name), 'utf8')))).toEqual([
      { outcome: 'changes', ids: ['comment:IC_1_2'] },
    ]);
  });

  it('sees the 120th check, and hands over every one of 260 comments', { tags: 'full' }, async ({
    world,
  }) => {
    const bench = new Bench(world);
    await waiting(bench, ['a']);
    world.config({ forge: { cacheSeconds: 0 } });
    const look = async () => watchPull(await bench.parts(), { planId: 'p', ticketId: 'a' }, 'review');
    const check = (index: number, conclusion: 'SUCCESS' | 'FAILURE') => ({
      ...({ __typename: 'CheckRun', status: 'COMPLETED' } as const),
      ...{ id: `C${index}`, name: `job ${index}`, conclusion },
    });
    bench.gh.pullRequest(1, (pull) => {
      pull.reviewDecision = 'APPROVED';
      pull.statusCheckRollup = Array.from({ length: 120 }, (_, index) => check(index, 'SUCCESS'));
    });
    expect(await look()).toMatchObject({ outcome: 'approved' });
    bench.gh.pullRequest(1, ({ statusCheckRollup }) => {
      statusCheckRollup[119] = check(119, 'FAILURE');
    });
    expect(await look()).toMatchObject({
      outcome: 'red',
      message: 'The check that is one of those behind the first 100 ended with FAILURE.',
    });
    bench.gh.pullRequest(1, (pull) => {
      pull.statusCheckRollup = [];
      pull.comments = Array.from({ length: 260 }, (_, index) => ({
        author: { login: 'ann' },
        body: `wish ${index} ${'x'.repeat(400)}`,
        createdAt: new Date().toISOString(),
      }));
    });
    const journal = forgeJournal(await bench.parts(), { planId: 'p', ticketId: 'a' });
    const seen: string[] = [];
    for (let round = 0; round < 30; round++) {
      const standing = await look();
      if (!('outcome' in standing) || standing.outcome !== 'changes') break;
      seen.push(...standing.ids);
      journal.note('answered', { ids: standing.ids });
    }
    expect(seen).toEqual(Array.from({ length: 260 }, (_, index) => `comment:IC_1_${index + 1}`));
  });

  it('asks gh once which repository an address means, and waits while the network is down', async ({
    world,
  }) => {
    const bench = new Bench(world);
    await waiting(bench, ['a']);
    const views = () => bench.gh.calls('repo view').length;
    expect(views()).toBe(1);
    world.config({ forge: { cacheSeconds: 0 } });
    const ref = { planId: 'p', ticketId: 'a' };
    expect(await watchPull(await bench.parts(), ref, 'review')).toHaveProperty('waiting');
    expect(views()).toBe(1);
    world.remove(join(world.stateDir, 'forge', 'repositories.json'));
    bench.gh.fail({ call: 'repo view', from: 2, ...ENDINGS.network });
    expect(await watchPull(await bench.parts(), ref, 'review')).toEqual({
      waiting: expect.stringContaining('cannot be reached'),
      unseen: true,
    });
  });
});
