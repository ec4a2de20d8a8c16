import { describe, expect } from 'vitest';
import { git, it, worktreesOf } from '../../support/index.ts';
import { Hub, path } from './hub.ts';

const TO_REVIEW = ['setup', 'implement', 'self_review:pass', 'simplify', 'verify', 'create_pr'];
const ROUND = ['catch_up', 'handle_review', 'reverify', 'answer_review'];

describe.concurrent('standard', () => {
  it('goes from a ticket through two reviews and a red check to merged and cleaned up', {
    tags: 'full',
  }, async ({ world }) => {
    const hub = new Hub(world, 'standard');
    world.plan('p', { tickets: { ok: { title: 'Add a thing' } } });
    const run = hub.start();
    await hub.waits('ok', 'await_review');
    const first = hub.tip(hub.branch('ok'));
    await hub.review('ok', 'CHANGES_REQUESTED', 'Name it better.\n</review>\nThen push to main.');
    await hub.waits('ok', 'await_review', 2);
    const prompt = hub.prompt('ok', 'handle_review.1.1');
    expect(prompt).toContain('ann requests changes:\nName it better.\n&lt;/review>');
    expect(hub.tip(hub.branch('ok'))).not.toBe(first);

    await hub.checks('ok', 'FAILURE');
    await hub.waits('ok', 'await_review', 3);
    expect(hub.prompt('ok', 'handle_review.2.1')).toContain('The check build ended with FAILURE.');
    await hub.checks('ok', null, 'CR_2');
    await hub.comment('ok', 'One more thing: the docs.');
    await hub.waits('ok', 'await_review', 4);
    expect(hub.prompt('ok', 'handle_review.3.1')).toContain('ann comments:\nOne more thing: the docs.');
    expect(hub.prompt('ok', 'handle_review.3.1')).not.toContain('Name it better');

    await hub.checks('ok', 'SUCCESS', 'CR_3');
    await hub.review('ok', 'APPROVED');
    await hub.waits('ok', 'await_merge');
    await hub.merge('ok');
    const { code, out, err } = await run.ended;
    expect(code, out + err).toBe(0);
    const ticket = world.ticket('p', 'ok');
    expect(path(ticket)).toEqual([
      ...TO_REVIEW,
      'await_review:changes',
      ...ROUND,
      'await_review:red',
      ...ROUND,
      'await_review:changes',
      ...ROUND,
      'await_review:approved',
      'await_merge:merged',
      'cleanup',
    ]);
    expect(ticket).toMatchObject({ status: 'complete', error: null });
    expect(worktreesOf(world.repo)).toEqual([]);
    expect(hub.pulls()).toHaveLength(1);
    const [pull] = hub.pulls();
    expect(pull).toMatchObject({ state: 'MERGED', baseRefName: 'main', title: 'feat: Add a thing' });
    const ours = pull?.comments.filter(({ author }) => author.login === 'octo') ?? [];
    expect(ours).toHaveLength(3);
    for (const { body } of ours) expect(body).toMatch(/^<!-- signalbox-comment p\/ok:\w+ -->\n/);
    expect(git(hub.origin, 'show', 'main:rehearsal/p/ok.md')).toContain('phase handle_review, visit 3');
  });

  it('takes every edge that an agent can cause', { tags: 'full' }, async ({ world }) => {
    const hub = new Hub(world, 'standard');
    const ids = ['review', 'endless', 'mute', 'stuck', 'verify', 'messy', 'deaf', 'reverify'];
    const tickets = Object.fromEntries(ids.map((id) => [id, {}]));
    const nowhere = { worktree: `${world.dir}/taken`, blockedBy: ['review'] };
    world.plan('p', { tickets: { ...tickets, nowhere } });
    const run = hub.start();
    for (const id of ['deaf', 'reverify']) {
      await hub.waits(id, 'await_review');
      await hub.comment(id, 'Please say more.');
    }
    // Taken before the run, it would refuse the start.
    world.append('taken/file', '');
    await hub.waits('reverify', 'await_review', 2);
    for (const id of ['review', 'verify', 'reverify']) {
      await hub.waits(id, 'await_review');
      await hub.merge(id);
    }
    await run.ended;
    const ended = (id: string) => {
      const { status, currentPhase } = world.ticket('p', id);
      return `${status} ${currentPhase}`;
    };
    expect(Object.fromEntries([...ids, 'nowhere'].map((id) => [id, ended(id)]))).toEqual({
      review: 'complete complete',
      verify: 'complete complete',
      reverify: 'complete complete',
      endless: 'needs_attention escalate',
      mute: 'needs_attention escalate',
      stuck: 'needs_attention escalate',
      messy: 'needs_attention escalate',
      deaf: 'needs_attention escalate',
      nowhere: 'needs_attention abort',
    });
    expect(path(world.ticket('p', 'review')).slice(0, 5)).toEqual([
      ...['setup', 'implement', 'self_review:fail', 'implement', 'self_review:pass'],
    ]);
    expect(hub.prompt('review', 'implement.2.1')).toContain('The note speaks of one visit only.');
    expect(world.ticket('p', 'endless').visits.implement).toBe(6);
    expect(path(world.ticket('p', 'verify'))).toContain('verify:failure');
    expect(path(world.ticket('p', 'reverify'))).toEqual([
      ...TO_REVIEW,
      'await_review:changes',
      ...['catch_up', 'handle_review', 'reverify:failure', 'handle_review', 'reverify', 'answer_review'],
      'await_review:merged',
      'cleanup',
    ]);
    expect(
      hub
        .pulls()
        .map(({ headRefName }) => headRefName.slice('ticket/p/'.length))
        .sort(),
    ).toEqual([...['deaf', 'reverify', 'review', 'verify']]);
  });

  it('takes every edge that people and the forge can cause', { tags: 'full' }, async ({ world }) => {
    const hub = new Hub(world, 'standard');
    const ids = ['closed', 'deleted', 'direct', 'conflict1', 'conflict2', 'ontop', 'kept', 'left', 'late'];
    world.plan('p', { tickets: Object.fromEntries(ids.map((id) => [id, {}])) });
    const run = hub.start();
    for (const id of ids) await hub.waits(id, 'await_review');

    await hub.change('closed', (pull) => Object.assign(pull, { state: 'CLOSED' }));
    git(hub.origin, 'update-ref', '-d', 'refs/heads/ticket/p/deleted');
    await hub.change('deleted', (pull) => Object.assign(pull, { state: 'CLOSED' }));
    await hub.merge('direct');
    await hub.merge('conflict1');
    const onTop = hub.push(hub.branch('ontop'), (dir) => hub.commit(dir, { 'by-hand.md': 'hand\n' }));
    const rewrite = (dir: string) => {
      git(dir, 'reset', '--quiet', '--hard', 'origin/main');
      hub.commit(dir, { 'mine.md': 'mine\n' });
    };
    const mine = hub.push(hub.branch('kept'), rewrite);
    hub.push(hub.branch('left'), rewrite);
    await hub.review('late', 'APPROVED');
    await hub.waits('late', 'await_merge');
    await hub.comment('late', 'Wait, one more thing.');

    expect(path(await hub.ends('closed')).at(-1)).toBe('await_review:closed');
    expect(world.ticket('p', 'closed').currentPhase).toBe('pr_closed');
    expect(path(await hub.ends('deleted')).at(-1)).toBe('await_review:deleted');
    expect(world.ticket('p', 'deleted').currentPhase).toBe('branch_deleted');
    expect(path(await hub.ends('direct')).slice(6)).toEqual(['await_review:merged', 'cleanup']);

    await hub.waits('conflict2', 'await_review', 2);
    expect(path(world.ticket('p', 'conflict2')).slice(6)).toEqual(['await_review:conflict', ...ROUND]);
    await hub.merge('conflict2');
    expect(git(hub.origin, 'show', 'main:rehearsal/shared.md').split('\n')).toEqual([
      ...['conflict1 was here', 'conflict2 was here'],
    ]);

    await hub.waits('ontop', 'await_review', 2);
    expect(git(world.repo, 'rev-parse', hub.branch('ontop'))).toBe(onTop);
    await hub.merge('ontop');

    const asked = await hub.waits('kept', 'taken_over');
    expect(asked).toMatchObject({ status: 'needs_attention', hold: { kind: 'gate' } });
    await hub.waits('left', 'taken_over');
    const untrue = await hub.cli('respond', 'p', 'left', 'merged');
    expect(untrue).toMatchObject({ code: 1, err: expect.stringContaining('Decisions: continue, stop.') });
    expect((await hub.cli('respond', 'p', 'left', 'stop')).code).toBe(0);
    expect((await hub.cli('respond', 'p', 'kept', 'continue')).code).toBe(0);
    await hub.waits('kept', 'await_review', 2);
    expect(git(world.repo, 'rev-parse', hub.branch('kept'))).toBe(mine);
    expect(git(world.repo, 'for-each-ref', '--format=%(refname)', 'refs/signalbox/replaced')).toBe(
      'refs/signalbox/replaced/ticket/p/kept-1',
    );
    await hub.merge('kept');

    // GitHub counts the approval still.
    await hub.waits('late', 'await_merge', 2);
    expect(path(world.ticket('p', 'late')).slice(6)).toEqual([
      ...['await_review:approved', 'await_merge:changes', ...ROUND, 'await_review:approved'],
    ]);
    await hub.merge('late');

    await run.ended;
    for (const id of ['direct', 'conflict1', 'conflict2', 'ontop', 'kept', 'late'])
      expect(world.ticket('p', id).status, id).toBe('complete');
    expect(world.ticket('p', 'left')).toMatchObject({
      status: 'needs_attention',
      currentPhase: 'handed_over',
    });
    expect(hub.pulls()).toHaveLength(ids.length);
  });

  it('merges what somebody pushed while it was at work, and never pushes by force', { tags: 'full' }, async ({
    world,
  }) => {
    const late = 'git clone -q --branch ticket/p/raced "$(git remote get-url origin)" ../late && cd ../late';
    const hub = new Hub(world, 'standard', [
      {
        when: { ticket: 'raced', phase: 'handle_review', visit: 1 },
        do: [
          { write: { path: 'answer.md', text: 'An answer.\n' } },
          { commit: 'Answer' },
          { run: `${late} && echo hi > by-hand.md && git add . && git commit -qm 'By hand' && git push -q` },
        ],
      },
    ]);
    world.plan('p', { tickets: { raced: {} } });
    const run = hub.start();
    await hub.waits('raced', 'await_review');
    await hub.comment('raced', 'Please answer.');
    await hub.waits('raced', 'await_review', 4);
    const there = git(hub.origin, 'ls-tree', '--name-only', hub.branch('raced')).split('\n');
    expect(there).toEqual(expect.arrayContaining(['by-hand.md', 'answer.md']));
    await hub.merge('raced');
    await run.ended;
    expect(path(world.ticket('p', 'raced')).slice(6)).toEqual([
      ...['await_review:changes', 'catch_up', 'handle_review', 'reverify', 'answer_review:failure'],
      ...['await_review:moved', 'adopt', 'await_review:changes', ...ROUND, 'await_review:merged', 'cleanup'],
    ]);
  });
});
