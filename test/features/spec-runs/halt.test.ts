import { describe, expect } from 'vitest';
import { variants } from '../../support/index.ts';
import {
  done,
  it,
  progressFile,
  runSpec,
  stateFile,
  tasks,
  withoutWaits,
  work,
  writeSpec,
} from './support.ts';

const ASKS = {
  when: { ticket: '1', phase: 'implement', visit: 1 },
  do: [
    { write: { path: 'half.txt', text: 'half\n' } },
    { result: 'I looked at both.\n\nWhich database, A or B?\n\n<promise>HALT</promise>' },
  ],
};
const ANSWERED = {
  when: { ticket: '1', phase: 'implement', visit: 2, resumed: true },
  do: [{ commit: 'Use B' }, done()],
};

describe.concurrent('contract 10: a unit that halts', () => {
  it('ends the run with 2, keeps the question, starts no other unit, and continues with the answer', {
    tags: 'full',
  }, async ({ world }) => {
    world.rehearsal([ASKS, ANSWERED]);
    const dir = writeSpec(world, tasks('One', 'Two'));
    const { code, out } = await world.cli(
      'spec',
      dir,
      '--no-tmux',
      '--delay',
      '0',
      '--on-failure',
      'continue',
    );
    expect(code).toBe(2);
    expect(out).toContain('1 asks: Which database, A or B?');
    expect(out).toContain('signalbox resume spec-limits --answer');
    const status = (await world.cli('status')).out;
    expect(status).toContain('Which database, A or B?');
    expect(status).toContain('signalbox resume spec-limits --answer');
    expect(status).toContain('waits for 1: it needs attention, and its work is in the worktree');
    expect(world.ticket('spec-limits', '2').phaseHistory).toEqual([]);
    expect(stateFile(world).specs.limits).toMatchObject({
      halted: true,
      halted_task: '1',
      halt_reason: 'Which database, A or B?',
    });
    expect(progressFile(world)).toContain('**Status:** Halted');
    const again = await runSpec(world, dir);
    expect(again.code).toBe(2);
    expect(again.result.counts.attempts).toBe(0);
    // With the answer, its session continues in its tree to the end.
    const answered = await world.cli('resume', '--no-tmux', '--answer', 'Take B. It is "faster".');
    expect(answered.code).toBe(0);
    expect(answered.out).toContain('2 of 2 units done');
    expect(world.promptOf('spec-limits', '1', 'implement.2.1')).toContain('Take B. It is "faster".');
    expect(work(world)[0]).toBe('Use B');
    expect(stateFile(world).specs.limits).toMatchObject({
      halted: false,
      halt_reason: null,
      halted_task: null,
    });
    expect(progressFile(world)).toContain('**Completed:**');
  });

  it('keeps the answer apart from the error when it is tried again', { tags: 'full' }, async ({ world }) => {
    withoutWaits(world);
    const fails = { result: 'Hm.' };
    world.rehearsal([
      ASKS,
      { when: { ticket: '1', phase: 'implement', visit: 2, attempt: 1 }, do: [fails] },
      { when: { ticket: '1', phase: 'implement', visit: 2 }, do: [{ commit: 'Use B' }, done()] },
    ]);
    expect((await runSpec(world, writeSpec(world, tasks('One')))).code).toBe(2);
    expect((await world.cli('resume', 'spec-limits', '--answer', 'Take B.')).code).toBe(0);
    const prompt = world.promptOf('spec-limits', '1', 'implement.2.2');
    expect(prompt).toContain('<answer>\nTake B.\n</answer>');
    const error = /<previous-error>(.*)<\/previous-error>/s.exec(prompt)?.[1];
    expect(error).toContain('expected');
    expect(error).not.toContain('Take B.');
  });

  it('beats a verdict and the evidence', async ({ world }) => {
    withoutWaits(world);
    world.rehearsal([
      {
        when: { phase: 'implement' },
        do: [
          { write: { path: 'a.txt', text: 'a\n' } },
          { commit: 'Add a' },
          {
            result:
              '<promise>TASK_DONE</promise>\n<promise>HALT: is this right?</promise>\n<signalbox>{"outcome":"done"}</signalbox>',
          },
        ],
      },
    ]);
    const dir = writeSpec(world, tasks('One'));
    const { code, result } = await runSpec(world, dir);
    expect({ code, halted: result.halted }).toEqual({
      code: 2,
      halted: { ticketId: '1', reason: 'is this right?' },
    });
  });

  const ASKED = { say: 'I looked at both.\n\n<promise>HALT: A or B?</promise>' };
  const says = (...more: unknown[]) => [{ when: { phase: 'implement' }, do: [ASKED, ...more] }];

  variants([
    ['an exit code', { crash: { code: 7 } }],
    ['a broken stream', { fail: { class: 'protocol', message: 'cut off' } }],
  ] as const)('beats %s', async ([, end], { world }) => {
    withoutWaits(world);
    world.rehearsal(says(end));
    const { code, result } = await runSpec(world, writeSpec(world, tasks('One')), '--max-attempts', '1');
    expect({ code, halted: result.halted }).toEqual({
      code: 2,
      halted: { ticketId: '1', reason: 'A or B?' },
    });
    expect((await world.cli('status')).out).toContain('A or B?');
  });

  it('hides neither that nobody is logged in nor a usage limit', { tags: 'full' }, async ({ world }) => {
    withoutWaits(world);
    world.rehearsal(says({ fail: { class: 'auth', message: 'not logged in' } }));
    const dir = writeSpec(world, tasks('One'));
    const { code, result } = await runSpec(world, dir, '--max-attempts', '1');
    expect({ code, halted: result.halted }).toEqual({ code: 2, halted: null });
    expect(result.tickets[0]?.error).toContain('not logged in');
    world.rehearsal(says({ limit: 3600 }));
    const run = world.start(['spec', dir, '--no-tmux', '--delay', '0']);
    await world.reaches('spec-limits', '1', (ticket) => ticket.hold?.kind === 'limit');
    expect((await run.kill('SIGINT')).code).toBe(130);
  });

  it('is not resumed when it is complete, without an answer, or with an unknown flag', {
    tags: 'full',
  }, async ({ world }) => {
    expect((await runSpec(world, writeSpec(world, tasks('One')))).code).toBe(0);
    for (const [args, said] of [
      [['spec-limits', '--answer', 'B'], 'waits for an answer'],
      [['spec-limits'], 'it is complete'],
      [['--answer', ' '], '--answer is empty'],
      [['spec-limits', '--nope'], 'Unknown option'],
    ] as const) {
      const { code, err } = await world.cli('resume', ...args);
      expect({ code, err }).toEqual({ code: 5, err: expect.stringContaining(said) });
    }
  });
});
