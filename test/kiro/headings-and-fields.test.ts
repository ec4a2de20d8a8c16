import { describe, expect, it } from 'vitest';
import { parseTasks } from '../../src/kiro/parse-tasks.ts';
import { found, outline, units as unitsIn } from './support.ts';

const task = (text: string, id: string) => parseTasks(text).byId.get(id);

describe('a heading below the box of its task', () => {
  it('is a note: neither a duplicate nor the parent of what follows', () => {
    const text =
      '- [x] 1. A\n  - [x] 1.1 B\n\n### Task 1.1 results\n\n- fast enough\n\n### Task 1: notes\n\nText.\n\n- [ ] 2. C\n\n### Task 2 results\n';
    expect(found(text)).toEqual([]);
    expect(outline(parseTasks(text).tasks)).toEqual(['1: A', '  1.1: B', '2: C']);
    expect(task(text, '1.1')?.details).toEqual([]);
  });

  it('has no tasks without a number below it, which is a warning', () => {
    const text = '- [ ] 1.1 B\n\n### Task 1.1 results\n\n- [x] all tests pass\n- [ ] 1.2 C\n';
    expect(found(text)).toEqual(['3 checklist']);
    expect(outline(parseTasks(text).tasks)).toEqual(['1.1: B', '1.2: C']);
  });

  it('may have a numbered list of boxes, which is the same warning', () => {
    const text = '- [x] 1. A\n- [ ] 2. B\n\n### Task 1 results\n\n1. [ ] again\n2. [x] and\n3. [ ] again\n';
    expect(found(text)).toEqual(['4 checklist']);
    expect(outline(parseTasks(text).tasks)).toEqual(['1: A', '2: B']);
    const next = '- [x] 1. A\n\n### Task 1 results\n\n2. [ ] B\n';
    expect(outline(parseTasks(next).tasks)).toEqual(['1: A', '2: B']);
  });

  it.each([
    [
      'that repeat numbers',
      '- [x] 1. A\n  - [x] 1.1 B\n- [ ] 2. C\n\n### Task 1.1 results\n\n- [x] 1. again\n  - [x] 1.1 part\n- [ ] 2. C\n- [ ] 3. D\n',
      ['1: A', '  1.1: B', '2: C'],
      ['5 checklist'],
    ],
    [
      'in a spec of headings',
      '### Task 1.1: A\n- [ ] a\n\n### Task 1.1 results\n- [x] 1. again\n- [ ] 2. more\n',
      ['1.1: A', '  1.1.a: a'],
      ['4 checklist'],
    ],
    [
      'below a heading of its own',
      '- [ ] 1. A\n\n### Task 1 results\n\n#### Runs\n\n- [x] fast\n- [ ] 1. again\n',
      ['1: A'],
      ['3 checklist'],
    ],
    [
      'of an ordered list',
      '1. [x] A\n2. [ ] B\n\n### Task 1 results\n\n1. [x] run\n2. [ ] check\n3. [ ] again\n',
      ['1: A', '2: B'],
      ['4 checklist'],
    ],
    [
      'but not those that continue',
      '- [ ] 1. A\n  - [x] 1.2 B\n\n### Task 1.2 results\n\n- [ ] 1.1 C\n- [ ] 2. D\n  - [ ] d\n',
      ['1: A', '  1.2: B', '  1.1: C', '2: D', '  2.d: d'],
      [],
    ],
  ])('has boxes as part of it: %s', (_name, text, tasks, problems) => {
    expect(outline(parseTasks(text).tasks)).toEqual(tasks);
    expect(found(text)).toEqual(problems);
  });

  it('is a note with a warning where no task has its number', () => {
    const text = '- [x] 1. A\n\n### Task 1.1 Completion Report (fine)\n\n- [x] checked\n- [ ] 2. B\n';
    expect(outline(parseTasks(text).tasks)).toEqual(['1: A', '2: B']);
    expect(found(text)).toEqual(['3 checklist', '3 empty-heading']);
  });

  it('is a note above it, too, where it has no title of its own', () => {
    const text = '- [x] 1. A\n\n## Task 2 Completion Report\n\nFine.\n\n- [ ] 2. B\n  - [ ] b\n- [ ] 3. C\n';
    expect(outline(parseTasks(text).tasks)).toEqual(['1: A', '2: B', '  2.b: b', '3: C']);
    const parts = '### Task 1 Report\n- [ ] 1. a\n- [ ] 2. b\n\n### Task 2: B\n- [ ] 1. c\n';
    expect(outline(parseTasks(parts).tasks)).toEqual([
      '1: Report',
      '  1.1: a',
      '  1.2: b',
      '2: B',
      '  2.1: c',
    ]);
  });

  it.each([
    'Task 2: B (✅ DONE)',
    'Task 2: B (✔️)',
    '~~Task 2: B~~',
    'Task 2: ~~B~~',
    '✅ Task 2: B',
    'Task 2: B ✅',
  ])('is done as %s', (heading) =>
    expect(task(`### Task 1: A\n- [ ] a\n\n### ${heading}\n`, '2')).toMatchObject({
      title: 'B',
      done: true,
    }),
  );

  it('with the title of the task has its details, as below an overview', () => {
    const text = '- [ ] 1.1 B\n- [ ] 1.2 C\n\n### Task 1.1: B\n\n- Use a map\n- _Requirements: 2.1_\n';
    expect(task(text, '1.1')).toMatchObject({ details: ['Use a map'], requirements: [{ id: '2.1' }] });
  });

  it('is a note below a heading with boxes, too', () => {
    const text = '### Task 1: A\n- [ ] a\n\n### Task 2: B\n- [x] b\n\n### Task 1 results\n\n- fast\n';
    expect(found(text)).toEqual([]);
    expect(outline(parseTasks(text).tasks)).toEqual(['1: A', '  1.a: a', '2: B', '  2.b: b']);
  });

  it.each([
    [
      'below its heading',
      '### Task 1.3: C\n\n#### Task 1.3 again\n\nfast\n\n- [ ] 1.4 D\n',
      ['1.3: C', '1.4: D'],
      [],
    ],
    ['in a file without boxes', '### 1.3 C\n\n### 1.3 results\n', ['1.3: C'], ['1 no-boxes']],
    ['without `:`', '### Task 1: A\n\n### Task 1 load test results\n\n### Task 2: B\n', ['1: A', '2: B'], []],
    [
      'with boxes of its own',
      '### Task 1: A\n- [ ] a\n\n### Task 1: A — Summary\n- [x] summarized\n',
      ['1: A', '  1.a: a'],
      ['4 checklist'],
    ],
  ])('that reports on it is a note, too: %s', (_name, text, tasks, problems) => {
    expect(found(text)).toEqual(problems);
    expect(outline(parseTasks(text).tasks)).toEqual(tasks);
  });

  it('is a duplicate where the first has no box either, or both have one', () => {
    expect(found('### Task 1: A\n- [ ] a\n\n### Task 1: B\n- [ ] b\n')).toEqual(['4 duplicate-id']);
    expect(found('### Task 1: A\n\n### Task 1: B\n')).toEqual(['3 duplicate-id']);
    expect(found('### Task 1: A\n\n### Task 1: Write the report\n')).toEqual(['3 duplicate-id']);
    expect(found('- [ ] 1. A\n\n### [ ] Task 1: B\n')).toEqual(['3 duplicate-id']);
  });
});

describe('boxes below a heading that is a task', () => {
  it('are tasks of their own where they continue its number', () => {
    const text =
      '- [ ] 1. A\n\n### Task 2: B\n\nText.\n\n- [ ] 3. C\n- [ ] 4. D\n  - _Depends: 3_\n- [ ] 5. E\n';
    expect(found(text)).toEqual([]);
    expect(outline(parseTasks(text).tasks)).toEqual(['1: A', '2: B', '3: C', '4: D', '5: E']);
  });

  it('are tasks of their own where their number is not below its number', () => {
    const text =
      '- [ ] 1.1 A\n- [ ] 1.2 B\n\n### Task 1.3: C\n\nText.\n\n- [ ] 1.4 D\n  - _Blocked: legal_\n- [ ] 1.5 E\n  - _Depends: 1.4_\n- [ ] 2. F\n';
    expect(found(text)).toEqual([]);
    expect(outline(parseTasks(text).tasks)).toEqual([
      '1.1: A',
      '1.2: B',
      '1.3: C',
      '1.4: D',
      '1.5: E',
      '2: F',
    ]);
    for (const unit of ['leaf', 'parent'] as const) {
      const { units } = unitsIn(text, { unit });
      expect(units.map(({ id }) => id)).toEqual(['1.1', '1.2', '1.3', '1.4', '1.5', '2']);
      expect(units.flatMap(({ id, blocked }) => (blocked === null ? [] : id))).toEqual(['1.4']);
    }
  });

  it('are parts of it where they count from one', () => {
    const text = '### Task 1: A\n\n- [ ] 1. B\n- [ ] 2. C\n- [ ] 3. D\n';
    expect(outline(parseTasks(text).tasks)).toEqual(['1: A', '  1.1: B', '  1.2: C', '  1.3: D']);
  });
});

describe('a check mark in a heading', () => {
  it.each([
    ['### ✅ Task 1.2: X', '1.2: X'],
    ['### Task 1.2 ✅: X', '1.2: X'],
    ['### COMPLETED Task 1.2: X', '1.2: X'],
    ['### Task 1.2 (✅): X', '1.2: X'],
    ['### Task 1.2: ✅ X', '1.2: X'],
    ['### Task 1.2 - ✅ X', '1.2: X'],
    ['### Task 1.2 – ✅ – X', '1.2: X'],
    ['### **Task 1.2:** ✅ X', '1.2: X'],
    ['### Task 1.2: X ✅', '1.2: X'],
    ['### ✅ **Task 1.2**: X', '1.2: X'],
    ['### 🚀 ✔️ Task 1.2: X', '1.2: X'],
    ['### ✅ 1.2 X', '1.2: X'],
  ])('%s is a task that is done', (heading, wanted) => {
    const { tasks } = parseTasks(`${heading}\n\n- detail\n`);
    expect(outline(tasks)).toEqual([wanted]);
    expect(tasks[0]).toMatchObject({ mark: 'done', done: true });
  });

  it('of another kind says nothing', () => {
    expect(task('### 🚀 Task 1.2: X\n', '1.2')).toMatchObject({ done: false, title: 'X' });
  });
});

describe('a numbered heading without boxes beside headings with boxes', () => {
  it('is a task where it says so', () => {
    const text = '## Task 1: A\n\n- [ ] a\n\n## Task 2: B\n\nText.\n\n## Task 3: C\n\n- [ ] c\n';
    expect(found(text)).toEqual([]);
    expect(outline(parseTasks(text).tasks)).toEqual(['1: A', '  1.a: a', '2: B', '3: C', '  3.c: c']);
  });

  it.each([
    [
      'by its number',
      '## 1. A\n\n- [ ] 1.1 a\n\n## 2. B\n\nText.\n\n## 3. C\n\n- [ ] 3.1 c\n',
      ['5 empty-heading'],
    ],
    [
      'of a phase',
      '## Phase 1\n- [ ] 1.1 a\n## Phase 2\n- Text\n## Phase 3\n- [ ] 3.1 c\n',
      ['3 empty-heading'],
    ],
    [
      'above the next box',
      '- [ ] 1. A\n\n### 2. B\n\nText.\n\n- [ ] 3. C\n- [ ] 4. D\n',
      ['3 empty-heading'],
    ],
    ['above the next part', '- [ ] 1.2 A\n\n### 1.3 B\n\nText.\n\n- [ ] 1.4 C\n', ['3 empty-heading']],
    [
      'not one that groups tasks counted through',
      '## 1. A\n- [ ] 1. a\n- [ ] 2. b\n\n## 2. B\n- [ ] 3. c\n',
      [],
    ],
    ['at the end', '# 1\n\n### 1.1 A\n- [ ] a\n### 1.2 B\n', ['5 empty-heading']],
    ['not one without a number', '## 1. A\n\n- [ ] 1.1 a\n\n## Notes\n\nText.\n', []],
    ['not one on another level', '# 1. Plan\n\n## 1. A\n\n- [ ] 1.1 a\n\n### 2. Text\n', []],
    ['not one about a task that has a box', '- [ ] 1. A\n- [ ] 2. B\n\n## 3. C\n- [ ] c\n\n## 1. More\n', []],
  ])('is a warning: %s', (_name, text, wanted) => {
    expect(found(text)).toEqual(wanted);
  });
});

describe('several fields on one line', () => {
  it('are read one by one', () => {
    const text = '- [ ] 1.1 A\n- [ ] 1.2 B\n  - _Depends: 1.1_  _Boundary: x_  _Requirements: 3.1_\n';
    expect(task(text, '1.2')).toMatchObject({
      dependsOn: [{ id: '1.1', line: 3 }],
      requirements: [{ id: '3.1', line: 3 }],
      fields: { boundary: ['x'] },
      details: ['_Boundary: x_'],
    });
  });

  it.each([
    ['_Boundary: a_, **Files:** b.ts', { boundary: ['a'], files: ['b.ts'] }],
    ['_Boundary: my_long_name_ | _Verify: `npm test`_', { boundary: ['my_long_name'], verify: ['npm test'] }],
    ['_Boundary: a_ and _b_: c', { boundary: ['a and _b_: c'] }],
  ])('%s', (line, fields) => {
    expect(task(`- [ ] 1. A\n  - ${line}\n`, '1')?.fields).toEqual(fields);
  });
});

describe('`_Blocked: reason_`', () => {
  it.each([
    ['of a task', '- [ ] 1. A\n  - _Blocked: no key yet_\n', 'no key yet'],
    ['of a part', '- [ ] 1. A\n  - [ ] 1.1 B\n    - **Blocked:** legal\n  - [ ] 1.2 C\n', 'legal'],
    ['of the parent', '- [ ] 1. A\n  - _Blocked: legal_\n  - [ ] 1.1 B\n', 'legal'],
    ['twice', '- [ ] 1. A\n  - _Blocked: legal_\n  - [ ] 1.1 B\n    - _Blocked: key_\n', 'key; legal'],
    ['of a part that is done', '- [ ] 1. A\n  - [x] 1.1 B\n    - _Blocked: legal_\n  - [ ] 1.2 C\n', null],
    ['of an optional part', '- [ ] 1. A\n  - [ ]* 1.1 B\n    - _Blocked: legal_\n  - [ ] 1.2 C\n', null],
    ['with nothing', '- [ ] 1. A\n  - _Blocked: none_\n', null],
    ['without a reason', '- [ ] 1. A\n  - _Blocked:_\n', null],
  ])('%s', (_name, text, blocked) => {
    const { units, problems } = unitsIn(text);
    expect(units[0]?.blocked).toBe(blocked);
    expect(problems.map(({ code }) => code)).toEqual(blocked === null ? [] : ['spec/blocked']);
  });

  it.each([
    ['in the title', '- [ ] 1. A _Blocked: foo_bar baz_\n', ['1 not-blocked']],
    ['without a reason', '- [ ] 1. A\n  - _Blocked:_\n', ['1 not-blocked']],
    ['in the title of a task that is done', '- [x] 1. A _Blocked: legal_\n', []],
    ['with nothing', '- [ ] 1. A\n  - _Blocked: none_\n', []],
  ])('that blocks nothing is a warning: %s', (_name, text, wanted) => {
    expect(found(text)).toEqual(wanted);
  });
});
