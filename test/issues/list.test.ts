import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { listGithub } from '../../src/issues/github/list-issues.ts';
import { listLinear } from '../../src/issues/linear/linear-issues.ts';
import type { Listed, ListFilter } from '../../src/issues/work-item.ts';
import { issuesPage, type LinearRequest, linearIssue, linearServer, page } from './linear-server.ts';
import { checkout } from './scratch.ts';

const OPEN: ListFilter = { state: 'open', labels: [], limit: 100 };
const numbers = ({ items }: Listed) => items.map(({ number }) => number);

function repository() {
  const made = checkout();
  made.fake.issues(
    { number: 1, title: 'One', labels: ['bug', 'UI'], milestone: 'v1' },
    { number: 2, title: 'Two', labels: ['bug'], milestone: 'v2' },
    { number: 3, title: 'Three', state: 'CLOSED', milestone: 'v2' },
    { number: 4, title: 'Four', milestone: 'v2', labels: ['ui'], subIssues: [2] },
  );
  return made;
}

describe('a list of GitHub', () => {
  it.each<[string, Partial<ListFilter>, number[]]>([
    ['open ones', {}, [1, 2, 4]],
    ['closed ones', { state: 'closed' }, [3]],
    ['all', { state: 'all' }, [1, 2, 3, 4]],
    ['a label, in any case', { labels: ['Bug'] }, [1, 2]],
    ['several labels together', { labels: ['bug', 'ui'] }, [1]],
    ['a milestone', { milestone: 'V2' }, [2, 4]],
    ['a milestone by its number', { milestone: '1' }, [1]],
    ['a milestone and a label', { milestone: 'v2', labels: ['ui'] }, [4]],
  ])('has %s', async (_what, filter, expected) => {
    const { options } = repository();
    const listed = await listGithub({ ...options, filter: { ...OPEN, ...filter } });
    expect(listed.problems).toEqual([]);
    expect(numbers(listed)).toEqual(expected);
    expect(listed.more).toBe(false);
  });

  it('has whole items, of the repository that was named', async () => {
    const { fake, options } = repository();
    fake.repository((other) => other.issues.push({ number: 9, title: 'Nine', milestone: 'm' }), 'acme/api');
    const listed = await listGithub({ ...options, filter: OPEN, repository: 'acme/api' });
    expect(listed.items).toMatchObject([{ key: 'github:acme/api#9', id: 'api-9', milestone: 'm' }]);
  });

  it('goes on page by page, and stops at the limit', async () => {
    const { fake, options } = checkout();
    fake.issues(...Array.from({ length: 230 }, (_, index) => ({ number: index + 1, title: `T${index}` })));
    const all = await listGithub({ ...options, filter: { ...OPEN, limit: 500 } });
    expect(numbers(all)).toHaveLength(230);
    // Three pages of numbers, and fifty issues at a time.
    expect(fake.calls()).toHaveLength(3 + 5);
    const some = await listGithub({ ...options, filter: { ...OPEN, limit: 3 } });
    expect(numbers(some)).toEqual([1, 2, 3]);
    expect(some.more).toBe(true);
  });

  it('never puts what was typed into the query itself', async () => {
    const { fake, options } = repository();
    const nasty = 'x") { viewer { login } } #';
    const listed = await listGithub({ ...options, filter: { ...OPEN, labels: [nasty] } });
    expect(listed).toEqual({ items: [], problems: [], more: false });
    const query = fake.calls()[0]?.argv.find((arg) => arg.startsWith('query=')) ?? '';
    expect(query).not.toContain('viewer');
  });

  it('says what is wrong: the milestone, the repository, the login, the limit and when it ends', async () => {
    const { fake, options } = repository();
    const problem = async (more: object) =>
      (await listGithub({ ...options, filter: OPEN, ...more })).problems[0];
    expect(await problem({ filter: { ...OPEN, milestone: 'v3' } })).toMatchObject({
      code: 'source/milestone',
      message: 'acme/web has no milestone "v3".',
    });
    expect(await problem({ repository: 'not a name' })).toMatchObject({ code: 'source/reference' });
    expect(await problem({ repository: 'acme/none' })).toMatchObject({ code: 'gh/not-found' });
    fake.change((state) => {
      state.rateLimit = { remaining: 0, resetAt: '2031-02-03T04:05:06Z' };
    });
    expect(await problem({})).toMatchObject({ code: 'gh/rate-limited', resetAt: '2031-02-03T04:05:06.000Z' });
    fake.change((state) => {
      state.loggedIn = false;
    });
    expect(await problem({})).toMatchObject({
      code: 'gh/auth',
      hint: expect.stringContaining('gh auth login'),
    });
    expect(await problem({ gh: '/nowhere/gh' })).toMatchObject({ code: 'gh/missing' });
  });
});

describe('sub-issues', () => {
  it('of one issue come page by page, and are left out where the server does not know them', async () => {
    const { fake, options } = checkout();
    fake.issues({ number: 1, title: 'Epic', subIssues: Array.from({ length: 70 }, (_, index) => index + 2) });
    fake.repository(({ issues }) => {
      for (let number = 2; number < 72; number += 1) issues.push({ number, title: 'x' });
    });
    const only = { ...OPEN, limit: 1 };
    expect((await listGithub({ ...options, filter: only })).items[0]?.subIssues).toHaveLength(70);
    fake.change((state) => {
      state.unknownFields = ['subIssues'];
    });
    expect((await listGithub({ ...options, filter: only })).items).toMatchObject([
      { number: 1, subIssues: [] },
    ]);
  });
});

describe('a list of Linear', () => {
  const options = (url: string) => {
    const env = { LINEAR_API_KEY: 'lin_api_x', SIGNALBOX_LINEAR_URL: url };
    return { cwd: '/', env, gh: 'gh' };
  };

  it('asks for a team, state, labels and milestone', async () => {
    const { url, requests } = await linearServer(() =>
      issuesPage([
        linearIssue('ENG-1', { labels: page([{ name: 'Bug' }]), projectMilestone: { name: 'Beta' } }),
      ]),
    );
    const filter: ListFilter = { state: 'open', labels: ['bug'], milestone: 'Beta', limit: 10 };
    const listed = await listLinear({ ...options(url), filter, team: 'ENG' });
    expect(listed).toMatchObject({ items: [{ id: 'ENG-1', milestone: 'Beta' }], problems: [], more: false });
    expect(requests[0]?.variables.archived).toBe(false);
    expect(requests[0]?.query).not.toContain('includeArchived: true');
    expect(requests[0]?.variables.filter).toEqual({
      team: { key: { eq: 'ENG' } },
      state: { type: { nin: ['completed', 'canceled'] } },
      and: [{ labels: { some: { name: { eqIgnoreCase: 'bug' } } } }],
      projectMilestone: { name: { eqIgnoreCase: 'Beta' } },
    });
  });

  it('goes on page by page, and stops at the limit', async () => {
    const answer = ({ variables }: LinearRequest) =>
      variables.after
        ? issuesPage([linearIssue('ENG-3')], 'c2')
        : issuesPage([linearIssue('ENG-1'), linearIssue('ENG-2')], 'c1');
    const { url } = await linearServer(answer);
    const listed = await listLinear({ ...options(url), filter: { ...OPEN, limit: 3 }, team: 'ENG' });
    expect(listed.items.map(({ id }) => id)).toEqual(['ENG-1', 'ENG-2', 'ENG-3']);
    expect(listed.more).toBe(true);
  });

  it('tells a rate limit with its end', async () => {
    const { url } = await linearServer(() => ({ status: 429, headers: { 'retry-after': '60' }, body: {} }));
    vi.useFakeTimers({ toFake: ['Date'], now: new Date('2030-01-01T00:00:00Z') });
    onTestFinished(() => void vi.useRealTimers());
    const listed = await listLinear({ ...options(url), filter: OPEN, team: 'ENG' });
    expect(listed.problems).toMatchObject([
      { code: 'linear/rate-limited', resetAt: '2030-01-01T00:01:00.000Z' },
    ]);
  });
});
