import { spawnSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  branchProblem,
  idProblem,
  parseRef,
  refKey,
  slug,
  slugOfWords,
} from '../../src/model/ids-and-branch-names.ts';
import { Branch, Id } from '../../src/model/ticket-schema.ts';

describe('idProblem', () => {
  const fine = ['a', '1', 'A-b_c.d', 'x'.repeat(100), 'v1.2.3', '42-fix-login', 'lock', 'a.locked'];
  it.each(fine)('accepts %j', (id) => {
    expect(idProblem(id)).toBeUndefined();
    expect(Id.safeParse(id).success).toBe(true);
  });

  const refused: [string, string][] = [
    ['', 'empty'],
    ['a/b', 'may contain only'],
    ['../x', 'may contain only'],
    ['..', 'may contain only'],
    ['a..b', '".."'],
    ['.hidden', 'start with a letter or digit'],
    ['-x', 'start with a letter or digit'],
    ['_x', 'start with a letter or digit'],
    ['a\n', 'may contain only'],
    ['a\nb', 'may contain only'],
    ['a b', 'may contain only'],
    ['a\0b', 'may contain only'],
    ['a\\b', 'may contain only'],
    ['a+b', 'may contain only'],
    ['a:b', 'may contain only'],
    ['é', 'may contain only'],
    ['a.', '"."'],
    ['a.lock', '".lock"'],
    ['x'.repeat(101), '101 characters'],
    ['x'.repeat(300), '300 characters'],
  ];
  it.each(refused)('refuses %j and says why', (id, why) => {
    expect(idProblem(id)).toContain(why);
    expect(Id.safeParse(id).success).toBe(false);
  });

  it('never accepts what could leave a directory', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'ab1./\\-_~\n\0+ :é') }), (text) => {
        if (idProblem(text) !== undefined) return;
        expect(text).toMatch(/^[A-Za-z0-9]/);
        expect(text).not.toMatch(/[/\\\s\0]|\.\./);
      }),
      { numRuns: 800 },
    );
  });

  it('shortens a long id in the message of the schema', () => {
    const issue = Id.safeParse('x'.repeat(300)).error?.issues[0]?.message ?? '';
    expect(issue.length).toBeLessThan(160);
  });
});

describe('branchProblem', () => {
  const fine = ['main', 'ticket/p/t', 'feature/12-fix', 'a.b', '@x', 'x@', 'lock', 'größe', 'a{b}', "it's"];
  it.each(fine)('accepts %j', (name) => {
    expect(branchProblem(name)).toBeUndefined();
    expect(Branch.safeParse(name).success).toBe(true);
  });

  const refused: [string, string][] = [
    ['', 'empty'],
    ['-x', '"-"'],
    ['--upload-pack=x', '"-"'],
    ['a b', 'space'],
    ['a\nb', 'space'],
    ['a\x7fb', 'space'],
    ['a~1', '~'],
    ['a^', '^'],
    ['a:b', ':'],
    ['a?', '?'],
    ['a*', '*'],
    ['a[b', '['],
    ['a\\b', '\\'],
    ['a..b', '".."'],
    ['a@{1}', '"@{"'],
    ['a//b', '"//"'],
    ['@', 'git accepts'],
    ['HEAD', 'git accepts'],
    ['/a', 'git accepts'],
    ['a/', 'git accepts'],
    ['a.', 'git accepts'],
    ['.a', '"."'],
    ['a/.b', '"."'],
    ['a.lock', '".lock"'],
    ['a.lock/b', '".lock"'],
    ['refs/heads/a', 'full ref name'],
    ['x'.repeat(201), '200'],
    ['é'.repeat(101), '200'],
  ];
  it.each(refused)('refuses %j and says why', (name, why) => {
    expect(branchProblem(name)).toContain(why);
    expect(Branch.safeParse(name).success).toBe(false);
  });

  it('accepts nothing that git refuses, and refuses little that git accepts', () => {
    const name = fc.string({
      unit: fc.constantFrom(...'ab.-/@{}~^:?*[\\ \n.lock'),
      minLength: 1,
      maxLength: 8,
    });
    fc.assert(
      fc.property(name, (text) => {
        const git = spawnSync('git', ['check-ref-format', `refs/heads/${text}`]).status === 0;
        const own = !text.startsWith('-') && text !== 'HEAD' && text !== '@';
        expect({ text, ok: branchProblem(text) === undefined }).toEqual({ text, ok: git && own });
      }),
      { numRuns: 150 },
    );
  });
});

describe('refs', () => {
  it.each([
    ['b', { planId: 'p', ticketId: 'b' }],
    ['q/b', { planId: 'q', ticketId: 'b' }],
    ['q/b/c', { planId: 'q', ticketId: 'b/c' }],
    ['', { planId: 'p', ticketId: '' }],
    ['/b', { planId: '', ticketId: 'b' }],
  ])('%j is read as %j', (text, ref) => {
    expect(parseRef(text, 'p')).toEqual(ref);
  });

  it('a key names the same ticket from every plan', () => {
    const ref = { planId: 'q', ticketId: 'b' };
    expect(parseRef(refKey(ref), 'p')).toEqual(ref);
  });
});

describe('slug', () => {
  it.each([
    ['Fix the Login!', 'fix-the-login'],
    ['  --a--  ', 'a'],
    ['Größe & Öl', 'gro-e-ol'],
    ['ünïcode', 'unicode'],
    ['日本語', 'work'],
    ['', 'work'],
    [`${'a'.repeat(39)} b`, 'a'.repeat(39)],
    ['x'.repeat(100), 'x'.repeat(40)],
  ])('%j becomes %j', (text, expected) => {
    expect(slug(text)).toBe(expected);
  });

  it.each([
    ['Fix the Login!', 'fix-the-login'],
    ['Rework the settings page for the new company', 'rework-the-settings-page-for-the-new'],
    [`${'a'.repeat(36)} new tool`, `${'a'.repeat(36)}-new`],
    [`a ${'x'.repeat(100)}`, `a-${'x'.repeat(38)}`],
  ])('of whole words: %j becomes %j', (text, expected) => {
    expect(slugOfWords(text)).toBe(expected);
  });

  it('is always usable in an id and in a branch', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.integer({ min: 1, max: 60 }), (text, max) => {
        for (const made of [slug(text, max), slugOfWords(text, max)]) {
          expect(idProblem(made)).toBeUndefined();
          expect(branchProblem(made)).toBeUndefined();
          expect(made.length).toBeLessThanOrEqual(Math.max(max, 4));
        }
      }),
      { numRuns: 500 },
    );
  });
});
