import { describe, expect, it } from 'vitest';
import { Plan } from '../../src/model/plan-schema.ts';
import { Ticket } from '../../src/model/ticket-schema.ts';
import {
  feedbackText,
  TEMPLATE_VARIABLES,
  type TemplateInput,
  templateVariables,
} from '../../src/workflows/template-variables.ts';
import { renderPrompt } from '../../src/workflows/templates/render-template.ts';
import { workflowOf } from './helpers.ts';

async function input(context: Record<string, string> = {}): Promise<TemplateInput> {
  const workflow = await workflowOf(`name: w
phases:
  - {id: a, type: script, command: s.sh, capture: {pr_url: stdout, later: stdout}, onSuccess: g}
  - {id: g, type: gate, on: {ok: d}}
  - {id: d, type: terminal}`);
  const [phase] = workflow.phases;
  if (!phase) throw new Error('no phase');
  return {
    ticket: Ticket.parse({
      planId: 'p',
      ticketId: 't',
      title: 'Fix',
      acceptanceCriteria: ['it works', 'it is fast'],
      context,
    }),
    plan: Plan.parse({ id: 'p', name: 'The plan' }),
    workflow,
    phase,
    visit: 2,
    attempt: 3,
    previousError: 'it broke',
    feedback: null,
    facts: {
      repo: '/repo',
      branch: 'b',
      worktree: '/tree',
      agent: 'claude',
      base: { ref: 'main', commit: 'abc' },
    },
  };
}

describe('template variables', () => {
  it('are exactly those of the list, and what was captured or may yet be', async () => {
    const values = templateVariables(await input({ pr_url: 'http://x' }));
    const names = [
      ...TEMPLATE_VARIABLES.map(({ name }) => name),
      'pr_url',
      'later',
      'g_decision',
      'g_message',
    ];
    expect(Object.keys(values).sort()).toEqual(names.sort());
    for (const { name, fields } of TEMPLATE_VARIABLES) {
      // Outside of a spec there is no unit.
      if (name === 'unit') expect(values.unit).toBe(null);
      else if (fields) expect(Object.keys(values[name] as object)).toEqual(Object.keys(fields));
    }
  });

  it('have the values of ticket, plan, phase and workspace', async () => {
    const values = templateVariables(await input({ pr_url: 'http://x' }));
    expect(values).toMatchObject({
      title: 'Fix',
      acceptance_criteria_list: '- it works\n- it is fast',
      linearUrl: null,
      repo: '/repo',
      branch: 'b',
      worktree: '/tree',
      agent: 'claude',
      workflow: 'w',
      base: 'main',
      base_commit: 'abc',
      plan: { id: 'p', name: 'The plan', repo: null, workflow: null, base: null },
      phase: { id: 'a', type: 'script', visit: 2, attempt: 3 },
      visit: 2,
      attempt: 3,
      previous_error: 'it broke',
      feedback: null,
      pr_url: 'http://x',
      later: null,
      context: { pr_url: 'http://x', later: null, g_decision: null, g_message: null },
    });
  });

  it('win over captures of the same name', async () => {
    const values = templateVariables(await input({ title: 'captured', phase: 'x' }));
    expect([values.title, (values.phase as { id: string }).id]).toEqual(['Fix', 'a']);
    expect((values.context as { title: string }).title).toBe('captured');
  });

  it('never fail a strict template for a capture that is not set yet', async () => {
    const values = templateVariables(await input());
    expect(await renderPrompt('[{{ later }}{{ context.later }}{{ g_message }}]', values)).toBe('[]');
  });
});

describe('feedback', () => {
  it.each<[Parameters<typeof feedbackText>[0], string | null]>([
    [undefined, null],
    [null, null],
    ['', null],
    ['do it again', 'do it again'],
    [[], null],
    [['a', 'b'], '- a\n- b'],
    [{ outcome: 'changes' }, null],
    [
      {
        outcome: 'changes',
        message: 'two things',
        findings: ['a', { file: 'x.ts', line: 3, problem: 'typo' }],
      },
      'two things\n\n- a\n- x.ts:3: typo',
    ],
    [
      { findings: [{ file: 'x.ts', message: 'typo', severity: 'low' }, { other: 1 }] },
      '- x.ts: typo {"severity":"low"}\n- {"other":1}',
    ],
    [
      {
        outcome: 'AC_NOT_MET',
        summary: 'no',
        criteria: [
          { criterion: 'It is fast', met: true, evidence: 'bench' },
          { criterion: 'It is safe', met: false, evidence: 'a.ts:3 takes any path' },
          'unclear',
        ],
        findings: [],
      },
      'no\n\n- Not met: It is safe (a.ts:3 takes any path)',
    ],
    [{ outcome: 'changes', score: 3 }, '{\n  "score": 3\n}'],
  ])('%j in words', (value, expected) => {
    expect(feedbackText(value)).toBe(expected);
  });
});
