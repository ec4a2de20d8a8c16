import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { git, makeRepo } from '../repo.ts';
import { FakeGh } from './fake-gh.ts';

let dir: string;
let fake: FakeGh;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'signalbox-gh-'));
  fake = new FakeGh(dir);
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

interface End {
  code: number;
  out: string;
  err: string;
}

async function gh(...args: string[]): Promise<End> {
  try {
    const { stdout, stderr } = await promisify(execFile)('gh', args, { env: fake.env, cwd: dir });
    return { code: 0, out: stdout, err: stderr };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
    return { code, out: stdout, err: stderr };
  }
}

const create = (...more: string[]) =>
  gh('pr', 'create', '--title', 'T', '--body', 'B', '--head', 'feature/1', ...more);

describe('the scripted gh', () => {
  it('says who is logged in, and what to do when nobody is', async () => {
    expect((await gh('auth', 'status')).out).toContain('Logged in to github.com as octo');
    fake.change((state) => {
      state.loggedIn = false;
    });
    expect(await gh('auth', 'status')).toMatchObject({ code: 1 });
    expect(await gh('repo', 'view', '--json', 'nameWithOwner')).toMatchObject({ code: 4 });
  });

  it('views repositories and issues by field and refuses unknown fields', async () => {
    fake.issues({ number: 3, title: 'Three', labels: ['bug'] });
    const repo = await gh('repo', 'view', '--json', 'nameWithOwner,defaultBranchRef');
    expect(JSON.parse(repo.out)).toMatchObject({
      nameWithOwner: 'acme/web',
      defaultBranchRef: { name: 'main' },
    });
    const issue = await gh('issue', 'view', '3', '-R', 'acme/web', '--json', 'title,labels');
    expect(JSON.parse(issue.out)).toMatchObject({
      title: 'Three',
      labels: [{ name: 'bug', description: '' }],
    });
    expect(await gh('issue', 'view', '3', '--json', 'colour')).toMatchObject({ code: 1 });
    expect((await gh('issue', 'view', '4', '--json', 'title')).err).toContain('Could not resolve');
  });

  it('creates a pull request once, edits it, comments on it and lists it', async () => {
    const file = join(dir, 'body.md');
    writeFileSync(file, 'From a file');
    const made = await gh(
      'pr',
      'create',
      '--title',
      'T',
      '--body-file',
      file,
      '--base',
      'main',
      '--head',
      'f',
    );
    expect(made.out.trim()).toBe('https://github.com/acme/web/pull/1');
    const again = await gh('pr', 'create', '--title', 'T', '--body', '', '--base', 'main', '--head', 'f');
    expect(again).toMatchObject({ code: 1 });
    expect(again.err).toContain('already exists:\nhttps://github.com/acme/web/pull/1');
    await gh('pr', 'edit', '1', '--title', 'New');
    await gh('pr', 'comment', '1', '--body', 'Hello');
    const list = await gh('pr', 'list', '--head', 'f', '--json', 'number,title,body,comments,state');
    expect(JSON.parse(list.out)).toMatchObject([
      { number: 1, title: 'New', body: 'From a file', comments: [{ body: 'Hello' }], state: 'OPEN' },
    ]);
    expect(fake.calls('pr create')).toHaveLength(2);
    expect(JSON.parse((await gh('pr', 'list', '--head', 'other', '--json', 'number')).out)).toEqual([]);
  });

  it('merges for real in a bare repository, and not when there are conflicts', async () => {
    const work = makeRepo(join(dir, 'work'));
    const bare = join(dir, 'origin.git');
    git(dir, 'clone', '--quiet', '--bare', work, bare);
    fake.repository((repository) => {
      repository.git = bare;
    });
    expect((await create()).err).toContain('No commits between main and feature/1');
    commit(work, 'feature/1', 'one');
    git(work, 'push', '--quiet', bare, 'feature/1');
    const tip = git(work, 'rev-parse', 'HEAD');
    expect(await create()).toMatchObject({ code: 0 });
    const seen = await gh('pr', 'view', '1', '--json', 'headRefOid,mergeable');
    expect(JSON.parse(seen.out)).toEqual({ headRefOid: tip, mergeable: 'MERGEABLE' });
    expect((await gh('pr', 'merge', '1', '--merge', '--match-head-commit', 'f00')).err).toContain(
      'was modified',
    );
    expect(await gh('pr', 'merge', '1', '--squash', '--delete-branch')).toMatchObject({ code: 0 });
    expect(git(bare, 'log', '--format=%s', 'main')).toBe('T (#1)\nBegin');
    expect(git(bare, 'branch', '--list', 'feature/1')).toBe('');

    git(work, 'checkout', '--quiet', 'main');
    commit(work, 'feature/2', 'two');
    git(work, 'push', '--quiet', bare, 'feature/2');
    await gh('pr', 'create', '--title', 'Two', '--body', '', '--head', 'feature/2');
    expect((await gh('pr', 'merge', '2', '--merge')).err).toContain('not mergeable');
  });

  it('derives the review decision, and shows reviews and checks in one query', async () => {
    await create();
    fake.pullRequest(1, (pull) => {
      const at = '2030-01-01T00:00:00Z';
      pull.reviews.push({
        author: { login: 'ann' },
        state: 'CHANGES_REQUESTED',
        body: 'No',
        submittedAt: at,
      });
      pull.statusCheckRollup.push({
        __typename: 'CheckRun',
        name: 'ci',
        status: 'COMPLETED',
        conclusion: 'FAILURE',
      });
    });
    const query = `query($o: String!) { repository(owner: $o, name: "web") { pullRequest(number: 1) {
      reviewDecision reviews(last: 5) { nodes { author { login } state } }
      commits(last: 1) { nodes { commit { statusCheckRollup { state contexts(first: 9) { nodes { ... on CheckRun { name } } } } } } } } } }`;
    const { out } = await gh('api', 'graphql', '-f', `query=${query}`, '-f', 'o=acme');
    expect(JSON.parse(out).data.repository.pullRequest).toEqual({
      reviewDecision: 'CHANGES_REQUESTED',
      reviews: { nodes: [{ author: { login: 'ann' }, state: 'CHANGES_REQUESTED' }] },
      commits: {
        nodes: [
          { commit: { statusCheckRollup: { state: 'FAILURE', contexts: { nodes: [{ name: 'ci' }] } } } },
        ],
      },
    });
  });

  it('fails the calls it is told to fail, before or after their work', async () => {
    fake.fail(
      { call: 'pr create', from: 1, stderr: 'lost\n', after: true },
      { call: 'pr list', from: 2, times: null },
    );
    expect(await create()).toEqual({ code: 1, out: '', err: 'lost\n' });
    expect(JSON.parse((await gh('pr', 'list', '--json', 'number')).out)).toEqual([{ number: 1 }]);
    expect(await gh('pr', 'list', '--json', 'number')).toMatchObject({ code: 1 });
    expect(await gh('pr', 'list', '--json', 'number')).toMatchObject({ code: 1 });
  });

  it('counts down the rate limit and then refuses with the time it ends', async () => {
    fake.change((state) => {
      state.rateLimit = { remaining: 1, resetAt: '2030-01-01T00:00:00Z' };
    });
    const ask = () => gh('api', 'graphql', '--include', '-f', 'query={ viewer { login } }');
    expect((await ask()).code).toBe(0);
    const refused = await ask();
    expect(refused.err).toBe('gh: API rate limit exceeded for user ID 1. (HTTP 403)\n');
    expect(refused.out).toContain(`X-Ratelimit-Reset: ${Date.parse('2030-01-01T00:00:00Z') / 1000}\r\n`);
  });

  it('keeps the work of calls that are made at the same time', async () => {
    const heads = ['a', 'b', 'c', 'd'];
    await Promise.all(
      heads.map((head) =>
        gh('pr', 'create', '--title', head, '--body', '', '--head', head, '--base', 'main'),
      ),
    );
    const [repository] = fake.read().repositories;
    expect(repository?.pullRequests.map(({ number }) => number)).toEqual([1, 2, 3, 4]);
    expect(repository?.pullRequests.map(({ title }) => title).sort()).toEqual(heads);
  });
});

function commit(work: string, branch: string, text: string): void {
  git(work, 'checkout', '--quiet', '-b', branch);
  writeFileSync(join(work, 'shared.txt'), text);
  git(work, 'add', '--all');
  git(work, 'commit', '--quiet', `--message=${text}`);
}
