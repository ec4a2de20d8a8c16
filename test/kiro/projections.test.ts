import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Progress,
  readAssignments,
  renderProgress,
  SpecState,
  withProgress,
  withSpecState,
} from '../../src/kiro/state-file-formats.ts';

const STATE = SpecState.parse({
  spec: '.kiro/specs/a',
  completed: ['1', '1.1'],
  halted: false,
  started_at: '2026-01-01T00:00:00.000Z',
  updated_at: '2026-01-01T01:00:00.000Z',
  assignments: { '2': { type: 'code', owner_agent: 'codex', by: 'agent' } },
});

describe('SEQUENTIAL_STATE.json', () => {
  it('has a part for each spec, with the fields that readers know', () => {
    const one = withSpecState(null, 'a', STATE);
    const two = withSpecState(one, 'b', { ...STATE, spec: '.kiro/specs/b', completed: [] });
    const data = JSON.parse(two) as { version: number; specs: Record<string, SpecState> };
    expect(data.version).toBe(1);
    expect(data.specs.a).toMatchObject({
      completed: ['1', '1.1'],
      halted: false,
      started_at: STATE.started_at,
    });
    expect(data.specs.b?.completed).toEqual([]);
    expect(two.endsWith('}\n')).toBe(true);
  });

  it('keeps what others and people wrote', () => {
    const text = JSON.stringify({ version: 1, note: 'mine', specs: { b: { anything: [1] } } });
    expect(JSON.parse(withSpecState(text, 'a', STATE))).toMatchObject({
      note: 'mine',
      specs: { b: { anything: [1] } },
    });
  });

  it('keeps a file of the old form aside', () => {
    const old = { completed: ['1'], halted: true, started_at: null, assignments: {} };
    expect(JSON.parse(withSpecState(JSON.stringify(old), 'a', STATE))).toMatchObject({
      before: old,
      version: 1,
    });
  });

  it('gives assignments back, also those that a person changed', () => {
    const text = withSpecState(null, 'a', STATE).replace('"codex"', '"claude"');
    expect(readAssignments(text, 'a').assignments.get('2')).toEqual({
      type: 'code',
      owner_agent: 'claude',
      criticality: 'standard',
      by: 'agent',
    });
    expect(readAssignments(text, 'b').assignments.size).toBe(0);
  });

  it('tells assignments that cannot be used, and those of nobody', () => {
    const text = JSON.stringify({
      assignments: { '1': { type: 'paint', owner_agent: 'x' }, '2': { type: 'ui', owner_agent: 'g' } },
    });
    const read = readAssignments(text, 'a');
    expect(read.unnamed).toBe(true);
    expect([...read.assignments.keys()]).toEqual(['2']);
    expect(read.assignments.get('2')?.by).toBe('person');
    expect(read.problems).toEqual([{ id: '1', message: expect.stringMatching(/^type: /) }]);
  });

  it.each([
    ['{', /not valid JSON/],
    ['[]', /does not hold an object/],
    ['{"version": 2}', /newer Signalbox \(version 2/],
  ])('%s is refused', (text, message) => {
    expect(() => readAssignments(text, 'a')).toThrow(message);
    expect(() => withSpecState(text, 'a', STATE)).toThrow(message);
  });
});

const PROGRESS: Progress = {
  spec: 'a',
  path: '.kiro/specs/a',
  startedAt: '2026-01-01T00:00:00.000Z',
  entries: [
    {
      iteration: 1,
      id: '1',
      title: 'Set up',
      status: 'Completed',
      at: '2026-01-01T00:10:00.000Z',
      message: 'two\nlines',
    },
    { iteration: 2, id: '2', title: 'Next', status: 'Halted', at: '2026-01-01T00:20:00.000Z', message: '' },
  ],
  completedAt: null,
  summary: [],
};

describe('SEQUENTIAL_PROGRESS.md', () => {
  it('has a header, the iterations and, at the end, a footer with the summary', () => {
    const text = renderProgress({
      ...PROGRESS,
      completedAt: '2026-01-01T01:00:00.000Z',
      summary: ['2 done, 0 failed'],
    });
    expect(text).toBe(
      [
        '# Progress of a',
        '',
        '**Spec:** .kiro/specs/a',
        '**Started:** 2026-01-01T00:00:00.000Z',
        '',
        '---',
        '',
        '## Iteration 1',
        '',
        '- **Task:** 1 - Set up',
        '- **Status:** Completed',
        '- **Time:** 2026-01-01T00:10:00.000Z',
        '- **Message:** two lines',
        '',
        '## Iteration 2',
        '',
        '- **Task:** 2 - Next',
        '- **Status:** Halted',
        '- **Time:** 2026-01-01T00:20:00.000Z',
        '',
        '---',
        '',
        '**Completed:** 2026-01-01T01:00:00.000Z',
        '- 2 done, 0 failed',
      ].join('\n'),
    );
    expect(renderProgress(PROGRESS)).not.toContain('Completed:**');
  });

  it('holds each spec once, and the parts of others untouched', () => {
    const name = fc.constantFrom('a', 'b', 'a-b', 'long--name');
    const writes = fc.array(fc.tuple(name, fc.string()), { maxLength: 12 });
    fc.assert(
      fc.property(writes, fc.constantFrom(null, 'Notes of a person\n'), (list, start) => {
        let text: string | null = start;
        for (const [spec, part] of list) text = withProgress(text, spec, part);
        for (const [spec, part] of new Map(list)) expect(withProgress(text, spec, part)).toBe(text);
        if (start !== null) expect(text).toContain('Notes of a person');
      }),
    );
  });
});
