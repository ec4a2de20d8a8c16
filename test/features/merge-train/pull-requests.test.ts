import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { git, it, type World } from '../../support/index.ts';
import { firstOnly } from '../../support/tiers.ts';
import { Hub, path } from '../pull-requests/hub.ts';

/** One ticket whose pull request is approved, under a run. */
async function awaitingMerge(world: World): Promise<{ hub: Hub; run: ReturnType<Hub['start']> }> {
  const hub = new Hub(world, 'standard');
  world.plan('p', { tickets: { ok: {} } });
  const run = hub.start();
  await hub.waits('ok', 'await_review');
  await hub.review('ok', 'APPROVED');
  await hub.waits('ok', 'await_merge');
  return { hub, run };
}

describe.concurrent('merge --pr with tickets that wait for their merge', () => {
  it('merges what is approved, and the tickets see it by themselves', { tags: 'full' }, async ({ world }) => {
    const hub = new Hub(world, 'standard');
    world.plan('p', { tickets: { ok: {}, open: {} } });
    const run = hub.start();
    for (const id of ['ok', 'open']) await hub.waits(id, 'await_review');
    await hub.review('ok', 'APPROVED');
    await hub.waits('ok', 'await_merge');
    const [ok, open] = ['ok', 'open'].map((id) => String(world.ticket('p', id).context.pr_url));
    expect((await hub.cli('merge', 'p')).out).toMatch(
      new RegExp(
        `^Nothing to merge\\.\nPull request of p/ok, which is \\w+: ${ok}\n {2}To merge it on GitHub: signalbox merge p --pr\nPull request of p/open, which is \\w+: ${open}\n$`,
      ),
    );
    const { code, out, err } = await hub.cli('merge', 'p', '--pr');
    expect({ code, out, err }).toMatchObject({ code: 0, out: expect.stringMatching(/^✓ p\/ok {2}/) });
    const ticket = await hub.ends('ok');
    expect(ticket.status).toBe('complete');
    expect(path(ticket).slice(-2)).toEqual(['await_merge:merged', 'cleanup']);
    expect(world.ticket('p', 'open').currentPhase).toBe('await_review');
    await hub.change('open', (pull) => Object.assign(pull, { state: 'CLOSED' }));
    await run.ended;
  });

  it('and was killed once GitHub had merged: the look that finds it merged writes that down', {
    tags: 'full',
  }, async ({ world }) => {
    const { hub, run } = await awaitingMerge(world);
    const crash = { ...hub.env, SIGNALBOX_CRASH_AT: 'forge:merge-done' };
    expect((await world.start(['merge', 'p', '--pr'], crash).ended).signal).toBe('SIGKILL');
    expect((await hub.ends('ok')).status).toBe('complete');
    await run.ended;
    expect(hub.journal('ok').filter((line) => line.startsWith('merge '))).toEqual([
      'merge intent',
      'merge done',
    ]);
  });

  it('leaves one that is red with the others to its own workflow', { tags: 'full' }, async ({ world }) => {
    const { hub, run } = await awaitingMerge(world);
    const before = world.ticket('p', 'ok').phaseHistory.length;
    const [file = ''] = git(world.repo, 'diff', '--name-only', 'main', hub.branch('ok')).split('\n');
    world.config({ checks: [`test ! -e ${file}`] });
    const { code, out } = await hub.cli('merge', 'p', '--pr');
    expect(code).toBe(1);
    expect(out).toMatch(/^- p\/ok {2}`test ! -e .*` exited with code 1 when merged into origin\/main/);
    expect(world.ticket('p', 'ok')).toMatchObject({ currentPhase: 'await_merge' });
    expect(world.ticket('p', 'ok').phaseHistory.length).toBeLessThanOrEqual(before + 1);
    expect(hub.pulls()[0]?.state).toBe('OPEN');
    await hub.merge('ok');
    await run.ended;
  });

  it('leaves one out that somebody wants changed, that is red, or that is for another branch', {
    tags: 'full',
  }, async ({ world }) => {
    const hub = new Hub(world, 'standard');
    git(hub.origin, 'branch', 'release-1', 'main');
    world.plan('p', { tickets: { wrong: {}, red: {}, moved: {}, asked: {} } });
    const run = hub.start();
    const ids = ['wrong', 'red', 'moved', 'asked'];
    for (const id of ids) await hub.waits(id, 'await_review');
    for (const id of ids) await hub.review(id, 'APPROVED');
    for (const id of ids) await hub.waits(id, 'await_merge');
    await run.kill('SIGINT');
    await run.ended;
    // As one that was just looking when the run was stopped.
    const hold = { kind: 'stopped' as const, reason: 'stopped by Ctrl-C', until: null };
    world.writeTicket('p', 'asked', { ...world.ticket('p', 'asked'), status: 'paused', hold });
    await hub.review('wrong', 'CHANGES_REQUESTED', 'This deletes data.');
    await hub.checks('red', 'FAILURE');
    await hub.change('moved', (pull) => Object.assign(pull, { baseRefName: 'release-1' }));
    await hub.comment('asked', 'Is this the right name?');
    const before = hub.tip('main');
    for (const more of [['--dry-run'], []]) {
      const { out } = await hub.cli('merge', 'p', '--pr', ...more);
      expect(out).toMatch(/- p\/wrong {2}pull request #\d waits for ann, who requested changes/);
      expect(out).toMatch(/- p\/red +pull request #\d has red checks: build/);
      expect(out).toMatch(/- p\/moved {2}pull request #\d is for release-1, not for main/);
      expect(out).toMatch(/- p\/asked {2}pull request #\d has news: ann comments: Is this the right name\?/);
    }
    expect(hub.tip('main')).toBe(before);
    expect(hub.pulls().map(({ state }) => state)).toEqual(['OPEN', 'OPEN', 'OPEN', 'OPEN']);
    expect(
      hub
        .pulls()
        .map(({ baseRefName }) => baseRefName)
        .sort(),
    ).toEqual(['main', 'main', 'main', 'release-1']);
  });
});

describe.concurrent('a ticket whose pull request was merged with a commit of its reviewer', () => {
  it('is in no train, and gets no second pull request', { tags: 'full' }, async ({ world }) => {
    const { hub, number } = await reviewed(world, { a: {} });
    await hub.gh_('pr', 'merge', String(number), '--repo', 'acme/web', '--squash', '--delete-branch');
    const again = hub.start();
    expect(path(await hub.ends('a')).slice(-2)).toEqual(['await_review:merged', 'cleanup']);
    await again.ended;
    const nothing = { code: 0, out: 'Nothing to merge.\n' };
    expect(await hub.cli('merge', 'p')).toMatchObject(nothing);
    expect(await hub.cli('merge', 'p', '--pr')).toMatchObject(nothing);
    expect((await hub.cli('forge', 'pr', 'p', 'a')).out.trim()).toMatch(new RegExp(`/pull/${number}$`));
    git(world.repo, 'pull', '--quiet', '--ff-only', 'origin', 'main');
    expect(await hub.cli('merge', 'p')).toMatchObject(nothing);
    expect(world.ticket('p', 'a').status).toBe('complete');
    expect(hub.pulls()).toHaveLength(1);
    expect(git(world.repo, 'branch', '--list', 'signalbox/*')).toBe('');
  });

  for (const [index, method] of ['--squash', '--merge'].entries())
    it(
      `and by ${method} lets the next ticket begin with the base as it is now`,
      firstOnly(index),
      async ({ world }) => {
        const { hub, number, file } = await reviewed(world, { a: {}, b: { blockedBy: ['a'] } });
        await hub.gh_('pr', 'merge', String(number), '--repo', 'acme/web', method);
        hub.push('main', fix('hotfix'));
        const again = world.start(['run', 'p'], hub.env);
        await hub.pull('b');
        expect(world.ticket('p', 'b').base).toEqual({ ref: 'origin/main', commit: hub.tip('main') });
        expect(git(hub.origin, 'show', `${hub.branch('b')}:hotfix`)).toBe('mended by the reviewer');
        expect(git(hub.origin, 'diff', '--name-only', 'main', hub.branch('b')).split('\n')).not.toContain(
          file,
        );
        await again.kill('SIGKILL');
      },
    );
});

/** A ticket `a` that waits for its review while no engine runs, and whose reviewer has mended one of its files. */
async function reviewed(
  world: World,
  tickets: Record<string, { blockedBy?: string[] }>,
): Promise<{ hub: Hub; number: number; file: string }> {
  const hub = new Hub(world, 'standard');
  world.plan('p', { tickets });
  const run = world.start(['run', 'p'], hub.env);
  await hub.waits('a', 'await_review');
  await run.kill('SIGKILL');
  const [file = ''] = git(world.repo, 'diff', '--name-only', 'main', hub.branch('a')).split('\n');
  hub.push(hub.branch('a'), fix(file));
  const { number } = await hub.pull('a');
  return { hub, number, file };
}

/** Somebody changes a file and commits it. */
function fix(file: string): (dir: string) => void {
  return (dir) => {
    writeFileSync(join(dir, file), 'mended by the reviewer\n');
    const who = ['-c', 'user.name=ann', '-c', 'user.email=ann@example.com'];
    execFileSync('git', ['add', '--all'], { cwd: dir });
    execFileSync('git', [...who, 'commit', '--quiet', '--message=Mend'], { cwd: dir });
  };
}
