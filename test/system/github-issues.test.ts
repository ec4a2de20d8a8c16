import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import type { Listed } from '../../src/issues/work-item.ts';
import { FakeGh } from '../support/gh/fake-gh.ts';
import { git, it, type World } from '../support/index.ts';
import { GithubApi } from './github-api.ts';

/** A repository with issues, read through the real GitHub CLI. */
async function issues(world: World, origin = 'git@github.localhost:acme/web.git') {
  git(world.repo, 'remote', 'add', 'origin', origin);
  const gh = new FakeGh(join(world.dir, 'github'), { host: 'github.localhost' });
  gh.issues(
    {
      number: 1,
      title: 'Cache {{ title }} $(id)',
      body: '## Acceptance criteria\n- it is fast\n',
      labels: ['bug', 'area:cache'],
      milestone: 'v1',
      subIssues: [2, 3],
    },
    { number: 2, title: 'Read', parent: 1, blockedBy: [3, 'acme/lib#7'], labels: ['bug'], milestone: 'v1' },
    { number: 3, title: 'Write', parent: 1, labels: ['chore'] },
    { number: 4, title: 'Old', labels: ['bug'], state: 'CLOSED', milestone: 'v1' },
  );
  const api = await GithubApi.start(gh);
  world.config({ ghCommand: 'gh' });
  const run = (...args: string[]) => world.start(args, api.env, world.repo).ended;
  const imported = async (...args: string[]) => {
    const { code, out, err } = await run('import', ...args);
    if (out === '') throw new Error(err);
    return { code, err, ...(JSON.parse(out) as Listed) };
  };
  return { gh, api, run, imported };
}

const numbers = ({ items }: Listed) => items.map(({ number }) => number);

describe('issues through the real GitHub CLI', () => {
  it('are read with labels, milestone, sub-issues and what blocks them, all in one question', async ({
    world,
  }) => {
    const { api, imported } = await issues(world);
    try {
      const { code, err, items, problems } = await imported('1', '#2', 'acme/web#4');
      expect({ code, err, problems }).toEqual({ code: 0, err: '', problems: [] });
      expect(items).toMatchObject([
        {
          key: 'github:github.localhost/acme/web#1',
          id: '1',
          title: 'Cache {{ title }} $(id)',
          labels: ['bug', 'area:cache'],
          acceptanceCriteria: ['it is fast'],
          milestone: 'v1',
          state: 'open',
          subIssues: ['github:github.localhost/acme/web#2', 'github:github.localhost/acme/web#3'],
        },
        {
          number: 2,
          parent: 'github:github.localhost/acme/web#1',
          dependsOn: ['github:github.localhost/acme/web#3', 'github:github.localhost/acme/lib#7'],
        },
        { number: 4, state: 'closed' },
      ]);
      expect(api.requests).toEqual([
        expect.stringMatching(/^POST http:\/\/api\.github\.localhost\S*\/graphql$/),
      ]);
    } finally {
      await api.close();
    }
  });

  it('are read page by page', async ({ world }) => {
    const { gh, api, imported } = await issues(world);
    try {
      const many = Array.from({ length: 120 }, (_, index) => index + 100);
      gh.issues(...many.map((number) => ({ number, title: `Part ${number}`, parent: 5 })));
      gh.issues({ number: 5, title: 'Large', subIssues: many });
      const { items } = await imported('5');
      expect(items[0]?.subIssues).toEqual(many.map((number) => `github:github.localhost/acme/web#${number}`));
      const listed = await imported('github', '--limit', '110');
      expect(numbers(listed)).toEqual([1, 2, 3, ...many.slice(0, 107)]);
      expect(listed.more).toBe(true);
    } finally {
      await api.close();
    }
  });

  it('are listed by label, milestone and state', async ({ world }) => {
    const { api, imported } = await issues(world);
    try {
      expect(numbers(await imported('github', '--label', 'bug'))).toEqual([1, 2]);
      expect(numbers(await imported('github', '--label', 'bug', '--label', 'area:cache'))).toEqual([1]);
      expect(numbers(await imported('github', '--milestone', 'V1', '--state', 'all'))).toEqual([1, 2, 4]);
      const wrong = await imported('github', '--milestone', 'v11');
      expect(wrong).toMatchObject({ code: 1, items: [], problems: [{ code: 'source/milestone' }] });
      expect(wrong.err).toContain('acme/web has no milestone "v11".\n   Did you mean "v1"?');
    } finally {
      await api.close();
    }
  });

  it('become plans that wait for their blockers and sub-issues', async ({ world }) => {
    const { api, run } = await issues(world);
    try {
      const { code, out, err } = await run('plan', 'new', 'p', '--from', '1', '2', '3');
      expect(code, out + err).toBe(0);
      const waits = world.readPlan('p').tickets.map(({ ticketId, blockedBy }) => [ticketId, blockedBy]);
      expect(Object.fromEntries(waits)).toEqual({ 1: ['2', '3'], 2: ['3'], 3: [] });
      expect(world.ticket('p', '2').title).toBe('Read');
    } finally {
      await api.close();
    }
  });

  it('that are missing are told beside those that are there', async ({ world }) => {
    const { api, imported } = await issues(world);
    try {
      const { code, err, items, problems } = await imported('3', '77', 'acme/none#1');
      expect(code).toBe(1);
      expect(items).toMatchObject([{ number: 3 }]);
      expect(problems).toMatchObject([
        { reference: '77', code: 'gh/not-found' },
        { reference: 'acme/none#1', code: 'gh/not-found' },
      ]);
      expect(err).toContain('#77 of github.localhost/acme/web does not exist, or you have no access to it.');
      expect(err).toContain('The repository github.localhost/acme/none does not exist');
    } finally {
      await api.close();
    }
  });

  it('of a server that knows no dependencies are read without them', async ({ world }) => {
    const { gh, api, imported } = await issues(world);
    try {
      gh.change((state) => void state.unknownFields.push('blockedBy', 'parent', 'subIssues'));
      const { code, items } = await imported('2');
      expect(code).toBe(0);
      expect(items).toMatchObject([{ number: 2, title: 'Read', milestone: 'v1', dependsOn: [] }]);
      expect(api.requests).toHaveLength(2);
    } finally {
      await api.close();
    }
  });

  it('are read one by one where our question is not understood', async ({ world }) => {
    const { api, imported } = await issues(world);
    try {
      api.refused = /\br0: repository\b/;
      const { code, err, items } = await imported('1', '3', '77');
      expect(items, err).toMatchObject([
        { number: 1, title: 'Cache {{ title }} $(id)', labels: ['bug', 'area:cache'], milestone: 'v1' },
        { number: 3, title: 'Write', labels: ['chore'], milestone: null },
      ]);
      expect(code).toBe(1);
      expect(err).toContain('#77 of github.localhost/acme/web does not exist');
    } finally {
      await api.close();
    }
  });

  it('say when a used-up budget is there again, and that nobody is logged in', async ({ world }) => {
    const { gh, api, imported } = await issues(world);
    try {
      gh.change((state) => Object.assign(state.rateLimit, { remaining: 0, resetAt: '2031-02-03T04:05:06Z' }));
      const limited = await imported('1');
      expect(limited).toMatchObject({
        code: 1,
        problems: [{ code: 'gh/rate-limited', resetAt: '2031-02-03T04:05:06.000Z' }],
      });
      expect(limited.err).toContain('until 2031-02-03T04:05:06.000Z: rate limit.');
      expect((await imported('github')).problems).toMatchObject([{ code: 'gh/rate-limited' }]);
      const { GH_TOKEN: _, ...env } = api.env;
      const out = await world.start(['import', '1'], env, world.repo).ended;
      expect(out.code).toBe(1);
      expect(out.err).toContain('gh auth login --hostname github.localhost');
    } finally {
      await api.close();
    }
  });

  it('of a repository behind a name of ssh are found', async ({ world }) => {
    const { api, run } = await issues(world, 'git@work:acme/web.git');
    try {
      const ssh = join(world.dir, 'bin', 'ssh');
      writeFileSync(ssh, '#!/bin/sh\n[ "$1" = -G ] && echo "hostname github.localhost"\n');
      chmodSync(ssh, 0o755);
      const env = { ...api.env, PATH: `${join(world.dir, 'bin')}:${process.env.PATH}` };
      const { code, out, err } = await world.start(['import', '3'], env, world.repo).ended;
      expect(code, out + err).toBe(0);
      expect((JSON.parse(out) as Listed).items).toMatchObject([{ id: '3', title: 'Write' }]);
      git(world.repo, 'remote', 'set-url', 'origin', join(world.dir, 'origin.git'));
      const none = await run('import', '3');
      expect(none.err).toContain('has no remote on GitHub, so a plain issue number is not enough.');
    } finally {
      await api.close();
    }
  });
});
