import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseTasks } from '../../src/kiro/parse-tasks.ts';
import { isWork, type SpecTask } from '../../src/kiro/task-and-problem-types.ts';
import { takeBack, tick } from '../../src/kiro/tick-and-merge-tasks.ts';
import { fixture } from './support.ts';

/** The tasks of a file by their ids. */
function tasks(text: string, ...ids: string[]): SpecTask[] {
  const { byId } = parseTasks(text);
  return ids.map((id) => byId.get(id) as SpecTask);
}

const PLAN = '# Plan\r\n\r\n- [ ] 1. A\r\n  - [ ] 1.1 B\r\n  - [-] 1.2 C\r\n  - [ ]* 1.3 D\r\n- [~] 2. E\r\n';

describe('tick', () => {
  it('changes one character for each task', () => {
    const { text, ticked, edits } = tick(PLAN, tasks(PLAN, '1.1'));
    expect(text).toBe(PLAN.replace('[ ] 1.1', '[x] 1.1'));
    expect(ticked).toEqual(['1.1']);
    expect(edits).toEqual([PLAN.indexOf(' ] 1.1')]);
  });

  it('ticks a parent after its last required child, whatever the boxes said before', () => {
    const first = tick(PLAN, tasks(PLAN, '1.1')).text;
    const second = tick(first, tasks(PLAN, '1.2'));
    expect(second.ticked).toEqual(['1', '1.2']);
    expect(second.text).toBe(
      PLAN.replace('[ ] 1.', '[x] 1.').replace('[ ] 1.1', '[x] 1.1').replace('[-]', '[x]'),
    );
    expect(tick(second.text, tasks(PLAN, '2')).text).toContain('- [x] 2. E');
  });

  it('does not tick a parent for its optional children, nor for none of its own work', () => {
    const text = '- [ ] 1. A\n  - [ ]* 1.1 B\n';
    expect(tick(text, tasks(text, '1.1')).ticked).toEqual(['1.1']);
    expect(tick(text, tasks(text, '1')).ticked).toEqual(['1']);
  });

  it('climbs through parents that come later in the file, and through headings', () => {
    const text = '## 1. Setup\n- [ ] 1.1.1 A\n- [ ] 1.1 B\n';
    expect(tick(text, tasks(text, '1.1.1'))).toMatchObject({ ticked: ['1.1.1', '1.1'], boxless: ['1'] });
  });

  it.each([
    ['### Task 1: A', '### Task 1: A ✅'],
    ['### Task 1: A  ', '### Task 1: A ✅  '],
    ['### Task 1: A ###', '### Task 1: A ✅ ###'],
    ['### Task 1: use C#', '### Task 1: use C# ✅'],
    ['### **Task 1: A**', '### **Task 1: A** ✅'],
    ['### Task 1: show a ✓ there', '### Task 1: show a ✓ there ✅'],
    ['Task 1: A\n===', 'Task 1: A ✅\n==='],
    ['1. A', '1. A ✅'],
    ['  - 1.1 A', '  - 1.1 A ✅'],
    ['## 1. A', '## 1. A ✅'],
  ])('puts a check mark behind a task without a box: %j', (line, wanted) => {
    for (const end of ['\n', '\r\n']) {
      const text = `# Plan\n\n${line}\n\nDo it.\n`.replaceAll('\n', end);
      const [task] = parseTasks(text).all;
      const after = tick(text, task ? [task] : []);
      expect(after).toMatchObject({ ticked: [task?.id], already: [], boxless: [] });
      expect(after.text).toBe(`# Plan\n\n${wanted}\n\nDo it.\n`.replaceAll('\n', end));
      const [done] = parseTasks(after.text).all;
      expect(done).toMatchObject({ done: true, title: task?.title, details: task?.details });
      expect(tick(after.text, task ? [task] : [])).toMatchObject({
        text: after.text,
        ticked: [],
        already: [task?.id],
      });
      expect(takeBack(after.text, { engine: [] })).toBe(text);
    }
  });

  it.each([
    ['### ✅ Task 1: A', '### Task 1: A'],
    ['### Task 1 ✅: A', '### Task 1: A'],
    ['### Task 1: ✅ A', '### Task 1: A'],
    ['### ✅ Task 1: a ✓ there', '### Task 1: a ✓ there'],
  ])('takes back a check mark that nobody vouches for: %s', (line, wanted) => {
    expect(takeBack(`${line}\n`, { engine: [] })).toBe(`${wanted}\n`);
    const [task] = parseTasks(`${line}\n`).all;
    expect(takeBack(`${line}\n`, { engine: task ? [task] : [] })).toBe(`${line}\n`);
  });

  it('puts no check mark where it would not count: behind a box, or a heading that only groups', () => {
    const odd = '- [] 1. A\n';
    expect(tick(odd, tasks(odd, '1'))).toMatchObject({ text: odd, ticked: [], boxless: ['1'] });
    const group = '## 1. Setup\n- [ ] 1.1 A\n';
    expect(tick(group, tasks(group, '1.1')).text).toBe('## 1. Setup\n- [x] 1.1 A\n');
  });

  it('is the same when it is done again', () => {
    const once = tick(PLAN, tasks(PLAN, '1.1'));
    expect(tick(once.text, tasks(PLAN, '1.1'))).toMatchObject({
      text: once.text,
      ticked: [],
      already: ['1.1'],
    });
  });

  it('finds its tasks in a file that was edited meanwhile', () => {
    const edited = `# New title\n\n- [ ] 0. First of all\n${PLAN.replace('C\r\n', 'C\r\n    - a new detail\r\n')}`;
    expect(tick(edited, tasks(PLAN, '1.1')).text).toBe(edited.replace('[ ] 1.1', '[x] 1.1'));
  });

  it('finds a task without a number by its title', () => {
    const before = '- [ ] A\n  - [ ] Write\n';
    const after = '- [ ] B\n  - [ ] Write\n- [ ] A\n';
    expect(tick(after, tasks(before, 'a.write')).text).toBe('- [x] B\n  - [x] Write\n- [ ] A\n');
  });

  const changed: [string, string, RegExp][] = [
    ['is gone', '- [ ] 2. B\n', /task 1 \("A"\) no longer exists/],
    ['has another title', '- [ ] 1. Other\n', /task 1 \("A"\) is called "Other" now/],
    ['is there twice', '- [ ] 1. A\n- [ ] 1. A\n', /task 1 \("A"\) exists 2 times now/],
    ['was renumbered', '- [ ] 1. New\n- [ ] 2. A\n', /is called "New" now/],
    ['went into a code block', '```\n- [ ] 1. A\n```\n- [ ] 2. B\n', /no longer exists/],
  ];
  it.each(changed)('refuses a task that %s, and says so', (_name, text, message) => {
    expect(() => tick(text, tasks('- [ ] 1. A\n', '1'))).toThrow(message);
  });

  it.each([
    '01-nested',
    '03-optional',
    '04-states',
    '05-section-headings',
    '09-prefixed',
    '11-unnumbered',
    '12-mixed',
  ])('of everything in %s leaves everything done and nothing else changed', (name) => {
    const text = fixture(name);
    const all = parseTasks(text).all.filter(isWork);
    const { text: after, edits } = tick(text, all);
    expect(after.length).toBe(text.length);
    expect(edits.every((at) => after[at] === 'x')).toBe(true);
    const open = parseTasks(after).all.filter((task) => !task.done && task.box !== null && !task.optional);
    expect(open).toEqual([]);
  });

  it('changes exactly the ticked characters', { tags: 'full' }, () => {
    const end = fc.constantFrom('\n', '\r\n', '\r');
    const node = fc.record({
      depth: fc.nat({ max: 3 }),
      title: fc.constantFrom(
        'Write it',
        'ログイン',
        'a `code` [x] word',
        '**Bold** one',
        '🚀 launch',
        '[ ] odd',
      ),
      mark: fc.constantFrom(' ', 'x', '-', '~'),
      star: fc.boolean(),
      numbered: fc.boolean(),
      detail: fc.constantFrom('', 'detail [ ] here', '_Requirements: 1.1_', '```\n- [ ] 1. code\n```'),
      end,
    });
    const chosen = fc.array(fc.nat({ max: 30 }), { maxLength: 6 });
    fc.assert(
      fc.property(
        fc.array(node, { minLength: 1, maxLength: 15 }),
        chosen,
        fc.boolean(),
        (nodes, picks, bom) => {
          const text =
            (bom ? '\ufeff' : '') +
            nodes
              .map(({ depth, title, mark, star, numbered, detail, end: eol }, index) => {
                const space = '  '.repeat(depth);
                const line = `${space}- [${mark}]${star ? '*' : ''} ${numbered ? `${index + 1}. ` : ''}${title}`;
                const more = detail === '' ? [] : detail.split('\n').map((each) => `${space}  ${each}`);
                return [line, ...more].join(eol) + eol;
              })
              .join('');
          const parsed = parseTasks(text);
          const unique = parsed.all.filter((task) => parsed.byId.get(task.id) === task);
          const wanted = [...new Set(picks.flatMap((pick) => unique[pick % unique.length] ?? []))];
          fc.pre(unique.length === parsed.all.length);
          const { text: after, edits, ticked, already } = tick(text, wanted);
          const different = [...Array(text.length).keys()].filter((at) => text[at] !== after[at]);
          expect(after.length).toBe(text.length);
          expect(different).toEqual(edits);
          expect(ticked).toHaveLength(edits.length);
          for (const at of edits) expect([text[at - 1], after[at], text[at + 1]]).toEqual(['[', 'x', ']']);
          const again = parseTasks(after);
          expect(again.all.map(({ id, title }) => [id, title])).toEqual(
            parsed.all.map(({ id, title }) => [id, title]),
          );
          for (const id of [...ticked, ...already]) expect(again.byId.get(id)?.mark).toBe('done');
        },
      ),
      { numRuns: 300 },
    );
  });
});
