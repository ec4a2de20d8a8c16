import { existsSync, readFileSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { readJob } from '../../../src/machine/jobs/start-and-read-job.ts';
import { variants } from '../../support/index.ts';
import {
  done,
  git,
  it,
  jobOf,
  powerFails,
  put,
  runSpec,
  story,
  tasks,
  type World,
  waitFor,
  withoutWaits,
  writeSpec,
} from './support.ts';

const FLAGS = ['--in-place', '--no-tmux', '--delay', '0', '--json'];
const status = (world: World) => git(world.repo, 'status', '--porcelain', '--untracked-files=all');
const HALF = { write: { path: 'half.txt', text: 'half\n' } };
const WAIT = (world: World) => ({ run: `until [ -e ${world.dir}/agent-go ]; do sleep 0.05; done` });

/** An engine that is killed while the agent of its only unit works; the agent goes on until the test lets it end. */
async function killed(world: World, ...steps: unknown[]): Promise<string> {
  withoutWaits(world);
  world.rehearsal([
    { when: { phase: 'implement', attempt: 1 }, do: [HALF, WAIT(world), ...steps] },
    { when: { phase: 'implement' }, do: [{ commit: 'Finish it' }, done()] },
  ]);
  const dir = writeSpec(world, tasks('One'));
  const first = world.start(['spec', dir, ...FLAGS]);
  await first.says('"half.txt"');
  await first.kill('SIGKILL');
  return dir;
}

/** The agent ends alone. Git's log counts whole seconds, and a person commits no sooner than in the next one. */
async function agentEnds(world: World): Promise<void> {
  world.append('agent-go', '');
  await waitFor('the agent to have ended', () => {
    const job = readJob(jobOf(world));
    put(join(world.dir, 'clock'), '');
    const second = (time: Date) => Math.floor(time.getTime() / 1000);
    return job.state === 'ended' && second(statSync(join(world.dir, 'clock')).ctime) > second(job.endedAt);
  });
}

async function refused(world: World, dir: string, file: string): Promise<void> {
  const before = status(world);
  const head = git(world.repo, 'rev-parse', 'HEAD');
  for (const args of [
    ['spec', dir, ...FLAGS],
    ['resume', 'spec-limits', '--no-tmux'],
  ]) {
    const { code, err } = await world.cli(...args);
    expect({ code, err }).toEqual({ code: 5, err: expect.stringContaining(file) });
    expect(err).toContain('Commit or stash');
  }
  expect(status(world)).toBe(before);
  expect(git(world.repo, 'rev-parse', 'HEAD')).toBe(head);
  expect(git(world.repo, 'for-each-ref', 'refs/signalbox')).toBe('');
}

describe.concurrent('--in-place after the engine was killed', () => {
  it('goes on with the agent that is still at work', { tags: 'full' }, async ({ world }) => {
    const dir = await killed(world, { commit: 'Do it' }, done());
    const second = world.start(['spec', dir, ...FLAGS]);
    await second.says('attempt:adopt');
    world.append('agent-go', '');
    expect((await second.ended).code).toBe(0);
    expect(story(world.ticket('spec-limits', '1'))).toContain('implement success');
  });

  it('goes on with what the agent left when it ended alone', { tags: 'full' }, async ({ world }) => {
    const dir = await killed(world, { fail: { class: 'exit', message: 'boom' } });
    await agentEnds(world);
    const { code } = await runSpec(world, dir, '--in-place');
    expect(code).toBe(0);
    expect(git(world.repo, 'show', 'HEAD~1:half.txt')).toBe('half');
  });

  variants([
    ['a new file', (world: World) => put(join(world.repo, '.env.local'), 'SECRET=1\n'), '.env.local'],
    ['an edit', (world: World) => put(join(world.repo, 'README.md'), 'mine\n'), 'README.md'],
    [
      'an edit of what the agent left',
      (world: World) => put(join(world.repo, 'half.txt'), 'mine\n'),
      'half.txt',
    ],
    [
      'a directory from elsewhere',
      (world: World) => renameSync(join(world.dir, 'notes'), join(world.repo, 'notes')),
      'notes/old.txt',
    ],
  ] as const)('refuses %s that came after the agent had ended', async ([, change, file], { world }) => {
    put(join(world.dir, 'notes/old.txt'), 'written before all that\n');
    const dir = await killed(world, { fail: { class: 'exit', message: 'boom' } });
    await agentEnds(world);
    change(world);
    await refused(world, dir, file);
  });

  it('goes on once the person has committed theirs, which stays whatever becomes of the unit', {
    tags: 'full',
  }, async ({ world }) => {
    const dir = await killed(world, { fail: { class: 'exit', message: 'boom' } });
    await agentEnds(world);
    put(join(world.repo, 'mine.txt'), 'mine\n');
    await refused(world, dir, 'mine.txt');
    git(world.repo, 'add', 'mine.txt');
    git(world.repo, 'commit', '--quiet', '--message=Mine');
    const mine = git(world.repo, 'rev-parse', 'HEAD');
    expect((await runSpec(world, dir, '--in-place')).code).toBe(0);
    expect(world.ticket('spec-limits', '1').base?.commit).toBe(mine);
    expect(git(world.repo, 'show', '--format=%s', '--name-only', 'HEAD~1')).toBe('Finish it\n\nhalf.txt');
  });

  it('refuses everything where nobody can tell when the agent ended, and goes on when it is stashed', {
    tags: 'full',
  }, async ({ world }) => {
    const dir = await killed(world, done());
    await powerFails(world);
    await refused(world, dir, 'half.txt');
    git(world.repo, 'stash', '--quiet', '--include-untracked');
    world.rehearsal([{ when: { phase: 'implement' }, do: [HALF, { commit: 'Do it' }, done()] }]);
    expect((await runSpec(world, dir, '--in-place')).code).toBe(0);
    expect(readFileSync(join(world.repo, 'half.txt'), 'utf8')).toBe('half\n');
  });

  it('takes a commit of what nobody can tell for the person’s', { tags: 'full' }, async ({ world }) => {
    const dir = await killed(world, done());
    await powerFails(world);
    await refused(world, dir, 'half.txt');
    git(world.repo, 'add', '--all');
    git(world.repo, 'commit', '--quiet', '--message=Mine');
    world.rehearsal([{ when: { phase: 'implement' }, do: [{ fail: { class: 'exit', message: 'boom' } }] }]);
    const flags = ['--max-attempts', '1', '--on-failure', 'continue'];
    expect((await runSpec(world, dir, '--in-place', ...flags)).code).toBe(2);
    expect(git(world.repo, 'log', '-1', '--format=%s')).toBe('Mine');
  });

  it('refuses what lies there when no agent had begun', { tags: 'full' }, async ({ world }) => {
    const dir = writeSpec(world, tasks('One'));
    const env = { SIGNALBOX_CRASH_AT: 'attempt:recorded' };
    expect((await world.start(['spec', dir, ...FLAGS], env).ended).signal).toBe('SIGKILL');
    put(join(world.repo, 'mine.txt'), 'mine\n');
    await refused(world, dir, 'mine.txt');
  });
});

describe.concurrent('--in-place while a unit waits', () => {
  it('refuses an answer while something of the person’s lies there, and takes it afterwards', async ({
    world,
  }) => {
    const asks = { result: 'Which table?\n\n<promise>HALT</promise>' };
    world.rehearsal([
      { when: { phase: 'implement', visit: 1 }, do: [asks] },
      { when: { phase: 'implement' }, do: [HALF, { commit: 'Do it' }, done()] },
    ]);
    const dir = writeSpec(world, tasks('One'));
    expect((await runSpec(world, dir, '--in-place')).code).toBe(2);
    put(join(world.repo, 'mine.txt'), 'mine\n');
    const answer = ['resume', '--answer', 'The new one.', '--no-tmux'];
    const { code, err } = await world.cli(...answer);
    expect({ code, err }).toEqual({ code: 5, err: expect.stringContaining('mine.txt') });
    expect(world.ticket('spec-limits', '1').hold?.kind).toBe('gate');
    git(world.repo, 'stash', '--quiet', '--include-untracked');
    expect((await world.cli(...answer)).code).toBe(0);
    expect(existsSync(join(world.repo, 'mine.txt'))).toBe(false);
  });

  it('stops for a person when something came into the checkout meanwhile', { tags: 'full' }, async ({
    world,
  }) => {
    world.rehearsal([
      {
        when: { phase: 'implement', resumed: false, attempt: 1 },
        do: [{ limit: { seconds: 2, message: 'Over.' } }],
      },
      { when: { phase: 'implement' }, do: [HALF, { commit: 'Do it' }, done()] },
    ]);
    const dir = writeSpec(world, tasks('One'));
    const run = world.start(['spec', dir, ...FLAGS]);
    await run.says('"kind":"limit"');
    await world.reaches('spec-limits', '1', ({ hold, left }) => hold?.kind === 'limit' && left !== undefined);
    put(join(world.repo, 'mine.txt'), 'mine\n');
    expect((await run.ended).code).toBe(2);
    expect(world.ticket('spec-limits', '1')).toMatchObject({
      status: 'needs_attention',
      error: expect.stringContaining('mine.txt'),
    });
    expect(status(world)).toBe('?? mine.txt');
    git(world.repo, 'stash', '--quiet', '--include-untracked');
    expect((await runSpec(world, dir, '--in-place')).code).toBe(0);
  });
});
