import { describe, expect, it } from 'vitest';
import {
  capturesOf,
  edgesOf,
  firstPhase,
  type PhaseOf,
  phaseOf,
  resultSchemaOf,
  retryOf,
  Workflow,
} from '../../src/model/workflow.ts';
import { phaseIn, script, workflow } from './build.ts';

const gate = (more: Record<string, unknown> = {}) => ({
  id: 'ask',
  type: 'gate',
  on: { yes: 'a', no: 'b' },
  ...more,
});

describe('edgesOf', () => {
  it.each<[string, Record<string, unknown>, Record<string, string>]>([
    ['none', {}, {}],
    ['sugar', { onSuccess: 'b', onFailure: 'c' }, { success: 'b', failure: 'c' }],
    ['named outcomes', { on: { pass: 'b', fail: 'c' } }, { pass: 'b', fail: 'c' }],
    ['both', { on: { pass: 'b' }, onFailure: 'c' }, { pass: 'b', failure: 'c' }],
    ['sugar beside the same outcome', { on: { success: 'b' }, onSuccess: 'c' }, { success: 'c' }],
  ])('%s', (_name, fields, edges) => {
    expect(edgesOf(phaseIn(workflow(script('a', fields)), 'a'))).toEqual(edges);
  });

  it('a gate has its decisions and its failure edge, a terminal nothing', () => {
    const flow = workflow(gate({ onFailure: 'c' }), { id: 'end', type: 'terminal' });
    expect(edgesOf(phaseIn(flow, 'ask'))).toEqual({ yes: 'a', no: 'b', failure: 'c' });
    expect(edgesOf(phaseIn(flow, 'end'))).toEqual({});
  });
});

describe('retryOf', () => {
  const none = { max: 0, delaySeconds: 0, factor: 2, maxDelaySeconds: 600 };
  it.each([
    ['nothing', script('a'), none],
    ['maxRetries', script('a', { maxRetries: 3 }), { ...none, max: 3 }],
    ['retry', script('a', { retry: { max: 2, delaySeconds: 5 } }), { ...none, max: 2, delaySeconds: 5 }],
    ['retry beside maxRetries', script('a', { maxRetries: 9, retry: { max: 1 } }), { ...none, max: 1 }],
    ['a gate', { ...gate(), id: 'a' }, none],
    ['a terminal', { id: 'a', type: 'terminal' }, none],
  ])('%s', (_name, phase, rule) => {
    expect(retryOf(phaseIn(workflow(phase), 'a'))).toEqual(rule);
  });
});

describe('capturesOf', () => {
  it.each([
    ['a script', script('a', { capture: { url: 'stdout', n: 'result.n' } }), ['url', 'n']],
    ['one without', script('a'), []],
    ['a gate', { ...gate(), id: 'a' }, ['a_decision', 'a_message']],
    ['a terminal', { id: 'a', type: 'terminal' }, []],
  ])('%s', (_name, phase, names) => {
    expect(capturesOf(phaseIn(workflow(phase), 'a'))).toEqual(names);
  });
});

describe('resultSchemaOf', () => {
  const agent = (fields: Record<string, unknown>) =>
    phaseIn(workflow({ id: 'a', type: 'agent', prompt: 'x', ...fields }), 'a') as PhaseOf<'agent'>;
  const outcome = (fields: Record<string, unknown>) =>
    (resultSchemaOf(agent(fields)) as { properties: { outcome: { enum: string[] } } }).properties.outcome
      .enum;

  it('is undefined without output', () => {
    expect(resultSchemaOf(agent({}))).toBeUndefined();
  });

  it.each([
    ['no edges', {}, ['success', 'failure']],
    ['only sugar', { onSuccess: 'b' }, ['success', 'failure']],
    ['named outcomes', { on: { pass: 'b', fail: 'c' }, onFailure: 'd' }, ['pass', 'fail', 'failure']],
  ])('fills in the outcomes: %s', (_name, edges, expected) => {
    expect(outcome({ output: { type: 'object' }, ...edges })).toEqual(expected);
  });

  it('keeps an outcome the author wrote, and requires it', () => {
    const own = { type: 'string', enum: ['x'] };
    const output = { type: 'object', properties: { outcome: own, n: { type: 'number' } }, required: ['n'] };
    expect(resultSchemaOf(agent({ output }))).toEqual({ ...output, required: ['n', 'outcome'] });
  });

  it('keeps the other properties and what they require', () => {
    const output = { properties: { n: { type: 'number' } }, required: ['n'], additionalProperties: false };
    expect(resultSchemaOf(agent({ output }))).toMatchObject({
      type: 'object',
      properties: { n: { type: 'number' }, outcome: { type: 'string' } },
      required: ['outcome', 'n'],
      additionalProperties: false,
    });
  });
});

describe('phases by id', () => {
  const flow = workflow(script('a'), script('b'));
  it('are found, or undefined', () => {
    expect(firstPhase(flow).id).toBe('a');
    expect(phaseOf(flow, 'b')?.id).toBe('b');
    expect(phaseOf(flow, '')).toBeUndefined();
    expect(phaseOf(flow, 'toString')).toBeUndefined();
  });
});

describe('the schema', () => {
  it.each([
    ['no phases', []],
    ['an unknown key', [script('a', { onSucces: 'b' })]],
    ['a field of another type', [{ id: 'a', type: 'terminal', maxVisits: 2 }]],
    ['an unknown type', [{ id: 'a', type: 'step' }]],
    ['a negative timeout', [script('a', { timeoutSeconds: -1 })]],
    ['no visit at all', [script('a', { maxVisits: 0 })]],
    ['endless retries', [script('a', { maxRetries: 21 })]],
    ['an id with a slash', [script('a/b')]],
    ['an id with a dot', [script('a.b')]],
    ['an id that is no word', [script('1a')]],
    ['an id of every object', [script('constructor')]],
    ['a gate without decisions', [{ id: 'a', type: 'gate' }]],
  ])('refuses %s', (_name, phases) => {
    expect(Workflow.safeParse({ name: 'flow', phases }).success).toBe(false);
  });

  it('has no field that means nothing for its type', () => {
    expect(Workflow.safeParse({ name: 'flow', phases: [gate({ maxRetries: 1 })] }).success).toBe(false);
    expect(Workflow.safeParse({ name: 'flow', phases: [gate({ idleSeconds: 1 })] }).success).toBe(false);
  });
});
