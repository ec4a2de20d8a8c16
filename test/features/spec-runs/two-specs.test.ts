import { cpSync, existsSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import {
  add,
  done,
  git,
  isRunning,
  it,
  put,
  runSpec,
  stateFile,
  tasks,
  tasksOn,
  tree,
  type World,
  waitFor,
  withoutWaits,
  work,
  writeSpec,
} from './support.ts';

/** A spec, and the same one in a clone beside its repository. */
function neighbours(world: World): { dir: string; other: string; there: string } {
  const dir = writeSpec(world, tasks('One', 'Two'));
  const other = join(world.dir, 'other');
  git(world.dir, 'clone', '--quiet', world.repo, other);
  const there = join(other, '.kiro/specs/limits');
  cpSync(join(dir, '../SEQUENTIAL_STATE.json'), join(there, '../SEQUENTIAL_STATE.json'));
  return { dir, other, there };
}

describe.concurrent('contract 1: two specs in one directory', () => {
  it('each do all of their work and keep their state apart', async ({ world }) => {
    const [one, two] = ['one', 'two'].map((name) => writeSpec(world, tasks('Same'), { name }));
    const runs = [one, two].map((dir) => runSpec(world, dir ?? ''));
    for (const { code, err } of await Promise.all(runs)) expect({ code, err }).toEqual({ code: 0, err: '' });
    for (const name of ['one', 'two']) {
      expect(work(world, `spec/${name}`)).toEqual(['Rehearse implement of 1', `Tick 1 of ${name}`]);
      expect(stateFile(world).specs[name]).toMatchObject({ completed: ['1'], plan: `spec-${name}` });
    }
  });

  it('of one name in two repositories have plans of their own, and branches as if they were alone', {
    tags: 'full',
  }, async ({ world }) => {
    const { dir, other, there } = neighbours(world);
    expect((await runSpec(world, dir, '--max-iterations', '1')).result.planId).toBe('spec-limits');
    const begun = await runSpec(world, there, '--max-iterations', '1');
    expect({ code: begun.code, planId: begun.result.planId }).toEqual({ code: 1, planId: 'spec-limits-2' });
    const { code, result } = await runSpec(world, there);
    expect({ code, planId: result.planId }).toEqual({ code: 0, planId: 'spec-limits-2' });
    expect(git(other, 'branch', '--list', '--format=%(refname:short)')).toBe('main\nspec/limits');
    expect(git(other, 'log', '--format=%s', '-1', 'spec/limits')).toBe('Tick 2 of limits');
    expect(tasksOn(world)).toContain('- [ ] 2. Two');
    expect((await runSpec(world, dir)).code).toBe(0);
  });

  it('of one name in two repositories that keep their state apart have trees of their own', {
    tags: 'full',
  }, async ({ world }) => {
    const { dir, other, there } = neighbours(world);
    const keepAt = (stateDir: string) => world.config({ stateDir });
    expect((await runSpec(world, dir, '--max-iterations', '1')).code).toBe(1);
    const told = `The worktree is ${tree(world)}-2`;
    keepAt(join(world.dir, 'state-of-other'));
    expect((await world.cli('spec', there, '--dry-run')).out).toContain(told);
    const begun = await runSpec(world, there, '--max-iterations', '1');
    expect({ code: begun.code, tree: begun.result.tickets[0]?.worktree }).toEqual({
      code: 1,
      tree: `${tree(world)}-2`,
    });
    expect(begun.err).toContain(told);
    keepAt(world.stateDir);
    expect((await runSpec(world, dir)).code).toBe(0);
    keepAt(join(world.dir, 'state-of-other'));
    const { code, result } = await runSpec(world, there);
    expect({ code, complete: result.counts.complete }).toEqual({ code: 0, complete: 2 });
    expect(git(other, 'log', '--format=%s', '-1', 'spec/limits')).toBe('Tick 2 of limits');
  });

  it('of one name in one repository have branches of their own', { tags: 'full' }, async ({ world }) => {
    const dir = writeSpec(world, tasks('One', 'Two'));
    put(join(world.repo, 'more/limits/tasks.md'), tasks('Three'));
    git(world.repo, 'add', '--all');
    git(world.repo, 'commit', '--quiet', '--message=More');
    expect((await runSpec(world, dir, '--max-iterations', '1')).code).toBe(1);
    const { result } = await runSpec(world, join(world.repo, 'more/limits'));
    expect(result.tickets[0]?.branch).toBe('spec/limits-2');
    expect((await runSpec(world, dir, '--fresh')).result.tickets[0]?.branch).toBe('spec/limits-3');
  });
});

describe.concurrent('contract 1: a second run of one spec', () => {
  it('is refused with 3 while the first one lives, and names it', async ({ world }) => {
    world.rehearsal([{ when: { phase: 'implement' }, do: ['hang'] }]);
    const dir = writeSpec(world, tasks('One'));
    const first = world.start(['spec', dir, '--no-tmux']);
    await first.says('implement started');
    const { code, err } = await world.cli('spec', dir);
    expect(code).toBe(3);
    expect(err).toContain(`Spec "limits" is already being run by spec (pid ${first.pid}`);
    const fresh = await world.cli('spec', dir, '--fresh');
    expect(fresh.code).toBe(3);
    expect(first.alive).toBe(true);
    expect(isRunning(first.pid)).toBe(true);
  });
});

describe.concurrent('--in-place', () => {
  it('works in the checkout on its branch', { tags: 'full' }, async ({ world }) => {
    const dir = writeSpec(world, tasks('One', 'Two'));
    const { code } = await runSpec(world, dir, '--in-place');
    expect(code).toBe(0);
    expect(git(world.repo, 'log', '--format=%s', '-4')).toBe(
      'Tick 2 of limits\nRehearse implement of 2\nTick 1 of limits\nRehearse implement of 1',
    );
    expect(readFileSync(join(dir, 'tasks.md'), 'utf8')).toBe(tasks('One', 'Two').replaceAll('[ ]', '[x]'));
    expect(git(world.repo, 'status', '--porcelain')).toBe('');
    expect(existsSync(world.worktrees)).toBe(false);
  });

  it('refuses a checkout with changes, and changes nothing', async ({ world }) => {
    const dir = writeSpec(world, tasks('One'));
    put(join(world.repo, 'mine.txt'), 'mine\n');
    for (const more of [[], ['--dry-run']]) {
      const { code, err } = await runSpec(world, dir, '--in-place', ...more);
      expect(code).toBe(5);
      expect(err).toContain('has changes that are not committed');
      expect(existsSync(world.planFile('spec-limits'))).toBe(false);
    }
  });

  it('keeps failed work on a ref and goes on without it', { tags: 'full' }, async ({ world }) => {
    withoutWaits(world);
    world.rehearsal([
      {
        when: { ticket: '1', phase: 'implement' },
        do: [{ write: { path: 'bad.txt', text: 'bad\n' } }, done()],
      },
    ]);
    const dir = writeSpec(world, tasks('One', 'Two'));
    const { code } = await runSpec(
      world,
      dir,
      '--in-place',
      '--on-failure',
      'continue',
      '--max-attempts',
      '1',
    );
    expect(code).toBe(2);
    expect(existsSync(join(world.repo, 'bad.txt'))).toBe(false);
    expect(git(world.repo, 'show', 'refs/signalbox/failed/spec-limits/1-1:bad.txt')).toBe('bad');
  });
});

describe.concurrent('a spec that git does not have', () => {
  it('is there for the agent, is never committed, and is ticked at its own place', { tags: 'full' }, async ({
    world,
  }) => {
    world.rehearsal([
      {
        when: { phase: 'implement' },
        do: [{ run: 'cat .kiro/specs/limits/tasks.md > seen-$SIGNALBOX_TICKET.txt' }, { commit: 'See it' }],
      },
    ]);
    const dir = writeSpec(world, tasks('One', 'Two'), { commit: false });
    const { code } = await runSpec(world, dir);
    expect(code).toBe(0);
    expect(work(world)).toEqual(['See it', 'See it']);
    expect(readFileSync(join(dir, 'tasks.md'), 'utf8')).toBe(tasks('One', 'Two').replaceAll('[ ]', '[x]'));
    expect(git(world.repo, 'show', 'spec/limits:seen-2.txt')).toContain('- [x] 1. One\n- [ ] 2. Two');
    expect(git(world.repo, 'ls-tree', '-r', '--name-only', 'spec/limits')).not.toContain('.kiro');
  });
});

describe.concurrent('a spec that git does not have and that is gone from its place', () => {
  it('is told from one in which a task has another name', { tags: 'full' }, async ({ world }) => {
    const rename = { run: `sed -i s/One/Another/ ${world.repo}/.kiro/specs/limits/tasks.md` };
    world.rehearsal([{ when: { attempt: 1, phase: 'implement' }, do: [rename, ...add('a.txt'), done()] }]);
    const dir = writeSpec(world, tasks('One'), { commit: false });
    const { code, result } = await runSpec(world, dir);
    expect(code).toBe(2);
    expect(result.tickets[0]?.error).toMatch(
      /^tick: \S+tasks\.md has changed: task 1 \("One"\) is called "Another" now\. .* Otherwise it is done again/,
    );
    world.rehearsal([{ when: { phase: 'implement' }, do: [...add('b.txt'), done()] }]);
    expect((await runSpec(world, dir)).code).toBe(0);
    expect(readFileSync(join(dir, 'tasks.md'), 'utf8')).toBe('# Tasks\n\n- [x] 1. Another\n');
  });

  it('is told with its path where a directory has taken the place of its list', { tags: 'full' }, async ({
    world,
  }) => {
    const list = `${world.repo}/.kiro/specs/limits/tasks.md`;
    const replace = { run: `mv ${list} ${list}.old && mkdir ${list}` };
    world.rehearsal([{ when: { phase: 'implement' }, do: [replace, ...add('a.txt'), done()] }]);
    const dir = writeSpec(world, tasks('One'), { commit: false });
    const { code, result } = await runSpec(world, dir);
    expect(code).toBe(2);
    expect(result.tickets[0]?.error).toContain(`${list} is no longer a file: unit 1 cannot be ticked.`);
    expect(result.tickets[0]?.error).toContain('put the task list back');
  });

  it.for([
    ['its directory', '.kiro/specs/limits', '.kiro/specs/moved'],
    ['its task list', '.kiro/specs/limits/tasks.md', '.kiro/specs/limits/old.md'],
  ] as const)('is never ticked elsewhere: %s', { tags: 'full' }, async ([, from, to], { world }) => {
    world.rehearsal([
      {
        when: { ticket: '2', phase: 'implement' },
        do: [{ run: `mv ${world.repo}/${from} ${world.repo}/${to}` }, ...add('a.txt'), done()],
      },
    ]);
    const list = tasks('One', 'Two').replace('[ ] 1', '[x] 1');
    const dir = writeSpec(world, list, { commit: false });
    const { code, result } = await runSpec(world, dir);
    expect({ code, complete: result.counts.complete }).toEqual({ code: 2, complete: 1 });
    expect(result.tickets[1]).toMatchObject({ status: 'failed', currentPhase: 'tick' });
    expect(result.tickets[1]?.error).toContain(`${dir}/tasks.md no longer exists`);
    expect(result.tickets[1]?.error).toContain('Put it back at its place');
    renameSync(join(world.repo, to), join(world.repo, from));
    const again = await runSpec(world, dir);
    expect({ code: again.code, attempts: again.result.counts.attempts }).toEqual({ code: 0, attempts: 0 });
    expect(readFileSync(join(dir, 'tasks.md'), 'utf8')).toBe(tasks('One', 'Two').replaceAll('[ ]', '[x]'));
  });
});

describe.concurrent('--detach', () => {
  it('gives the terminal back while a daemon does the work', { tags: 'full' }, async ({ world }) => {
    const dir = writeSpec(world, tasks('One', 'Two'));
    const { code, out } = await world.cli('spec', dir, '--no-tmux', '--delay', '0', '--detach');
    try {
      expect({ code, out }).toEqual({
        code: 0,
        out: expect.stringMatching(/^Daemon \d+ continues spec-limits/),
      });
      await world.reaches('spec-limits', '2', 'complete');
      await waitFor('the state file', () => stateFile(world).specs.limits?.completed_at);
      expect(work(world)).toHaveLength(4);
    } finally {
      await world.cli('daemon', 'stop');
    }
  });
});
