import { describe, expect } from 'vitest';
import { it, NumberedWorld, type World } from './support.ts';

const BODY = '## Acceptance criteria\n\n- [ ] Prints the age\n- [ ] Refuses text\n';
const AGE = { criterion: 'Prints the age', met: true, evidence: 'age.test.ts' };
const TEXT = { criterion: 'Refuses text', met: true, evidence: 'text.test.ts' };
const OPTIONS = { phases: 'exec,qa', smartTests: false, pr: false };

const verdict = (outcome: string, ...criteria: object[]) => ({
  result: { text: outcome, data: { outcome, summary: 'Looked at it.', criteria, findings: [] } },
});

function judged(world: World, first: object, repaired: object) {
  world.rehearsal([
    { when: { phase: 'qa', resumed: true }, do: [repaired] },
    { when: { phase: 'qa' }, do: [first] },
  ]);
  return new NumberedWorld(world, { number: 1, title: 'One', body: BODY });
}

describe.concurrent('a verdict on an issue with criteria', () => {
  it.for([
    ['names none', verdict('READY_FOR_MERGE'), 'missing: "Prints the age", "Refuses text"'],
    [
      'names two in one entry',
      verdict('READY_FOR_MERGE', { ...AGE, criterion: 'Prints the age | Refuses text' }),
      'missing: "Prints the age", "Refuses text"',
    ],
    [
      'contradicts its criteria',
      verdict('AC_MET_BUT_NOT_A_PLUS', AGE, { ...TEXT, met: false }),
      'AC_MET_BUT_NOT_A_PLUS says that every criterion is met',
    ],
  ] as const)(
    'that %s is refused when it stays so',
    { tags: 'full' },
    async ([, said, problem], { world }) => {
      const run = await judged(world, said, said).library({ options: OPTIONS }, ['1']);
      const qa = run.results[0]?.phaseResults.at(-1);
      expect(run.exitCode).toBe(1);
      expect(qa).toMatchObject({ phase: 'qa', success: false, failureCategory: 'protocol' });
      expect(qa?.error).toContain(problem);
      expect(world.promptOf(run.planId ?? '', '1', 'qa.1.1.repair')).toContain(problem);
    },
  );

  it('may be put right, and is told with criteria and evidence in result and log', { tags: 'full' }, async ({
    world,
  }) => {
    const gap = { ...TEXT, met: false, evidence: 'there is no check' };
    const issues = judged(world, verdict('READY_FOR_MERGE', AGE, gap), verdict('AC_NOT_MET', AGE, gap));
    const run = await issues.library({ options: OPTIONS }, ['1']);
    const qa = run.results[0]?.phaseResults.at(-1);
    const told = { criteria: [AGE, gap], summary: { acMet: 1, acTotal: 2, gaps: ['Refuses text'] } };
    expect(qa).toMatchObject({ phase: 'qa', success: false, verdict: 'AC_NOT_MET', ...told });
    expect(issues.log(run.planId ?? '').issues[0]?.phaseResults.at(-1)).toMatchObject(told);
  });

  it('gets no second turn with retry off', { tags: 'full' }, async ({ world }) => {
    const issues = judged(world, verdict('READY_FOR_MERGE'), verdict('READY_FOR_MERGE', AGE, TEXT));
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
