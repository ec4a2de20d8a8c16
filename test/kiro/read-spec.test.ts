import { describe, expect, it } from 'vitest';
import { unitsOf } from '../../src/kiro/group-tasks-into-units.ts';
import { readSpec } from '../../src/kiro/read-spec.ts';
import { promptParts } from '../../src/kiro/texts-for-unit-prompt.ts';
import { scratch, write } from '../issues/scratch.ts';

const TASKS = `# Plan

## Wave 1: Store
**Verify**: \`npm test -- store\` passes

- [ ] 1. Build the counter store
  - Keep it small
  - [x] 1.1 Table
  - [ ] 1.2 Queries
    - Use one statement
    - _Requirements: 1.1_
    - _Boundary: CounterStore_
- [ ] 2. Checkpoint - all tests pass
`;
const REQUIREMENTS =
  '### Requirement 1: Counting\n\n1. WHEN a request comes THEN the system SHALL count it\n';
const DESIGN = `# Design

## Overview

Counters in memory.

## Components

### CounterStore

A map of keys.

\`\`\`ts
## not a heading
\`\`\`

### Mailer

Sends letters.

## Testing

Validates: Requirements 1.1
`;

function spec(files: Record<string, string>): string {
  const dir = scratch();
  for (const [name, text] of Object.entries(files)) write(dir, `.kiro/specs/limits/${name}`, text);
  return `${dir}/.kiro/specs/limits`;
}

describe('readSpec', () => {
  it('reads tasks, requirements, design and config', async () => {
    const dir = spec({
      'tasks.md': TASKS,
      'requirements.md': REQUIREMENTS,
      'design.md': DESIGN,
      '.config.kiro': '{"specId":"x","specType":"feature"}',
    });
    const read = await readSpec(dir);
    expect(read).toMatchObject({
      name: 'limits',
      dir,
      kind: 'feature',
      problems: [],
      config: { specId: 'x' },
    });
    expect(read.all.map(({ id }) => id)).toEqual(['1', '1.1', '1.2', '2']);
    expect(read.requirements).toHaveLength(1);
    expect(read.design.map(({ title }) => title)).toContain('CounterStore');
    expect((await readSpec(`${dir}/tasks.md`)).dir).toBe(dir);
  });

  it('takes bugfix.md for the requirements of a bugfix', async () => {
    const dir = spec({
      'tasks.md': '- [ ] 1. Fix\n  - _Requirements: 2.1_\n',
      'bugfix.md': '### Expected\n\n2.1 WHEN a\n',
    });
    const read = await readSpec(dir);
    expect(read).toMatchObject({ kind: 'bugfix', problems: [] });
    expect(read.files.requirements).toBe(`${dir}/bugfix.md`);
  });

  it('says what is missing, and what to do', async () => {
    await expect(readSpec(`${scratch()}/nope`)).rejects.toMatchObject({ code: 'spec/unknown' });
    await expect(readSpec(scratch())).rejects.toMatchObject({
      code: 'spec/no-tasks-file',
      hint: expect.stringContaining('Name the directory of one spec'),
    });
    await expect(readSpec(spec({ 'design.md': DESIGN }))).rejects.toMatchObject({
      code: 'spec/no-tasks-file',
      hint: expect.stringContaining('no task list yet'),
    });
    const dir = spec({});
    write(dir, 'tasks.md', new Uint8Array([0x2d, 0xff, 0xfe]));
    await expect(readSpec(dir)).rejects.toMatchObject({ code: 'spec/unreadable', hint: 'Save it as UTF-8.' });
  });

  it('warns of requirements that are not there, of broken config and of missing approval', async () => {
    const tasks = '- [ ] 1. A\n  - _Requirements: 1.1, 7.7_\n';
    const codes = async (files: Record<string, string>) =>
      (await readSpec(spec({ 'tasks.md': tasks, ...files }))).problems.map(({ code, line, severity }) => [
        code,
        line,
        severity,
      ]);
    expect(await codes({})).toEqual([['spec/no-requirements-file', 2, 'warning']]);
    const quoted = [
      '- [ ] 1. A',
      '+ [~] 7 (P) Baz',
      '    - _Depends: -_',
      '    - _Requirements: 3.1–3.5, R1.1_',
      '> - [ ] 8. quoted',
      '',
    ].join('\n');
    expect(await codes({ 'tasks.md': quoted })).toEqual(
      expect.arrayContaining([
        ['spec/no-requirements-file', 4, 'warning'],
        ['spec/quoted-box', 5, 'warning'],
      ]),
    );
    const folded = '- [ ] 1. A\n  - _Requirements: 1.1,\n    1.2_\n';
    expect(await codes({ 'tasks.md': folded })).toEqual([['spec/no-requirements-file', 2, 'warning']]);
    expect(await codes({ 'requirements.md': REQUIREMENTS })).toEqual([
      ['spec/unknown-requirement', 2, 'warning'],
    ]);
    expect(
      await codes({
        'requirements.md': `${REQUIREMENTS}\n7.7 more\n`,
        '.config.kiro': '{',
        'spec.json': '{"approvals":{"tasks":{"approved":false}}}',
      }),
    ).toEqual([
      ['spec/config', 1, 'warning'],
      ['spec/not-approved', 1, 'warning'],
    ]);
  });
});

describe('promptParts', () => {
  it('has the work, what it stands in, its requirements, its part of the design and its commands', async () => {
    const read = await readSpec(
      spec({ 'tasks.md': TASKS, 'requirements.md': REQUIREMENTS, 'design.md': DESIGN }),
    );
    const [first, second] = unitsOf(read).units;
    if (!first || !second) throw new Error('two units');
    const parts = promptParts(read, first);
    expect(parts.work).toBe('- 1.2 Queries\n  - Use one statement\n  - _Boundary: CounterStore_');
    expect(parts.context).toBe('- 1 Build the counter store\n  - Keep it small');
    expect(parts.requirements).toContain('1.1 WHEN a request comes');
    expect(parts.design.match(/^#+ (?!not).*$/gm)?.map((line) => line.replace(/^#+ /, ''))).toEqual([
      'Overview',
      'CounterStore',
      'Testing',
    ]);
    expect(parts.design).toContain('## not a heading');
    expect(parts.design).not.toContain('letters');
    expect(parts.verify).toEqual(['npm test -- store']);
    expect([parts.checkpoint, promptParts(read, second).checkpoint]).toEqual([false, true]);
  });

  it('keeps the design within bounds', async () => {
    const design = `## Overview\n\n${'o'.repeat(9_000)}\n\n${'## Counter store\n\nwords words\n\n'.repeat(2_000)}`;
    const read = await readSpec(spec({ 'tasks.md': TASKS, 'design.md': design }));
    const [first] = unitsOf(read).units;
    if (!first) throw new Error('a unit');
    const { design: text } = promptParts(read, first);
    expect(text.length).toBeGreaterThan(1_000);
    expect(text.length).toBeLessThan(12_000);
  });
});
