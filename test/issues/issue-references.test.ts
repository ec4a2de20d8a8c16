import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseReference, referenceFromKey } from '../../src/issues/issue-references.ts';
import { InputError } from '../../src/model/errors.ts';
import { scratch, write } from './scratch.ts';

const github = (number: number, more: object = {}) => ({ kind: 'github', number, ...more });
const acme = { owner: 'acme', repo: 'web.ui' };

describe('parseReference', () => {
  it.each([
    ['12', github(12)],
    [' #12 ', github(12)],
    ['2147483647', github(2147483647)],
    ['acme/web.ui#12', github(12, acme)],
    ['ghe.example.com/acme/web.ui#12', github(12, { ...acme, host: 'ghe.example.com' })],
    ['https://github.com/acme/web.ui/issues/12', github(12, { ...acme, host: 'github.com' })],
    ['https://github.com/acme/web.ui/issues/12/', github(12, { ...acme, host: 'github.com' })],
    [
      'https://www.github.com/acme/web.ui/issues/12#issuecomment-1',
      github(12, { ...acme, host: 'github.com' }),
    ],
    ['https://ghe.example.com/acme/web.ui/issues/12?x=1', github(12, { ...acme, host: 'ghe.example.com' })],
    ['http://localhost:8080/acme/web.ui/issues/12', github(12, { ...acme, host: 'localhost:8080' })],
    ['ENG-12', { kind: 'linear', key: 'ENG-12' }],
    ['A1-7', { kind: 'linear', key: 'A1-7' }],
    ['https://linear.app/acme/issue/ENG-12/some-title', { kind: 'linear', key: 'ENG-12' }],
  ])('reads %j', (text, wanted) => {
    const { text: typed, ...reference } = parseReference(text, { cwd: '/' });
    expect(typed).toBe(text.trim());
    expect(reference).toEqual(expect.objectContaining(wanted));
    if ('number' in wanted && !('owner' in wanted)) expect(reference).not.toHaveProperty('owner');
  });

  it('reads paths of Markdown files and directories against the working directory', () => {
    const dir = scratch();
    const file = write(dir, 'issues/a b.md', '# Hello');
    write(dir, 'notes/x#1.md', '');
    expect(parseReference('issues/a b.md', { cwd: dir })).toMatchObject({ kind: 'markdown', path: file });
    expect(parseReference(file, { cwd: '/' })).toMatchObject({ kind: 'markdown', path: file });
    expect(parseReference('notes/x#1.md', { cwd: dir })).toMatchObject({ kind: 'markdown' });
    expect(parseReference('issues', { cwd: dir })).toEqual({
      kind: 'spec',
      text: 'issues',
      path: join(dir, 'issues'),
    });
    mkdirSync(join(dir, '12'));
    expect(parseReference('12', { cwd: dir }).kind).toBe('github');
    expect(parseReference('./12', { cwd: dir }).kind).toBe('spec');
  });

  it.each([
    ['', 'is empty'],
    ['   ', 'is empty'],
    ['0', '"0" is not an issue number: they start at 1'],
    ['#0', 'they start at 1'],
    ['-1', '"-1" is not an issue number: it must be a positive whole number'],
    ['1.5', '"1.5" is not an issue number'],
    ['1,5', 'is not an issue number'],
    ['1e3', 'is not an issue number'],
    ['+4', 'is not an issue number'],
    ['012', 'is not an issue number'],
    ['2147483648', 'is not an issue number'],
    ['99999999999999999999', 'is not an issue number'],
    ['acme/web#0', 'they start at 1'],
    ['acme/web#x', 'is not an issue number'],
    ['abc', '"abc" is not an issue reference'],
    ['12abc', 'is not an issue reference'],
    ['#', 'is not an issue reference'],
    ['eng-12', 'Did you mean "ENG-12"?'],
    ['ENG-0', 'is not an issue reference'],
    ['acme/web', 'an issue number is missing'],
    ['-R evil#1', 'is not an issue reference'],
    ['missing.md', 'There is no file /nowhere/missing.md'],
    ['https://github.com/acme/web/pull/12', 'is a pull request'],
    ['https://github.com/acme/web/issues/0', 'is not the address of an issue'],
    ['https://github.com/acme/web', 'is not the address of an issue'],
    ['https://bitbucket.org/acme/web/issues/1', 'is not on GitHub'],
    ['https://gitlab.com/acme/web/-/issues/1', 'is not the address of an issue'],
    ['a\0b', 'is not a path'],
    ['$(rm -rf ~)', 'is not an issue reference'],
    ['x'.repeat(5_000), 'is not an issue reference'],
    ['1'.repeat(200_000), 'is not an issue number'],
  ])('refuses %.30j', (text, message) => {
    const refused = () => parseReference(text, { cwd: '/nowhere' });
    expect(refused).toThrow(InputError);
    expect(refused).toThrow(message);
    try {
      refused();
    } catch (error) {
      const { message: said, hint } = error as InputError;
      expect(said.length).toBeLessThan(200);
      expect(hint).toBeTruthy();
    }
  });

  it('refuses files that are not Markdown or cannot be read', () => {
    const dir = scratch();
    write(dir, 'notes.txt', '');
    const locked = write(dir, 'locked.md', '');
    expect(() => parseReference('notes.txt', { cwd: dir })).toThrow('must end in .md');
    expect(() => parseReference('notes.txt/a.md', { cwd: dir })).toThrow('There is no file');
    chmodSync(locked, 0);
    // The superuser may read everything.
    if (process.getuid?.() !== 0)
      expect(() => parseReference('locked.md', { cwd: dir })).toThrow('cannot be read');
  });
});

describe('referenceFromKey', () => {
  it.each([
    ['github:acme/web#12', { kind: 'github', host: 'github.com', owner: 'acme', repo: 'web', number: 12 }],
    ['github:ghe.example.com/acme/web#1', { host: 'ghe.example.com', number: 1 }],
    ['linear:ENG-12', { kind: 'linear', key: 'ENG-12' }],
    ['markdown:/a/b.md', { kind: 'markdown', path: '/a/b.md' }],
  ])('reads %s', (key, wanted) => expect(referenceFromKey(key)).toMatchObject(wanted));

  it.each(['markdown:login', 'other:1', 'github:x', ''])('gives nothing for %j', (key) =>
    expect(referenceFromKey(key)).toBeNull(),
  );
});
