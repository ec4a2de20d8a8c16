import { describe, expect, it } from 'vitest';
import { parseTasks } from '../../src/kiro/parse-tasks.ts';
import type { SpecTask } from '../../src/kiro/task-and-problem-types.ts';
import { found } from '../kiro/support.ts';
import { BLOCKS, codes, doc, tables } from './markdown.ts';

const SPECS = 'docs/specs.md';

function only(text: string): SpecTask {
  const { all } = parseTasks(text);
  expect(all, text).not.toHaveLength(0);
  return all.at(-1) as SpecTask;
}

/** The code in the first cell of the row that says this. */
function written(meaning: string): string[] {
  const [table] = tables(SPECS, 'Written');
  const row = table?.rows.find(([, cell = '']) => cell.startsWith(meaning));
  expect(row, meaning).toBeDefined();
  return codes(row?.[0] ?? '');
}

describe('what the page on specs says', () => {
  it('of its example', () => {
    const block = BLOCKS.find(({ file, title }) => file === SPECS && title === 'tasks.md');
    const { all, problems } = parseTasks(block?.text ?? '');
    expect(problems).toEqual([]);
    expect(
      all.map(({ id, done, optional }) => `${id}${done ? ' done' : ''}${optional ? ' optional' : ''}`),
    ).toEqual(['1 done', '2', '2.1', '2.2 optional', '3']);
  });

  it('of how tasks are written', () => {
    for (const box of written('A task')) expect(only(`${box} Text`).title).toBe('Text');
    for (const mark of written('Done')) expect(only(`- ${mark} Text`).done).toBe(true);
    const marks = written('Started').map((mark) => only(`- ${mark} 1. Text`));
    expect(marks.map(({ mark, done }) => [mark, done])).toEqual([
      ['started', false],
      ['queued', false],
    ]);
    const [box = '', star = '', word = ''] = written('Optional');
    for (const line of [`- ${box} 1. Text`, `- [ ] ${star} Text`, `- [ ] 1. Text ${word}`])
      expect(only(line), line).toMatchObject({ optional: true, title: 'Text' });
    const ids = written('The id').map((id) => only(`- [ ] ${id} Text`).id);
    expect(ids).toEqual(['1', '1.1', '1.2a', 'T001', '1', '1.1']);
    for (const mark of written('Fit to run')) expect(only(`- [ ] 1. ${mark} Text`).parallel).toBe(true);
  });

  it('of headings', () => {
    for (const done of written('A task without a box, done'))
      expect(only(done)).toMatchObject({ id: '1.1', title: 'Title', done: true, box: null });
    const [note = ''] = written('A note');
    expect(parseTasks(`- [ ] 1.1 Title\n\n${note}\n`).all).toHaveLength(1);
    const [setup = '', phase = ''] = written('The parent of 1.1');
    for (const heading of [setup, phase]) expect(only(`${heading}\n- [ ] 1.1 Text\n`).parent).toBe('1');
  });

  it('of fields', () => {
    const [requirements = ''] = written('Requirements');
    const ids = only(`- [ ] 1. A\n  - ${requirements}`).requirements.map(({ id }) => id);
    expect(ids).toEqual(['1.1', '3.1', '3.2', '3.3', '3.4', '3.5']);
    for (const line of written('Tasks that come first')) {
      const { byId } = parseTasks(`- [ ] 1. A\n  - [ ] 1.1 B\n- [ ] 2. C\n  - ${line}`);
      expect(byId.get('2')?.dependsOn, line).toHaveLength(1);
    }
    const task = only(
      `- [ ] 1. A\n${written('Fields')
        .map((line) => `  - ${line}`)
        .join('\n')}`,
    );
    expect(task.fields).toEqual({ files: ['a.ts'], boundary: ['X'], verify: ['cmd'] });
  });

  it('of waves', () => {
    const [json = ''] = codes(/JSON\s+\((`[^`]+`)\)/.exec(doc(SPECS).prose)?.[1] ?? '');
    const text = `- [ ] 1. A\n  - [ ] 1.1 B\n  - [ ] 1.2 C\n- [ ] 2. D\n\n## Task Dependency Graph\n\n\`\`\`json\n${json}\n\`\`\`\n`;
    expect(found(text)).toEqual([]);
    expect(parseTasks(text).all.map(({ wave }) => wave)).toEqual([null, 0, 1, 1]);
  });
});
