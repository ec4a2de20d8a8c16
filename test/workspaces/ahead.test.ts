import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { countAhead } from '../../src/git/ahead.ts';
import { bench, commit, git } from './helpers.ts';

function history() {
  const { repo } = bench();
  const base = git(repo, 'rev-parse', 'HEAD').trim();
  const common = join(repo, '.git');
  return { repo, base, common, count: (head: string) => countAhead(common, head, base) };
}

describe('commits ahead, read from their files', () => {
  it('are as many as git says, down to the base itself', () => {
    const { repo, base, count } = history();
    expect(count(base)).toBe(0);
    for (let number = 1; number <= 5; number += 1) {
      const head = commit(repo, { 'a.txt': `${number}` });
      expect(count(head)).toBe(number);
      expect(git(repo, 'rev-list', '--count', `${base}..${head}`).trim()).toBe(`${number}`);
    }
  });

  it.each<[string, (world: ReturnType<typeof history>) => string]>([
    [
      'a merge',
      ({ repo }) => {
        git(repo, 'switch', '--quiet', '-c', 'side');
        commit(repo, { side: '1' });
        git(repo, 'switch', '--quiet', '-');
        commit(repo, { main: '1' });
        git(repo, 'merge', '--quiet', '--no-edit', 'side');
        return git(repo, 'rev-parse', 'HEAD').trim();
      },
    ],
    [
      'commits that are packed',
      ({ repo }) => {
        const head = commit(repo, { x: '1' });
        git(repo, 'repack', '--quiet', '-a', '-d');
        return head;
      },
    ],
    [
      'a history that does not come from the base',
      ({ repo }) => {
        git(repo, 'switch', '--quiet', '--orphan', 'other');
        return commit(repo, { x: '1' });
      },
    ],
    [
      'replaced commits',
      ({ repo }) => {
        const head = commit(repo, { x: '1' });
        const other = commit(repo, { x: '2' });
        git(repo, 'replace', other, head);
        return other;
      },
    ],
    [
      'a file that is not the commit it is called',
      ({ repo, common }) => {
        const real = commit(repo, { x: '1' });
        const name = 'ab'.repeat(20);
        mkdirSync(join(common, 'objects', 'ab'), { recursive: true });
        const bytes = readFileSync(join(common, 'objects', real.slice(0, 2), real.slice(2)));
        writeFileSync(join(common, 'objects', 'ab', name.slice(2)), bytes);
        return name;
      },
    ],
    ['a commit that is not there', () => 'cd'.repeat(20)],
  ])('leave %s to git', (_name, make) => {
    const world = history();
    expect(world.count(make(world))).toBe(undefined);
  });
});
