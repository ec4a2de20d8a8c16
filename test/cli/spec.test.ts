import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import type { Unit } from '../../src/kiro/group-tasks-into-units.ts';
import type { SpecProblem, SpecTask } from '../../src/kiro/task-and-problem-types.ts';
import { errorIn, it, refusal, type World } from './support.ts';

interface Checked {
  ok: boolean;
  name: string;
  tasks: SpecTask[];
  units: (Pick<Unit, 'id' | 'title' | 'done' | 'after' | 'wave'> & { work: string[]; open: string[] })[];
  problems: SpecProblem[];
}

const TASKS = `# Plan

- [x] 1. Base
- [ ] 2. Store
  - [ ] 2.1 Table
    - _Requirements: 1.1_
  - [ ]* 2.2 Tests
- [ ] 3. Page
  - _Depends: 2.1_
`;

function spec(world: World, tasks: string): string {
  const dir = join(world.dir, 'specs', 'limits');
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, 'tasks.md'), tasks);
  writeFileSync(join(dir, 'requirements.md'), '### Requirement 1\n\n1. WHEN a THEN b\n');
  return dir;
}

describe.concurrent('spec check', () => {
  it('prints tasks, units and order', async ({ world }) => {
    const dir = spec(world, TASKS);
    const { code, out, err } = await world.cli('spec', 'check', dir);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toContain('limits (feature): 5 tasks, 1 done, 1 optional, 3 units, 2 to do');
    expect(out).toContain(
      '✓ 1  Base\n○ 2  Store\n  ○ 2.1  Table  (requirements 1.1)\n  ○ 2.2  Tests  (optional)\n○ 3  Page  (after 2.1)',
    );
    expect(out).toMatch(
      /1 {2}✓ {2}1 +Base +done\n2 {2}○ {2}2 +Store +1 of 1\n3 {2}○ {2}3 +Page +1 of 1 +2\n/,
    );
    expect(out).toMatch(/No problems\.\n$/);
    expect(readFileSync(join(dir, 'tasks.md'), 'utf8')).toBe(TASKS);
  });

  it('prints the same as JSON, for the selection that is asked for', async ({ world }) => {
    const dir = spec(world, TASKS);
    const flags = ['--unit', 'leaf', '--include-optional', '--from', '2', '--skip', '3,1'];
    const { code, out } = await world.cli('spec', 'check', dir, '--json', ...flags);
    const checked = JSON.parse(out) as Checked;
    expect(code).toBe(0);
    expect(checked).toMatchObject({ ok: true, name: 'limits', problems: [] });
    expect(checked.tasks.map(({ id, line }) => [id, line])).toEqual([
      ['1', 3],
      ['2', 4],
      ['3', 8],
    ]);
    expect(checked.units).toEqual([
      {
        id: '2.1',
        title: 'Table',
        done: false,
        after: [],
        wave: null,
        blocked: null,
        work: ['2.1'],
        open: ['2.1'],
      },
      {
        id: '2.2',
        title: 'Tests',
        done: false,
        after: [],
        wave: null,
        blocked: null,
        work: ['2.2'],
        open: ['2.2'],
      },
    ]);
  });

  it('ends with 5 and names the lines when there is an error', async ({ world }) => {
    const dir = spec(world, `${TASKS}- [ ] 3. Again\n  - _Depends: 8_\n`);
    const { code, out } = await world.cli('spec', 'check', dir);
    expect(code).toBe(5);
    expect(out).toMatch(
      /tasks\.md:10:1: error: Task 3 is defined twice; the first is on line 8\.\n {4}Give one/,
    );
    expect(out).toMatch(/tasks\.md:11:1: error: Task 3 depends on 8, which does not exist\./);
    expect(out).toMatch(/\n2 errors\.\n$/);
    expect((await world.cli('spec', 'check', spec(world, '# Nothing\n'))).code).toBe(5);
  });

  it('ends with 0 when there are only warnings', async ({ world }) => {
    const { code, out } = await world.cli(
      'spec',
      'check',
      spec(world, '- [ ] 1. A\n  - _Requirements: 9.9_\n'),
    );
    expect(code).toBe(0);
    expect(out).toMatch(/warning: Task 1 names unknown requirements: 9\.9\.\n\n1 warning\.\n$/);
  });

  it('never ends with a code that a run of a spec has a meaning for', async ({ world }) => {
    const dir = spec(world, TASKS);
    for (const args of [
      ['check', join(world.dir, 'nope')],
      ['check', world.dir],
      ['check', dir, '--only', '9'],
      ['check', dir, '--only', ','],
      ['check', dir, '--unit', 'branch'],
    ]) {
      const ended = await world.cli('spec', ...args);
      expect(ended.code, args.join(' ')).toBe(5);
      refusal(ended);
    }
    expect((await world.cli('spec', 'check')).code).toBe(5);
    expect((await world.cli('spec', 'check', dir, '--bogus')).code).toBe(5);
    const json = await world.cli('spec', 'check', join(world.dir, 'nope'), '--json');
    expect(errorIn(json)).toMatchObject({ code: 'spec/unknown' });
  });
});
