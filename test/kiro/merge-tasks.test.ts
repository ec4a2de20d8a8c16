import { describe, expect, it } from 'vitest';
import { parseTasks } from '../../src/kiro/parse-tasks.ts';
import { identityOf, mergedTasks, tickedIn, withTicks } from '../../src/kiro/tick-and-merge-tasks.ts';

const BASE = '- [ ] 1. A\n  - Use port 80\n- [ ] 2. B\n- [ ] 3. C\n';
const known = (text: string, ...ids: string[]) =>
  parseTasks(text).all.flatMap((task) => (ids.includes(task.id) ? [identityOf(task)] : []));
const tick = (text: string, id: string) => text.replace(`[ ] ${id}`, `[x] ${id}`);

describe('the task list of the branch', () => {
  it.each<[string, { was: string; mine: string; branch: string }, string[], string | null]>([
    ['is the user’s at first', { was: '', mine: BASE, branch: BASE }, [], BASE],
    [
      'keeps the ticks of the engine',
      { was: BASE, mine: `${BASE}- [ ] 4. D\n`, branch: tick(BASE, '1') },
      ['1'],
      `${tick(BASE, '1')}- [ ] 4. D\n`,
    ],
    [
      'opens a task whose details have changed',
      { was: BASE, mine: BASE.replace('80', '81'), branch: tick(BASE, '1') },
      ['1'],
      BASE.replace('80', '81'),
    ],
    [
      'takes the user’s ticks by number where an agent gave another name',
      { was: BASE, mine: tick(BASE, '2'), branch: BASE.replace('B', 'Bee') },
      [],
      tick(BASE.replace('B', 'Bee'), '2'),
    ],
    [
      'gets back what an agent deleted',
      { was: BASE, mine: tick(BASE, '2'), branch: '- [ ] 2. B\n' },
      [],
      tick(BASE, '2'),
    ],
    [
      'is left alone while the user changes nothing',
      { was: BASE, mine: BASE, branch: BASE.replace('B', 'Bee') },
      ['1'],
      BASE.replace('B', 'Bee'),
    ],
    [
      'cannot be told where both were changed',
      { was: BASE, mine: BASE.replace('C', 'See'), branch: BASE.replace('B', 'Bee') },
      [],
      null,
    ],
  ])('%s', (_name, texts, done, expected) => {
    expect(mergedTasks(texts, known(BASE, ...done))).toBe(expected);
  });

  it('can be ticked where an id is there twice', () => {
    const twice = `${BASE}- [ ] 3. C\n`;
    expect(tickedIn(withTicks(twice, { engine: known(BASE, '1') })).map(({ id }) => id)).toEqual(['1']);
  });
});
