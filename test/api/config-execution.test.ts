import { describe, expect, it } from 'vitest';
import { resolveRunOptions } from '../../src/api/orchestrator-arguments.ts';
import { TABLE } from '../../src/config/settings-table.ts';
import { parseBatches } from '../../src/features/issue-runs/options/check-options-and-parse-batches.ts';
import {
  buildExecutionConfig,
  checkExecutionConfig,
} from '../../src/features/issue-runs/options/execution-config-and-workflow-changes.ts';
import type { RunOptions } from '../../src/features/issue-runs/request-and-result-types.ts';
import type { ExecutionConfig } from '../../src/model/plan-schema.ts';
import { refusal } from '../config/scratch.ts';

const build = (options: RunOptions, count = 1, settings = {}) =>
  buildExecutionConfig(resolveRunOptions(options, settings, { env: {} }), settings, count);

describe('buildExecutionConfig', () => {
  it('has a default for everything', () => {
    expect(build({})).toEqual({
      phases: ['spec', 'exec', 'qa'],
      phaseTimeout: 1800,
      qualityLoop: false,
      maxIterations: 3,
      sequential: false,
      chain: false,
      qaGate: false,
      concurrency: 3,
      parallel: false,
      verbose: false,
      quiet: false,
      noSmartTests: false,
      dryRun: false,
      detach: false,
      force: false,
      retry: true,
      pr: true,
      integrate: false,
      phasePolicies: {},
      autoDetectPhases: true,
      rules: TABLE['run.rules'].default,
    });
  });

  it.each([
    [{}, 1, { sequential: false, parallel: false, concurrency: 3 }],
    [{}, 2, { sequential: false, parallel: true, concurrency: 3 }],
    [{ concurrency: 1 }, 2, { sequential: false, parallel: true, concurrency: 1 }],
    [{ concurrency: 5 }, 0, { sequential: false, parallel: false, concurrency: 5 }],
    [{ sequential: true }, 3, { sequential: true, parallel: false, concurrency: 1 }],
    [{ chain: true }, 3, { sequential: true, parallel: false, concurrency: 1, chain: true }],
    [{ chain: true, qaGate: true }, 1, { sequential: true, qaGate: true }],
    [{ batch: ['1,2', '3'] }, 3, { sequential: false, parallel: true, concurrency: 3 }],
  ])('%j with %d issues', (options, count, expected) => {
    expect(build(options, count)).toMatchObject(expected);
    expect(buildExecutionConfig(options, {}, count)).toMatchObject(expected);
  });

  it.each([
    [{ timeout: 60 }, { phaseTimeout: 60 }],
    [
      { qualityLoop: true, maxIterations: 5 },
      { qualityLoop: true, maxIterations: 5 },
    ],
    [{ smartTests: false }, { noSmartTests: true }],
    [{ noRetry: true }, { retry: false }],
    [
      { noPr: true, integrate: true },
      { pr: false, integrate: true },
    ],
    [
      { dryRun: true, verbose: true, force: true },
      { dryRun: true, verbose: true, force: true },
    ],
    [
      { base: 'develop', agent: 'codex' },
      { base: 'develop', agent: 'codex' },
    ],
    [{ phases: 'spec' }, { phases: ['spec'], autoDetectPhases: false }],
    [{ phases: 'qa,exec' }, { phases: ['exec', 'qa'] }],
    [{ phases: 'exec,security-review' }, { phases: ['exec', 'security_review'] }],
    [{ testgen: true }, { phases: ['spec', 'testgen', 'exec', 'qa'] }],
    [{ securityReview: true }, { phases: ['spec', 'exec', 'security_review', 'qa'] }],
    [{ phases: 'spec,exec,qa', testgen: true }, { phases: ['spec', 'testgen', 'exec', 'qa'] }],
  ])('%j gives %j', (options, expected) => {
    expect(build(options)).toMatchObject(expected);
  });

  it('adds nothing around work that is left out', () => {
    const settings = { run: { testgen: true, securityReview: true } };
    expect(build({ phases: 'qa' }, 1, settings)).toMatchObject({ phases: ['qa'] });
  });

  it('falls back on the settings for what the options leave out', () => {
    const settings = {
      run: { concurrency: 9, timeout: 5, retry: false, phases: { qa: { effort: 'low' as const } } },
    };
    expect(buildExecutionConfig({ timeout: 7 }, settings, 2)).toMatchObject({
      concurrency: 9,
      phaseTimeout: 7,
      retry: false,
      phasePolicies: { qa: { effort: 'low' } },
    });
  });

  const all = (policy: object) =>
    Object.fromEntries(['spec', 'testgen', 'exec', 'security_review', 'qa'].map((phase) => [phase, policy]));
  const run = {
    phases: { qa: { model: 'haiku', effort: 'low' as const }, 'security-review': { model: 'opus' } },
  };

  it.each([
    [{}, {}, {}],
    [{ models: 'opus' }, {}, all({ model: 'opus' })],
    [{ efforts: 'high' }, {}, all({ effort: 'high' })],
    [{ models: 'exec=opus, qa=sonnet' }, {}, { exec: { model: 'opus' }, qa: { model: 'sonnet' } }],
    [{ models: 'security-review=a=b' }, {}, { security_review: { model: 'a=b' } }],
    [{}, run, { qa: { model: 'haiku', effort: 'low' }, security_review: { model: 'opus' } }],
    [
      { models: 'qa=opus', efforts: 'spec=max' },
      run,
      { qa: { model: 'opus', effort: 'low' }, spec: { effort: 'max' }, security_review: { model: 'opus' } },
    ],
    [{ models: 'sonnet' }, run, { ...all({ model: 'sonnet' }), qa: { model: 'sonnet', effort: 'low' } }],
  ])('%j over %j gives the policies %j', (options, own, policies) => {
    expect(build(options, 1, { run: own }).phasePolicies).toEqual(policies);
  });

  it.each([
    [
      { models: 'opus,qa=sonnet' },
      '--models opus,qa=sonnet: a value for all phases cannot be combined with one for a phase.',
    ],
    [{ models: 'opus,sonnet' }, '--models opus,sonnet: there is more than one value for all phases.'],
    [{ models: 'plan=opus' }, '--models: there is no phase "plan".'],
    [{ models: '=opus' }, '--models: there is no phase "".'],
    [{ models: 'exec=' }, '--models exec=: exec has no value.'],
    [{ models: 'exec=a,' }, '--models exec=a,: a value is missing.'],
    [{ models: 'exec=a,exec=b' }, '--models exec=a,exec=b: exec is named twice.'],
    [{ models: '--yolo' }, '--models --yolo: "--yolo" looks like a flag.'],
    [{ models: '' }, 'options.models: found an empty text; allowed is text.'],
    [{ efforts: 'huge' }, '--efforts huge: "huge" is none of minimal, low, medium, high, xhigh, max.'],
    [{ efforts: 'qa=High' }, '--efforts qa=High: "High" is none of minimal, low, medium, high, xhigh, max.'],
    [{ phases: 'plan' }, '--phases: there is no phase "plan".'],
    [
      { timeout: 0 },
      'options.timeout: Invalid --timeout value: 0. Must be a positive integer of at most 2000000.',
    ],
    [
      { maxIterations: 1.5 },
      'options.maxIterations: Invalid --max-iterations value: 1.5. Must be a positive integer.',
    ],
    [{ chain: true, batch: ['1'] }, /^--chain cannot be used with --batch/],
    [{ qaGate: true }, /^--qa-gate needs --chain/],
    [{ quiet: true, verbose: true }, /^--quiet cannot be used with --verbose/],
  ])('%j is refused', (options, message) => {
    expect(refusal(() => buildExecutionConfig(options, {}, 1))).toEqual(
      typeof message === 'string' ? message : expect.stringMatching(message),
    );
  });

  it('refuses an agent that the settings do not have', () => {
    const agent = { name: 'mine', adapter: 'custom', command: 'x', defaultArgs: [], env: {}, model: null };
    const settings = { agents: { mine: agent } };
    expect(build({ agent: 'mine' }, 1, settings).agent).toBe('mine');
    expect(() => build({ agent: 'mind' }, 1, settings)).toThrow(
      'no agent is called "mind"; did you mean "mine"?',
    );
  });
});

describe('a configuration made by hand', () => {
  const good = build({});
  it.each([
    [undefined, 'There is no config.'],
    [{ ...good, phases: [] }, 'config.phases is not a list with phases in it.'],
    [{ ...good, phases: 'spec' }, 'config.phases is not a list with phases in it.'],
    [{ ...good, phases: ['loop'] }, 'config.phases: there is no phase "loop".'],
    [
      { ...good, concurrency: 0 },
      'config.concurrency: Invalid --concurrency value: 0. Must be a positive integer.',
    ],
    [
      { ...good, concurrency: 2.5 },
      'config.concurrency: Invalid --concurrency value: 2.5. Must be a positive integer.',
    ],
    [
      { ...good, concurrency: undefined },
      'config.concurrency: Invalid --concurrency value: null. Must be a positive integer.',
    ],
    [
      { ...good, maxIterations: -1 },
      'config.maxIterations: Invalid --max-iterations value: -1. Must be a positive integer.',
    ],
    [
      { ...good, phaseTimeout: Number.NaN },
      'config.phaseTimeout: Invalid --timeout value: NaN. Must be a positive integer of at most 2000000.',
    ],
  ])('%j is refused', (config, message) => {
    expect(refusal(() => checkExecutionConfig(config as unknown as ExecutionConfig))).toBe(message);
  });

  it('is taken when it can be run', () => {
    expect(() => checkExecutionConfig(good)).not.toThrow();
  });
});

describe('parseBatches', () => {
  it.each([
    [[], []],
    [
      ['123,456', '789'],
      [['123', '456'], ['789']],
    ],
    [
      ['1 2', '3'],
      [['1', '2'], ['3']],
    ],
    [
      [' 1 ,  #2,', 'ENG-12\towner/repo#3'],
      [
        ['1', '#2'],
        ['ENG-12', 'owner/repo#3'],
      ],
    ],
    [
      ['https://github.com/a/b/issues/4 issues/five.md'],
      [['https://github.com/a/b/issues/4', 'issues/five.md']],
    ],
  ])('%j is %j', (batch, groups) => {
    expect(parseBatches(batch)).toEqual(groups);
  });

  it.each([
    [[''], '--batch "" names no issue.'],
    [['1', ' , '], '--batch " , " names no issue.'],
    [['1;2'], '--batch "1;2": "1;2" is not an issue reference.'],
    [['1,abc'], '--batch "1,abc": "abc" is not an issue reference.'],
    [['0'], '--batch "0": "0" is not an issue reference.'],
    [['-1'], '--batch "-1": "-1" is not an issue reference.'],
    [['1.5'], '--batch "1.5": "1.5" is not an issue reference.'],
    [['1,2', '#2'], '--batch "#2": #2 is there twice.'],
  ])('%j is refused', (batch, message) => {
    expect(refusal(() => parseBatches(batch))).toBe(message);
  });
});
