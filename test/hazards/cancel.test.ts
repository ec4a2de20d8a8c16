import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { CANCEL_CRASH_POINTS } from '../../src/engine/crash-points.ts';
import { IssueWorld } from '../cli/issue-world.ts';
import { CliCall } from '../support/cli-call.ts';
import { git, isRunning, it, type World } from '../support/index.ts';
import { firstOnly } from '../support/tiers.ts';

/** Commits, leaves more uncommitted, and waits. */
const BODY = 'commit; echo half > half.txt; echo changed >> README.md; note working; go';

function prepare(world: World): void {
  world.agent('agent', BODY);
  world.workflow('work', [
    { id: 'build', type: 'agent', prompt: 'Build.', onSuccess: 'done' },
    { id: 'done', type: 'terminal' },
  ]);
  world.plan('p', { tickets: { a: {}, b: { blockedBy: ['a'] } } });
}

const readText = (path: string) => readFileSync(path, 'utf8');
const REF = 'refs/signalbox/cancelled/p/a/work-1';

function refs(world: World): string[] {
  return git(world.repo, 'for-each-ref', '--format=%(refname)', 'refs/signalbox/')
    .split('\n')
    .filter(Boolean);
}

function plan(world: World): { status: string } {
  return JSON.parse(readText(join(world.stateDir, 'plans', 'p', 'plan.json'))) as { status: string };
}

/** Stopped, nothing lost, given up. */
function expectCancelled(world: World): void {
  expect(plan(world).status).toBe('archived');
  for (const id of ['a', 'b'])
    expect(world.ticket('p', id)).toMatchObject({
      status: 'failed',
      error: 'cancelled by a person',
      claim: null,
    });
  const worktree = world.ticket('p', 'a').worktree ?? '';
  expect(existsSync(worktree)).toBe(false);
  const [ref = ''] = refs(world);
  expect(git(world.repo, 'show', `${ref}:half.txt`)).toBe('half');
  expect(git(world.repo, 'show', `${ref}:README.md`)).toContain('changed');
  expect(git(world.repo, 'log', '-1', '--format=%P', ref)).toBe(
    git(world.repo, 'rev-parse', 'refs/heads/ticket/p/a'),
  );
}

describe('cancel', () => {
  it.concurrent('stops the agent of another process, keeps its work on a ref, then removes the worktree', async ({
    world,
  }) => {
    prepare(world);
    const run = world.invoke(['run', 'p']);
    const { pid } = await world.call('working');
    const done = await world.cli('cancel', 'p', '--yes');
    expect(done.err).toBe('');
    expect(done.out.split('\n')).toEqual([
      'Plan p is cancelled and archived.',
      `  a: uncommitted work is kept at ${REF}`,
      `    Look at it: git -C ${world.repo} show ${REF}`,
      'Still there; to delete for good:',
      `  git -C ${world.repo} branch -D ticket/p/a`,
      `  git -C ${world.repo} update-ref -d ${REF}`,
      '  signalbox plan delete p --force',
      'To bring a ticket back: signalbox retry p <ticket>',
      '',
    ]);
    expect(isRunning(pid)).toBe(false);
    expect((await run.ended).code).toBe(1);
    expectCancelled(world);
    // Its own advice deletes all of it.
    for (const line of done.out.split('\n').filter((each) => each.startsWith('  git ')))
      git(world.repo, ...line.trim().split(' ').slice(3));
    expect((await world.cli('plan', 'delete', 'p', '--force')).code).toBe(0);
    expect(git(world.repo, 'for-each-ref', '--format=%(refname)')).toBe('refs/heads/main');
  });

  it.concurrent('of one ticket is waited for by its run, whose summary says so', async ({ world }) => {
    prepare(world);
    const run = world.invoke(['run', 'p']);
    await world.call('working');
    expect((await world.cli('cancel', 'p', 'a', '--yes')).code).toBe(0);
    const { out } = await run.ended;
    expect(out).toContain('cancelled by a person');
    expect(out.slice(out.indexOf('of 2 done'))).not.toContain('paused');
  });

  it.concurrent('of a ticket whose worktree was deleted by hand names what git still has', async ({
    world,
  }) => {
    prepare(world);
    const run = world.invoke(['run', 'p']);
    await world.call('working');
    expect((await world.cli('pause', 'p', 'a')).code).toBe(0);
    await run.ended;
    const path = world.ticket('p', 'a').worktree ?? '';
    rmSync(path, { recursive: true });
    const { out } = await world.cli('cancel', 'p', 'a', '--yes');
    expect(out.split('\n').slice(0, 2)).toEqual([
      'p/a is cancelled.',
      `  a: kept the worktree ${path}: it does not exist; if it is gone for good: git -C ${world.repo} worktree prune`,
    ]);
    git(world.repo, 'worktree', 'prune');
    expect((await world.cli('cancel', 'p', 'a', '--yes')).out).not.toContain('kept the worktree');
  });

  it.concurrent('of the only ticket of a plan archives the plan, and retry brings both back', async ({
    world,
  }) => {
    prepare(world);
    world.plan('one', { tickets: { a: { status: 'failed', currentPhase: 'build', error: 'no' } } });
    const { out } = await world.cli('cancel', 'one', 'a', '--yes');
    expect(out).toMatch(/^Plan one is cancelled and archived\.\n/);
    expect(out).toContain('To bring it back: signalbox retry one a\n');
    expect((await world.cli('status')).out).not.toContain('one\n');
    expect((await world.cli('retry', 'one', 'a')).code).toBe(0);
    expect((await world.cli('status')).out).toContain('one\n');
    expect((await world.cli('cancel', 'one', 'nothing', '--yes')).err).toContain('has no ticket "nothing"');
  });

  it.concurrent('of the last ticket that is not cancelled archives the plan', async ({ world }) => {
    prepare(world);
    const failed = { status: 'failed', currentPhase: 'build', error: 'no' } as const;
    world.plan('three', { tickets: { a: failed, b: failed, c: {} } });
    await world.cli('cancel', 'three', '--yes');
    await world.cli('retry', 'three', 'b');
    const { out } = await world.cli('cancel', 'three', 'b', '--yes');
    expect(out).toMatch(/^Plan three is cancelled and archived\.\n/);
    expect((await world.cli('status')).out).not.toContain('three\n');
  });

  for (const [index, point] of CANCEL_CRASH_POINTS.entries())
    it.concurrent(
      `killed at ${point}: nothing is lost, and another cancel does the rest`,
      firstOnly(index),
      async ({ world }) => {
        prepare(world);
        const run = world.invoke(['run', 'p']);
        await world.call('working');
        const crashed = await world.start(['cancel', 'p', '--yes'], { SIGNALBOX_CRASH_AT: point }).ended;
        expect(crashed.signal).toBe('SIGKILL');
        await run.ended;
        expect(plan(world).status).toBe('paused');
        const worktree = world.ticket('p', 'a').worktree ?? '';
        expect(existsSync(join(worktree, 'half.txt')) || refs(world).length === 1).toBe(true);
        expect((await world.cli('cancel', 'p', '--yes')).out).toContain(REF);
        expectCancelled(world);
        expect(refs(world)).toEqual([REF]);
        const cancelled = world
          .events('p')
          .filter((each) => each.type === 'command' && each.command === 'cancel');
        expect(cancelled).toHaveLength(2);
      },
    );

  it.concurrent('of one ticket leaves the others alone, and retry brings it back', async ({ world }) => {
    prepare(world);
    const run = world.invoke(['run', 'p']);
    await world.call('working');
    expect((await world.cli('cancel', 'p', 'a', '--yes')).out).toContain('p/a is cancelled.');
    await run.ended;
    expect(plan(world).status).toBe('active');
    expect(world.ticket('p', 'b').status).toBe('queued');
    expect((await world.cli('retry', '--failed', 'p')).out).toBe(
      'Retried 0 failed tickets of p.\n1 cancelled ticket left out. To bring one back: signalbox retry p a\n',
    );
    expect((await world.cli('status')).out).toContain('cancelled by a person');
    await world.cli('cancel', 'p', '--yes');
    expect((await world.cli('retry', 'p', 'a')).out).toMatch(/^p\/a is ready at build\. Run it/);
    expect(plan(world).status).toBe('active');
    world.go();
    expect((await world.cli('run', 'p', 'a')).code).toBe(0);
    expect(world.ticket('p', 'a').status).toBe('complete');
    const before = world.ticket('p', 'a');
    for (const words of [[], ['--yes']]) {
      const refused = await world.cli('cancel', 'p', 'a', ...words);
      expect([refused.code, refused.out]).toEqual([1, '']);
      expect(refused.err).toBe(
        '❌ Cannot cancel p/a: it is complete, and stays as it is.\n' +
          '   Look at its work: signalbox diff p a. To merge it: signalbox merge p\n',
      );
    }
    expect(world.ticket('p', 'a')).toEqual(before);
  });

  it.concurrent('of a run of issues: its summary names commands that work', { tags: 'full' }, async ({
    world,
  }) => {
    world.agent('agent', 'if [ "$SIGNALBOX_TICKET" = one ]; then commit; else note working; go; commit; fi');
    const issues = new IssueWorld(world);
    issues.write('issues/one.md', 'Do it.', { id: 'one', title: 'One' });
    issues.write('issues/two.md', 'Do it.', { id: 'two', title: 'Two' });
    const options = ['--sequential', '--phases', 'exec', '--no-smart-tests', '--no-pr'];
    const run = issues.invoke('run', 'issues/one.md', 'issues/two.md', ...options);
    await world.call('working');
    const id = await issues.run();
    expect((await issues.cli('cancel', id, '--yes')).code).toBe(0);
    const { out } = await run.ended;
    expect(out).toContain(`To merge it: signalbox integrate ${id} one\n`);
    expect(out).toContain(
      `This run was cancelled. To bring back an issue: signalbox retry ${id} two && signalbox resume ${id}\n`,
    );
    expect(out).not.toMatch(/continue with:|signalbox merge/);
    expect((await issues.cli('merge', id)).err).toContain(`signalbox integrate ${id} <ticket>`);
    expect((await issues.cli('cancel', id, 'one', '--yes')).err).toContain(`signalbox integrate ${id} one`);
    expect((await issues.cli('integrate', id, 'one')).code).toBe(0);
    expect((await issues.cli('retry', id, 'two')).code).toBe(0);
    world.go();
    expect((await issues.cli('resume', id)).code).toBe(0);
    expect(world.ticket(id, 'two').status).toBe('complete');
  });

  it.concurrent('removes a worktree that the tickets of a plan share, once all are given up', {
    tags: 'full',
  }, async ({ world }) => {
    prepare(world);
    world.agent('agent', `if [ "$SIGNALBOX_TICKET" = a ]; then commit; else ${BODY}; fi`);
    const branch = 'feature/p';
    world.plan('p', {
      workspace: 'shared',
      tickets: { a: { branch }, b: { branch, blockedBy: ['a'] }, c: { branch, blockedBy: ['b'] } },
    });
    const run = world.invoke(['run', 'p']);
    await world.call('working');
    const worktree = world.ticket('p', 'b').worktree ?? '';
    expect((await world.cli('cancel', 'p', 'b', '--yes')).out).toContain(
      'other tickets of the plan work in it',
    );
    await run.ended;
    expect(readText(join(worktree, 'half.txt'))).toBe('half\n');
    const { out } = await world.cli('cancel', 'p', '--yes');
    expect(out).toContain('  Branch feature/p also has 1 complete ticket.\n');
    expect(out).not.toContain('kept the worktree');
    expect(existsSync(worktree)).toBe(false);
    expect(refs(world)).toEqual(['refs/signalbox/cancelled/p/b/work-1']);
    expect(world.ticket('p', 'a').status).toBe('complete');
  });

  it.concurrent('keeps a worktree that a commit cannot hold, and names it', { tags: 'full' }, async ({
    world,
  }) => {
    prepare(world);
    const run = world.invoke(['run', 'p']);
    await world.call('working');
    const worktree = world.ticket('p', 'a').worktree ?? '';
    mkdirSync(join(worktree, 'vendor'));
    git(join(worktree, 'vendor'), 'init', '--quiet');
    writeFileSync(join(worktree, 'vendor', 'only-here.txt'), 'x');
    const { out } = await world.cli('cancel', 'p', '--yes');
    await run.ended;
    expect(out).toContain(`kept the worktree ${worktree}: it holds another git repository, vendor/`);
    expect(readText(join(worktree, 'vendor', 'only-here.txt'))).toBe('x');
    expect(readText(join(worktree, 'half.txt'))).toBe('half\n');
    expect(world.ticket('p', 'a').status).toBe('failed');
  });

  it.concurrent('counts what it would cancel, failed tickets too, and names the branches of complete tickets', async ({
    world,
  }) => {
    prepare(world);
    const base = { ref: 'main', commit: 'c', remote: null };
    const done = { status: 'complete', currentPhase: 'done', base } as const;
    world.plan('q', {
      tickets: {
        bad: { status: 'failed', error: 'no tests' },
        given: { status: 'failed', cancelledAt: '2026-01-01T00:00:00Z' },
        one: { ...done, branch: 'ticket/q/one' },
        two: { ...done, branch: 'ticket/q/two' },
        open: {},
      },
    });
    expect((await world.cli('cancel', 'q')).err).toContain('plan q, 2 open tickets, 0 running.');
    const work =
      '  Work: 2 on their branches\n    → signalbox integrate q one\n    → signalbox integrate q two\n';
    expect((await world.cli('cancel', 'q', '--yes')).out).toContain(work);
    expect((await world.cli('status', 'q')).out).toContain(work);
  });

  it.concurrent('asks on a terminal and needs --yes elsewhere; a draft and a complete plan are refused', async ({
    world,
  }) => {
    prepare(world);
    const refused = await world.cli('cancel', 'p');
    expect(refused.code).toBe(2);
    expect(refused.err).toBe(
      '❌ Nothing was cancelled: plan p, 2 open tickets, 0 running.\n   Cancel with: signalbox cancel p --yes\n',
    );
    const answered = (input: string) =>
      new CliCall(['cancel', 'p', 'b'], {
        cwd: world.dir,
        env: world.env,
        terminal: true,
        columns: 100,
        input,
      }).ended;
    expect((await answered('n\n')).out).toContain('branches and pull requests stay.\nCancel p/b? [y/N]');
    expect(world.ticket('p', 'b').status).toBe('queued');
    expect((await answered('y\n')).out).toContain('p/b is cancelled.');
    expect(world.ticket('p', 'b').status).toBe('failed');
    world.plan('draft', { status: 'draft', tickets: { x: {} } });
    world.plan('done', { status: 'complete', tickets: { x: { status: 'complete', currentPhase: 'done' } } });
    // Refused before it is asked for.
    for (const more of [[], ['--yes']]) {
      expect((await world.cli('cancel', 'draft', ...more)).err).toContain('signalbox plan delete draft');
      expect((await world.cli('cancel', 'done', ...more)).err).toContain('it is complete');
    }
  });
});
