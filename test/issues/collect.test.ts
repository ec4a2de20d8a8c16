import { describe, expect, it } from 'vitest';
import { collectWork } from '../../src/issues/collect-issues-and-spec-units.ts';
import type { WorkItem } from '../../src/issues/work-item.ts';
import { checkout, write } from './scratch.ts';

const waits = (items: readonly WorkItem[]) =>
  items.map(({ id, dependsOn }) => [id, ...dependsOn.map((key) => key.replace(/^.*[#:]/, ''))].join(' < '));

async function specItems(
  tasks: string,
  unit: 'parent' | 'leaf' = 'parent',
  more: Record<string, string> = {},
) {
  const { dir, options } = checkout();
  write(dir, 'spec/tasks.md', tasks);
  for (const [name, text] of Object.entries(more)) write(dir, `spec/${name}`, text);
  return collectWork(['spec'], { ...options, unit });
}

describe('units of a spec', () => {
  it('are items with their requirements as criteria and the files they name', async () => {
    const { items, problems } = await specItems(
      '- [x] 1. Done\n- [ ] 2. Count\n  - Keep it small\n  - _Requirements: 1.1_\n  - _Files: src/a.ts, src/b.ts_\n',
      'parent',
      {
        'requirements.md':
          '### Requirement 1: Counting\n\n#### Acceptance Criteria\n\n1. WHEN asked THEN it SHALL count\n2. No\n',
      },
    );
    expect(problems).toEqual([]);
    expect(items).toMatchObject([
      { id: '1', state: 'closed' },
      {
        id: '2',
        title: 'Count',
        state: 'open',
        acceptanceCriteria: ['1.1 WHEN asked THEN it SHALL count'],
        paths: ['src/a.ts', 'src/b.ts'],
      },
    ]);
    expect(items[1]?.key).toMatch(/^kiro:\/.*\/spec#2$/);
    expect(items[1]?.body).toMatch(/^- 2 Count\n {2}- Keep it small/);
    expect(items[1]?.body).toContain('## Requirements');
  });

  it.each([
    ['one after the other', '- [ ] 1. A\n- [ ] 2. B\n- [ ] 3. C\n', ['1', '2 < 1', '3 < 2']],
    ['as they say', '- [ ] 1. A\n- [ ] 2. B\n- [ ] 3. C\n  - _Depends: 1_\n', ['1', '2 < 1', '3 < 1']],
    [
      'side by side',
      '- [ ] 1. A\n- [ ] 2. (P) B\n- [ ] 3. (P) C\n- [ ] 4. D\n',
      ['1', '2 < 1', '3 < 1', '4 < 2 < 3'],
    ],
    ['for what is still to do', '- [ ] 1. A\n- [x] 2. B\n- [ ] 3. C\n', ['1', '2', '3 < 1']],
    [
      'for the rest of a group',
      '- [ ] 1. A\n- [x] 2. (P) B\n- [ ] 3. (P) C\n- [x] 4. D\n- [ ] 5. E\n',
      ['1', '2', '3 < 1', '4', '5 < 3'],
    ],
    [
      'wave by wave',
      '## Wave 1\n- [ ] 1. A\n- [ ] 2. B\n## Wave 2\n- [ ] 3. C\n- [ ] 4. D\n',
      ['1', '2', '3 < 1 < 2', '4 < 1 < 2'],
    ],
  ])('wait %s', async (_how, tasks, expected) => {
    expect(waits((await specItems(tasks)).items)).toEqual(expected);
  });

  it.each(['parent', 'leaf'] as const)('tell which optional tasks are left out (%s)', async (unit) => {
    const text = '- [ ] 1. A\n  - [ ] 1.1 B\n  - [ ]* 1.2 C\n  - [x]* 1.3 D\n- [ ]* 2. E\n- [ ] 3. F\n';
    const { items, notes } = await specItems(text, unit);
    expect(items.map(({ id }) => id)).toEqual(unit === 'leaf' ? ['1.1', '3'] : ['1', '3']);
    expect(notes).toEqual(['1.2 is optional and left out.', '2 is optional and left out.']);
    expect(items.map(({ body }) => body).join()).not.toMatch(/1\.2 C|2 E/);
  });

  it('are none when the spec has an error, which is told with its line', async () => {
    const { items, problems } = await specItems('- [ ] 1. A\n- [ ] 1. B\n');
    expect(items).toEqual([]);
    expect(problems).toMatchObject([
      { reference: 'spec', code: 'spec/broken', hint: 'See all of them with: signalbox spec check spec' },
    ]);
    expect(problems[0]?.message).toMatch(/tasks\.md:2: /);
  });
});

it('units that would be the same ticket as another are called after their spec', async () => {
  const { dir, options } = checkout();
  for (const name of ['alpha', 'beta']) write(dir, `${name}/tasks.md`, '- [ ] 1. A\n- [ ] 3. B\n');
  write(dir, 'gamma/tasks.md', '- [ ] 7. C\n');
  write(dir, 'one.md', '---\nid: "1"\n---\n# One\n');
  const ids = async (...from: string[]) => {
    const { items, problems } = await collectWork(from, options);
    return [...items.map(({ id }) => id), ...problems.map(({ code }) => code)];
  };
  expect(await ids('alpha', 'beta', 'gamma')).toEqual(['alpha-1', 'alpha-3', 'beta-1', 'beta-3', '7']);
  expect(await ids('alpha', 'one.md')).toEqual(['1', 'alpha-1', 'alpha-3']);
  expect(await ids('alpha', 'alpha')).toEqual(['1', '3']);
  write(dir, 'other/alpha/tasks.md', '- [ ] 3. D\n');
  expect(await ids('alpha', 'other/alpha')).toEqual(['alpha-1', 'alpha-3', 'source/same-id']);
});

it('a dependency that nobody waits for is told', async () => {
  const { items, notes } = await specItems('- [ ] 1. A\n- [ ]* 2. B\n- [ ] 3. C\n  - _Depends: 2_\n');
  expect(items.map(({ id }) => id)).toEqual(['1', '3']);
  expect(notes).toEqual([
    '2 is optional and left out.',
    expect.stringMatching(/tasks\.md:4: Task 3 depends on 2, which is optional/),
  ]);
});

it('everything that was named comes in one answer, and what cannot be had is a problem', async () => {
  const { dir, fake, options } = checkout();
  fake.issues({ number: 7, title: 'Seven' });
  write(dir, 'a.md', '# A\n');
  write(dir, 'spec/tasks.md', '- [ ] 1. T\n');
  const { items, problems } = await collectWork(['7', 'a.md', 'spec', 'nothing.md', '8'], options);
  expect(items.map(({ id }) => id)).toEqual(['7', 'a', '1']);
  expect(problems.map(({ reference }) => reference)).toEqual(['nothing.md', '8']);
});

it('files are relative to where one stands, numbers belong to the repository', async () => {
  const { dir, fake, options } = checkout();
  fake.issues({ number: 7, title: 'Seven' });
  const elsewhere = write(checkout('').dir, 'issues/a.md', '# A\n').replace('/issues/a.md', '');
  const { items } = await collectWork(['7', 'issues/a.md'], { ...options, cwd: dir, filesFrom: elsewhere });
  expect(items.map(({ id }) => id)).toEqual(['7', 'a']);
});
