import { chmodSync, existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { bench, commit, failure, git, write } from './helpers.ts';

async function withOrigin() {
  const all = bench();
  const origin = join(all.root, 'origin.git');
  git(all.root, 'clone', '--quiet', '--bare', all.repo, origin);
  git(all.repo, 'remote', 'add', 'origin', origin);
  const spec = all.spec('a');
  await all.workspaces.ensure(spec);
  const tip = commit(spec.path, { 'work.txt': 'x' });
  const there = (branch = spec.branch) =>
    git(origin, 'for-each-ref', '--format=%(objectname)', `refs/heads/${branch}`);
  return { ...all, origin, at: spec, tip, there };
}

describe('push', () => {
  it('brings one branch to origin and says whether it was news', async () => {
    const { workspaces, at, tip, there, repo } = await withOrigin();
    expect(await workspaces.push(at)).toEqual({ commit: tip, pushed: true });
    expect(there()).toBe(tip);
    expect(git(repo, 'rev-parse', 'refs/remotes/origin/ticket/a')).toBe(tip);
    expect(await workspaces.push(at)).toEqual({ commit: tip, pushed: false });
    const next = commit(at.path, { 'work.txt': 'y' });
    expect(await workspaces.push(at)).toEqual({ commit: next, pushed: true });
  });

  it('runs nothing and forces nothing that was planted in the repository', async () => {
    const { workspaces, at, tip, there, repo, root } = await withOrigin();
    const trap = join(root, 'trap');
    write(root, { trap: `#!/bin/sh\ntouch '${join(root, 'pwned')}'\nexec git-receive-pack "$@"\n` });
    write(root, { 'hooks/pre-push': `#!/bin/sh\ntouch '${join(root, 'pwned')}'\n` });
    for (const file of ['trap', 'hooks/pre-push']) chmodSync(join(root, file), 0o755);
    for (const [key, value] of [
      ['remote.origin.receivepack', trap],
      ['remote.origin.uploadpack', trap],
      ['core.hooksPath', join(root, 'hooks')],
      ['core.sshCommand', trap],
      ['credential.helper', `!${trap}`],
      ['remote.origin.mirror', 'true'],
      ['remote.origin.push', '+refs/heads/*:refs/heads/stolen/*'],
      ['push.followTags', 'true'],
      ['push.recurseSubmodules', 'on-demand'],
    ] as const)
      git(repo, 'config', key, value);
    git(repo, 'tag', '--annotate', '--message=x', 'v1', tip);
    expect(await workspaces.push(at)).toEqual({ commit: tip, pushed: true });
    expect(existsSync(join(root, 'pwned'))).toBe(false);
    expect(there('stolen')).toBe('');
    expect(there('ticket/a')).toBe(tip);
    expect(git(join(root, 'origin.git'), 'tag', '--list')).toBe('');
  });

  it('is refused where origin has other commits, and leaves them there', async () => {
    const { workspaces, at, there } = await withOrigin();
    await workspaces.push(at);
    const theirs = there();
    git(at.path, 'reset', '--quiet', '--hard', 'HEAD~1');
    expect(await failure(workspaces.push(at))).toMatchObject({ code: 'workspace/push-rejected' });
    commit(at.path, { 'other.txt': 'z' });
    expect(await failure(workspaces.push(at))).toMatchObject({ code: 'workspace/push-rejected' });
    expect(there()).toBe(theirs);
  });

  it('brings back nothing that somebody took away, and no branch that somebody deleted', async () => {
    const { workspaces, at, tip, there, origin } = await withOrigin();
    await workspaces.push(at);
    const next = commit(at.path, { 'work.txt': 'y' });
    git(origin, 'update-ref', 'refs/heads/ticket/a', `${tip}~1`);
    const earlier = there();
    const known = { ...at, known: tip };
    expect(await failure(workspaces.push(known))).toMatchObject({
      code: 'workspace/push-rejected',
      message: expect.stringContaining('Commits were removed'),
    });
    expect(there()).toBe(earlier);
    git(origin, 'update-ref', '-d', 'refs/heads/ticket/a');
    expect(await failure(workspaces.push(known))).toMatchObject({ code: 'workspace/push-deleted' });
    expect(there()).toBe('');
    expect(await workspaces.push({ ...known, again: true })).toEqual({ commit: next, pushed: true });
  });

  it('goes on from a push of its own that was not written down', async () => {
    const { workspaces, at, tip } = await withOrigin();
    await workspaces.push(at);
    commit(at.path, { 'work.txt': 'y' });
    await workspaces.push(at);
    const last = commit(at.path, { 'work.txt': 'z' });
    expect(await workspaces.push({ ...at, known: tip })).toEqual({ commit: last, pushed: true });
  });

  it('never goes to the base, nor to the branch that origin calls its default', async () => {
    const { workspaces, repo, origin, there } = await withOrigin();
    git(repo, 'switch', '--quiet', '--create', 'feature');
    const before = there('main');
    for (const branch of ['main', 'feature']) {
      const work = { repo, branch, base: 'feature' };
      expect(await failure(workspaces.push(work))).toMatchObject({ code: 'workspace/branch-is-base' });
    }
    git(origin, 'symbolic-ref', 'HEAD', 'refs/heads/elsewhere');
    commit(repo, { 'later.txt': 'x' });
    expect(await failure(workspaces.push({ repo, branch: 'main', base: 'main' }))).toMatchObject({
      code: 'workspace/branch-is-base',
      message: 'The branch main is the base that its work is merged into.',
    });
    expect([there('main'), there('feature')]).toEqual([before, '']);
  });

  it('fails when origin says yes but does not have it', async () => {
    const { workspaces, at, origin } = await withOrigin();
    mkdirSync(join(origin, 'hooks'), { recursive: true });
    write(origin, { 'hooks/post-receive': '#!/bin/sh\ngit update-ref -d refs/heads/ticket/a\n' });
    chmodSync(join(origin, 'hooks/post-receive'), 0o755);
    expect(await failure(workspaces.push(at))).toMatchObject({
      code: 'workspace/push-unverified',
      message: expect.stringContaining('but has no such branch instead of'),
    });
  });

  it('needs a branch and an origin', async () => {
    const { workspaces, at, repo } = await withOrigin();
    expect(await failure(workspaces.push({ repo, branch: 'gone' }))).toMatchObject({
      code: 'workspace/branch-missing',
    });
    expect(await failure(workspaces.push({ repo, branch: '--mirror' }))).toMatchObject({
      code: 'workspace/branch-name',
    });
    git(repo, 'remote', 'rename', 'origin', 'upstream');
    expect(await failure(workspaces.push(at))).toMatchObject({ code: 'workspace/no-remote' });
  });
});

describe('remoteTips', () => {
  it('knows the branches of exactly these names', async () => {
    const { workspaces, at, tip, repo } = await withOrigin();
    git(repo, 'push', '--quiet', 'origin', `${tip}:refs/heads/x/ticket/b`);
    await workspaces.push(at);
    const tips = await workspaces.remoteTips({ repo, branches: ['ticket/a', 'ticket/b', 'ticket'] });
    expect([...tips]).toEqual([['ticket/a', tip]]);
  });
});

describe('changedFiles', () => {
  it('has what differs from the base, committed or not, and is still there', { tags: 'full' }, async () => {
    const { workspaces, at, first, repo } = await withOrigin();
    write(at.path, { 'a.txt': 'changed\n', 'new.txt': 'n', 'node.log': 'x' });
    git(at.path, 'rm', '--quiet', 'dir/b.txt');
    const { root, files } = await workspaces.changedFiles(at.path, first);
    expect({ root, files }).toEqual({ root: at.path, files: ['a.txt', 'new.txt', 'node.log', 'work.txt'] });
    // Without a commit it is where the branch left origin's default branch, else main or master here, else HEAD.
    expect((await workspaces.changedFiles(at.path, null)).files).toEqual(files);
    git(repo, 'symbolic-ref', '--delete', 'refs/remotes/origin/HEAD');
    git(repo, 'update-ref', '-d', 'refs/remotes/origin/main');
    expect((await workspaces.changedFiles(at.path, null)).files).toEqual(files);
    git(repo, 'branch', '--move', 'main', 'other');
    const uncommitted = files.filter((file) => file !== 'work.txt');
    expect((await workspaces.changedFiles(at.path, null)).files).toEqual(uncommitted);
  });

  it('works in the user’s own checkout too', async () => {
    const { workspaces, repo } = await withOrigin();
    write(repo, { 'a.txt': 'changed\n' });
    expect((await workspaces.changedFiles(repo, null)).files).toEqual(['a.txt']);
  });
});
