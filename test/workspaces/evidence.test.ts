import { rmSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseStatus } from '../../src/git/status-and-index-marks.ts';
import { bench, commit, failure, git, read, write } from './helpers.ts';

async function opened(files?: Record<string, string>) {
  const all = bench(files);
  const one = all.spec('one');
  const { base } = await all.workspaces.ensure(one);
  return { ...all, one, path: one.path, base: base.commit };
}

it('counts what ranges of commits changed, and leaves out those whose commits are gone', async () => {
  const { workspaces, path, repo, base } = await opened();
  const first = commit(path, { 'new.txt': '1\n2\n' });
  const second = commit(path, { 'new.txt': '1\n', 'other.txt': '1\n' });
  const gone = '1'.repeat(40);
  const ranges = [
    [base, first],
    [base, gone],
    [first, first],
    [gone, second],
    [first, second],
    [base, second],
  ].map(([from = '', tip = '']) => ({ base: from, tip }));
  expect(await workspaces.shortStats(repo, ranges)).toEqual([
    '1 file changed, 2 insertions(+)',
    null,
    null,
    null,
    '2 files changed, 1 insertion(+), 1 deletion(-)',
    '2 files changed, 2 insertions(+)',
  ]);
  expect(await workspaces.shortStats(repo, [])).toEqual([]);
});

describe('evidence', () => {
  it('of an untouched worktree is empty', async () => {
    const { workspaces, path, base } = await opened();
    expect(await workspaces.evidence(path, base)).toEqual({ head: base, ahead: 0, dirty: [], files: [] });
  });

  it('has commits, uncommitted and untracked files, with odd names', async () => {
    const { workspaces, path, base } = await opened();
    commit(path, { 'committed.txt': '1' });
    const head = commit(path, { 'a.txt': 'changed', 'sp ace/ü\tx': '2' });
    write(path, { 'new/deep/file': 'x', 'committed.txt': 'again' });
    rmSync(join(path, 'dir/b.txt'));
    expect(await workspaces.evidence(path, base)).toEqual({
      head,
      ahead: 2,
      dirty: ['committed.txt', 'dir/b.txt', 'new/deep/file'],
      files: ['a.txt', 'committed.txt', 'dir/b.txt', 'new/deep/file', 'sp ace/ü\tx'],
    });
  });

  it('has uncommitted files before the first commit, and leaves ignored ones out', async () => {
    const { workspaces, path, base } = await opened({ '.gitignore': '*.log\n' });
    write(path, { 'x.log': 'x', y: 'y' });
    expect(await workspaces.evidence(path, base)).toEqual({
      head: base,
      ahead: 0,
      dirty: ['y'],
      files: ['y'],
    });
  });

  it('has no commits where the branch has lost its base, and says so', async () => {
    const { workspaces, path, base } = await opened();
    const first = commit(path, { x: '1' });
    git(path, 'reset', '--quiet', '--hard', base);
    commit(path, { y: '1' });
    expect(await workspaces.evidence(path, first)).toMatchObject({ ahead: 0, lost: true });
    git(path, 'merge', '--quiet', '--no-edit', first);
    expect((await workspaces.evidence(path, first)).lost).toBeUndefined();
    expect((await workspaces.evidence(path, first)).ahead).toBe(2);
  });

  it.each<[string, (repo: string) => void]>([
    [
      'merges',
      (path) => {
        git(path, 'switch', '--quiet', '-c', 'side');
        commit(path, { side: '1' });
        git(path, 'switch', '--quiet', '-');
        commit(path, { main: '1' });
        git(path, 'merge', '--quiet', '--no-edit', 'side');
      },
    ],
    [
      'packed commits',
      (path) => {
        for (const x of ['1', '2']) commit(path, { x });
        git(path, 'repack', '--quiet', '-a', '-d');
      },
    ],
  ])('counts %s as git does', async (_, make) => {
    const { workspaces, path, base } = await opened();
    make(path);
    const seen = await workspaces.evidence(path, base, { dirty: false, files: false });
    expect(seen.ahead).toBe(Number(git(path, 'rev-list', '--count', `${base}..HEAD`)));
    expect(seen.head).toBe(git(path, 'rev-parse', 'HEAD'));
  });

  it('leaves out the files that show a run, tracked or not, and so does the fingerprint', async () => {
    const { workspaces, path, base } = await opened({ 'specs/SEQUENTIAL_PROGRESS.md': 'old' });
    const before = await workspaces.fingerprint(path);
    const left = { 'specs/SEQUENTIAL_STATE.json.7.1.tmp': '{', 'specs/SEQUENTIAL_STATE.json.broken-1': '{' };
    write(path, { 'specs/SEQUENTIAL_PROGRESS.md': 'new', ...left });
    expect((await workspaces.evidence(path, base)).dirty).toEqual([]);
    expect(await workspaces.fingerprint(path)).toBe(before);
    write(path, { 'specs/SEQUENTIAL_NOTES.md': 'mine' });
    expect((await workspaces.evidence(path, base)).dirty).toEqual(['specs/SEQUENTIAL_NOTES.md']);
    expect(await workspaces.fingerprint(path)).not.toBe(before);
  });

  it('refuses what is no worktree and what is no commit', async () => {
    const { workspaces, path, root, base } = await opened();
    expect((await failure(workspaces.evidence(root, base))).code).toBe('workspace/not-a-worktree');
    expect((await failure(workspaces.evidence(path, '--all'))).code).toBe('workspace/commit');
    expect((await failure(workspaces.evidence(path, '1'.repeat(40)))).code).toBe('workspace/git');
  });
});

describe('fingerprint', () => {
  it('is the same until something changes, also when a dirty file changes once more', async () => {
    const { workspaces, path } = await opened({ '.gitignore': '*.log\n', 'a.txt': 'a\n' });
    const seen = [await workspaces.fingerprint(path)];
    const changed = async () => {
      const now = await workspaces.fingerprint(path);
      const known = seen.includes(now);
      seen.push(now);
      return !known;
    };
    write(path, { 'x.log': 'ignored' });
    read(path, 'a.txt');
    expect(await changed()).toBe(false);
    write(path, { 'a.txt': 'b\n' });
    expect(await changed()).toBe(true);
    write(path, { 'a.txt': 'c\n' });
    expect(await changed()).toBe(true);
    write(path, { new: '1' });
    expect(await changed()).toBe(true);
    write(path, { new: '2' });
    expect(await changed()).toBe(true);
    git(path, 'add', '--all');
    expect(await changed()).toBe(true);
    git(path, 'commit', '--quiet', '-m', 'x');
    expect(await changed()).toBe(true);
    git(path, 'switch', '--quiet', '-c', 'side');
    expect(await changed()).toBe(true);
    expect(await changed()).toBe(false);
  });
});

describe('diff', () => {
  it('shows commits, uncommitted and untracked files of the worktree and leaves its index alone', async () => {
    const { workspaces, one, path, base } = await opened();
    commit(path, { committed: 'C\n' });
    write(path, { 'a.txt': 'changed\n', 'un tracked': 'U\n' });
    const before = git(path, 'status', '--porcelain');
    const text = await workspaces.diff(one, base);
    for (const line of ['+C', '-a', '+changed', '+U', 'b/committed', 'b/un tracked'])
      expect(text).toContain(line);
    expect(await workspaces.diff(one, base, 'stat')).toContain('3 files changed');
    expect(git(path, 'status', '--porcelain')).toBe(before);
  });

  it('shows the branch when the worktree is gone, and says when that does not exist', async () => {
    const { workspaces, one, path, base, repo } = await opened();
    commit(path, { committed: 'C\n' });
    await workspaces.release(one);
    expect(await workspaces.diff(one, base)).toContain('+C');
    expect(await workspaces.diff(one, base, 'stat')).toContain('1 file changed');
    git(repo, 'branch', '-D', one.branch);
    await expect(workspaces.diff(one, base)).rejects.toThrow(`The branch ${one.branch} does not exist in`);
  });

  it('is the same whatever the user configured for his own eyes', async () => {
    const { workspaces, one, path, base, repo } = await opened();
    write(path, { 'a.txt': 'changed\n' });
    const plain = await workspaces.diff(one, base);
    for (const [key, value] of [
      ['diff.noprefix', 'true'],
      ['color.ui', 'always'],
      ['diff.mnemonicPrefix', 'true'],
    ] as const)
      git(repo, 'config', key, value);
    expect(await workspaces.diff(one, base)).toBe(plain);
  });
});

describe('parseStatus', () => {
  it('reads every kind of entry', () => {
    const oid = 'a'.repeat(40);
    const raw = [
      `# branch.oid ${oid}`,
      '# branch.head topic',
      `1 .M N... 100644 100644 100644 ${oid} ${oid} a b`,
      `u UU N... 100644 100644 100644 100644 ${oid} ${oid} ${oid} conflict`,
      '? new file',
      '! ignored/',
      '',
    ].join('\0');
    expect(parseStatus(raw)).toEqual({
      head: oid,
      branch: 'topic',
      changed: ['a b', 'conflict'],
      untracked: ['new file'],
      ignored: ['ignored/'],
      raw,
    });
    expect(parseStatus('# branch.oid (initial)\0# branch.head (detached)\0')).toMatchObject({
      head: undefined,
      branch: undefined,
    });
  });

  it('gives back any untracked name', () => {
    const name = fc.string({ minLength: 1 }).filter((text) => !text.includes('\0'));
    fc.assert(
      fc.property(fc.array(name), (names) => {
        expect(parseStatus(names.map((text) => `? ${text}\0`).join('')).untracked).toEqual(names);
      }),
    );
  });
});
