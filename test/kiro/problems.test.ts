import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { parseTasks } from '../../src/kiro/parse-tasks.ts';
import { idProblem } from '../../src/model/ids-and-branch-names.ts';
import { found, outline } from './support.ts';

describe('problems of tasks.md', () => {
  const rows: [string, string, string[]][] = [
    ['an empty file', '', ['1 no-tasks']],
    ['headings and prose', '# Plan\n\nSoon.\n\n- a thought\n', ['1 no-tasks']],
    ['only a legend', '# Legend\n- [ ] Not started\n- [x] Done\n', ['1 no-tasks']],
    ['an id that is there twice', '- [ ] 1. A\n- [ ] 2. B\n- [ ] 1. C\n', ['3 duplicate-id']],
    ['an unknown dependency', '- [ ] 1. A\n  - _Depends: 7_\n', ['2 unknown-dependency']],
    ['one in a range', '- [ ] 1. A\n- [ ] 2. B\n- [ ] 4. C\n  - Depends on: 1-3\n', ['4 unknown-dependency']],
    ['a dependency in words', '- [ ] 1. A\n  - _Depends: the database_\n', ['2 no-task']],
    ['a task that waits for itself', '- [ ] 1. A\n  - _Depends: 1_\n', ['2 cycle']],
    [
      'two that wait for each other',
      '- [ ] 1. A\n  - _Depends: 2_\n- [ ] 2. B\n  - _Depends: 1_\n',
      ['2 cycle'],
    ],
    ['a child that waits for its parent', '- [ ] 1. A\n  - [ ] 1.1 B\n    - _Depends: 1_\n', ['3 cycle']],
    ['a code block without an end', '- [ ] 1. A\n\n```sh\n- [ ] 2. B\n', ['3 unclosed']],
    ['a comment without an end', '- [ ] 1. A\n<!-- later\n- [ ] 2. B\n', ['2 unclosed']],
    ['a box without text', '- [ ] 1. A\n- [ ]\n', ['2 empty-task']],
    [
      'waves that name what is not there',
      '- [ ] 1. A\n\n## Task Dependency Graph\n\n```json\n{"waves":[["1"],\n["9"]]}\n```\n',
      ['7 unknown-dependency'],
    ],
    [
      'a graph that is not JSON',
      '- [ ] 1. A\n\n## Dependency Graph\n```json\n{"waves":[\n```\n',
      ['4 graph'],
    ],
  ];
  it.each(rows)('%s', (_name, text, wanted) => {
    expect(found(text)).toEqual(wanted);
  });

  it('name the cycle and the line to look at', () => {
    const [problem] = parseTasks(
      '- [ ] 1. A\n  - [ ] 1.1 B\n    - _Depends: 2_\n- [ ] 2. C\n  - [ ] 2.1 D\n    - _Depends: 1.1_\n',
      'spec/tasks.md',
    ).problems;
    expect(problem).toMatchObject({
      severity: 'error',
      file: 'spec/tasks.md',
      line: 3,
      message: 'Tasks wait for each other: 1.1 → 2 → 2.1 → 1.1.',
    });
  });

  it('suggest the id that was meant', () => {
    const text = '- [ ] 10.12 A\n- [ ] 2. B\n  - _Depends: 10.21_\n';
    expect(parseTasks(text).problems[0]?.message).toMatch(
      /10\.21, which does not exist\. Did you mean "10\.12"\?/,
    );
  });
});

describe('dependencies', () => {
  const rows: [string, string[]][] = [
    ['_Depends: 1, 2_', ['1', '2']],
    ['_Depends: -_', []],
    ['_Depends: None (first)_', []],
    ['_Dependencies: Task 1_', ['1']],
    ['**Depends on**: Tasks 1 and 2', ['1', '2']],
    ['depends on: 1 (the store), 2', ['1', '2']],
    ['Depends on 1', ['1']],
    ['Depends on the weather', []],
    ['_Depends: 1-3_', ['1', '2', '3']],
    ['_Depends: First_', ['1']],
    ['_依存: 1、2_', ['1', '2']],
    ['Blocked by: T1', ['1']],
  ];
  it.each(rows)('%s', (line, wanted) => {
    const { byId } = parseTasks(`- [ ] 1. First\n- [ ] 2. B\n- [ ] 3. C\n- [ ] 4. D\n  - ${line}\n`);
    expect(byId.get('4')?.dependsOn.map(({ id }) => id)).toEqual(wanted);
  });
});

describe('the star of 1.1*', () => {
  const text = '- [ ] 1.1* A\n- [ ]* 1.2 B\n';
  it('means optional', () => {
    expect(parseTasks(text).all.map(({ optional }) => optional)).toEqual([true, true]);
  });
});

describe('ids', () => {
  it('made of titles have letters without their accents', () => {
    expect(parseTasks('- [ ] Vérifier les clés\n').all[0]?.id).toMatch(/^verifier-les-cles-[0-9a-f]{6}$/);
  });

  it('of tasks without a number stay the same when others come and go', () => {
    const before = parseTasks('- [ ] One\n- [ ] Zwei Bäume\n');
    const after = parseTasks('- [ ] Zero\n- [ ] One\n- [ ] Half\n- [ ] Zwei Bäume\n');
    for (const { id, title } of before.all)
      expect(after.all.find((task) => task.title === title)?.id).toBe(id);
  });

  it('of lists that each begin at 1 are not taken for ids of tasks', () => {
    const { tasks, problems } = parseTasks('## A\n1. [ ] X\n2. [ ] Y\n## B\n1. [ ] Z\n');
    expect(outline(tasks)).toEqual(['x: X', 'y: Y', 'z: Z']);
    expect(problems).toEqual([]);
  });

  it('fit the rules for ids of tickets, whatever the titles are', () => {
    const title = fc.oneof(
      fc.string({ unit: 'grapheme' }),
      fc.constantFrom('Lock', '../..', '.lock', '1..2', '-x'),
    );
    const line = fc.tuple(fc.nat({ max: 3 }), fc.boolean(), title);
    fc.assert(
      fc.property(fc.array(line, { minLength: 1, maxLength: 10 }), (lines) => {
        const text = lines
          .map(
            ([depth, number, words], index) =>
              `${'  '.repeat(depth)}- [ ] ${number ? `${index}. ` : ''}${words}`,
          )
          .join('\n');
        for (const { id } of parseTasks(text).all) expect(idProblem(id), id).toBeUndefined();
      }),
    );
  });

  it('stay unique, short and fit for file names', () => {
    const long = 'word '.repeat(100);
    const text = Array.from({ length: 12 }, (_, depth) => `${'  '.repeat(depth)}- [ ] ${long}${depth}`).join(
      '\n',
    );
    const ids = parseTasks(text).all.map(({ id }) => id);
    expect(new Set(ids).size).toBe(12);
    for (const id of ids) expect(id).toMatch(/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/);
  });
});

describe('a long file', () => {
  /** How often patterns are tried: a measure of work that does not depend on the machine. */
  function work(count: number): number {
    const text = plan(count);
    const exec = vi.spyOn(RegExp.prototype, 'exec');
    try {
      expect(parseTasks(text).all).toHaveLength(count);
      return exec.mock.calls.length;
    } finally {
      exec.mockRestore();
    }
  }

  function plan(count: number): string {
    const tasks = Array.from({ length: count }, (_, index) => {
      const [parent, child] = [Math.floor(index / 10) + 1, index % 10];
      if (child === 0)
        return `- [ ] ${parent}. Parent\n  - _Depends: ${Math.max(1, parent - 1) === parent ? '-' : parent - 1}_`;
      return `  - [ ] ${parent}.${child} Child\n    - detail\n    - _Requirements: 1.${child}_`;
    });
    return `# Plan\n\n${tasks.join('\n')}\n`;
  }

  it('takes work in proportion to its length', { tags: 'full' }, () => {
    const [one, ten] = [work(500), work(5_000)];
    expect(ten / one).toBeGreaterThan(9);
    expect(ten / one).toBeLessThan(11);
  });

  it('of 5,000 tasks is read whole', { tags: 'full' }, () => {
    const { all, tasks, problems } = parseTasks(plan(5_000));
    expect([all.length, tasks.length, problems.length]).toEqual([5_000, 500, 0]);
    expect(all.at(-1)).toMatchObject({ id: '500.9', parent: '500', details: ['detail'] });
  });

  it('of tasks without numbers, all with the same title, too', { tags: 'full' }, () => {
    const { all } = parseTasks('- [ ] Same\n'.repeat(5_000));
    expect(new Set(all.map(({ id }) => id)).size).toBe(5_000);
  });

  it('may nest as deep as it likes', () => {
    const text = Array.from({ length: 500 }, (_, depth) => `${'  '.repeat(depth)}- [ ] Level`).join('\n');
    expect(parseTasks(text).all).toHaveLength(500);
  });

  it('of one endless line is read as well', () => {
    const text = `- [ ] 1. ${'*_[( '.repeat(50_000)}\n- [ ] 2. ${'9.'.repeat(50_000)}\n`;
    expect(parseTasks(text).all).toHaveLength(2);
  });
});
