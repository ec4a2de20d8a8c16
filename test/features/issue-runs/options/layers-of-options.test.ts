import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ConfigResolver } from '../../../../src/features/issue-runs/options/resolve-options.ts';
import { InputError } from '../../../../src/model/errors.ts';

const KEYS = ['a', 'b', 'c', '__proto__', 'constructor'];
const layer = fc.dictionary(
  fc.constantFrom(...KEYS),
  fc.option(fc.jsonValue({ maxDepth: 1 }), { nil: undefined }),
);

describe('ConfigResolver', () => {
  it('takes every key from the highest layer that has it', () => {
    fc.assert(
      fc.property(layer, layer, layer, layer, (defaults, settings, env, explicit) => {
        // Texts of the environment are read by type; that is for the tables below.
        const typed = Object.fromEntries(
          Object.entries(env).filter(([, value]) => typeof value !== 'string'),
        );
        const resolved = new ConfigResolver<Record<string, unknown>>({
          defaults,
          settings,
          env: typed,
          explicit,
        }).resolve();
        const layers = [explicit, typed, settings, defaults];
        for (const key of KEYS) {
          const wins = layers.find((one) => Object.hasOwn(one, key) && one[key] !== undefined);
          expect(Object.hasOwn(resolved, key)).toBe(wins !== undefined);
          if (wins) expect(resolved[key]).toEqual(wins[key]);
        }
      }),
    );
  });

  it('merges layers of which some say nothing', () => {
    const override: number | undefined = undefined;
    const variables: Record<string, string | undefined> = {};
    const resolver = new ConfigResolver({
      defaults: { timeout: 60 },
      settings: { timeout: 1800 },
      env: { timeout: variables.SIGNALBOX_TIMEOUT },
      explicit: { timeout: override },
    });
    const { timeout }: { timeout: number } = resolver.resolve();
    expect(timeout).toBe(1800);
  });

  it('leaves the layers as they are', () => {
    const layers = Object.freeze({
      defaults: Object.freeze<{ timeout: number; deep: { x: number } }>({ timeout: 60, deep: { x: 1 } }),
      settings: Object.freeze({ timeout: 1800 }),
      env: Object.freeze({ timeout: '5' }),
      explicit: Object.freeze({ timeout: undefined }),
    });
    const resolver = new ConfigResolver(layers);
    expect(resolver.resolve()).toEqual({ timeout: 5, deep: { x: 1 } });
    expect(resolver.resolve()).not.toBe(resolver.resolve());
  });

  it.each([
    [60, '120', 120],
    [60, '-1.5', -1.5],
    [60, ' 7 ', 7],
    [true, 'false', false],
    [true, '0', false],
    [false, 'true', true],
    [false, '1', true],
    ['text', '120', '120'],
    ['text', '', ''],
    [null, 'true', 'true'],
    [[1], '2', '2'],
    [60, '', 60],
    [true, '', true],
  ])('with the default %j, %j from the environment is %j', (preset, text, value) => {
    const defaults: Record<string, unknown> = { key: preset };
    expect(new ConfigResolver({ defaults, env: { key: text } }).resolve()).toEqual({ key: value });
  });

  it.each([
    [60, '30m', 'timeout: found the text "30m"; allowed is a number.'],
    [60, 'NaN', 'timeout: found the text "NaN"; allowed is a number.'],
    [60, '9'.repeat(400), /^timeout: found the text "9+…"; allowed is a number\.$/],
    [true, 'yes', 'timeout: found the text "yes"; allowed is true, false, 1 or 0.'],
    [false, 'TRUE', 'timeout: found the text "TRUE"; allowed is true, false, 1 or 0.'],
    [false, 'constructor', 'timeout: found the text "constructor"; allowed is true, false, 1 or 0.'],
  ])('with the default %j, %j is an error that names the key', (preset, text, message) => {
    const resolver = new ConfigResolver<Record<string, unknown>>({
      defaults: { timeout: preset },
      env: { timeout: text },
    });
    expect(() => resolver.resolve()).toThrow(InputError);
    expect(() => resolver.resolve()).toThrow(message);
  });

  it('keeps keys that have no default', () => {
    const defaults: Record<string, unknown> = { a: 1 };
    expect(
      new ConfigResolver({ defaults, settings: { b: 2 }, env: { c: '3' }, explicit: { d: 4 } }).resolve(),
    ).toEqual({ a: 1, b: 2, c: '3', d: 4 });
  });
});
