import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect } from 'vitest';
import { REDACTED } from '../../src/model/text/find-and-redact-secrets.ts';
import {
  fingerprintKeeper,
  fingerprintRedactor,
} from '../../src/sandbox/secret-redactors-and-fingerprints.ts';
import { it, waitFor } from '../support/index.ts';

const SECRETS = ['swordfish', 'sword-and-shield', 'fish-and-chips', '🙂🙃🙂🙃'];

describe('fingerprints of secrets', () => {
  it('find a secret wherever it stands, and nothing else', ({ world }) => {
    const file = join(world.dir, 'fingerprints.json');
    fingerprintKeeper(file, () => SECRETS)();
    const redact = fingerprintRedactor(file);
    expect(redact('a swordfish, a sword, a fish')).toBe(`a ${REDACTED}, a sword, a fish`);
    expect(redact('swordfish-and-chips!')).toBe(`${REDACTED}!`);
    expect(redact('')).toBe('');
    const secret = fc.constantFrom(...SECRETS);
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), secret, fc.string(), (before, value, after) => {
        expect(redact(before + value + after)).not.toContain(value);
      }),
    );
    fc.assert(
      fc.property(fc.string(), (text) => {
        fc.pre(SECRETS.every((each) => !text.includes(each)));
        expect(redact(text)).toBe(text);
      }),
    );
  });

  it('of several engines are kept together', ({ world }) => {
    const file = join(world.dir, 'fingerprints.json');
    const [one, two] = [
      fingerprintKeeper(file, () => ['swordfish']),
      fingerprintKeeper(file, () => ['trombone']),
    ];
    one();
    two();
    writeFileSync(file, 'torn');
    two();
    one();
    expect(fingerprintRedactor(file)('swordfish trombone')).toBe(`${REDACTED} ${REDACTED}`);
  });

  it('that come while somebody reads are known at once', async ({ world }) => {
    const file = join(world.dir, 'fingerprints.json');
    const redact = fingerprintRedactor(file);
    expect(redact('swordfish')).toBe('swordfish');
    fingerprintKeeper(file, () => SECRETS)();
    await waitFor('a redacted text', () => redact('swordfish') === REDACTED);
  });

  it('are not needed', ({ world }) => {
    const file = join(world.dir, 'fingerprints.json');
    fingerprintKeeper(file, () => [])();
    expect(fingerprintRedactor(file)('swordfish')).toBe('swordfish');
  });
});
