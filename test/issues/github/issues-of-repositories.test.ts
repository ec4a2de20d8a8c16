import { describe, expect, it } from 'vitest';
import { fetchItems } from '../../../src/issues/fetch-work-items.ts';
import type { WorkItem } from '../../../src/issues/work-item.ts';
import { ENDINGS } from '../../support/gh/fake-gh.ts';
import { checkout } from '../scratch.ts';

const ISSUE = {
  number: 12,
  title: 'Sign in with a key',
  body: 'Why\n\nDepends on: #3, acme/api#4\n\n## Acceptance Criteria\n- [ ] AC-1: It works',
  labels: ['bug', 'depends-on/5'],
  blockedBy: [6, 'acme/api#7', 3],
  parent: 1,
  subIssues: [20, 'acme/api#21'],
  milestone: 'v2',
};

function by(items: WorkItem[], id: string): WorkItem | undefined {
  return items.find((item) => item.id === id);
}

describe('GitHub issues', () => {
  it('come with all their fields in one call', async () => {
    const { fake, options } = checkout();
    fake.issues(ISSUE);
    const { items, problems } = await fetchItems(['12'], options);
    expect(problems).toEqual([]);
    expect(items).toEqual([
      {
        key: 'github:acme/web#12',
        id: '12',
        number: 12,
        title: 'Sign in with a key',
        body: ISSUE.body,
        labels: ['bug', 'depends-on/5'],
        acceptanceCriteria: ['AC-1: It works'],
        url: 'https://github.com/acme/web/issues/12',
        state: 'open',
        dependsOn: [
          'github:acme/web#6',
          'github:acme/api#7',
          'github:acme/web#3',
          'github:acme/api#4',
          'github:acme/web#5',
        ],
        repository: 'acme/web',
        parent: 'github:acme/web#1',
        subIssues: ['github:acme/web#20', 'github:acme/api#21'],
        milestone: 'v2',
      },
    ]);
    expect(fake.calls().map(({ argv }) => argv.slice(0, 2).join(' '))).toEqual(['api graphql']);
  });

  it('of several repositories come in one call, in the order asked for, each once', async () => {
    const { fake, options } = checkout();
    fake.issues({ number: 1, title: 'One' }, { number: 2, title: 'Two', state: 'CLOSED' });
    fake.repository((repository) => repository.issues.push({ number: 1, title: 'Api' }), 'acme/api');
    fake.repository((repository) => repository.issues.push({ number: 1, title: 'Dot' }), 'acme/.github');
    const asked = ['#2', 'acme/api#1', '1', 'https://github.com/Acme/WEB/issues/2', 'acme/.github#1'];
    const { items, problems } = await fetchItems(asked, options);
    expect(problems).toEqual([]);
    expect(items.map(({ id, title, state, repository }) => [id, title, state, repository])).toEqual([
      ['2', 'Two', 'closed', 'acme/web'],
      ['api-1', 'Api', 'open', 'acme/api'],
      ['1', 'One', 'open', 'acme/web'],
      ['github-1', 'Dot', 'open', 'acme/.github'],
    ]);
    expect(fake.calls()).toHaveLength(1);
  });

  it('tells issues of the same name and number apart by their owner', async () => {
    const { fake, options } = checkout();
    for (const owner of ['ann', 'bob'])
      fake.repository((repository) => repository.issues.push({ number: 1, title: owner }), `${owner}/lib`);
    const { items } = await fetchItems(['ann/lib#1', 'bob/lib#1'], options);
    expect(items.map(({ id }) => id)).toEqual(['lib-1', 'bob-lib-1']);
  });

  it('keep their number as id when their repository was renamed', async () => {
    const { fake, options } = checkout('git@github.com:acme/old.git');
    fake.issues({ number: 1, title: 'One', body: 'Depends on: #2' }).repository((repository) => {
      repository.formerly = 'acme/old';
    });
    const { items } = await fetchItems(['1', 'acme/web#1'], options);
    expect(items).toMatchObject([{ id: '1', key: 'github:acme/web#1', dependsOn: ['github:acme/web#2'] }]);
  });

  it('do not wait for what is on a host that a stranger named', async () => {
    const { fake, options } = checkout();
    fake.issues({ number: 1, title: 'One', body: 'Depends on: https://evil.example/a/b/issues/2, #3' });
    const { items } = await fetchItems(['1'], options);
    expect(items[0]?.dependsOn).toEqual(['github:acme/web#3']);
  });

  it('are asked for by fifties', async () => {
    const { fake, options } = checkout();
    const numbers = Array.from({ length: 120 }, (_, index) => index + 1);
    fake.issues(...numbers.map((number) => ({ number, title: `Issue ${number}` })));
    const { items } = await fetchItems(numbers.map(String), options);
    expect(items.map(({ number }) => number)).toEqual(numbers);
    expect(fake.calls()).toHaveLength(3);
  });

  it('have all their labels and blockers, page by page, those of all issues together', async () => {
    const { fake, options } = checkout();
    const labels = Array.from({ length: 150 }, (_, index) => `label-${index}`);
    const blockedBy = Array.from({ length: 120 }, (_, index) => index + 100);
    fake.issues({ number: 1, title: 'A', labels, blockedBy }, { number: 2, title: 'B', labels });
    const { items, problems } = await fetchItems(['1', '2'], options);
    expect(problems).toEqual([]);
    expect(items.map((item) => item.labels.length)).toEqual([150, 150]);
    expect(by(items, '1')?.dependsOn).toHaveLength(120);
    expect(fake.calls()).toHaveLength(3);
  });

  it('are asked for again without what an older server does not know, and only once', async () => {
    const { fake, options } = checkout();
    fake.change((state) => {
      state.unknownFields = ['blockedBy', 'parent'];
    });
    const numbers = Array.from({ length: 60 }, (_, index) => index + 1);
    fake.issues(...numbers.map((number) => ({ ...ISSUE, number })));
    const { items } = await fetchItems(numbers.map(String), options);
    expect(items).toHaveLength(60);
    expect(by(items, '12')?.dependsOn).toEqual([
      'github:acme/web#3',
      'github:acme/api#4',
      'github:acme/web#5',
    ]);
    expect(by(items, '12')?.parent).toBeNull();
    expect(fake.calls()).toHaveLength(3);
  });

  it('are viewed one by one where GraphQL cannot be had', async () => {
    const { fake, options } = checkout();
    fake
      .issues(ISSUE, { number: 13, title: 'Next' })
      .fail({ call: 'api graphql', times: null, ...ENDINGS.noGraphql });
    const { items, problems } = await fetchItems(['12', '13', '99'], options);
    expect(items.map(({ id, title, labels }) => [id, title, labels])).toEqual([
      ['12', 'Sign in with a key', ['bug', 'depends-on/5']],
      ['13', 'Next', []],
    ]);
    expect(problems).toMatchObject([{ reference: '99', code: 'gh/not-found' }]);
    expect(fake.calls('issue view')).toHaveLength(3);
  });

  it('that are missing or pull requests are problems, and the others are still there', async () => {
    const { fake, options } = checkout();
    fake.issues({ number: 1, title: 'One' });
    fake.repository((repository) => {
      const pull = {
        number: 2,
        title: 'Pull',
        body: '',
        state: 'OPEN',
        isDraft: false,
        headRefName: 'a',
      } as const;
      const rest = {
        baseRefName: 'main',
        headRefOid: '',
        author: { login: 'x' },
        createdAt: '',
        updatedAt: '',
      };
      const lists = { labels: [], reviews: [], reviewThreads: [], comments: [], statusCheckRollup: [] };
      repository.pullRequests.push({
        ...pull,
        ...rest,
        ...lists,
        mergedAt: null,
        closedAt: null,
        mergeCommit: null,
      });
    });
    fake.repository((repository) => {
      repository.hidden = true;
    }, 'acme/secret');
    const { items, problems } = await fetchItems(['1', '2', '3', 'acme/secret#4', 'abc'], options);
    expect(items.map(({ id }) => id)).toEqual(['1']);
    expect(problems.map(({ reference, message }) => [reference, message])).toEqual([
      ['abc', '"abc" is not an issue reference.'],
      ['2', '#2 of acme/web is a pull request; an issue is wanted.'],
      ['3', '#3 of acme/web does not exist, or you have no access to it.'],
      ['acme/secret#4', 'The repository acme/secret does not exist, or you have no access to it.'],
    ]);
    for (const { hint } of problems) expect(hint).toBeTruthy();
    expect(fake.calls()).toHaveLength(1);
  });

  it('are data: templates, commands and terminal sequences stay text or are taken out', async () => {
    const { fake, options } = checkout();
    const hostile = '{{ secrets }} {% raw %} $(touch /tmp/x) `id` ; rm -rf / %s \\u0000';
    fake.issues({
      number: 1,
      title: `\u001b]0;owned\u0007\u001b[31m${hostile}\r\nSecond\u202e line`,
      body: `${hostile}\r\n\u001b[2J\u0000\u0007tail\n<script>`,
      labels: ['\u001b[1mbold', '--force'],
    });
    const { items } = await fetchItems(['1'], options);
    expect(items[0]?.title).toBe(`${hostile} Second line`);
    expect(items[0]?.body).toBe(`${hostile}\ntail\n<script>`);
    expect(items[0]?.labels).toEqual(['bold', '--force']);
  });

  it('have a bounded text, which says so, and a bounded title', async () => {
    const { fake, options } = checkout();
    const body = `${'\u{1f600}'.repeat(250_000)}${'x'.repeat(500_000)}`;
    fake.issues({ number: 1, title: 'y'.repeat(1_000), body });
    const { items } = await fetchItems(['1'], options);
    expect(items[0]?.title).toBe(`${'y'.repeat(299)}…`);
    expect(items[0]?.body.length).toBeLessThan(200_100);
    expect(items[0]?.body).toMatch(/\u{1f600}\n\n\[800000 more characters were left out\.\]$/u);
  });
});
