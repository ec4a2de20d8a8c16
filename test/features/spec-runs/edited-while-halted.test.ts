import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { variants } from '../../support/index.ts';
import {
  add,
  done,
  it,
  powerFails,
  put,
  runSpec,
  story,
  tasksOn,
  withoutWaits,
  writeSpec,
} from './support.ts';

const PARENT = (detail: string) => `- [ ] 1. Ports\n  - ${detail}\n  - [ ] 1.1 Open\n  - [ ] 1.2 Close\n`;
const boom = { fail: { class: 'exit', message: 'boom' } };
const at = (ticket: string, ...steps: unknown[]) => ({ when: { ticket, phase: 'implement' }, do: steps });
const LEAF = ['--unit', 'leaf', '--max-attempts', '1'];

describe.concurrent('a unit that is not done yet', () => {
  it.for([
    ['has failed', [at('1.2', boom)], 'implement.1.2'],
    ['has not begun', [at('1.1', boom)], 'implement.1.1'],
  ] as const)(
    'and %s is given the present words of what it stands in',
    { tags: 'full' },
    async ([why, rules, attempt], { world }) => {
      withoutWaits(world);
      world.rehearsal([...rules]);
      const files = { 'design.md': '# Close\n\nBy hand.\n' };
      const dir = writeSpec(world, PARENT('Use port 80'), { files });
      expect((await runSpec(world, dir, ...LEAF)).code).toBe(2);
      put(join(dir, 'tasks.md'), PARENT('Use port 8080'));
      put(join(dir, 'design.md'), '# Close\n\nBy a timer.\n');
      world.rehearsal([]);
      expect((await runSpec(world, dir, ...LEAF)).code).toBe(0);
      const prompt = world.promptOf('spec-limits', '1.2', attempt);
      expect(prompt).toContain('Use port 8080');
      expect(prompt).toContain('By a timer.');
      // What is done in the words that it has itself stays done.
      const before = why === 'has failed' ? 1 : 2;
      expect(
        story(world.ticket('spec-limits', '1.1')).filter((each) => each.startsWith('implement')),
      ).toHaveLength(before);
      expect(tasksOn(world)).toBe(PARENT('Use port 8080').replaceAll('[ ]', '[x]').trimEnd());
    },
  );

  variants(['SIGKILL', 'SIGINT'] as const)(
    'and was cut off by %s goes on with its own new words, and is ticked in them',
    async (signal, { world }) => {
      world.rehearsal([
        {
          when: { ticket: '1', phase: 'implement', attempt: 1 },
          do: [{ write: { path: 'a.txt', text: 'a\n' } }, { run: 'sleep 600' }],
        },
        at('1', ...add('b.txt'), done()),
      ]);
      const dir = writeSpec(world, '- [ ] 1. Open\n  - Use port 80\n- [ ] 2. Close\n');
      const run = world.start(['spec', dir, '--no-tmux', '--delay', '0', '--json']);
      await run.says('"a.txt"');
      await run.kill(signal);
      if (signal === 'SIGKILL') await powerFails(world);
      put(join(dir, 'tasks.md'), '- [ ] 1. Open\n  - Use port 8080\n- [ ] 2. Close\n');
      const { code, err } = await runSpec(world, dir);
      expect({ code, err }).toEqual({ code: 0, err: '' });
      expect(world.promptOf('spec-limits', '1', 'implement.1.2')).toContain('Use port 8080');
      expect(tasksOn(world)).toBe('- [x] 1. Open\n  - Use port 8080\n- [x] 2. Close');
    },
  );

  it('and waits for an answer is given its new words with it', { tags: 'full' }, async ({ world }) => {
    world.rehearsal([
      {
        when: { ticket: '1', phase: 'implement', visit: 1 },
        do: [{ result: 'Which port?\n\n<promise>HALT</promise>' }],
      },
      at('1', ...add('a.txt'), done()),
    ]);
    const dir = writeSpec(world, '- [ ] 1. Open\n  - Use port 80\n');
    expect((await runSpec(world, dir)).code).toBe(2);
    put(join(dir, 'tasks.md'), '- [ ] 1. Open\n  - Use port 8080\n');
    expect((await runSpec(world, dir)).code).toBe(2);
    expect((await world.cli('resume', '--answer', 'See there.', '--no-tmux')).code).toBe(0);
    const prompt = world.promptOf('spec-limits', '1', 'implement.2.1');
    expect(prompt).toContain('Use port 8080');
    expect(prompt).toContain('See there.');
    expect(tasksOn(world)).toBe('- [x] 1. Open\n  - Use port 8080');
  });
});
