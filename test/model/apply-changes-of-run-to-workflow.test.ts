import { describe, expect, it } from 'vitest';
import { applyChanges, type WorkflowChanges } from '../../src/model/apply-changes-of-run-to-workflow.ts';
import { positiveEdge, Workflow } from '../../src/model/workflow.ts';
import { phaseIn, script, workflow } from './build.ts';

const none: WorkflowChanges = { models: {}, efforts: {}, timeoutSeconds: null, retry: true, loops: null };
const flow = workflow(
  { id: 'build', type: 'agent', prompt: 'x', model: 'own', maxRetries: 2, timeoutSeconds: 5 },
  { id: 'review', type: 'agent', prompt: 'x', retry: { max: 1 } },
  script('check', { maxRetries: 3, timeoutSeconds: 7 }),
  { id: 'ask', type: 'gate', command: 'look.sh', args: ['x'], intervalSeconds: 5, on: { yes: 'end' } },
  { id: 'end', type: 'terminal' },
);

describe('applyChanges', () => {
  it('changes nothing without a wish', () => {
    expect(applyChanges(flow, none)).toEqual(flow);
  });

  it('can leave a gate to people alone', () => {
    const { phases } = applyChanges(flow, { ...none, gatesPoll: false });
    expect(phases.find(({ id }) => id === 'ask')).toEqual({ id: 'ask', type: 'gate', on: { yes: 'end' } });
  });

  it.each<[string, Partial<WorkflowChanges>, Record<string, object>]>([
    ['a model for all', { models: { '*': 'm' } }, { build: { model: 'm' }, review: { model: 'm' } }],
    [
      'a model for one',
      { models: { '*': 'm', build: 'b' } },
      { build: { model: 'b' }, review: { model: 'm' } },
    ],
    ['an effort', { efforts: { review: 'high' } }, { review: { effort: 'high' } }],
    [
      'a time for agents',
      { timeoutSeconds: 9 },
      { build: { timeoutSeconds: 9 }, check: { timeoutSeconds: 7 } },
    ],
    [
      'no retries',
      { retry: false },
      {
        build: { maxRetries: undefined },
        check: { maxRetries: undefined },
        review: { retry: undefined, repair: false },
      },
    ],
    ['a bound on a loop', { loops: { phase: 'check', visits: 2 } }, { check: { maxVisits: 2 } }],
  ])('%s', (_name, changes, expected) => {
    const special = applyChanges(flow, { ...none, ...changes });
    for (const [id, fields] of Object.entries(expected)) expect(phaseIn(special, id)).toMatchObject(fields);
    expect(Workflow.parse(JSON.parse(JSON.stringify(special)))).toBeDefined();
    expect(phaseIn(special, 'ask')).toEqual(phaseIn(flow, 'ask'));
    expect(phaseIn(special, 'end')).toEqual(phaseIn(flow, 'end'));
  });
});

describe('positiveEdge', () => {
  it.each([
    ['success', script('a', { onSuccess: 'b', on: { pass: 'c' } }), 'b'],
    ['the first outcome', script('a', { on: { pass: 'c', fail: 'd' } }), 'c'],
    ['the first decision', { id: 'a', type: 'gate', on: { yes: 'b', no: 'c' } }, 'b'],
    ['none', script('a', { onFailure: 'c' }), undefined],
    ['none for a terminal', { id: 'a', type: 'terminal' }, undefined],
  ])('is %s', (_name, phase, target) => {
    expect(positiveEdge(phaseIn(workflow(phase), 'a'))).toBe(target);
  });
});
