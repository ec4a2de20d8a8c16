import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { fetchItems } from '../../../src/issues/fetch-work-items.ts';
import { waitFor } from '../../support/wait-for.ts';
import { issuesPage, type LinearAnswer, linearIssue, linearServer, page } from '../linear-server.ts';
import { scratch } from '../scratch.ts';

const KEY = 'lin_api_s3cret';

function options(url: string, env: Record<string, string> = {}) {
  return {
    cwd: scratch(),
    gh: 'no-such-gh',
    env: { LINEAR_API_KEY: KEY, SIGNALBOX_LINEAR_URL: url, ...env },
  };
}

describe('Linear issues', () => {
  it('that lie in the trash are closed', async () => {
    const { url, requests } = await linearServer(() => issuesPage([linearIssue('ENG-9', { trashed: true })]));
    const { items } = await fetchItems(['ENG-9'], options(url));
    expect(items).toMatchObject([{ id: 'ENG-9', state: 'closed' }]);
    expect(requests[0]?.query).toContain('trashed');
    expect(requests[0]?.variables.archived).toBe(true);
  });

  it('come with all their fields in one request', async () => {
    const { url, requests } = await linearServer(() =>
      issuesPage([
        linearIssue('OPS-3', { state: { type: 'completed' } }),
        linearIssue('ENG-12', {
          title: 'Sign\u001b[31m in',
          description: 'Depends on: ENG-7, acme/web#3\n\n## Acceptance Criteria\n- [ ] AC-1: It works',
          parent: { identifier: 'ENG-1' },
          children: page([{ identifier: 'ENG-20' }]),
          projectMilestone: { name: 'Beta' },
          labels: page([{ name: 'Bug' }]),
          inverseRelations: page([
            { type: 'blocks', issue: { identifier: 'ENG-5' } },
            { type: 'related', issue: { identifier: 'ENG-6' } },
          ]),
        }),
      ]),
    );
    const { items, problems } = await fetchItems(['ENG-12', 'OPS-3', 'ENG-12', 'ENG-404'], options(url));
    expect(items).toEqual([
      {
        key: 'linear:ENG-12',
        id: 'ENG-12',
        number: null,
        title: 'Sign in',
        body: 'Depends on: ENG-7, acme/web#3\n\n## Acceptance Criteria\n- [ ] AC-1: It works',
        labels: ['Bug'],
        acceptanceCriteria: ['AC-1: It works'],
        url: 'https://linear.app/acme/issue/ENG-12',
        state: 'open',
        dependsOn: ['linear:ENG-5', 'linear:ENG-7', 'github:acme/web#3'],
        repository: null,
        parent: 'linear:ENG-1',
        subIssues: ['linear:ENG-20'],
        milestone: 'Beta',
      },
      expect.objectContaining({ id: 'OPS-3', state: 'closed', parent: null }),
    ]);
    expect(problems).toMatchObject([{ reference: 'ENG-404', code: 'linear/not-found' }]);
    expect(requests).toHaveLength(1);
    expect(requests[0]?.headers.authorization).toBe(KEY);
    expect(requests[0]?.variables.filter).toEqual({
      or: [
        { team: { key: { eq: 'ENG' } }, number: { in: [12, 404] } },
        { team: { key: { eq: 'OPS' } }, number: { in: [3] } },
      ],
    });
  });

  it('are read page by page, and so are their labels and relations', async () => {
    const blocks = (key: string) => ({ type: 'blocks', issue: { identifier: key } });
    const { url, requests } = await linearServer(({ variables, query }) => {
      if (variables.id !== undefined) {
        const list = query.includes('labels(') ? 'labels' : 'inverseRelations';
        const nodes = list === 'labels' ? [{ name: 'c' }] : [blocks('ENG-9')];
        return { body: { data: { issue: { [list]: page(nodes) } } } };
      }
      const lists = { labels: page([{ name: 'a' }], 'l1'), inverseRelations: page([blocks('ENG-8')], 'r1') };
      return variables.after === 'p1'
        ? issuesPage([linearIssue('ENG-2')])
        : issuesPage([linearIssue('ENG-1', lists)], 'p1');
    });
    const { items, problems } = await fetchItems(['ENG-1', 'ENG-2'], options(url));
    expect(problems).toEqual([]);
    expect(items).toMatchObject([
      { id: 'ENG-1', labels: ['a', 'c'], dependsOn: ['linear:ENG-8', 'linear:ENG-9'] },
      { id: 'ENG-2' },
    ]);
    expect(requests.map(({ variables }) => variables.after)).toEqual([null, 'p1', 'l1', 'r1']);
  });

  it('end when a server gives the same page for ever', async () => {
    const { url, requests } = await linearServer(() => issuesPage([linearIssue('ENG-1')], 'same'));
    expect((await fetchItems(['ENG-1'], options(url))).items).toHaveLength(1);
    expect(requests).toHaveLength(2);
  });

  const gql = (code: string, status = 400): LinearAnswer => ({
    status,
    body: { errors: [{ message: `No ${KEY}`, extensions: { code } }] },
  });
  const limits = { 'x-ratelimit-requests-remaining': '0', 'x-ratelimit-requests-reset': '1893456000000' };
  it.each<[string, LinearAnswer, string, RegExp]>([
    ['a key that is not accepted', { status: 401, body: 'no' }, 'linear/auth', /does not accept the key/],
    ['an authentication error', gql('AUTHENTICATION_ERROR'), 'linear/auth', /LINEAR_API_KEY/],
    ['missing rights', gql('FORBIDDEN', 403), 'linear/forbidden', /refuses access: No \*\*\*/],
    [
      '429 with the end of the limit',
      { status: 429, headers: limits, body: '' },
      'linear/rate-limited',
      /until 2030-01-01T00:00:00.000Z/,
    ],
    [
      'a limit told as an error',
      { ...gql('RATELIMITED'), headers: limits },
      'linear/rate-limited',
      /until 2030-01-01/,
    ],
    [
      '429 with Retry-After',
      { status: 429, headers: { 'retry-after': '60' }, body: '' },
      'linear/rate-limited',
      /until 2029-12-31T00:01:00.000Z/,
    ],
    ['429 alone', { status: 429, body: '' }, 'linear/rate-limited', /for now/],
    ['an outage', { status: 503, body: '<html>' }, 'linear/server', /HTTP 503/],
    ['an answer that is no JSON', { body: 'hello' }, 'linear/query', /could not answer/],
    ['an error in the query', gql('INVALID_INPUT'), 'linear/query', /could not answer: No \*\*\*/],
    [
      'a redirect',
      { status: 302, headers: { location: 'http://127.0.0.1:1/' }, body: '' },
      'linear/network',
      /cannot be reached/,
    ],
  ])('are problems after %s', async (_, answer, code, message) => {
    const { url } = await linearServer(() => answer);
    vi.useFakeTimers({ toFake: ['Date'], now: new Date('2029-12-31T00:00:00Z') });
    onTestFinished(() => void vi.useRealTimers());
    const { items, problems } = await fetchItems(['ENG-1', 'ENG-2'], options(url));
    expect(items).toEqual([]);
    expect(problems.map((problem) => problem.reference)).toEqual(['ENG-1', 'ENG-2']);
    expect(problems[0]).toMatchObject({
      code,
      message: expect.stringMatching(message),
      hint: expect.any(String),
    });
    expect(JSON.stringify(problems)).not.toContain(KEY);
  });

  it('never have a title made up for them', async () => {
    const { url } = await linearServer(() =>
      issuesPage([linearIssue('ENG-1', { title: '' }), linearIssue('ENG-2')]),
    );
    const { items, problems } = await fetchItems(['ENG-1', 'ENG-2'], options(url));
    expect(items.map(({ id }) => id)).toEqual(['ENG-2']);
    expect(problems[0]?.message).toContain('has no title');
  });

  it.each([
    ['no key', { LINEAR_API_KEY: ' ' }, 'linear/key', 'LINEAR_API_KEY is not set'],
    [
      'a key over two lines',
      { LINEAR_API_KEY: 'a\nlin_b' },
      'linear/key',
      'characters that a key cannot have',
    ],
    [
      'another host',
      { SIGNALBOX_LINEAR_URL: 'https://evil.example/graphql' },
      'linear/url',
      'SIGNALBOX_LINEAR_URL must be',
    ],
    [
      'a host that looks like ours',
      { SIGNALBOX_LINEAR_URL: 'https://api.linear.app.evil.example/' },
      'linear/url',
      'must be',
    ],
    ['a user in the address', { SIGNALBOX_LINEAR_URL: 'http://x@127.0.0.1/' }, 'linear/url', 'must be'],
    ['no encryption', { SIGNALBOX_LINEAR_URL: 'http://api.linear.app/graphql' }, 'linear/url', 'must be'],
    ['no address', { SIGNALBOX_LINEAR_URL: 'x' }, 'linear/url', 'must be'],
    ['nobody there', { SIGNALBOX_LINEAR_URL: 'http://127.0.0.1:9/' }, 'linear/network', 'cannot be reached'],
  ])('are not asked for with %s', async (_, env, code, message) => {
    const { problems } = await fetchItems(['ENG-1'], options('http://localhost:1/', env));
    expect(problems).toMatchObject([{ code, message: expect.stringContaining(message) }]);
    expect(JSON.stringify(problems)).not.toContain('lin_');
  });

  it('are given up after the timeout, and at once on an abort', async () => {
    const { url, requests } = await linearServer(() => new Promise(() => undefined));
    const late = await fetchItems(['ENG-1'], { ...options(url), timeoutMs: 100 });
    expect(late.problems).toMatchObject([{ code: 'linear/timeout' }]);
    const controller = new AbortController();
    const fetched = fetchItems(['ENG-1'], { ...options(url), signal: controller.signal });
    await waitFor('the request', () => requests.length === 2);
    controller.abort(new Error('stopped by a person'));
    await expect(fetched).rejects.toThrow('stopped by a person');
  });

  it('are bounded', { tags: 'full' }, async () => {
    const description = 'x'.repeat(1_000_000);
    const { url } = await linearServer(() => issuesPage([linearIssue('ENG-1', { description })]));
    const { items } = await fetchItems(['ENG-1'], options(url));
    expect(items[0]?.body.length).toBeLessThan(200_100);
    const flood = await linearServer(() => ({ body: ' '.repeat(17 * 1024 * 1024) }));
    const { problems } = await fetchItems(['ENG-1'], options(flood.url));
    expect(problems[0]?.message).toContain('larger than 16 MB');
  });
});
