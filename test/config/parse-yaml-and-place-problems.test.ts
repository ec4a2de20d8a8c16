import { describe, expect, it } from 'vitest';
import { parseSettings, parseYaml } from '../../src/config/parse-yaml-and-place-problems.ts';
import { InputError } from '../../src/model/errors.ts';

function errorOf(text: string): InputError {
  try {
    parseYaml(text, 'file.yaml');
  } catch (error) {
    if (error instanceof InputError) return error;
  }
  throw new Error('no InputError');
}

describe('parseYaml', () => {
  const source = parseYaml(
    [
      '# comment',
      'name: local',
      'phases:',
      '  - id: one',
      '    args: [a, "b"]',
      '  - id: two',
      'empty:',
      '',
    ].join('\n'),
    'w.yaml',
  );

  it('gives plain data', () => {
    expect(source.data).toEqual({
      name: 'local',
      phases: [{ id: 'one', args: ['a', 'b'] }, { id: 'two' }],
      empty: null,
    });
  });

  it.each([
    [['name'], 'value', 2, 7],
    [['name'], 'key', 2, 1],
    [['phases', 0, 'id'], 'value', 4, 9],
    [['phases', 0, 'id'], 'key', 4, 5],
    [['phases', 0, 'args', 1], 'value', 5, 15],
    [['phases', 1], 'value', 6, 5],
    [['empty'], 'value', 7, 1],
    [['phases', 1, 'onSuccess'], 'value', 6, 5],
    [['phases', 7], 'value', 4, 3],
    [['nothing', 'here'], 'value', 2, 1],
    [[], 'value', 2, 1],
  ] as const)('at %j (%s) is %i:%i', (path, on, line, column) => {
    expect(source.at(path, on)).toEqual({ line, column });
  });

  it.each([
    ['a: 1\nb: [1, 2\n', 'file.yaml:3:1: '],
    ['a: 1\n b: 2\n', 'file.yaml:1:4: '],
    ['a: 1\na: 2\n', 'file.yaml:2:1: '],
    ['a: "open\n', 'file.yaml:2:1: '],
    ['\ta: 1\n', 'file.yaml:1:1: '],
    ['a: !nope x\n', 'file.yaml:1:4: '],
    ['a: 1\n---\nb: 2\n', 'file.yaml:2:1: '],
    ['a: 1\nb: *gone\n', 'file.yaml:2:4: '],
  ])('%j is refused with its place', (text, start) => {
    const error = errorOf(text);
    expect(error.code).toBe('yaml/syntax');
    expect(error.message.slice(0, start.length)).toBe(start);
    expect(error.message).toMatch(/^[^\n]+\.$/);
    expect(error.hint).toBeTruthy();
  });

  it('refuses a file that grows without bound when read', () => {
    const lines = ['a0: &a0 [x, x, x, x, x, x, x, x, x, x]'];
    for (let i = 1; i < 9; i++)
      lines.push(
        `a${i}: &a${i} [${Array(10)
          .fill(`*a${i - 1}`)
          .join(', ')}]`,
      );
    expect(errorOf(lines.join('\n')).code).toBe('yaml/syntax');
  });

  it.each(['', '\n', '# only a comment\n', '---\n'])('%j is empty, not an error', (text) => {
    const empty = parseYaml(text, 'file.yaml');
    expect(empty.data).toBeNull();
    expect(empty.at(['x'])).toEqual({ line: 1, column: 1 });
  });

  it('speaks of JSON where the file is JSON', () => {
    expect(() => parseSettings('{ "run": { "retry": [1 }', 'settings.json')).toThrow(
      expect.objectContaining({
        message: expect.stringMatching(/^settings\.json:1:\d+: A list /),
        hint: expect.stringMatching(/^Correct the JSON/),
      }),
    );
  });

  it('reads JSON with places too', () => {
    const json = parseYaml('{\n  "version": 1,\n  "slots": 2\n}\n', 's.json');
    expect(json.data).toEqual({ version: 1, slots: 2 });
    expect(json.at(['slots'], 'key')).toEqual({ line: 3, column: 3 });
  });
});

describe('deep YAML', () => {
  const shapes: [string, (depth: number) => string][] = [
    ['lists in brackets', (depth) => `${'['.repeat(depth)}${']'.repeat(depth)}`],
    ['JSON', (depth) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`],
    ['mappings', (depth) => Array.from({ length: depth }, (_, at) => `${' '.repeat(at)}a:`).join('\n')],
    ['lists in one line', (depth) => `${'- '.repeat(depth)}x`],
    [
      'lists in mappings',
      (depth) =>
        Array.from({ length: depth / 2 }, (_, at) => `${'  '.repeat(at)}a:\n${'  '.repeat(at)}- b: 1`).join(
          '\n',
        ),
    ],
  ];

  it.each(shapes)('of %s is refused with a message of its own', (_, text) => {
    for (const depth of [150, 20_000]) {
      const error = errorOf(text(depth));
      expect(error.code).toBe('yaml/depth');
      expect(error.message).toMatch(/:\d+:\d+: The file is nested more than 100 levels deep\.$/);
    }
  });

  it.each(shapes)('of %s is read up to the limit', (_, text) => {
    expect(() => parseYaml(text(90), 'x.yaml')).not.toThrow();
  });
});
