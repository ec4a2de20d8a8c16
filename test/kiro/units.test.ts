import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sayUnits, units } from './support.ts';

const PLAN = `
- [x] 1. Base
- [ ] 2. Store
  - [x] 2.1 Table
  - [ ] 2.2 Queries
  - [ ]* 2.3 Tests
- [ ] 3. Page
  - _Depends: 2_
  - [ ] 3.1 Form
  - [ ] 3.2 List
    - _Depends: 2.2_
- [ ]* 4. Extras
- [ ] 5. Release
`;

describe('unitsOf', () => {
  const rows: [string, Parameters<typeof units>[1], string][] = [
    ['takes parents with what is in them', {}, '1(1)✓ 2(2.1 2.2) 3(3.1 3.2) 5(5)'],
    ['takes optional tasks along', { includeOptional: true }, '1(1)✓ 2(2.1 2.2 2.3) 3(3.1 3.2) 4(4) 5(5)'],
    ['takes leaves one by one', { unit: 'leaf' }, '1(1)✓ 2.1(2.1)✓ 2.2(2.2) 3.1(3.1) 3.2(3.2) 5(5)'],
    ['takes only what is named', { only: ['3', '2.2'] }, '2(2.2) 3(3.1 3.2)'],
    ['takes an optional task that is named', { only: ['2.3', '4'] }, '2(2.3) 4(4)'],
    ['takes nothing optional of a parent that is named', { only: ['2'] }, '2(2.1 2.2)'],
    ['begins where it is told', { from: '3.2' }, '3(3.2) 5(5)'],
    ['begins at a whole unit', { from: '2' }, '2(2.1 2.2) 3(3.1 3.2) 5(5)'],
    ['leaves out what is named', { skip: ['3.1', '5', '1'] }, '2(2.1 2.2) 3(3.2)'],
    ['leaves out what is in it', { skip: ['3'], unit: 'leaf' }, '1(1)✓ 2.1(2.1)✓ 2.2(2.2) 5(5)'],
    ['combines all of it', { from: '2', skip: ['5'], only: ['2', '5'] }, '2(2.1 2.2)'],
  ];
  it.each(rows)('%s', (_name, options, wanted) => {
    expect(sayUnits(units(PLAN, options))).toBe(wanted);
  });

  it('knows what is left, and what waits for what', () => {
    const parents = units(PLAN).units;
    expect(
      parents.map(({ id, open, after }) => [id, open.map((task) => task.id).join(' '), after.join(' ')]),
    ).toEqual([
      ['1', '', ''],
      ['2', '2.2', ''],
      ['3', '3.1 3.2', '2'],
      ['5', '5', ''],
    ]);
    const leaves = units(PLAN, { unit: 'leaf' }).units;
    expect(leaves.find(({ id }) => id === '3.1')?.after).toEqual(['2.1', '2.2']);
  });

  it('waits for nothing that was left out', () => {
    expect(units(PLAN, { from: '3' }).units[0]).toMatchObject({ id: '3', after: [] });
  });

  it('refuses a selection of tasks that are not there', () => {
    for (const options of [{ only: ['2.9'] }, { skip: ['2.9'] }, { from: '2.9' }])
      expect(() => units(PLAN, options)).toThrow(/there is no task "2.9"\. Did you mean/);
    expect(() => units(PLAN, { from: '3', skip: ['3'] })).toThrow(/not among those/);
  });

  it('says when a part of a dependency is left out', () => {
    const text =
      '- [ ] 1. A\n  - [ ] 1.1 B\n  - [ ] 1.2 C\n  - [ ]* 1.3 D\n- [ ] 2. E\n  - _Depends: 1.1_\n- [ ] 3. F\n  - _Depends: 1_\n- [ ] 4. G\n  - _Depends: 1.2_\n';
    const say = (options: Parameters<typeof units>[1]) =>
      units(text, options).problems.map(({ message }) => message);
    expect(say({})).toEqual([]);
    const wanted = [
      'Task 2 depends on 1.1, which is not selected and not done: the run does not wait for it.',
      'Task 3 depends on 1, of which 1.1 is not selected and not done: the run does not wait for it.',
    ];
    expect(say({ skip: ['1.1'] })).toEqual(wanted);
    expect(say({ only: ['1.2', '2', '3', '4'] })).toEqual(wanted);
    expect(say({ skip: ['1.1'], unit: 'leaf' })).toEqual([wanted[0]]);
  });

  it('says when a dependency is left out', () => {
    const text = '- [ ]* 1. A\n- [ ] 2. B\n  - _Depends: 1_\n- [ ] 3. C\n  - _Depends: 2_\n';
    const say = (options: Parameters<typeof units>[1]) =>
      units(text, options).problems.map(({ message }) => message);
    expect(say({})).toEqual([expect.stringContaining('depends on 1, which is optional and not included')]);
    expect(say({ includeOptional: true })).toEqual([]);
    expect(say({ only: ['3'] })).toEqual([expect.stringContaining('depends on 2, which is not selected')]);
  });

  it('says when only the leaves can be ordered', () => {
    const text =
      '- [ ] 1. A\n  - [ ] 1.1 B\n  - [ ] 1.2 C\n    - _Depends: 2.1_\n- [ ] 2. D\n  - [ ] 2.1 E\n    - _Depends: 1.1_\n';
    expect(units(text).problems).toMatchObject([{ code: 'spec/unit-cycle', severity: 'error', line: 1 }]);
    const leaves = units(text, { unit: 'leaf' });
    expect(leaves.problems).toEqual([]);
    expect(sayUnits(leaves)).toBe('1.1(1.1) 2.1(2.1) 1.2(1.2)');
  });

  it('gives a parent that has only optional children its own work', () => {
    const text = '- [ ] 1. A\n  - [ ]* 1.1 Test\n';
    expect(sayUnits(units(text, { unit: 'leaf', includeOptional: true }))).toBe('1(1) 1.1(1.1)');
    expect(units(text, { unit: 'leaf', includeOptional: true }).units[1]?.after).toEqual(['1']);
    expect(sayUnits(units(text, { includeOptional: true }))).toBe('1(1 1.1)');
  });

  it('takes a task that is named at its own word, not at that of its parent', () => {
    const text = '- [x] 1. A\n  - [ ] 1.1 B\n  - [ ] 1.2 C\n';
    expect(sayUnits(units(text))).toBe('1(1.1 1.2)✓');
    expect(sayUnits(units(text, { only: ['1.2'] }))).toBe('1(1.2)');
  });

  it('follows waves, and dependencies before them', () => {
    const graph = '\n## Task Dependency Graph\n\n```json\n{"waves":[["3"],["1"],["2"]]}\n```\n';
    expect(sayUnits(units(`- [ ] 1. A\n- [ ] 2. B\n- [ ] 3. C\n${graph}`))).toBe('3(3) 1(1) 2(2)');
    expect(sayUnits(units(`- [ ] 1. A\n- [ ] 2. B\n- [ ] 3. C\n  - _Depends: 2_\n${graph}`))).toBe(
      '1(1) 2(2) 3(3)',
    );
  });

  it('never puts a unit before what it waits for, and loses none', () => {
    const task = fc.record({
      depends: fc.array(fc.nat({ max: 19 }), { maxLength: 3 }),
      children: fc.nat({ max: 3 }),
    });
    fc.assert(
      fc.property(
        fc.array(task, { minLength: 1, maxLength: 20 }),
        fc.constantFrom('parent', 'leaf'),
        (plan, unit) => {
          const text = plan
            .map(({ depends, children }, index) =>
              [
                `- [ ] ${index + 1}. Task`,
                ...depends.filter((on) => on < index).map((on) => `  - _Depends: ${on + 1}_`),
                ...Array.from({ length: children }, (_, child) => `  - [ ] ${index + 1}.${child + 1} Child`),
              ].join('\n'),
            )
            .reverse()
            .join('\n');
          const { units: list, problems } = units(text, { unit });
          expect(problems).toEqual([]);
          const place = new Map(list.map(({ id }, index) => [id, index]));
          for (const { id, after } of list)
            for (const before of after) expect(place.get(before)).toBeLessThan(place.get(id) ?? -1);
          const leaves = plan.reduce((sum, { children }) => sum + Math.max(1, children), 0);
          expect(list.reduce((sum, { work }) => sum + work.length, 0)).toBe(leaves);
        },
      ),
    );
  });
});
