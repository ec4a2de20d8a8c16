import { describe, expect } from 'vitest';
import { it, NumberedWorld, type World } from './support.ts';

const BODY = '## Acceptance criteria\n\n- [ ] Prints the age\n- [ ] Refuses text\n';
const AGE = { criterion: 'Prints the age', met: true, evidence: 'age.test.ts' };
const TEXT = { criterion: 'Refuses text', met: true, evidence: 'text.test.ts' };
const OPTIONS = { phases: 'exec,qa', smartTests: false, pr: false };

const verdict = (outcome: string, ...criteria: object[]) => ({
  result: { text: outcome, data: { outcome, summary: 'Looked at it.', criteria, findings: [] } },
});

/** Issues by number, with what qa says of each first and when it is asked again. */
function judged(world: World, verdicts: Record<number, [first: object, repaired: object]>) {
  const rules = Object.entries(verdicts).flatMap(([ticket, [first, repaired]]) => [
    { when: { ticket, phase: 'qa', resumed: true }, do: [repaired] },
    { when: { ticket, phase: 'qa' }, do: [first] },
  ]);
  world.rehearsal(rules);
  const numbers = Object.keys(verdicts).map(Number);
  return new NumberedWorld(world, ...numbers.map((number) => ({ number, title: 'One', body: BODY })));
}

const NAMES_NONE = verdict('READY_FOR_MERGE');
const TWO_IN_ONE = verdict('READY_FOR_MERGE', { ...AGE, criterion: 'Prints the age | Refuses text' });
const CONTRADICTS = verdict('AC_MET_BUT_NOT_A_PLUS', AGE, { ...TEXT, met: false });

describe.concurrent('a verdict on an issue with criteria', () => {
  it('is refused when it stays wrong; one put right is told with criteria and evidence in result and log', {
    tags: 'full',
  }, async ({ world }) => {
    const gap = { ...TEXT, met: false, evidence: 'there is no check' };
    const issues = judged(world, {
      1: [NAMES_NONE, NAMES_NONE],
      2: [TWO_IN_ONE, TWO_IN_ONE],
      3: [CONTRADICTS, CONTRADICTS],
      4: [verdict('READY_FOR_MERGE', AGE, gap), verdict('AC_NOT_MET', AGE, gap)],
    });
    const run = await issues.library({ options: OPTIONS }, ['1', '2', '3', '4']);
    expect(run.exitCode).toBe(1);
    const planId = run.planId ?? '';
    const qaOf = (number: number) =>
      run.results.find(({ issueNumber }) => issueNumber === number)?.phaseResults.at(-1);
    for (const [number, problem] of [
      [1, 'missing: "Prints the age", "Refuses text"'],
      [2, 'missing: "Prints the age", "Refuses text"'],
      [3, 'AC_MET_BUT_NOT_A_PLUS says that every criterion is met'],
    ] as const) {
      const qa = qaOf(number);
      expect(qa).toMatchObject({ phase: 'qa', success: false, failureCategory: 'protocol' });
      expect(qa?.error).toContain(problem);
      expect(world.promptOf(planId, String(number), 'qa.1.1.repair')).toContain(problem);
    }
    const told = { criteria: [AGE, gap], summary: { acMet: 1, acTotal: 2, gaps: ['Refuses text'] } };
    expect(qaOf(4)).toMatchObject({ phase: 'qa', success: false, verdict: 'AC_NOT_MET', ...told });
    const logged = issues.log(planId).issues.find(({ id }) => id === '4');
    expect(logged?.phaseResults.at(-1)).toMatchObject(told);
  });

  it('gets no second turn with retry off', { tags: 'full' }, async ({ world }) => {
    const issues = judged(world, { 1: [NAMES_NONE, verdict('READY_FOR_MERGE', AGE, TEXT)] });
    const run = await issues.library({ options: { ...OPTIONS, retry: false } }, ['1']);
    expect(run.results[0]?.phaseResults.at(-1)).toMatchObject({ phase: 'qa', success: false });
    const { planId } = run;
    expect(world.exists(`home/state/jobs/${planId}/1/qa.1.1`)).toBe(true);
    expect(world.exists(`home/state/jobs/${planId}/1/qa.1.1.repair`)).toBe(false);
  });

  it('names every criterion when it is rehearsed, and the pull request lists them', async ({ world }) => {
    const issues = new NumberedWorld(world, { number: 1, title: 'One', body: BODY });
    const run = await issues.library({ options: { ...OPTIONS, pr: true } }, ['1']);
    expect(run.results[0]).toMatchObject({ success: true });
    const qa = run.results[0]?.phaseResults.find(({ phase }) => phase === 'qa');
    expect(qa?.summary).toEqual({ acMet: 2, acTotal: 2, gaps: [] });
    const body = issues.bench.pulls()[0]?.body;
    expect(body).toContain('| ✓ | Prints the age | rehearsed |\n| ✓ | Refuses text | rehearsed |');
  });
});
