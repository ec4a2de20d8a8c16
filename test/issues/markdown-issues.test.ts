import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type FetchResult, fetchItems } from '../../src/issues/fetch-work-items.ts';
import type { WorkItem } from '../../src/issues/work-item.ts';
import { checkout, scratch, write } from './scratch.ts';

const OPTIONS = { env: { PATH: process.env.PATH }, gh: 'no-such-gh' };

async function read(
  text: string | Uint8Array,
  name = 'my-issue.md',
): Promise<FetchResult & { file: string }> {
  const dir = scratch();
  const file = write(dir, name, text);
  return { ...(await fetchItems([name], { ...OPTIONS, cwd: dir })), file };
}

async function item(text: string, name?: string): Promise<WorkItem> {
  const { items, problems } = await read(text, name);
  expect(problems).toEqual([]);
  if (!items[0]) throw new Error('no item');
  return items[0];
}

const FULL = `---
id: login
title: Sign in
labels: [bug, "needs: care"]
date: 2030-01-01
---
# Another heading

Intro

## Description
Text

## Acceptance Criteria
- [ ] AC-1: It works

## Notes
More`;

describe('a Markdown file', () => {
  it('has its fields in the front matter and its text below', async () => {
    expect(await item(FULL)).toEqual({
      key: 'markdown:login',
      id: 'login',
      number: null,
      title: 'Sign in',
      body: 'Intro\n\n## Description\nText\n\n## Acceptance Criteria\n- [ ] AC-1: It works\n\n## Notes\nMore',
      labels: ['bug', 'needs: care'],
      acceptanceCriteria: ['AC-1: It works'],
      url: null,
      state: 'open',
      dependsOn: [],
      repository: null,
    });
  });

  it('says which files it will change', async () => {
    expect((await item('---\npaths: [src/a.ts, docs/**]\n---\n# A')).paths).toEqual(['src/a.ts', 'docs/**']);
  });

  it('reads the same with a byte order mark and other line ends', async () => {
    const plain = await item(FULL);
    expect(await item(`\ufeff${FULL.replaceAll('\n', '\r\n')}`)).toEqual(plain);
    expect(await item(FULL.replaceAll('\n', '\r'))).toEqual(plain);
  });

  it.each([
    ['the first heading', '\n# The title #\n\nText', 'The title', 'Text'],
    ['a heading of any level', 'Intro\n\n### The `title`\nText', 'The `title`', 'Intro\n\nText'],
    [
      'a heading with names in it',
      '# Add `foo_bar` to __init__.py: 2 * 3',
      'Add `foo_bar` to __init__.py: 2 * 3',
      '',
    ],
    ['a heading in bold', '# **The title**', 'The title', ''],
    ['a heading with a link', '# [ENG-1](https://x.example) The title', 'ENG-1 The title', ''],
    ['an underlined heading', 'The title\n=========\nText', 'The title', 'Text'],
    ['the file name, when sections come first', '## **Description:**\n\nText', 'my issue', 'Text'],
    [
      'the file name, below criteria',
      '## Acceptance Criteria\n- a',
      'my issue',
      '## Acceptance Criteria\n- a',
    ],
    ['the file name, without headings', 'Text', 'my issue', 'Text'],
    ['the file name, with an empty front matter', '---\n---\nText', 'my issue', 'Text'],
    ['no heading in code', '```\n# no\n```\n# Yes', 'Yes', '```\n# no\n```'],
    ['a title and a description', '# T\n\n## Description\n\nText', 'T', 'Text'],
    ['a rule on the first line', '---\n\n# T\nText', 'T', '---\n\nText'],
  ])('takes its title from %s', async (_, text, title, body) => {
    expect(await item(text)).toMatchObject({ id: 'my-issue', title, body });
  });

  it('has its path as key and a legal id when none is given', async () => {
    const { items, file } = await read('Text', 'Änderung Nr. 7!.MD');
    expect(items).toMatchObject([{ key: `markdown:${file}`, id: 'anderung-nr-7', title: 'Änderung Nr. 7!' }]);
    expect(await item('---\nid: 7\nlabels: a, b\n---\nText')).toMatchObject({ id: '7', labels: ['a', 'b'] });
  });

  it.each([
    ['---\ntitle: "x\n---\n', /my-issue\.md:\d+:\d+: /],
    ['---\n\ntitle: [\n---\n', /my-issue\.md:\d+:\d+: /],
    ['---\ntitle: x\nlabel: y\n---\n', /my-issue\.md:3:1: Unknown field "label"/],
    ['---\ndepends_on: y\n---\n', /my-issue\.md:2:1: Unknown field "depends_on"/],
    ['---\nid: ../x\n---\n', /my-issue\.md:2:5: The id "\.\.\/x" may contain only/],
    ['---\nid: [1]\n---\n', /my-issue\.md:2:5: The field "id" must be a text/],
    ['---\ntitle:\n---\n', /my-issue\.md:2:1: The field "title" has no value/],
    ['---\nlabels: {a: 1}\n---\n', /my-issue\.md:2:9: The field "labels" must be a list of texts/],
    ['---\nlabels:\n  - a\n  - [b]\n---\n', /my-issue\.md:4:5: The field "labels"/],
    ['---\ndependsOn: #12\n---\n', /my-issue\.md:2:1: The field "dependsOn" has no value/],
    ['---\ndependsOn:\n  - "a b"\n---\nText', /my-issue\.md:3:5: "a b" is not something to depend on/],
    ['---\n- a\n---\n', /my-issue\.md:2:1: The front matter is not a list of fields/],
    ['---\ntitle: x\nText', /my-issue\.md:1:1: The front matter is never closed/],
    ['---\na: &a [x]\nb: *c\n---\n', /my-issue\.md:3:\d+: /],
    [new Uint8Array([0x23, 0xff, 0xfe]), /my-issue\.md is not UTF-8 text/],
    ['a\0b', /my-issue\.md is not a text file/],
    ['x'.repeat(4 * 1024 * 1024 + 1), /my-issue\.md is larger than 4 MB/],
  ])('is refused, with the place, for %.40j', async (text, message) => {
    const { items, problems } = await read(text);
    expect(items).toEqual([]);
    expect(problems[0]?.message).toMatch(message);
    expect(problems[0]).toMatchObject({ reference: 'my-issue.md', hint: expect.stringMatching(/.+/) });
  });

  it('is bounded in what it gives on', async () => {
    const { body } = await item(`# T\n${'x'.repeat(1_000_000)}`);
    expect(body).toMatch(/^x{200000}\n\n\[800000 more characters were left out\.\]$/);
  });

  it('waits for files of the call by id or path, and for issues', async () => {
    const { dir, options } = checkout();
    write(dir, 'a.md', '---\nid: first\n---\nText');
    write(
      dir,
      'sub/b.md',
      '---\ndependsOn: [first, ../c.md, "#12", acme/api#3, ENG-4, later, ./gone.md]\n---\nText',
    );
    write(dir, 'c.md', 'Depends on: #7\n\n- Blocked by: ENG-9\n');
    const { items, problems } = await fetchItems(['sub/b.md', 'c.md', 'a.md'], options);
    expect(problems).toEqual([]);
    expect(items.map(({ dependsOn }) => dependsOn)).toEqual([
      [
        'markdown:first',
        `markdown:${join(dir, 'c.md')}`,
        'github:acme/web#12',
        'github:acme/api#3',
        'linear:ENG-4',
        'markdown:later',
        `markdown:${join(dir, 'sub/gone.md')}`,
      ],
      ['github:acme/web#7', 'linear:ENG-9'],
      [],
    ]);
  });

  it('waits for issues of a known host only', async () => {
    const { dir, options } = checkout('git@ghe.example.com:acme/web.git');
    write(dir, 'a.md', 'Depends on: https://ghe.example.com/acme/api/issues/3');
    write(dir, 'b.md', '---\ndependsOn: https://evil.example/a/b/issues/2\n---\nText');
    const { items, problems } = await fetchItems(['a.md', 'b.md'], options);
    expect(items.map(({ dependsOn }) => dependsOn)).toEqual([['github:ghe.example.com/acme/api#3']]);
    expect(problems[0]?.message).toMatch(/b\.md:2:12: Issues on evil\.example are not fetched/);
  });

  it('needs no forge, and says so only when it waits for a plain number', async () => {
    const dir = scratch();
    write(dir, 'a.md', '---\ndependsOn: [12]\n---\nText');
    write(dir, 'b.md', '---\nid: 12\n---\nText');
    const alone = await fetchItems(['a.md'], { ...OPTIONS, cwd: dir });
    expect(alone.items).toEqual([]);
    expect(alone.problems[0]?.message).toMatch(
      /a\.md:2:13: It depends on #12, .* is not in a git repository/,
    );
    const both = await fetchItems(['a.md', 'b.md'], { ...OPTIONS, cwd: dir });
    expect(both.problems).toEqual([]);
    expect(both.items[0]?.dependsOn).toEqual(['markdown:12']);
  });
});

describe('a file that says nothing', () => {
  it.each([
    ['an empty one', ''],
    ['blank lines', ' \n\n\t\n'],
    ['front matter without a title', '---\nid: x\nlabels: [bug]\n---\n\n'],
  ])('is no issue: %s', async (_, text) => {
    const { items, problems, file } = await read(text);
    expect(items).toEqual([]);
    expect(problems).toMatchObject([
      { message: `${file} does not say what is to be done.`, hint: expect.stringContaining('# Title') },
    ]);
  });

  it.each(['# Title\n', '---\ntitle: Title\n---\n', 'Text\n'])('is not %j', async (text) => {
    expect((await item(text)).title).not.toBe('');
  });
});
