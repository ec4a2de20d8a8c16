import { describe, expect } from 'vitest';
import { it, NumberedWorld, story } from './support.ts';

const verdict = (outcome: string, summary: string) => ({
  result: { text: summary, data: { outcome, summary, criteria: [], findings: [] } },
});
const OPTIONS = { smartTests: false, pr: false };
const ran = (attempts: string[]) => attempts.filter((attempt) => !attempt.endsWith(' skipped'));

describe.concurrent('the quality loop', () => {
  it('that a label switched on goes back, verifies again and ends with what is true then', {
    tags: 'full',
  }, async ({ world }) => {
    world.rehearsal([
      { when: { phase: 'qa', visit: 1 }, do: [verdict('AC_NOT_MET', 'The age is missing.')] },
      { when: { ticket: '2', phase: 'qa' }, do: [verdict('AC_NOT_MET', 'Still missing.')] },
    ]);
    const issues = new NumberedWorld(
      world,
      { number: 1, title: 'One', labels: ['Complex'] },
      { number: 2, title: 'Two' },
    );
    const run = await issues.library({ options: OPTIONS }, ['1', '2']);
    const of = (id: string) => world.ticket(run.planId ?? '', id);
    expect(ran(story(of('1')))).toEqual(
      ['spec', 'exec', 'checks', 'qa', 'exec', 'checks', 'qa'].map((phase) => `${phase} success`),
    );
    expect(of('1').context.qa_verdict).toBe('READY_FOR_MERGE');
    expect(world.promptOf(run.planId ?? '', '1', 'exec.2.1')).toContain('The age is missing.');
    expect(run.results).toMatchObject([
      { success: true, loopTriggered: true },
      { success: false, loopTriggered: false, abortReason: 'Phase qa failed' },
    ]);
    expect(run.results[0]?.phaseResults.filter(({ phase }) => phase === 'qa')).toMatchObject([
      { success: false, verdict: 'AC_NOT_MET' },
      { success: true, verdict: 'READY_FOR_MERGE' },
    ]);
    expect(run.results[1]?.phaseResults.at(-1)).toMatchObject({ phase: 'qa', verdict: 'AC_NOT_MET' });
    expect(run.exitCode).toBe(1);
  });

  it('takes no verdict from prose: what is not said in the agreed form is a failure', async ({ world }) => {
    world.rehearsal([
      { when: { phase: 'qa' }, do: [{ result: { text: 'READY_FOR_MERGE ✅ all criteria met' } }] },
      {
        when: { ticket: '2', phase: 'exec' },
        do: [{ write: { path: 'a.txt', text: 'a' } }, { result: { text: 'Done!' } }],
      },
    ]);
    const issues = new NumberedWorld(world, { number: 1, title: 'One' }, { number: 2, title: 'Two' });
    const run = await issues.library({ options: { ...OPTIONS, phases: 'exec,qa' } }, ['1', '2']);
    expect(run.results.map(({ success, abortReason }) => [success, abortReason])).toEqual([
      [false, 'Phase qa failed'],
      [false, 'Phase exec failed'],
    ]);
    expect(run.results[1]?.phaseResults[0]?.error).toMatch(/commit|a\.txt/);
  });

  it('asks exec for commits of its own after testgen, and in later rounds for none', {
    tags: 'full',
  }, async ({ world }) => {
    const commits = (path: string) => [
      { write: { path, text: 'x' } },
      { commit: path },
      { result: { text: 'Done.' } },
    ];
    const nothing = [{ result: { text: 'Done.' } }];
    world.rehearsal([
      { when: { phase: 'testgen' }, do: commits('a.test.txt') },
      { when: { ticket: '1', phase: 'exec' }, do: nothing },
      { when: { ticket: '2', phase: 'exec', visit: 1 }, do: commits('a.txt') },
      { when: { ticket: '2', phase: 'exec' }, do: nothing },
      { when: { phase: 'qa', visit: 1 }, do: [verdict('AC_NOT_MET', 'Not sure.')] },
    ]);
    const issues = new NumberedWorld(world, { number: 1, title: 'One' }, { number: 2, title: 'Two' });
    const options = { ...OPTIONS, testgen: true, qualityLoop: true };
    const run = await issues.library({ options }, ['1', '2']);
    expect(run.results.map(({ success, abortReason }) => [success, abortReason])).toEqual([
      [false, 'Phase exec failed'],
      [true, undefined],
    ]);
    expect(run.results[0]?.phaseResults.at(-1)?.error).toContain('expected a commit of its own');
  });
});
