import { mkdirSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseSettings } from '../../src/config/parse-yaml-and-place-problems.ts';
import { RUN_SETTINGS } from '../../src/config/run-flags.ts';
import { settingsJsonSchema } from '../../src/config/settings-schema-docs-and-list.ts';
import { variableOf } from '../../src/config/settings-table.ts';
import { trust } from '../../src/config/trusted-directories.ts';
import { failure, type Scratch, scratch } from './scratch.ts';

const PROJECT = 'cwd/.signalbox/settings.json';
const USER = 'user/.signalbox/config.yaml';

function project(): Scratch {
  const room = scratch();
  mkdirSync(room.path('cwd/.git'));
  return room;
}

describe('the run block', () => {
  it('has the defaults of the documentation', async () => {
    expect((await scratch().load()).run).toEqual({
      concurrency: 3,
      sequential: false,
      timeout: 1800,
      qualityLoop: false,
      maxIterations: 3,
      retry: true,
      smartTests: true,
      testgen: false,
      securityReview: false,
      autoDetectPhases: true,
      logJson: true,
      logPath: '.signalbox/logs',
      rotation: { maxSizeMB: 10, maxFiles: 100 },
      defaultBase: null,
      agent: null,
      pr: true,
      integrate: false,
      phases: {},
      rules: [
        {
          labels: ['security', 'auth', 'authentication', 'permissions', 'admin'],
          phases: ['security_review'],
        },
        { labels: ['complex', 'refactor', 'breaking', 'major'], qualityLoop: true },
        { labels: ['tests', 'testing'], phases: ['testgen'] },
      ],
    });
  });

  it('is read from settings.json with comments, over the user’s config.yaml, key by key', async () => {
    const { write, load } = project();
    const user = write(
      USER,
      'run:\n  timeout: 600\n  concurrency: 2\n  rotation:\n    maxFiles: 7\n  phases: {spec: {model: a}, qa: {model: b}}\n',
    );
    const own = write(
      PROJECT,
      `{
        // how this project likes it
        "run": {
          "concurrency": 5, /* not more */
          "sequential": false,
          "rotation": { "maxSizeMB": 1.5, },
          "phases": { "qa": { "effort": "high" } },
        },
      }`,
    );
    const { run, origin } = await load();
    expect(run).toMatchObject({
      timeout: 600,
      concurrency: 5,
      rotation: { maxSizeMB: 1.5, maxFiles: 7 },
      phases: { spec: { model: 'a' }, qa: { effort: 'high' } },
    });
    expect(origin).toMatchObject({
      'run.timeout': `${user}:2`,
      'run.concurrency': `${own}:4`,
      'run.rotation.maxSizeMB': `${own}:6`,
      'run.rotation.maxFiles': `${user}:5`,
      'run.phases.spec': `${user}:6`,
      'run.phases.qa': `${own}:7`,
      'run.retry': 'default',
    });
  });

  it.each([
    ['"concurrency": 0', '25: run.concurrency: Invalid --concurrency value: 0. Must be a positive integer.'],
    [
      '"concurrency": -1',
      '25: run.concurrency: Invalid --concurrency value: -1. Must be a positive integer.',
    ],
    [
      '"concurrency": 1.5',
      '25: run.concurrency: Invalid --concurrency value: 1.5. Must be a positive integer.',
    ],
    [
      '"concurrency": "abc"',
      '25: run.concurrency: Invalid --concurrency value: abc. Must be a positive integer.',
    ],
    [
      '"concurrency": "3"',
      '25: run.concurrency: Invalid --concurrency value: 3. Must be a positive integer.',
    ],
    [
      '"concurrency": null',
      '25: run.concurrency: Invalid --concurrency value: null. Must be a positive integer.',
    ],
    [
      '"maxIterations": 0',
      '27: run.maxIterations: Invalid --max-iterations value: 0. Must be a positive integer.',
    ],
    [
      '"timeout": "30m"',
      '21: run.timeout: Invalid --timeout value: 30m. Must be a positive integer of at most 2000000.',
    ],
    ['"retry": "yes"', '19: run.retry: found the text "yes"; allowed is true or false.'],
    ['"retry": 1', '19: run.retry: found 1; allowed is true or false.'],
    ['"concurency": 3', '10: unknown key "concurency"; did you mean "concurrency"?'],
    ['"rotation": 5', '22: run.rotation: found 5; allowed is a mapping with maxSizeMB, maxFiles.'],
    ['"rotation": {"maxSize": 5}', '23: unknown key "maxSize"; did you mean "maxSizeMB"?'],
    [
      '"rotation": {"maxFiles": 0}',
      '35: run.rotation.maxFiles: found 0; allowed is a whole number of at least 1.',
    ],
    ['"rotation.maxFiles": 3', '10: unknown key "rotation.maxFiles".'],
    [
      '"phases": {"specs": {}}',
      '21: the name "specs" is none of the phases spec, testgen, exec, security_review, qa.',
    ],
    [
      '"phases": {"qa": {"effort": "huge"}}',
      '38: run.phases.qa.effort: found the text "huge"; allowed is one of minimal, low, medium, high, xhigh, max.',
    ],
    ['"rules": [{}]', '20: run.rules.0: "labels" is missing; it is a list, each text.'],
    [
      '"rules": [{"labels": ["x"], "phases": ["spec"]}]',
      '49: run.rules.0.phases.0: found the text "spec"; allowed is one of testgen, security_review, security-review.',
    ],
    ['"defaultBase": "-x"', '25: run.defaultBase: found the text "-x"; allowed is the name of a branch.'],
    ['"defaultBase": "a..b"', '25: run.defaultBase: found the text "a..b"; allowed is the name of a branch.'],
    ['"agent": "cluade"', '10: no agent is called "cluade"; did you mean "claude"?'],
  ])('%s is an error with file, line and what is allowed', async (text, expected) => {
    const { write, load } = project();
    const file = write(PROJECT, `{ // settings\n"run": {\n         ${text}}}`);
    expect((await failure(load())).message).toBe(`${file}:3:${expected}`);
  });

  it('says of a number in quotes that it is a text', async () => {
    const { write, load } = project();
    write(PROJECT, '{ "run": { "concurrency": "3" } }');
    expect((await failure(load())).hint).toBe('It is a text; leave out the quotes: 3.');
  });

  it.each([
    ['concurrency: 3', '"concurrency" belongs under "run".', 'Write:\nrun:\n  concurrency: …'],
    ['maxFiles: 3', '"maxFiles" belongs under "run.rotation".', 'Write:\nrun:\n  rotation:\n    maxFiles: …'],
  ])('%s at the top is told where it belongs', async (text, message, hint) => {
    const { write, load } = scratch();
    write(USER, text);
    const error = await failure(load());
    expect(error.message).toContain(message);
    expect(error.hint).toBe(hint);
  });

  it.each([
    ['30m', 'It is in seconds, without a unit; write 1800.'],
    ['2 h', 'It is in seconds, without a unit; write 7200.'],
    ['90s', 'It is in seconds, without a unit; write 90.'],
    ['soon', 'It is in seconds, without a unit.'],
  ])('a timeout of %s is refused with the reason', async (text, hint) => {
    const { write, load } = scratch();
    write(USER, `run: {timeout: ${text}}`);
    expect((await failure(load())).hint).toBe(hint);
  });

  it('may not say where plans come from without trust', async () => {
    const { write, path, load } = project();
    write(PROJECT, '{"stateDir": "theirs"}');
    const error = await failure(load());
    expect(error).toMatchObject({ code: 'config/untrusted', details: { dir: path('cwd') } });
    expect(error.message).toContain('"stateDir" decides where plans come from');
    trust(path('cwd'), path('user/.signalbox'));
    expect((await load()).stateDir).toBe(path('cwd/.signalbox/theirs'));
  });

  it('may keep its logs elsewhere only with trust', async () => {
    for (const logPath of ['/var/log/x', '../logs', '~/logs']) {
      const { write, path, load } = project();
      const file = write(PROJECT, JSON.stringify({ run: { logPath } }));
      const error = await failure(load());
      expect(error).toMatchObject({ code: 'config/untrusted', details: { file } });
      expect(error.message).toContain('"run.logPath" leads out of the project');
      trust(path('cwd'), path('user/.signalbox'));
      const { run } = await load();
      expect(run.logPath).toBe(logPath.replace('~', path('user')));
    }
  });
});

describe('variables', () => {
  const load = (env: Record<string, string>) => {
    const room = scratch();
    return room.load({ env: { HOME: room.path('user'), ...env } });
  };

  it.each([
    ['SIGNALBOX_QUALITY_LOOP', 'qualityLoop'],
    ['SIGNALBOX_SMART_TESTS', 'smartTests'],
    ['SIGNALBOX_TESTGEN', 'testgen'],
    ['SIGNALBOX_SECURITY_REVIEW', 'securityReview'],
    ['SIGNALBOX_SEQUENTIAL', 'sequential'],
    ['SIGNALBOX_RETRY', 'retry'],
    ['SIGNALBOX_LOG_JSON', 'logJson'],
    ['SIGNALBOX_PR', 'pr'],
    ['SIGNALBOX_INTEGRATE', 'integrate'],
    ['SIGNALBOX_AUTO_DETECT_PHASES', 'autoDetectPhases'],
  ] as const)('%s works in both directions', async (variable, key) => {
    for (const [text, value] of Object.entries({ true: true, 1: true, false: false, 0: false })) {
      const { run, origin } = await load({ [variable]: text });
      expect(run[key]).toBe(value);
      expect(origin[`run.${key}`]).toBe(variable);
    }
    for (const text of ['yes', 'TRUE', 'on', '2', ' true']) {
      const error = await failure(load({ [variable]: text }));
      expect(error.message).toBe(`${variable}: found the text "${text}"; allowed is true or false.`);
    }
    expect((await load({ [variable]: '' })).origin[`run.${key}`]).toBe('default');
  });

  it.each([
    ['SIGNALBOX_CONCURRENCY', '5', { concurrency: 5 }],
    ['SIGNALBOX_MAX_ITERATIONS', '7', { maxIterations: 7 }],
    ['SIGNALBOX_TIMEOUT', '60', { timeout: 60 }],
    ['SIGNALBOX_DEFAULT_BASE', 'develop', { defaultBase: 'develop' }],
    ['SIGNALBOX_AGENT', 'codex', { agent: 'codex' }],
    ['SIGNALBOX_LOG_PATH', 'out/logs', { logPath: 'out/logs' }],
    ['SIGNALBOX_ROTATION_MAX_FILES', '9', { rotation: { maxFiles: 9 } }],
  ])('%s=%s', async (variable, text, expected) => {
    expect((await load({ [variable]: text })).run).toMatchObject(expected);
  });

  it.each([
    ['SIGNALBOX_CONCURRENCY', '0', 'Invalid --concurrency value: 0. Must be a positive integer.'],
    ['SIGNALBOX_CONCURRENCY', '1.5', 'Invalid --concurrency value: 1.5. Must be a positive integer.'],
    ['SIGNALBOX_CONCURRENCY', 'abc', 'Invalid --concurrency value: abc. Must be a positive integer.'],
    ['SIGNALBOX_MAX_ITERATIONS', '-1', 'Invalid --max-iterations value: -1. Must be a positive integer.'],
    [
      'SIGNALBOX_TIMEOUT',
      '30m',
      'Invalid --timeout value: 30m. Must be a positive integer of at most 2000000.',
    ],
    ['SIGNALBOX_AGENT', 'nobody', 'no agent is called "nobody".'],
  ])('%s=%s is refused by name', async (variable, text, expected) => {
    expect((await failure(load({ [variable]: text }))).message).toBe(`${variable}: ${expected}`);
  });

  it('the commit that scripts are told is not the base of further runs', async () => {
    const { run } = await load({ SIGNALBOX_BASE: 'abc123' });
    expect(run.defaultBase).toBeNull();
  });

  it('have names of their own', () => {
    const names = RUN_SETTINGS.map(({ key }) => variableOf(key));
    expect(new Set(names).size).toBe(names.length);
  });
});

describe('settings.json', () => {
  it.each([
    ['{"a": 1} // end', { a: 1 }],
    ['// begin\n{"a": /* in */ 1}', { a: 1 }],
    ['{\n\t"a": [1, 2,],\t// tabs\n}', { a: [1, 2] }],
    ['{"a": "http://x/* y */", "b": "\\"// no"}', { a: 'http://x/* y */', b: '"// no' }],
    ['{"a": 1 /**/, /* * / */ "b": 2}', { a: 1, b: 2 }],
    ['\uFEFF{\r\n  "a": 1 // windows\r\n}\r\n', { a: 1 }],
  ])('%j', (text, data) => {
    expect(parseSettings(text, 'settings.json').data).toEqual(data);
  });

  it('keeps the places of what stands behind a comment', () => {
    const source = parseSettings('{ /* two\nlines */ "a": 1, // x\n  "b": 2}', 'settings.json');
    expect(source.at(['a'], 'key')).toEqual({ line: 2, column: 10 });
    expect(source.at(['b'])).toEqual({ line: 3, column: 8 });
  });

  it('says where a comment begins that never ends', () => {
    expect(() => parseSettings('{"a": 1}\n  /* more', 'settings.json')).toThrow(
      'settings.json:2:3: The comment that begins here does not end.',
    );
  });

  it('in YAML // is text', () => {
    expect(parseSettings('a: http://x', 'config.yaml').data).toEqual({ a: 'http://x' });
  });

  it('means the same with and without comments', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 3 }), fc.string(), (value, words) => {
        const text = JSON.stringify({ value }, null, 2);
        const line = `// ${words.replace(/[\r\n\u0085\u2028\u2029]/g, ' ')}`;
        const commented = text.replaceAll('\n', () => ` ${line}\n/* " */`);
        const data = (json: string) => parseSettings(json, 'x.json').data;
        expect(data(commented)).toEqual(data(text));
      }),
      { numRuns: 200 },
    );
  });
});

describe('the JSON Schema', () => {
  const run = (settingsJsonSchema() as { properties: { run: { properties: Record<string, unknown> } } })
    .properties.run.properties;

  it('has the block as it is nested', () => {
    expect(run.concurrency).toMatchObject({ type: 'integer', minimum: 1, default: 3 });
    expect(run.retry).toMatchObject({ type: 'boolean', default: true });
    expect(run.rotation).toMatchObject({
      properties: { maxFiles: { default: 100 }, maxSizeMB: { exclusiveMinimum: 0 } },
      additionalProperties: false,
    });
    expect(run.rules).toMatchObject({ items: { type: 'object', required: ['labels'] } });
  });

  it('knows branches and phases by the same patterns as the check', () => {
    const { defaultBase, phases } = run as {
      defaultBase: { anyOf: [{ pattern: string }] };
      phases: { propertyNames: { pattern: string } };
    };
    const branch = new RegExp(defaultBase.anyOf[0].pattern);
    for (const good of ['main', 'origin/main', 'release/1.2', 'a-b'])
      expect(branch.test(good), good).toBe(true);
    for (const bad of ['-x', 'a b', 'a~1', 'a^', 'a:b', '']) expect(branch.test(bad), bad).toBe(false);
    const phase = new RegExp(phases.propertyNames.pattern);
    for (const good of ['spec', 'security_review', 'security-review'])
      expect(phase.test(good), good).toBe(true);
    for (const bad of ['specs', 'test', 'xqa']) expect(phase.test(bad), bad).toBe(false);
  });
});
