import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { makeRepo } from '../support/repo.ts';
import { IssueWorld } from './issue-world.ts';
import { cliIn, git, it, refusal, setUp, type World, worktreesOf } from './support.ts';

interface Item {
  kind: string;
  name: string;
  keep: string | null;
  removed: boolean;
  loses: { files: number; commits: number };
}

const clean = (world: World, ...flags: string[]) =>
  world.json<{ items: Item[]; notes: string[] }>('clean', ...flags);

describe.concurrent('clean', () => {
  it('lists first, removes only with --yes, and never what is unique', { tags: 'full' }, async ({
    world,
  }) => {
    setUp(world, 'commit; [ $SIGNALBOX_TICKET = b ] && echo loose > loose.txt; true', { a: {}, b: {} });
    await world.cli('run', 'p');
    git(world.repo, 'merge', '--quiet', 'ticket/p/a');
    await world.cli('workspace', 'ensure', 'p', 'a');
    const path = world.worktree('p', 'a');
    const listed = await world.cli('clean');
    expect(listed).toMatchObject({ code: 0, err: '' });
    expect(listed.out.split('\n')).toEqual(
      expect.arrayContaining([
        `✓ worktree ${path}: p/a is complete; deleting it loses nothing`,
        '✓ branch ticket/p/a: p/a is complete; deleting it loses nothing',
        `! kept worktree ${world.worktree('p', 'b')}: p/b is complete, but it has uncommitted files: loose.txt; deleting it would lose 1 uncommitted file`,
        '! kept branch ticket/p/b: p/b is complete, but 1 commit is not in main; deleting it would lose 1 commit',
        '2 can be removed, 2 will be kept. Remove them: signalbox clean --yes',
      ]),
    );
    expect(existsSync(path)).toBe(true);

    const { items } = await clean(world, '--yes');
    expect(items.filter(({ removed }) => removed).map(({ kind, name }) => `${kind} ${name}`)).toEqual([
      `worktree ${path}`,
      'branch ticket/p/a',
    ]);
    expect(worktreesOf(world.repo)).toEqual([world.worktree('p', 'b')]);
    expect(git(world.repo, 'branch', '--format=%(refname:short)').split('\n')).toEqual([
      'main',
      'ticket/p/b',
    ]);
    expect((await world.cli('clean', '--yes')).out).toContain('0 removed, 2 kept.');
  });

  it('names ignored files that go with a worktree', { tags: 'full' }, async ({ world }) => {
    writeFileSync(join(world.repo, '.gitignore'), '*.local\n');
    git(world.repo, 'add', '--all');
    git(world.repo, 'commit', '--quiet', '--message=ignore');
    setUp(world, 'commit');
    await world.cli('run', 'p');
    await world.cli('workspace', 'ensure', 'p', 'a');
    const path = world.worktree('p', 'a');
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) writeFileSync(join(path, `${name}.local`), 'mine\n');
    const files = 'ignored files: a.local, b.local, c.local, d.local, e.local and 1 more';
    expect((await world.cli('clean')).out).toContain(`deleting it loses nothing but ${files}\n`);
    expect((await world.cli('clean', '--yes')).out).toContain(`nothing was lost but ${files}\n`);
    expect(existsSync(path)).toBe(false);
  });

  it('takes branches of issues that a newer run has done, and of none that it has still to do', {
    tags: 'full',
  }, async ({ world }) => {
    world.agent('agent', 'note working-$SIGNALBOX_TICKET; [ $SIGNALBOX_TICKET = a ] || go; commit');
    const issues = new IssueWorld(world).write('a.md', '# A\n').write('b.md', '# B\n').write('c.md', '# C\n');
    const args = ['run', 'a.md', 'b.md', 'c.md', '--chain', '--phases', 'exec', '--no-smart-tests'];
    const branches = ['feature/a-a', 'feature/b-b', 'feature/c-c'];
    const cleaned = async () => {
      const { out } = await issues.cli('clean', '--yes', '--json');
      return (JSON.parse(out) as { items: (Item & { why: string })[] }).items.filter(
        ({ kind }) => kind === 'branch',
      );
    };
    const stop = async (signal: 'SIGINT' | 'SIGKILL', turn: number) => {
      const run = issues.start(...args);
      await world.call('working-b', {}, turn);
      await run.kill(signal);
    };
    await stop('SIGINT', 1);
    await stop('SIGKILL', 2);
    const going = issues.start(...args);
    await world.call('working-b', {}, 3);
    expect(await cleaned()).toEqual([]);
    world.go();
    expect((await going.ended).code).toBe(0);
    git(world.repo, 'merge', '--quiet', '--ff-only', 'feature/c-c');
    const found = await cleaned();
    expect(found.map(({ name, removed }) => [name, removed]).sort()).toEqual(
      branches.map((name) => [name, true]),
    );
    expect(found.every(({ why }) => why.endsWith(' is complete'))).toBe(true);
    expect(git(world.repo, 'branch', '--format=%(refname:short)')).toBe('main');
  });

  it('has nothing to do with a ticket that runs', { tags: 'full' }, async ({ world }) => {
    setUp(world, 'note working; go; commit');
    const run = world.invoke(['run', 'p']);
    await world.call('working');
    expect((await world.cli('clean', '--yes')).out).toBe(
      'There is nothing to clean up.\nOpen plans keep their worktrees; to give one up: signalbox cancel <plan>\n',
    );
    world.go();
    expect((await run.ended).code).toBe(0);
    expect(world.ticket('p', 'a').status).toBe('complete');
  });

  it('looks at the repository it is called in, and tells of those that are gone', { tags: 'full' }, async ({
    world,
  }) => {
    setUp(world);
    await world.cli('run', 'p');
    world.plan('lost', { repo: join(world.dir, 'nowhere'), tickets: { x: {} } });
    world.remove(join(world.stateDir, 'plans', 'p'));
    const { notes } = await clean(world);
    expect(notes).toEqual([
      `The repository ${join(world.dir, 'nowhere')} does not exist or is not a directory.`,
    ]);
    const here = await cliIn(world, world.repo, ['clean', '--json']);
    expect((JSON.parse(here.out) as { items: Item[] }).items.map(({ kind }) => kind)).toEqual(['slot']);
  });

  it('inside a repository leaves others alone without --all, and names each', { tags: 'full' }, async ({
    world,
  }) => {
    setUp(world, 'commit');
    await world.cli('run', 'p');
    const other = makeRepo(join(world.dir, 'other'));
    const here = await cliIn(world, other, ['clean', '--yes']);
    expect(here.out).toBe(
      'There is nothing to clean up.\n1 other repository not checked: signalbox clean --all\n',
    );
    const all = await cliIn(world, other, ['clean', '--all']);
    expect(all.out.split('\n')).toEqual(
      expect.arrayContaining([`In ${world.repo}`, expect.stringContaining('branch ticket/p/a')]),
    );
    expect(all.out).toContain('Remove them: signalbox clean --all --yes');
  });

  it('says of commits that origin has them, and not that they would be lost', async ({ world }) => {
    setUp(world, 'commit');
    await world.cli('run', 'p');
    git(world.dir, 'init', '--quiet', '--bare', 'origin.git');
    git(world.repo, 'remote', 'add', 'origin', join(world.dir, 'origin.git'));
    git(world.repo, 'push', '--quiet', 'origin', 'main', 'ticket/p/a');
    const { out } = await world.cli('clean');
    expect(out).toContain(
      '! kept branch ticket/p/a: p/a is complete, but 1 commit is not in main, though origin has it\n',
    );
  });

  it('removes nothing for a directory that nobody has trusted', async ({ world }) => {
    setUp(world);
    writeFileSync(join(world.repo, 'signalbox.yaml'), 'stateDir: ./state\n');
    const env = { SIGNALBOX_HOME: join(world.dir, 'empty') };
    expect((await cliIn(world, world.repo, ['clean'], env)).code).toBe(0);
    const refused = await cliIn(world, world.repo, ['clean', '--yes'], env);
    expect(refused.code).toBe(2);
    expect(refusal(refused)).toContain('config trust');
  });
});
