import { chmodSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { fetchItems } from '../../../src/issues/fetch-work-items.ts';
import { ENDINGS, type FakeFailure } from '../../support/gh/fake-gh.ts';
import { waitFor } from '../../support/wait-for.ts';
import { within } from '../../support/within.ts';
import { checkout, scratch, write } from '../scratch.ts';

const CALL = { call: 'api graphql', times: null };
const answer = (status: string, body: unknown, headers: string[] = []) =>
  `HTTP/2.0 ${status}\n${[...headers, 'Content-Type: application/json'].map((line) => `${line}\r\n`).join('')}\r\n${JSON.stringify(body)}`;
const graphql = (error: object) => ({ data: { r0: null }, errors: [{ path: ['r0'], ...error }] });

const FAILURES: [string, Partial<FakeFailure>, { message: string | RegExp; hint: string; code: string }][] = [
  [
    'gh is logged out',
    { exit: 4, stderr: 'To get started with GitHub CLI, please run:  gh auth login\n' },
    { code: 'gh/auth', message: /not logged in to github.com/, hint: 'gh auth login' },
  ],
  [
    'the token is bad',
    ENDINGS.badToken,
    { code: 'gh/auth', message: /no longer valid/, hint: 'gh auth status' },
  ],
  [
    'the network is down',
    ENDINGS.network,
    { code: 'gh/network', message: /cannot be reached: error connecting to api.github.com/, hint: 'network' },
  ],
  [
    'the connection is refused',
    {
      stderr: 'Post "https://api.github.com/graphql": dial tcp 127.0.0.1:443: connect: connection refused\n',
    },
    { code: 'gh/network', message: /connection refused/, hint: 'proxy' },
  ],
  ['GitHub is down', ENDINGS.badGateway, { code: 'gh/server', message: /HTTP 502/, hint: 'githubstatus' }],
  [
    'access is refused by the organisation',
    {
      stderr: 'gh: Resource protected by organization SAML enforcement.\n',
      stdout: answer(
        '200 OK',
        graphql({ type: 'FORBIDDEN', message: 'Resource protected by organization SAML enforcement.' }),
      ),
    },
    {
      code: 'gh/forbidden',
      message: /refuses access to the repository acme\/web: Resource protected/,
      hint: 'SSO',
    },
  ],
  [
    'the token may do too little',
    {
      stderr: 'gh: no (HTTP 403)\n',
      stdout: answer('403 Forbidden', { message: 'Resource not accessible by integration' }),
    },
    { code: 'gh/forbidden', message: /not accessible by integration/, hint: 'gh auth refresh' },
  ],
  [
    'the hourly limit is used up, told in the answer',
    {
      stderr: 'gh: API rate limit exceeded for user ID 1.\n',
      stdout: answer('200 OK', { errors: [{ type: 'RATE_LIMITED', message: 'API rate limit exceeded' }] }, [
        'X-Ratelimit-Reset: 1893456000',
      ]),
    },
    {
      code: 'gh/rate-limited',
      message: /until 2030-01-01T00:00:00.000Z/,
      hint: 'after 2030-01-01T00:00:00.000Z',
    },
  ],
  [
    'requests come too fast, told by Retry-After',
    {
      stderr: 'gh: You have exceeded a secondary rate limit (HTTP 403)\n',
      stdout: answer('403 Forbidden', { message: 'You have exceeded a secondary rate limit' }, [
        'Retry-After: 90',
        'Date: Tue, 01 Jan 2030 00:00:00 GMT',
      ]),
    },
    { code: 'gh/rate-limited', message: /until 2030-01-01T00:01:30.000Z/, hint: 'Try again after' },
  ],
  [
    'gh prints nothing of use',
    { exit: 0, stdout: 'hello' },
    { code: 'gh/unknown', message: /#1 of acme\/web: broken \[31mview/, hint: 'gh issue view' },
  ],
];

describe('a failure of GitHub', () => {
  it.each(FAILURES)('is told when %s', async (_, failure, wanted) => {
    const { fake, options } = checkout();
    fake.issues({ number: 1, title: 'One' }).fail({ ...CALL, ...failure });
    fake.fail({ call: 'issue view', times: null, stderr: '\u001b[1mbroken\u001b[0m [31mview\n' });
    const { items, problems } = await fetchItems(['1'], options);
    expect(items).toEqual([]);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatchObject({ reference: '1', code: wanted.code });
    expect(problems[0]?.message).toMatch(wanted.message);
    expect(problems[0]?.hint).toContain(wanted.hint);
    expect(problems[0]?.resetAt !== undefined).toBe(wanted.code === 'gh/rate-limited');
  });

  it('is not read into the name of a repository', async () => {
    const { options } = checkout('git@github.com:acme/saml-rate.git');
    const { problems } = await fetchItems(['1'], options);
    expect(problems).toMatchObject([{ code: 'gh/not-found' }]);
  });

  it('says when the limit that the server counts is over', async () => {
    const { fake, options } = checkout();
    fake.issues({ number: 1, title: 'One' }).change((state) => {
      state.rateLimit.remaining = 0;
    });
    const { problems } = await fetchItems(['1'], options);
    expect(problems).toMatchObject([{ code: 'gh/rate-limited', resetAt: '2030-01-01T00:00:00.000Z' }]);
  });

  it('never makes up a title', async () => {
    const { fake, options } = checkout();
    fake.issues({ number: 1, title: '\u001b[0m \u0007' });
    const { items, problems } = await fetchItems(['1'], options);
    expect(items).toEqual([]);
    expect(problems[0]?.message).toContain('has no title');
  });

  it('is told when gh is missing, not executable, or the directory is gone', async () => {
    const { options } = checkout();
    const missing = await fetchItems(['1'], { ...options, gh: 'no-such-gh' });
    expect(missing.problems[0]).toMatchObject({ code: 'gh/missing' });
    expect(missing.problems[0]?.message).toContain('(no-such-gh) is not installed');
    expect(missing.problems[0]?.hint).toContain('https://cli.github.com');
    const plain = write(scratch(), 'gh', 'not a program');
    chmodSync(plain, 0o644);
    const denied = await fetchItems(['1'], { ...options, gh: plain });
    expect(denied.problems[0]?.message).toContain('cannot be started');
    const gone = await fetchItems(['acme/web#1'], { ...options, cwd: join(options.cwd, 'gone') });
    expect(gone.problems[0]?.message).toContain('does not exist');
  });

  it('is told when gh does not end or prints without end', { tags: 'full' }, async () => {
    const { fake, options } = checkout();
    fake.fail({ ...CALL, hang: true });
    const late = await fetchItems(['1'], { ...options, timeoutMs: 1_500 });
    expect(late.problems[0]).toMatchObject({ code: 'gh/timeout' });
    expect(late.problems[0]?.message).toContain('no answer in 1.5 s');
    const flood = write(scratch(), 'gh', '#!/bin/sh\nexec yes\n');
    chmodSync(flood, 0o755);
    const { problems } = await fetchItems(['1'], { ...options, gh: flood });
    expect(problems[0]?.message).toContain('printed more than can be read');
  });

  it('does not wait for what gh leaves behind', { tags: 'full' }, async () => {
    const { options } = checkout();
    const gh = write(scratch(), 'gh', '#!/bin/sh\nsleep 60 &\necho "gh: no such host" >&2\nexit 1\n');
    chmodSync(gh, 0o755);
    const start = performance.now();
    const { problems } = await fetchItems(['1'], { ...options, gh });
    expect(problems[0]).toMatchObject({ code: 'gh/network' });
    expect(performance.now() - start).toBeLessThan(within(20_000));
  });

  it('is not made of an abort, which ends gh at once', async () => {
    const { fake, options } = checkout();
    fake.fail({ ...CALL, hang: true });
    const controller = new AbortController();
    const fetched = fetchItems(['1'], { ...options, signal: controller.signal });
    await waitFor('the call', () => fake.calls('api graphql').length === 1);
    controller.abort(new Error('stopped by a person'));
    await expect(fetched).rejects.toThrow('stopped by a person');
    await expect(fetchItems(['1'], { ...options, signal: controller.signal })).rejects.toThrow('stopped');
  });

  it('keeps gh from asking, colouring and paging, and gives it the environment', async () => {
    const { options } = checkout();
    const dir = scratch();
    const gh = write(dir, 'gh', `#!/bin/sh\nenv > ${dir}/env\nexit 4\n`);
    chmodSync(gh, 0o755);
    await fetchItems(['1'], { ...options, gh, env: { ...options.env, GH_DEBUG: 'api', MINE: 'yes' } });
    const env = readFileSync(join(dir, 'env'), 'utf8').split('\n');
    expect(env).toEqual(
      expect.arrayContaining(['GH_PROMPT_DISABLED=1', 'NO_COLOR=1', 'GH_DEBUG=', 'MINE=yes']),
    );
  });
});
