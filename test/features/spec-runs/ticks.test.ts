import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import {
  add,
  done,
  git,
  it,
  put,
  runSpec,
  story,
  tasks,
  tasksOn,
  tree,
  withoutWaits,
  work,
  writeSpec,
} from './support.ts';

const CLI = new URL('../../../dist/cli.cjs', import.meta.url).pathname;
const TASKS = '.kiro/specs/limits/tasks.md';
const tickAll = { run: `sed -i 's/\\[ \\]/[x]/' ${TASKS}` };
const unit = (ticket: string, ...steps: unknown[]) => ({ when: { ticket, phase: 'implement' }, do: steps });

describe.concurrent('boxes that an agent ticks', () => {
  it('are opened again with the tick of its unit, and the others are done', { tags: 'full' }, async ({
    world,
  }) => {
    world.rehearsal([unit('1', tickAll, ...add('a.txt'), done())]);
    const dir = writeSpec(world, tasks('One', 'Two'));
    expect((await runSpec(world, dir, '--max-iterations', '1')).code).toBe(1);
    expect(tasksOn(world)).toBe('# Tasks\n\n- [x] 1. One\n- [ ] 2. Two');
    const { code, result } = await runSpec(world, dir);
    expect({ code, attempts: result.counts.attempts }).toEqual({ code: 0, attempts: 1 });
    expect(work(world)).toContain('Rehearse implement of 2');
  });

  it.for([[], ['--in-place']])(
    'count for nothing after its unit has failed %s',
    { tags: 'full' },
    async (flags, { world }) => {
      withoutWaits(world);
      world.rehearsal([unit('1', tickAll, { commit: 'Tick' }, ...add('a.txt'), { result: 'No signal.' })]);
      const dir = writeSpec(world, tasks('One', 'Two'));
      expect((await runSpec(world, dir, '--max-attempts', '1', ...flags)).code).toBe(2);
      world.rehearsal([unit('1', ...add('b.txt'), done())]);
      const { code, result } = await runSpec(world, dir, ...flags);
      expect({ code, attempts: result.counts.attempts }).toEqual({ code: 0, attempts: 2 });
      expect(story(world.ticket('spec-limits', '2'))).toContain('implement success');
    },
  );

  it('stay where the user has ticked them', async ({ world }) => {
    const dir = writeSpec(world, tasks('One', 'Two', 'Three').replace('[ ] 2', '[x] 2'));
    expect((await runSpec(world, dir, '--max-iterations', '1')).code).toBe(1);
    expect(tasksOn(world)).toBe('# Tasks\n\n- [x] 1. One\n- [x] 2. Two\n- [ ] 3. Three');
  });
});

describe.concurrent('spec tick', () => {
  it('refuses a unit that is not done, whoever calls it', { tags: 'full' }, async ({ world }) => {
    const tick = `${process.execPath} ${CLI} spec tick spec-limits`;
    world.rehearsal([
      unit('1', { run: `${tick} 1 2> own.txt; ${tick} 2 2> other.txt; true` }, { commit: 'Try' }, done()),
    ]);
    const dir = writeSpec(world, tasks('One', 'Two', 'Three'));
    expect((await runSpec(world, dir, '--max-iterations', '1')).code).toBe(1);
    expect(git(world.repo, 'show', 'spec/limits:own.txt')).toContain(
      'spec-limits/1 is not done: it is running',
    );
    expect(git(world.repo, 'show', 'spec/limits:other.txt')).toContain(
      'spec-limits/2 is not done: it is queued',
    );
    expect(tasksOn(world)).toBe('# Tasks\n\n- [x] 1. One\n- [ ] 2. Two\n- [ ] 3. Three');
    const { code, err } = await world.cli('spec', 'tick', 'spec-limits', '3');
    expect({ code, err }).toEqual({ code: 5, err: expect.stringContaining('is not done') });
    expect((await world.cli('spec', 'tick', 'spec-limits', '1')).code).toBe(0);
    expect(tasksOn(world)).toContain('- [ ] 3. Three');
  });

  it('says where the ticks are of a spec that git does not have', { tags: 'full' }, async ({ world }) => {
    const dir = writeSpec(world, tasks('One'), { commit: false });
    expect((await runSpec(world, dir)).code).toBe(0);
    const { code, err } = await world.cli('spec', 'tick', 'spec-limits', '1');
    expect(code).toBe(5);
    expect(err).toContain(`What was ticked is in ${join(dir, 'tasks.md')}`);
    expect(err).not.toContain('on the branch');
  });

  it('is what the script of any phase may call', async ({ world }) => {
    const file = join(world.home, 'workflows', 'spec-task.yaml');
    withoutWaits(world);
    writeFileSync(
      file,
      readFileSync(file, 'utf8').replaceAll('id: tick', 'id: mark').replaceAll(': tick', ': mark'),
    );
    expect((await runSpec(world, writeSpec(world, tasks('One')))).code).toBe(0);
    expect(tasksOn(world)).toContain('- [x] 1. One');
    // The worktree is gone by then, and stays so.
    const { code, err } = await world.cli('spec', 'tick', 'spec-limits', '1');
    expect({ code, err }).toEqual({ code: 5, err: expect.stringContaining('is on the branch spec/limits') });
    expect(existsSync(tree(world))).toBe(false);
  });
});

describe.concurrent('work of earlier units', () => {
  it('that was dropped or rewritten comes back before the next attempt', { tags: 'full' }, async ({
    world,
  }) => {
    withoutWaits(world);
    const cuts = [
      ['2', 'git reset --quiet --hard HEAD~2'],
      ['3', 'git commit --quiet --amend --allow-empty --message=Mine'],
    ] as const;
    world.rehearsal(
      cuts.flatMap(([ticket, run]) => [
        { when: { ticket, phase: 'implement', attempt: 1 }, do: [{ run }, ...add('b.txt'), done()] },
        { when: { ticket, phase: 'implement', attempt: 2 }, do: [...add(`c${ticket}.txt`), done()] },
      ]),
    );
    const dir = writeSpec(world, tasks('One', 'Two', 'Three'));
    expect((await runSpec(world, dir)).code).toBe(0);
    expect(work(world)).toEqual([
      'Rehearse implement of 1',
      'Tick 1 of limits',
      'Add c2.txt',
      'Tick 2 of limits',
      'Add c3.txt',
      'Tick 3 of limits',
    ]);
    for (const [ticket] of cuts) {
      const prompt = world.promptOf('spec-limits', ticket, 'implement.1.2');
      expect(prompt).toContain('the branch no longer contains');
      expect(git(world.repo, 'show', `refs/signalbox/failed/spec-limits/${ticket}-1:b.txt`)).toBe('x');
    }
  });
});

describe.concurrent('a commit with nothing in it, or of the tasks alone', () => {
  it('is no work', { tags: 'full' }, async ({ world }) => {
    withoutWaits(world);
    world.rehearsal([
      unit('1', { run: 'git commit --quiet --allow-empty --message=Nothing' }, done()),
      unit('2', { run: `echo note >> ${TASKS} && git commit --quiet --all --message=Note` }, done()),
    ]);
    const dir = writeSpec(world, tasks('One', 'Two'));
    const flags = ['--max-attempts', '1', '--on-failure', 'continue'];
    expect((await runSpec(world, dir, ...flags)).code).toBe(2);
    for (const id of ['1', '2'])
      expect(world.ticket('spec-limits', id).error).toContain('besides the spec’s own files');
  });
});

describe.concurrent('--in-place with files of the run that git sees', () => {
  it('goes on although they are tracked or left from a crash', { tags: 'full' }, async ({ world }) => {
    const dir = writeSpec(world, tasks('One', 'Two'));
    const beside = (name: string) => join(world.repo, '.kiro/specs', name);
    put(beside('SEQUENTIAL_PROGRESS.md'), '# Old\n');
    put(beside('SEQUENTIAL_STATE.json'), '{"version":1,"specs":{}}\n');
    git(world.repo, 'add', '--all', '--force');
    git(world.repo, 'commit', '--quiet', '--message=Track them');
    put(beside('SEQUENTIAL_STATE.json'), '{ broken');
    put(beside('SEQUENTIAL_STATE.json.12.1.tmp'), '{');
    const { code, err } = await runSpec(world, dir, '--in-place');
    expect({ code, err }).toEqual({ code: 0, err: expect.stringContaining('moved aside') });
    expect(git(world.repo, 'status', '--porcelain', '--', ':(exclude)*.json', ':(exclude)*.md')).toBe('');
    expect(git(world.repo, 'log', '-4', '--format=%s')).toContain('Rehearse implement of 2');
  });
});

describe.concurrent('a unit whose task was given another name meanwhile', () => {
  const rename = [
    { run: `sed -i 's/One/Something else/' ${TASKS}` },
    { commit: 'Change the tasks' },
    ...add('a.txt'),
  ];

  it('is ticked under its own name on the spec’s branch, where only agents write', async ({ world }) => {
    world.rehearsal([unit('1', ...rename, done())]);
    const dir = writeSpec(world, tasks('One', 'Two'));
    expect((await runSpec(world, dir)).code).toBe(0);
    expect(tasksOn(world)).toBe('# Tasks\n\n- [x] 1. One\n- [x] 2. Two');
  });

  it('is done when the person ticks it', { tags: 'full' }, async ({ world }) => {
    world.rehearsal([unit('1', ...rename, done())]);
    const dir = writeSpec(world, tasks('One', 'Two'));
    expect((await runSpec(world, dir, '--in-place')).code).toBe(2);
    writeFileSync(join(dir, 'tasks.md'), tasks('One', 'Two').replace('[ ] 1', '[x] 1'));
    git(world.repo, 'commit', '--quiet', '--all', '--message=Tick it');
    const { code, err } = await runSpec(world, dir, '--in-place');
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(readFileSync(join(dir, 'tasks.md'), 'utf8')).toContain('- [x] 2. Two');
  });

  it('is done anew when the person calls it so, too', { tags: 'full' }, async ({ world }) => {
    world.rehearsal([unit('1', ...rename, done())]);
    const dir = writeSpec(world, tasks('One'));
    expect((await runSpec(world, dir, '--in-place')).code).toBe(2);
    world.rehearsal([unit('1', ...add('b.txt'), done())]);
    expect((await runSpec(world, dir, '--in-place')).code).toBe(0);
    expect(readFileSync(join(dir, 'tasks.md'), 'utf8')).toContain('- [x] 1. Something else');
  });
});

describe.concurrent('a task list that an agent deletes', () => {
  const remove = [{ run: `git rm --quiet ${TASKS}` }, { commit: 'Remove the tasks' }, ...add('a.txt')];

  it.for([[], ['--in-place']])(
    'is there again with the tick of its unit %s',
    { tags: 'full' },
    async (flags, { world }) => {
      world.rehearsal([unit('2', ...remove, done())]);
      const dir = writeSpec(world, tasks('One', 'Two'));
      expect((await runSpec(world, dir, ...flags)).code).toBe(0);
      const branch = flags.length > 0 ? 'main' : 'spec/limits';
      expect(tasksOn(world, branch)).toBe('# Tasks\n\n- [x] 1. One\n- [x] 2. Two');
    },
  );

  it('is there again in a spec that git does not have', { tags: 'full' }, async ({ world }) => {
    world.rehearsal([unit('1', { run: `rm ${TASKS}` }, ...add('a.txt'), done())]);
    const dir = writeSpec(world, tasks('One', 'Two'), { commit: false });
    expect((await runSpec(world, dir)).code).toBe(0);
    expect(readFileSync(join(dir, 'tasks.md'), 'utf8')).toBe('# Tasks\n\n- [x] 1. One\n- [x] 2. Two\n');
  });
});

describe.concurrent('a spec that a daemon runs', () => {
  it('is refused with 3, and the daemon is named', async ({ world }) => {
    world.rehearsal([unit('1', 'hang')]);
    const dir = writeSpec(world, tasks('One'));
    const { out } = await world.cli('spec', dir, '--no-tmux', '--delay', '0', '--detach');
    try {
      await world.reaches('spec-limits', '1', 'running');
      const { code, err } = await world.cli('spec', dir, '--no-tmux');
      const [, pid] = /^Daemon (\d+)/.exec(out) ?? [];
      expect({ code, err }).toEqual({ code: 3, err: expect.stringContaining(`daemon (pid ${pid}`) });
    } finally {
      await world.cli('daemon', 'stop');
    }
  });
});
