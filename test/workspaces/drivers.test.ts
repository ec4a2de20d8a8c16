import { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { isOutsideProgram } from '../../src/git/turn-off-drivers-added-by-agents.ts';
import { createWorkspaces } from '../../src/workspaces/workspaces.ts';
import { bench, commit, git, read, write } from './helpers.ts';

/** A filter that leaves a mark and gives its input back in capitals. */
function makeFilter(root: string, name = 'filter') {
  const mark = join(root, `${name}.mark`);
  const program = join(root, name);
  writeFileSync(program, `#!/bin/sh\necho "$*" >> ${mark}\ntr a-z A-Z\n`);
  chmodSync(program, 0o755);
  return { program, ran: () => existsSync(mark) };
}

function world() {
  const all = bench({
    '.gitattributes': '*.txt filter=planted merge=planted\n',
    'a.txt': 'a\n',
    other: 'o\n',
  });
  const memory = join(all.root, 'memory');
  return { ...all, memory, open: () => createWorkspaces({ env: all.env, memory }) };
}

type All = ReturnType<typeof world>;
type Opened = ReturnType<All['open']>;

/** Everything that reads, writes or merges files. */
async function useAll({ repo, spec }: All, workspaces: Opened): Promise<void> {
  const two = spec('two');
  const { base } = await workspaces.ensure(two);
  write(two.path, { 'a.txt': 'changed\n', 'new.txt': 'new\n' });
  await workspaces.evidence(two.path, base.commit);
  await workspaces.fingerprint(two.path);
  await workspaces.diff(two, base.commit);
  await workspaces.changedFiles(two.path, base.commit);
  write(repo, { 'a.txt': 'touched\n' });
  await workspaces.evidence(repo, base.commit);
  write(repo, { 'a.txt': 'a\n' });
  await workspaces.commitPaths({ path: two.path, files: ['a.txt'], message: 'a' });
  await workspaces.rewind({ ...two, to: base.commit, keepAt: 'refs/signalbox/kept/two', message: 'kept' });
  await workspaces.release(two);
  await workspaces.ensure(spec('three'));
}

describe('filters and merge drivers of the repository’s own config', () => {
  it.each(['clean', 'smudge', 'process'])(
    'are not run when filter.%s was planted',
    { tags: 'full' },
    async (part) => {
      const all = world();
      const workspaces = all.open();
      await workspaces.ensure(all.spec('one'));
      const { program, ran } = makeFilter(all.root);
      git(all.repo, 'config', `filter.planted.${part}`, program);
      git(all.repo, 'config', 'filter.planted.required', 'true');
      for (const engine of [workspaces, all.open(), createWorkspaces({ env: all.env })]) {
        await useAll(all, engine);
        for (const id of ['two', 'three']) {
          await engine.release(all.spec(id));
          git(all.repo, 'branch', '--quiet', '-D', `ticket/${id}`);
        }
      }
      expect(ran()).toBe(false);
    },
  );

  it('are not run from an included file or a worktree’s own config', { tags: 'full' }, async () => {
    const all = world();
    const workspaces = all.open();
    await workspaces.ensure(all.spec('one'));
    const { program, ran } = makeFilter(all.root);
    const included = join(all.root, 'included');
    writeFileSync(included, '');
    git(all.repo, 'config', 'include.path', included);
    await workspaces.evidence(all.repo, all.first);
    writeFileSync(included, `[filter "planted"]\n\tclean = ${program}\n`);
    await useAll(all, workspaces);
    git(all.repo, 'config', 'extensions.worktreeConfig', 'true');
    const one = all.spec('one').path;
    git(one, 'config', '--worktree', 'filter.planted.clean', program);
    write(one, { 'a.txt': 'x\n' });
    await workspaces.evidence(one, all.first);
    expect(ran()).toBe(false);
  });

  it('are not run in a repository inside the worktree', async () => {
    const { root, spec, open } = world();
    const workspaces = open();
    const { program, ran } = makeFilter(root);
    const one = spec('one');
    const { base } = await workspaces.ensure(one);
    const nested = join(one.path, 'nested');
    mkdirSync(nested);
    git(nested, 'init', '--quiet');
    commit(nested, { '.gitattributes': '* filter=planted\n', n: '1' });
    git(one.path, 'add', 'nested');
    git(nested, 'config', 'filter.planted.clean', program);
    write(nested, { n: '2' });
    expect((await workspaces.evidence(one.path, base.commit)).dirty).toEqual(['nested']);
    await workspaces.changedFiles(one.path, base.commit);
    expect(ran()).toBe(false);
  });

  it('work when they were there before, also for a new process, and stop working when they are changed', async () => {
    const all = world();
    const mine = makeFilter(all.root, 'mine');
    git(all.repo, 'config', 'filter.planted.smudge', mine.program);
    await all.open().ensure(all.spec('one'));
    expect(read(all.spec('one').path, 'a.txt')).toBe('A\n');
    await all.open().ensure(all.spec('two'));
    expect(read(all.spec('two').path, 'a.txt')).toBe('A\n');
    const { program, ran } = makeFilter(all.root);
    git(all.repo, 'config', 'filter.planted.smudge', program);
    await all.open().ensure(all.spec('three'));
    expect(read(all.spec('three').path, 'a.txt')).toBe('a\n');
    expect(ran()).toBe(false);
    expect(readdirSync(all.memory)).toHaveLength(1);
  });

  it('do not replace those of the user’s own config', async () => {
    const all = world();
    const mine = makeFilter(all.root, 'mine');
    write(all.root, { '.gitconfig': `[filter "planted"]\n\tsmudge = ${mine.program}\n` });
    const workspaces = all.open();
    await workspaces.ensure(all.spec('one'));
    const { program, ran } = makeFilter(all.root);
    git(all.repo, 'config', 'filter.planted.smudge', program);
    await workspaces.ensure(all.spec('two'));
    expect(read(all.spec('two').path, 'a.txt')).toBe('A\n');
    expect([mine.ran(), ran()]).toEqual([true, false]);
  });

  it('leave merging to git: what conflicts is a conflict, what does not is merged', {
    tags: 'full',
  }, async () => {
    const all = world();
    const workspaces = all.open();
    const { program, ran } = makeFilter(all.root);
    for (const id of ['one', 'two', 'three']) await workspaces.ensure(all.spec(id));
    git(all.repo, 'config', 'merge.planted.driver', program);
    commit(all.spec('one').path, { 'a.txt': 'one\n' });
    commit(all.spec('two').path, { 'a.txt': 'two\n' });
    commit(all.spec('three').path, { other: 'three\n' });
    const integrate = (id: string) => workspaces.integrate({ ...all.spec(id), message: id });
    expect(await integrate('one')).toHaveProperty('commit');
    expect(await integrate('two')).toMatchObject({ conflict: ['a.txt'] });
    expect(await integrate('three')).toHaveProperty('commit');
    expect(ran()).toBe(false);
  });
});

describe('drivers where an agent is sandboxed', () => {
  it('run nothing that lies in the tree, though it was named there from the beginning', {
    tags: 'full',
  }, async () => {
    const all = world();
    const mark = join(all.root, 'escaped');
    const script = `#!/bin/sh\necho ran >> ${mark}\ncat\n`;
    for (const part of ['clean', 'smudge'])
      git(all.repo, 'config', `filter.planted.${part}`, './tools/filter.sh');
    git(all.repo, 'config', 'filter.planted.required', 'true');
    git(all.repo, 'config', 'merge.planted.driver', 'sh tools/filter.sh %A');
    const workspaces = createWorkspaces({ env: all.env, memory: all.memory, protectsGit: true });
    for (const id of ['one', 'two']) {
      const { path } = all.spec(id);
      await workspaces.ensure(all.spec(id));
      write(path, { 'tools/filter.sh': `${script}# ${id}\n`, 'a.txt': `${id}\n` });
      chmodSync(join(path, 'tools/filter.sh'), 0o755);
      expect((await workspaces.evidence(path, all.first)).dirty).toEqual(['a.txt', 'tools/filter.sh']);
      await workspaces.fingerprint(path);
      await workspaces.commitPaths({ path, files: ['a.txt', 'tools/filter.sh'], message: id });
      await workspaces.integrate({ ...all.spec(id), message: id });
    }
    expect(existsSync(mark)).toBe(false);
  });

  it('are used as before where they are programs of their own', async () => {
    const all = world();
    const mine = makeFilter(all.root, 'mine');
    git(all.repo, 'config', 'filter.planted.smudge', mine.program);
    await createWorkspaces({ env: all.env, memory: all.memory, protectsGit: true }).ensure(all.spec('one'));
    expect(read(all.spec('one').path, 'a.txt')).toBe('A\n');
  });

  it.each([
    ['git-lfs clean -- %f', true],
    ['git-lfs filter-process', true],
    ['"git-crypt" smudge', true],
    ['/usr/bin/git-crypt clean', true],
    ['git lfs smudge -- %f', true],
    ['', true],
    ['cat', true],
    ['./clean.sh', false],
    ['tools/clean.sh', false],
    ['../clean.sh', false],
    ['sh clean', false],
    ['node scripts/x.js', false],
    ['python3.11 -m nbstripout', false],
    ['env X=1 clean', false],
    ['npx npm-merge-driver merge %A %O %B %P', false],
    ['/tree/tools/clean', false],
    ['/usr/bin/tool --rules=./rules', false],
    ['/usr/bin/tool rules/x', false],
    ['/usr/bin/../../tree/clean', false],
    ['cat; ./x', false],
    ['cat $(./x)', false],
    ["'my tool' clean", false],
  ])('%j is outside of the tree: %s', (command, outside) => {
    expect(isOutsideProgram(command, '/tree')).toBe(outside);
  });
});

describe('a call that is cancelled while it lists the config', () => {
  it('does not fail others that wait for the same list', async () => {
    const { repo, env } = bench({ a: 'a\n' });
    const all = createWorkspaces({ env });
    const { commonDir } = await all.checkRepo(repo);
    write(commonDir, { config: `${read(commonDir, 'config')}\n` });
    const controller = new AbortController();
    const hurried = all.patient({ signal: controller.signal, graceMs: 0 }).head(repo);
    const other = all.head(repo);
    controller.abort();
    await expect(hurried).rejects.toThrow('it was stopped');
    expect((await other).branch).toBe('main');
  });
});
