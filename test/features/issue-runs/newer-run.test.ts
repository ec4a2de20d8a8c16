import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import type { RunResult } from '../../../src/features/issue-runs/request-and-result-types.ts';
import { makeRepo } from '../../support/repo.ts';
import {
  git,
  IssueWorld,
  isRunning,
  it,
  linesOf,
  steeredAgent,
  WORK,
  type World,
  waitFor,
} from './support.ts';

/** Issue b depends on a. */
function pair(world: World): IssueWorld {
  steeredAgent(world);
  return new IssueWorld(world).write('a.md', '# a\n').write('b.md', '# b\n', { dependsOn: ['a'] });
}

const only = (world: World, list: 'bad' | 'slow', ...names: string[]) => {
  rmSync(join(world.dir, 'user', list), { force: true });
  for (const name of names) world.append(`user/${list}`, `${name}\n`);
};

/** Runs a and b, and stops that while a is at work. */
async function stopped(issues: IssueWorld, ...flags: string[]): Promise<string> {
  const { world } = issues;
  only(world, 'slow', 'a');
  const running = issues.start('run', 'a.md', 'b.md', ...WORK, ...flags);
  await world.call('working');
  expect((await running.kill('SIGINT')).code).toBe(130);
  only(world, 'slow');
  return issues.runs().at(-1) ?? '';
}

async function goesOn(issues: IssueWorld, run: string): Promise<void> {
  const { repo } = issues.world;
  const { code, out } = await issues.cli('resume', run);
  expect(code, out).toBe(0);
  expect(out).toMatch(/✓ +a +done before/);
  expect(out).toMatch(/^2 of 2 done · /m);
  expect(out.split('\n')[0]).toBe('Progress: a ✓ b ⏳');
  expect(git(repo, 'merge-base', 'feature/a-a', 'feature/b-b')).toBe(git(repo, 'rev-parse', 'feature/a-a'));
  expect(issues.world.readPlan(run).status).toBe('complete');
}

describe.concurrent('a run whose issue a newer run has', () => {
  it('goes on from what that one finished, after it was stopped', { tags: 'full' }, async ({ world }) => {
    const issues = pair(world);
    const run = await stopped(issues);
    expect((await issues.cli('run', 'a.md', ...WORK)).code).toBe(0);
    await goesOn(issues, run);
  });

  it('goes on from what that one finished, after the issue failed', { tags: 'full' }, async ({ world }) => {
    const issues = pair(world);
    only(world, 'bad', 'a');
    expect((await issues.cli('run', 'a.md', 'b.md', ...WORK)).code).toBe(1);
    const [run = ''] = issues.runs();
    only(world, 'bad');
    expect((await issues.cli('run', 'a.md', ...WORK)).code).toBe(0);
    await goesOn(issues, run);
  });

  it('goes on from what was done before it, where the newer one found just that', { tags: 'full' }, async ({
    world,
  }) => {
    const issues = pair(world);
    expect((await issues.cli('run', 'a.md', ...WORK)).code).toBe(0);
    const run = await stopped(issues, '--force');
    expect((await issues.cli('run', 'a.md', ...WORK)).out).toMatch(/✓ +a +done before/);
    await goesOn(issues, run);
  });

  it('names that one and the commands while it has not finished the issue', { tags: 'full' }, async ({
    world,
  }) => {
    const issues = pair(world);
    const run = await stopped(issues);
    only(world, 'bad', 'a');
    expect((await issues.cli('run', 'a.md', ...WORK)).code).toBe(1);
    const newer = issues.runs().at(-1) ?? '';
    const { code, out } = await issues.cli('resume', run);
    expect(code).toBe(1);
    expect(out).toMatch(new RegExp(`◌ +b +not started +waits for a \\(superseded by ${newer}\\)`));
    expect(out).toContain(`continue with: signalbox status --plan ${newer}\n`);
    expect(out).toContain(`b: continue with: signalbox resume ${newer} && signalbox resume ${run}\n`);
    const json = linesOf<RunResult>((await issues.cli('resume', run, '--json')).out).at(-1);
    expect(json?.results.map(({ next }) => next)).toEqual([
      `signalbox status --plan ${newer}`,
      `signalbox resume ${newer} && signalbox resume ${run}`,
    ]);
    only(world, 'bad');
    expect((await issues.cli('retry', newer, 'a')).code).toBe(0);
    expect((await issues.cli('resume', newer)).code).toBe(0);
    await goesOn(issues, run);
  });
});

describe.concurrent('a run that a newer one has replaced', () => {
  it('is complete with the newer one, whose work can be merged', { tags: 'full' }, async ({ world }) => {
    steeredAgent(world);
    const issues = new IssueWorld(world).write('a.md', '# a\n');
    only(world, 'slow', 'a');
    const running = issues.invoke('run', 'a.md', ...WORK);
    await world.call('working');
    expect((await running.kill('SIGINT')).code).toBe(130);
    only(world, 'slow');
    expect((await issues.cli('run', 'a.md', ...WORK)).out).toMatch(/^1 of 1 done · /m);
    const [old = '', newer = ''] = issues.runs();
    expect(world.readPlan(old)).toMatchObject({ status: 'complete', claim: null });
    expect((await issues.cli('status')).out).not.toMatch(/superseded|Waiting/);
    expect((await issues.cli('report')).out).not.toContain(old);
    expect((await issues.cli('resume')).err).toContain('Nothing is paused or stopped.');
    const merged = await issues.cli('merge', newer);
    expect(merged.code, merged.out + merged.err).toBe(0);
    expect(git(world.repo, 'log', '--format=%s', '-2')).toContain('a');
  });

  it('gives up neither branch nor worktree of the newer one, which a ticket id finds', {
    tags: 'full',
  }, async ({ world }) => {
    steeredAgent(world);
    const issues = new IssueWorld(world).write('a.md', '# a\n');
    only(world, 'slow', 'a');
    const first = issues.invoke('run', 'a.md', ...WORK);
    await world.call('working');
    expect((await first.kill('SIGINT')).code).toBe(130);
    const second = issues.invoke('run', 'a.md', ...WORK);
    await world.call('working', {}, 2);
    const [old = '', newer = ''] = issues.runs();
    const { worktree } = world.ticket(newer, 'a');
    expect((await issues.cli('status', 'a')).out).toContain(`${newer}/a`);
    expect((await issues.cli('status', old)).out).toContain(`→ signalbox status --plan ${newer}\n`);
    for (const _ of [1, 2]) {
      const { code, out } = await issues.cli('cancel', old, '--yes');
      expect({ code, out }).toEqual({ code: 0, out: expect.not.stringMatching(/branch -D|worktree/) });
    }
    expect(existsSync(worktree ?? '')).toBe(true);
    world.go();
    expect((await second.ended).out).toMatch(/^1 of 1 done · /m);
    expect(world.readPlan(old).status).toBe('archived');
  });
});

describe.concurrent('resume without a name', () => {
  it('finds the run whose daemon was killed', { tags: 'full' }, async ({ world }) => {
    const issues = pair(world);
    only(world, 'slow', 'a');
    const { out } = await issues.cli('run', 'a.md', ...WORK, '--detach');
    const pid = Number(/^Daemon (\d+) /m.exec(out)?.[1]);
    await world.call('working');
    const [run = ''] = issues.runs();
    process.kill(pid, 'SIGKILL');
    await waitFor('the end of the daemon', () => !isRunning(pid));
    expect((await issues.cli('status')).out).toContain(`signalbox resume ${run}`);
    world.go();
    const resumed = await issues.cli('resume');
    expect(resumed.code, resumed.err).toBe(0);
    expect(resumed.out).toContain('✓ Issue a completed');
  });

  it('finds the run that was answered since it ended, and none before that', async ({ world }) => {
    const issues = pair(world);
    const other = makeRepo(join(world.dir, 'other'));
    expect((await issues.cli('run', 'a.md', 'b.md', '--chain', '--qa-gate', ...WORK)).code).toBe(1);
    expect(world.events(issues.runs()[0] ?? '')[0]).toMatchObject({ type: 'plan:status', door: 'cli' });
    const [run = ''] = issues.runs();
    expect((await issues.cli('resume')).err).toContain('Nothing is paused or stopped.');
    expect((await issues.cli('respond', run, 'a', 'approve')).code).toBe(0);
    expect((await world.invoke(['resume'], {}, other).ended).err).toContain(`${run} of ${world.repo} is.`);
    const resumed = await issues.cli('resume');
    expect(resumed.out).toContain('● b: exec started');
  });
});
