import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { REDACTED, redactAll, redactor, secretValues } from '../../src/model/redact.ts';

const GITHUB = `ghp_${'a1B2'.repeat(9)}`;

describe('which values are secret', () => {
  it.each<[string, Record<string, string>, Record<string, string>, string[]]>([
    ['of a variable that says so', { GH_TOKEN: 'tok-en-12345' }, {}, ['tok-en-12345']],
    ['not too short ones', { GH_TOKEN: 'abc1' }, {}, []],
    [
      'not plain words and paths',
      { API_KEY: 'disabled', SSH_AUTH_SOCK: '/tmp/ssh/agent.1', MY_TOKEN: '12345678' },
      {},
      [],
    ],
    ['not of other variables', { PATH: 'abcdefgh12345678', HOME: '/home/someone' }, {}, []],
    [
      'of a config, what looks like a key',
      {},
      { EXTRA: 'abcdefgh12345678', MODE: 'fast', AT: '/opt/abcdefgh12345678' },
      ['abcdefgh12345678'],
    ],
    ['of a config, by its name', {}, { X_SECRET: 'hunter2-hunter2' }, ['hunter2-hunter2']],
  ])('%s', (_, env, configured, values) => {
    expect(secretValues(env, [configured])).toEqual(values);
  });
});

describe('redacting', () => {
  it.each<[string, string, string]>([
    ['a known secret', 'key=s3cr3t-value.', `key=${REDACTED}.`],
    ['more than once', 's3cr3t-value s3cr3t-value', `${REDACTED} ${REDACTED}`],
    ['the longer of two', 's3cr3t-value-long', REDACTED],
    ['what has the form of a key', `token ${GITHUB} there`, `token ${REDACTED} there`],
    [
      'nothing else',
      'sk-short risk-averse-and-long-enough-words',
      'sk-short risk-averse-and-long-enough-words',
    ],
  ])('%s', (_, text, clean) => {
    expect(redactor(['s3cr3t-value', 's3cr3t-value-long'])(text)).toBe(clean);
  });

  it('goes through everything, and leaves what is clean as it is', () => {
    const redact = redactor(['s3cr3t-value']);
    const event = { a: 's3cr3t-value', b: [{ c: 'x s3cr3t-value' }, 1, null], d: { e: 'clean' } };
    expect(redactAll(event, redact)).toEqual({
      a: REDACTED,
      b: [{ c: `x ${REDACTED}` }, 1, null],
      d: { e: 'clean' },
    });
    const clean = { a: [1, { b: 'c' }] };
    expect(redactAll(clean, redact)).toBe(clean);
  });

  it('never lets a secret through, whatever stands around it', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (before, after) => {
        expect(redactor(['s3cr3t-value'])(`${before}s3cr3t-value${after}`)).not.toContain('s3cr3t-value');
      }),
    );
  });
});
