import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { resolveRunOptions } from '../../src/api/orchestrator-arguments.ts';
import { optionOf, RUN_SETTINGS } from '../../src/config/run-flags.ts';
import { RUN_ONLY } from '../../src/config/run-settings-table.ts';
import type { RunSettings } from '../../src/config/settings-table.ts';
import { variableOf } from '../../src/config/settings-table.ts';
import { buildExecutionConfig } from '../../src/features/issue-runs/options/execution-config-and-workflow-changes.ts';
import type { RunOptions } from '../../src/features/issue-runs/request-and-result-types.ts';
import type { InputError } from '../../src/model/errors.ts';
import { refusal } from '../config/scratch.ts';

const NO_ENV = { env: {} };
const resolve = (options: RunOptions, run: Partial<RunSettings> = {}, env: Record<string, string> = {}) =>
  resolveRunOptions(options, { run }, { env });

/** Another value than the default for every setting of runs. */
const OTHER: Record<string, unknown> = {
  concurrency: 7,
  sequential: true,
  timeout: 60,
  qualityLoop: true,
  maxIterations: 9,
  retry: false,
  smartTests: false,
  testgen: true,
  securityReview: true,
  autoDetectPhases: false,
  rules: [{ labels: ['x'], qualityLoop: true }],
  phases: { spec: { model: 'opus' } },
  agent: 'codex',
  defaultBase: 'develop',
  pr: false,
  integrate: true,
  logJson: false,
  logPath: 'elsewhere',
  rotation: { maxSizeMB: 1, maxFiles: 2 },
};

describe('resolveRunOptions', () => {
  const booleans = RUN_SETTINGS.filter((row) => row.kind.is === 'boolean');

  it('defaults < settings < environment < explicit, for every switch', () => {
    const say = fc.option(fc.boolean(), { nil: undefined });
    fc.assert(
      fc.property(fc.constantFrom(...booleans), say, say, say, (row, settings, env, explicit) => {
        const key = optionOf(row);
        const merged = resolve(
          { [key]: explicit },
          { [key]: settings },
          env === undefined ? {} : { [variableOf(row.key)]: env ? 'true' : 'false' },
        );
        expect(merged[key as 'retry']).toBe(explicit ?? env ?? settings ?? row.default);
      }),
    );
  });

  it('defaults < settings < environment < explicit, for every number', () => {
    const say = fc.option(fc.integer({ min: 1, max: 1000 }), { nil: undefined });
    const keys = fc.constantFrom('concurrency', 'timeout', 'maxIterations');
    fc.assert(
      fc.property(keys, say, say, say, (key, settings, env, explicit) => {
        const row = RUN_SETTINGS.find((one) => optionOf(one) === key);
        const variables = env === undefined ? {} : { [variableOf(`run.${key}`)]: String(env) };
        const merged = resolve({ [key]: explicit }, { [key]: settings }, variables);
        expect(merged[key as 'timeout']).toBe(explicit ?? env ?? settings ?? row?.default);
      }),
    );
  });

  it('ignores keys that are undefined, whatever they are', () => {
    const names = [
      ...RUN_SETTINGS.map((row) => optionOf(row).split('.')[0] ?? ''),
      ...Object.keys(RUN_ONLY),
      'noPr',
      'nonsense',
    ];
    const nothing = Object.fromEntries(names.map((name) => [name, undefined])) as RunOptions;
    const run = OTHER as Partial<RunSettings>;
    expect(resolve(nothing, run)).toEqual(resolve({}, run));
    expect(resolve(nothing)).toEqual(resolve({}));
  });

  it.each(RUN_SETTINGS.map((row) => [row.key, row] as const))('%s changes the merged options', (key, row) => {
    const path = key.slice('run.'.length).split('.');
    const value = path.reduce<unknown>((inner, name) => (inner as Record<string, unknown>)[name], OTHER);
    expect(value).not.toEqual(row.default);
    const nest = (names: string[]): Record<string, unknown> =>
      names.reduceRight<unknown>((inner, name) => ({ [name]: inner }), value) as Record<string, unknown>;
    const fromSettings = resolve({}, nest(path));
    expect(fromSettings).not.toEqual(resolve({}));
    expect(fromSettings).toMatchObject(nest(optionOf(row).split('.')));
    const explicit = resolve(nest(optionOf(row).split('.')));
    expect(explicit).toMatchObject(nest(optionOf(row).split('.')));
  });

  it.each([
    ['phases', 'exec,qa'],
    ['chain', true],
    ['qaGate', true],
    ['batch', ['1,2', '3']],
    ['models', 'opus'],
    ['efforts', 'high'],
    ['dryRun', true],
    ['force', true],
    ['verbose', true],
    ['quiet', true],
  ])('%s changes the merged options', (option, value) => {
    const options = { ...(option === 'qaGate' ? { chain: true } : {}), [option]: value };
    expect(resolve(options)).toMatchObject({ [option]: value });
    expect(Object.keys(RUN_ONLY)).toContain(option);
  });

  it.each([
    [{ noLog: true }, { logJson: false }],
    [{ noSmartTests: true }, { smartTests: false }],
    [{ noRetry: true }, { retry: false }],
    [{ noPr: true }, { pr: false }],
    [{ noRetry: false }, { retry: true }],
    [{ phases: ['qa', 'spec'] }, { phases: 'spec,qa' }],
    [{ phases: ' security-review , exec ' }, { phases: 'exec,security_review' }],
    [{ logPath: '~/logs' }, { logPath: '/home/u/logs' }],
    [{ rotation: { maxFiles: 5 } }, { rotation: { maxFiles: 5, maxSizeMB: 10 } }],
  ])('%j is %j', (options, expected) => {
    const settings = { run: { retry: false } };
    expect(resolveRunOptions(options, settings, { env: { HOME: '/home/u' } })).toMatchObject(expected);
  });

  describe('settings and variables that a caller does not mention stay alive', () => {
    it.each([
      [{ qualityLoop: true }, {}, 'qualityLoop', true],
      [{}, { SIGNALBOX_QUALITY_LOOP: 'true' }, 'qualityLoop', true],
      [{ qualityLoop: true }, { SIGNALBOX_QUALITY_LOOP: 'false' }, 'qualityLoop', false],
      [{}, { SIGNALBOX_MAX_ITERATIONS: '5' }, 'maxIterations', 5],
      [{}, { SIGNALBOX_SMART_TESTS: 'false' }, 'smartTests', false],
      [{ smartTests: false }, { SIGNALBOX_SMART_TESTS: '1' }, 'smartTests', true],
      [{}, { SIGNALBOX_TESTGEN: 'true' }, 'testgen', true],
      [{ testgen: true }, { SIGNALBOX_TESTGEN: '0' }, 'testgen', false],
    ] as const)('%j %j', (run, env, key, value) => {
      expect(resolve({ phases: 'spec,exec,qa' }, run, env)[key]).toBe(value);
    });
  });

  it('honours a false that labels would overrule', () => {
    const rules = (options: RunOptions, env: Record<string, string> = {}) => resolve(options, {}, env).rules;
    expect(rules({})).toHaveLength(3);
    expect(rules({ qualityLoop: false }).some((rule) => rule.qualityLoop)).toBe(false);
    expect(rules({}, { SIGNALBOX_TESTGEN: '0' }).flatMap((rule) => rule.phases ?? [])).toEqual([
      'security_review',
    ]);
    expect(rules({ testgen: true }, { SIGNALBOX_TESTGEN: '0' })).toHaveLength(3);
    expect(resolve({}, { qualityLoop: false }).rules).toHaveLength(3);
    expect(resolve({ autoDetectPhases: false }).autoDetectPhases).toBe(false);
  });

  it('labels decide about phases only where no phases are named, or where they are told to', () => {
    expect(resolve({}).autoDetectPhases).toBe(true);
    expect(resolve({ phases: 'exec' }).autoDetectPhases).toBe(false);
    expect(resolve({ phases: 'exec', autoDetectPhases: true }).autoDetectPhases).toBe(true);
  });

  it.each([
    [{ concurrency: 4 }, { sequential: true }, {}, false],
    [{}, { sequential: true }, { SIGNALBOX_CONCURRENCY: '4' }, false],
    [{ concurrency: 4 }, {}, { SIGNALBOX_SEQUENTIAL: 'true' }, false],
    [{ concurrency: 1 }, { sequential: true }, {}, true],
    [{}, { sequential: true, concurrency: 4 }, {}, true],
    [{}, {}, { SIGNALBOX_SEQUENTIAL: 'true', SIGNALBOX_CONCURRENCY: '4' }, true],
    [{ sequential: true }, { concurrency: 4 }, {}, true],
    [{ chain: true }, {}, { SIGNALBOX_SEQUENTIAL: 'false', SIGNALBOX_CONCURRENCY: '4' }, true],
  ])('%j over %j and %j is sequential: %s', (options, run, env, sequential) => {
    expect(resolve(options, run, env).sequential).toBe(sequential);
  });

  describe('a bad concurrency', () => {
    const bad: [unknown, string][] = [
      [0, '0'],
      [-1, '-1'],
      [1.5, '1.5'],
      [Number.NaN, 'NaN'],
      ['abc', 'abc'],
      ['0', '0'],
      ['', '""'],
      [null, 'null'],
      [true, 'true'],
    ];
    const says = (shown: string) => `Invalid --concurrency value: ${shown}. Must be a positive integer.`;

    it.each(bad)('%j is refused in options, flags and settings alike', (value, shown) => {
      const concurrency = value as number;
      expect(refusal(() => resolve({ concurrency }))).toBe(`options.concurrency: ${says(shown)}`);
      expect(refusal(() => resolveRunOptions({ concurrency }, {}, { ...NO_ENV, named: 'flag' }))).toBe(
        says(shown),
      );
      expect(refusal(() => resolve({}, { concurrency }))).toBe(`settings.run.concurrency: ${says(shown)}`);
      expect(() => buildExecutionConfig({ concurrency }, {}, 2)).toThrow(says(shown));
    });

    it.each(['0', '-1', '1.5', 'abc'])('%s is refused in the environment', (text) => {
      expect(refusal(() => resolve({}, {}, { SIGNALBOX_CONCURRENCY: text }))).toBe(
        `SIGNALBOX_CONCURRENCY: ${says(text)}`,
      );
    });

    it('goes CLI > settings > 3', () => {
      expect(resolve({ concurrency: '5' as unknown as number }, { concurrency: 4 }).concurrency).toBe(5);
      expect(resolve({}, { concurrency: 4 }).concurrency).toBe(4);
      expect(resolve({}).concurrency).toBe(3);
    });
  });

  it.each([
    [
      { timeout: '30m' },
      'options.timeout: Invalid --timeout value: 30m. Must be a positive integer of at most 2000000.',
    ],
    [
      { maxIterations: 0 },
      'options.maxIterations: Invalid --max-iterations value: 0. Must be a positive integer.',
    ],
    [{ retry: 'no' }, 'options.retry: found the text "no"; allowed is true or false.'],
    [{ noPr: 'x' }, 'options.noPr: found the text "x"; allowed is true or false.'],
    [{ batch: '1,2' }, 'options.batch: found the text "1,2"; allowed is a list, each text.'],
    [
      { base: '--upload-pack=x' },
      'options.base: found the text "--upload-pack=x"; allowed is the name of a branch.',
    ],
    [{ rotation: 5 }, 'options.rotation: found 5; allowed is a mapping with maxSizeMB, maxFiles.'],
    [
      { rotation: { maxFile: 5 } },
      'options.rotation.maxFile: unknown key "maxFile"; did you mean "maxFiles"?',
    ],
    [{ concurency: 3 }, 'There is no option "concurency". Did you mean "concurrency"?'],
    [{ phases: 'spec,test' }, '--phases: there is no phase "test".'],
    [{ phases: 'spec,spek' }, '--phases: there is no phase "spek". Did you mean "spec"?'],
    [{ phases: 'spec,,qa' }, '--phases: there is no phase "".'],
    [{ phases: 'qa,qa' }, '--phases names qa twice.'],
    [{ phases: '' }, 'options.phases names no phase.'],
    [{ retry: true, noRetry: true }, 'The options noRetry and retry contradict each other.'],
  ])('%j is refused', (options, message) => {
    expect(refusal(() => resolve(options as RunOptions))).toBe(message);
  });

  it('names the known phases', () => {
    try {
      resolve({ phases: 'loop' });
      expect.unreachable();
    } catch (error) {
      expect((error as InputError).hint).toBe('Phases: spec, testgen, exec, security_review, qa.');
    }
  });

  it.each([
    [{ chain: true, batch: ['1'] }, '--chain cannot be used with --batch'],
    [{ chain: true, concurrency: 2 }, '--chain cannot be used with --concurrency 2'],
    [{ chain: true, sequential: false }, '--chain cannot be used with --no-sequential'],
    [{ sequential: true, concurrency: 2 }, '--sequential cannot be used with --concurrency 2'],
    [{ qaGate: true }, '--qa-gate needs --chain'],
    [{ qaGate: true, chain: false }, '--qa-gate needs --chain'],
    [{ quiet: true, verbose: true }, '--quiet cannot be used with --verbose'],
    [
      { testgen: false, phases: 'testgen,exec' },
      '--no-testgen cannot be used with --phases that name testgen',
    ],
    [
      { securityReview: false, phases: 'exec,security-review' },
      '--no-security-review cannot be used with --phases that name security_review',
    ],
    [
      { integrate: true, phases: ['spec', 'security-review'] },
      '--integrate cannot be used with --phases spec,security_review: only work that was done or judged is merged',
    ],
    [
      { securityReview: true, phases: 'spec,qa' },
      '--security-review cannot be used with --phases spec,qa: it reviews what exec has done',
    ],
    [
      { testgen: true, phases: 'qa' },
      '--testgen cannot be used with --phases qa: tests are generated for exec',
    ],
    [
      { qualityLoop: true, phases: 'spec' },
      '--quality-loop cannot be used with --phases spec: the loop goes back to exec',
    ],
    [
      { pr: true, phases: 'qa' },
      '--pr cannot be used with --phases qa: a pull request is opened for what exec has done',
    ],
  ])('%j is refused with the reason', (options, message) => {
    expect(() => resolve(options)).toThrow(message);
  });

  it.each([
    [{ chain: true }, { concurrency: 5 }],
    [{ chain: true, concurrency: 1, sequential: true, qaGate: true, batch: [] }, {}],
    [{ sequential: true, concurrency: 1 }, { concurrency: 5 }],
    [{ maxIterations: 5 }, {}],
    [{ quiet: true, verbose: false }, {}],
    [{ batch: ['1 2'], sequential: true }, {}],
    [{ phases: 'qa', integrate: true }, {}],
    [{ phases: 'security_review', securityReview: true }, {}],
    [{ phases: 'testgen', testgen: true }, {}],
    [
      { phases: 'exec', testgen: true, securityReview: true, qualityLoop: true, pr: true, integrate: true },
      {},
    ],
    [{ phases: 'spec', integrate: false, qualityLoop: false, testgen: false, pr: false }, {}],
    [
      { phases: 'spec' },
      { testgen: true, securityReview: true, qualityLoop: true, pr: true, integrate: true },
    ],
  ])('%j over %j is fine', (options, run) => {
    expect(() => buildExecutionConfig(resolve(options, run), { run }, 3)).not.toThrow();
  });
});

describe('options that were merged before', () => {
  const rules = [
    { labels: ['security'], phases: ['security_review' as const] },
    { labels: ['complex'], qualityLoop: true },
  ];

  it.each([
    [{}, {}],
    [{ chain: true, qaGate: true }, { concurrency: 5 }],
    [{}, { sequential: true, concurrency: 4 }],
    [{ phases: 'testgen,exec' }, {}],
    [{ phases: 'spec' }, { integrate: true, qualityLoop: true }],
    [{ securityReview: false }, { rules }],
    [{ quiet: true, timeout: 60 }, { rules }],
  ])('come to the same: %j over %j', (options, run) => {
    const merged = resolve(options, run as Partial<RunSettings>);
    for (const again of [merged, { ...merged }])
      expect(resolveRunOptions(again, { run: run as Partial<RunSettings> }, NO_ENV)).toEqual(merged);
    expect(buildExecutionConfig(merged, { run: run as Partial<RunSettings> }, 2)).toEqual(
      buildExecutionConfig(resolveRunOptions(merged, {}, NO_ENV), {}, 2),
    );
  });

  it('keep what labels add, although no switch is on', () => {
    const merged = resolve({}, { rules });
    expect(resolveRunOptions(merged, { run: { rules } }, NO_ENV).rules).toEqual(rules);
    expect(resolve({ qualityLoop: false }, { rules }).rules).toEqual([rules[0]]);
  });

  it('may still not contradict themselves', () => {
    const merged = resolve({ chain: true });
    expect(refusal(() => resolveRunOptions({ ...merged, batch: ['1'] }, {}, NO_ENV))).toContain('--batch');
  });
});
