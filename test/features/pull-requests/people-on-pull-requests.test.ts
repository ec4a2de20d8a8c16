import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { FakeGh } from '../../support/gh/fake-gh.ts';
import { git, isRunning, it, type World, waitFor, worktreesOf } from '../../support/index.ts';
import { Hub, path, ROOT } from './hub.ts';

/** The agent answers only when a test says so; `work` is what it does before. */
function held(world: World, ticket: string, work: unknown[] = []): unknown {
  const wait = `touch ${world.dir}/at-${ticket}; while [ ! -e ${world.dir}/go-${ticket} ]; do sleep 0.1; done`;
  return {
    when: { ticket, phase: 'handle_review', visit: 1 },
    do: [...work, { run: wait }, { result: `I answered ${ticket}.` }],
  };
}

const commits = (name: string) => [
  { write: { path: `${name}.md`, text: 'An answer.\n' } },
  { commit: 'Answer' },
];

/** Comments, and waits until the agent is at work on it. */
async function agentAtWork(hub: Hub, ticket: string): Promise<void> {
  await hub.comment(ticket, 'Please answer.');
  await waitFor(`the agent of ${ticket}`, () => hub.world.exists(`at-${ticket}`));
}

describe.concurrent('what people do to a branch and its pull request', () => {
  it('never brings back commits that somebody took away: a person says whose the branch is', {
    tags: 'full',
  }, async ({ world }) => {
    const hub = new Hub(world, 'standard', [held(world, 'working')]);
    world.plan('p', { tickets: { waiting: {}, working: {}, earlier: {} } });
    const run = hub.start();
    for (const id of ['waiting', 'working', 'earlier']) await hub.waits(id, 'await_review');
    const back = (id: string, to: string) =>
      hub.push(hub.branch(id), (dir) => git(dir, 'reset', '--quiet', '--hard', to));
    const first = hub.tip(hub.branch('earlier'));
    await hub.comment('earlier', 'One more.');
    await hub.waits('earlier', 'await_review', 2);
    expect(hub.tip(hub.branch('earlier'))).not.toBe(first);
    const there = new Map([
      ['waiting', back('waiting', 'HEAD~1')],
      ['earlier', back('earlier', first)],
    ]);
    await agentAtWork(hub, 'working');
    there.set('working', back('working', 'HEAD~1'));
    world.append('go-working', '');
    for (const [id, commit] of there) {
      const ticket = await hub.waits(id, 'taken_over');
      expect(path(ticket).slice(-2), id).toEqual(['await_review:moved', 'adopt:refused']);
      expect(ticket.phaseHistory.at(-2), id).toMatchObject({ phase: 'adopt', attempt: 1 });
      expect(hub.tip(hub.branch(id)), id).toBe(commit);
      expect((await hub.cli('respond', 'p', id, 'stop')).code).toBe(0);
    }
    await run.ended;
  });

  it('merges what is pushed beside the work after a branch was taken over', { tags: 'full' }, async ({
    world,
  }) => {
    const hub = new Hub(world, 'standard', [held(world, 'ok', commits('agent'))]);
    world.plan('p', { tickets: { ok: {} } });
    const run = hub.start();
    await hub.waits('ok', 'await_review');
    hub.push(hub.branch('ok'), (dir) => {
      git(dir, 'reset', '--quiet', '--hard', 'origin/main');
      hub.commit(dir, { 'mine.md': 'mine\n' });
    });
    await hub.waits('ok', 'taken_over');
    expect((await hub.cli('respond', 'p', 'ok', 'continue')).code).toBe(0);
    await hub.waits('ok', 'await_review', 2);
    await agentAtWork(hub, 'ok');
    hub.push(hub.branch('ok'), (dir) => hub.commit(dir, { 'beside.md': 'beside\n' }));
    world.append('go-ok', '');
    await hub.waits('ok', 'await_review', 5);
    const there = git(hub.origin, 'ls-tree', '--name-only', hub.branch('ok')).split('\n');
    expect(there).toEqual(expect.arrayContaining(['agent.md', 'beside.md', 'mine.md']));
    await hub.merge('ok');
    await run.ended;
    expect(world.ticket('p', 'ok').status).toBe('complete');
  });

  it('asks a person about work that was not merged, and about a deleted branch; both can go on', {
    tags: 'full',
  }, async ({ world }) => {
    const rules = [held(world, 'late', commits('late')), held(world, 'words')];
    const hub = new Hub(world, 'standard', rules);
    world.plan('p', { tickets: { late: {}, words: {}, deleted: {} } });
    let run = hub.start();
    for (const id of ['late', 'words', 'deleted']) await hub.waits(id, 'await_review');
    for (const id of ['late', 'words']) {
      await agentAtWork(hub, id);
      await hub.merge(id);
      world.append(`go-${id}`, '');
    }
    git(hub.origin, 'update-ref', '-d', 'refs/heads/ticket/p/deleted');
    await hub.change('deleted', (pull) => Object.assign(pull, { state: 'CLOSED' }));
    await run.ended;
    expect(world.ticket('p', 'late')).toMatchObject({ status: 'needs_attention', currentPhase: 'work_left' });
    expect(path(world.ticket('p', 'late')).at(-1)).toBe('await_review:unmerged');
    // Words alone need no commit: they are said, and the work is done.
    expect(world.ticket('p', 'words').status).toBe('complete');
    const said = (await hub.pull('words')).comments.map(({ body }) => body).at(-1);
    expect(said).toContain('I answered words.');
    expect(world.ticket('p', 'deleted').currentPhase).toBe('branch_deleted');
    for (const id of ['late', 'deleted']) expect((await hub.cli('skip', 'p', id, 'create_pr')).code).toBe(0);
    run = hub.start();
    await hub.waits('late', 'await_review', 2);
    await hub.waits('deleted', 'await_review', 2);
    const open = hub.pulls().filter(({ state }) => state === 'OPEN');
    expect(open.map(({ headRefName }) => headRefName).sort()).toEqual([
      ...['ticket/p/deleted', 'ticket/p/late'],
    ]);
    for (const { number } of open)
      expect((await hub.gh_('pr', 'merge', String(number), '--repo', 'acme/web', '--merge')).code).toBe(0);
    await run.ended;
    for (const id of ['late', 'deleted']) expect(world.ticket('p', id).status, id).toBe('complete');
    expect(git(hub.origin, 'show', 'main:late.md')).toBe('An answer.');
  });

  it('takes no older pull request of the same branch name for its own', { tags: 'full' }, async ({
    world,
  }) => {
    const hub = new Hub(world, 'manual-pr');
    world.plan('p', { tickets: { again: {}, shut: {} } });
    const old = { headRefOid: '1'.repeat(40), createdAt: '2020-01-01T00:00:00Z' };
    for (const [index, id] of ['again', 'shut'].entries()) {
      hub.opens(id, index + 1, false);
      const state = id === 'again' ? ('MERGED' as const) : ('CLOSED' as const);
      hub.gh.pullRequest(index + 1, (pull) => Object.assign(pull, { ...old, state }));
    }
    const run = hub.start();
    for (const id of ['again', 'shut']) {
      await hub.waits(id, 'await_pr');
      // While a look is under way the ticket is not on hold.
      const looked = () => {
        const { phaseHistory, hold } = world.ticket('p', id);
        return (phaseHistory.at(-1)?.checks ?? 0) > 2 && hold?.reason;
      };
      const reason = await waitFor(`three looks of ${id}`, looked);
      expect(reason).toContain('there is no pull request for the branch yet');
    }
    expect(worktreesOf(world.repo)).toHaveLength(2);
    for (const [index, id] of ['again', 'shut'].entries()) {
      hub.opens(id, index + 3, false);
      expect((await hub.gh_('pr', 'merge', String(index + 3), '--repo', 'acme/web', '--merge')).code).toBe(0);
    }
    await run.ended;
    for (const [index, id] of ['again', 'shut'].entries()) {
      const url = `https://github.com/acme/web/pull/${index + 3}`;
      expect(world.ticket('p', id)).toMatchObject({ status: 'complete', context: { pr_url: url } });
    }
  });
});

describe.concurrent('a branch that waits for its pull request', () => {
  it('and is deleted asks a person', { tags: 'full' }, async ({ world }) => {
    const hub = new Hub(world, 'manual-pr');
    world.plan('p', { tickets: { ok: {} } });
    const run = hub.start();
    await hub.waits('ok', 'await_pr');
    git(hub.origin, 'update-ref', '-d', `refs/heads/${hub.branch('ok')}`);
    const ticket = await hub.ends('ok');
    await run.ended;
    expect(ticket).toMatchObject({ status: 'needs_attention', currentPhase: 'branch_deleted' });
    expect(path(ticket).at(-1)).toBe('await_pr:deleted');
  });
});

describe.concurrent('what happens while it answers', () => {
  it('loses no comment to a look by hand', { tags: 'full' }, async ({ world }) => {
    const hub = new Hub(world, 'standard', [held(world, 'ok')]);
    world.plan('p', { tickets: { ok: {} } });
    const run = hub.start();
    await hub.waits('ok', 'await_review');
    await agentAtWork(hub, 'ok');
    await hub.comment('ok', 'The second wish.');
    expect((await hub.cli('forge', 'poll', 'p', 'ok')).out).toContain('The second wish.');
    world.append('go-ok', '');
    await hub.waits('ok', 'await_review', 3);
    expect(hub.prompt('ok', 'handle_review.2.1')).toContain('The second wish.');
    await hub.merge('ok');
    await run.ended;
  });

  it('makes one comment when it is paused in the middle of it, and gh ends with the phase', {
    tags: 'full',
  }, async ({ world }) => {
    const hub = new Hub(world, 'standard');
    const gh = `${world.dir}/slow-gh`;
    const slow = `echo $$ > ${world.dir}/commenting; while [ ! -e ${world.dir}/go-on ]; do sleep 0.1; done`;
    writeFileSync(
      gh,
      `#!/bin/sh\nif [ "$1 $2" = "pr comment" ] && [ ! -e ${world.dir}/commenting ]; then ${slow}; fi\nexec ${FakeGh.command} "$@"\n`,
    );
    chmodSync(gh, 0o755);
    world.config({ ghCommand: gh });
    world.plan('p', { tickets: { a: {} } });
    hub.start();
    await hub.waits('a', 'await_review');
    await hub.comment('a', 'Please.');
    const pid = await waitFor('gh', () => world.exists('commenting') && world.read('commenting').trim());
    expect((await hub.cli('pause', 'p', 'a')).code).toBe(0);
    expect(isRunning(Number(pid))).toBe(false);
    world.append('go-on', '');
    expect((await hub.cli('resume', 'p', 'a')).code).toBe(0);
    const run = hub.start();
    await hub.waits('a', 'await_review', 2);
    await hub.merge('a');
    await run.ended;
    const ours = hub.pulls()[0]?.comments.filter(({ author }) => author.login === 'octo');
    expect(ours).toHaveLength(1);
  });

  it('waits out a limit and a network that is down, whatever it is at, and no agent works twice', {
    tags: 'full',
  }, async ({ world }) => {
    const hub = new Hub(world, 'standard');
    const limit = { stderr: 'GraphQL: API rate limit already exceeded for user ID 1. (API_RATE_LIMIT)\n' };
    const down = { stderr: 'error connecting to api.github.com\n' };
    hub.gh.fail({ call: 'pr list', ...limit }, { call: 'pr comment', ...down });
    world.plan('p', { tickets: { a: {} } });
    const run = hub.start();
    const parked = async (phase: string, reason: string) => {
      const { hold, retries } = await hub.waits('a', phase);
      expect(hold).toMatchObject({ kind: 'poll', reason: expect.stringContaining(reason) });
      expect(Date.parse(hold?.until ?? '') - Date.now()).toBeGreaterThan(20_000);
      expect(retries[phase] ?? 0).toBe(0);
      expect((await hub.cli('retry', 'p', 'a')).code).toBe(0);
    };
    await parked('create_pr', 'GitHub accepts no more requests until');
    // The limit is known to those who look, too; here it is over at once.
    world.remove(join(world.stateDir, 'forge', 'budget.json'));
    await hub.waits('a', 'await_review');
    await hub.comment('a', 'Please.');
    await parked('answer_review', 'cannot be reached');
    await hub.waits('a', 'await_review', 2);
    await hub.merge('a');
    await run.ended;
    const ticket = world.ticket('p', 'a');
    expect(ticket.status).toBe('complete');
    expect(ticket.visits.handle_review).toBe(1);
    expect(hub.pulls()).toHaveLength(1);
  });

  it('asks a person about a conflict that was answered twice and is still there', { tags: 'full' }, async ({
    world,
  }) => {
    const hub = new Hub(world, 'standard');
    world.plan('p', { tickets: { a: {} } });
    const run = hub.start();
    await hub.waits('a', 'await_review');
    const file = git(world.repo, 'diff', '--name-only', 'main', hub.branch('a')).split('\n')[0] ?? '';
    hub.push('main', (dir) => hub.commit(dir, { [file]: 'mine\n' }));
    await run.ended;
    const ticket = world.ticket('p', 'a');
    expect(ticket).toMatchObject({
      currentPhase: 'escalate',
      error: expect.stringContaining('still conflicts with main after 2 answers'),
    });
    expect(ticket.visits.handle_review).toBe(2);
  });

  it('says why an origin could not be read, and blames nobody for it', { tags: 'full' }, async ({
    world,
  }) => {
    const hub = new Hub(world, 'standard');
    const head = join(hub.origin, 'HEAD');
    world.script(
      'sync-branch.sh',
      `mv '${head}' '${head}.off'; '${ROOT}scripts/sync-branch.sh' "$@" && code=0 || code=$?; mv '${head}.off' '${head}'; exit $code`,
    );
    world.plan('p', { tickets: { a: {} } });
    const run = hub.start();
    await hub.waits('a', 'await_review');
    await hub.comment('a', 'Please.');
    await run.ended;
    const ticket = world.ticket('p', 'a');
    expect(path(ticket).slice(-2)).toEqual(['await_review:changes', 'catch_up:failure']);
    expect(ticket).toMatchObject({
      status: 'needs_attention',
      currentPhase: 'escalate',
      error: expect.stringContaining('Could not read from remote repository'),
    });
  });
});
