import { describe, expect } from 'vitest';
import { Bench } from '../features/pull-requests/bench.ts';
import { git, it, story, worktreesOf } from '../support/index.ts';
import { firstOnly } from '../support/tiers.ts';

const LOCAL = [
  'integrate:done',
  'integrate:ready',
  'attempt:running',
  'action:done',
  'attempt:performed',
] as const;

const FORGE = [
  'forge:push-done',
  'forge:create-done',
  'forge:merge-done',
  'forge:push-meant',
  'forge:create-meant',
  'forge:merge-meant',
  'sync:ready',
  'sync:taken',
] as const;

/** `comment-meant` waits some seconds for a comment that may still arrive. */
const ANSWER = ['forge:comment-done', 'forge:push-done', 'forge:push-meant', 'forge:comment-meant'] as const;

/** What happened to a ticket, without the attempts that a kill cut off. */
const kept = (lines: readonly string[]) => lines.filter((line) => !line.endsWith('interrupted'));

describe.concurrent('kill -9 of the engine around the effect of an action', () => {
  for (const [index, point] of LOCAL.entries())
    it(`at ${point}, twice: the branch is merged once`, firstOnly(index), async ({ world }) => {
      world.agent('agent', 'go; commit');
      world.workflow('work', [
        { id: 'build', type: 'agent', prompt: 'Build.', expect: { commits: true }, onSuccess: 'integrate' },
        { id: 'integrate', type: 'action', action: 'integrate' },
      ]);
      world.plan('p', { tickets: { a: {} } });
      world.go();
      for (let times = 0; times < 2; times += 1) {
        const crashed = await world.start(['run', 'p'], { SIGNALBOX_CRASH_AT: point }).ended;
        expect(crashed).toMatchObject({ code: null, signal: 'SIGKILL' });
      }
      const { code, out, err } = await world.cli('run', 'p');
      expect(code, out + err).toBe(0);
      const ticket = world.ticket('p', 'a');
      expect(ticket).toMatchObject({ status: 'complete', claim: null });
      expect(kept(story(ticket))).toEqual(['build success', 'integrate success']);
      const merges = git(world.repo, 'log', '--merges', '--format=%s', 'main..signalbox/main');
      expect(merges).toBe('Merge ticket/p/a: Title of a');
      expect(worktreesOf(world.repo)).toEqual([]);
    });

  for (const [index, point] of FORGE.entries())
    it(`at ${point}: one pull request with all commits, merged once`, firstOnly(index), async ({ world }) => {
      const bench = new Bench(world);
      world.agent('agent', 'go; commit');
      world.workflow('work', [
        { id: 'build', type: 'agent', prompt: 'Build.', expect: { commits: true }, onSuccess: 'open' },
        { id: 'open', type: 'action', action: 'pull-request', onSuccess: 'sync' },
        { id: 'sync', type: 'action', action: 'sync-branch', onSuccess: 'merge' },
        { id: 'merge', type: 'action', action: 'merge-pull-request' },
      ]);
      world.plan('p', { tickets: { a: {} } });
      world.go();
      const crash = { ...bench.env, SIGNALBOX_CRASH_AT: point };
      expect(await world.start(['run', 'p'], crash).ended).toMatchObject({ signal: 'SIGKILL' });
      const { code, out, err } = await world.invoke(['run', 'p'], bench.env).ended;
      expect(code, out + err).toBe(0);
      expect(kept(story(world.ticket('p', 'a')))).toEqual([
        'build success',
        'open success',
        'sync success',
        'merge success',
      ]);
      expect(bench.pulls()).toMatchObject([{ headRefName: 'ticket/p/a', state: 'MERGED' }]);
      expect(bench.gh.calls('pr create')).toHaveLength(1);
      expect(bench.gh.calls('pr merge')).toHaveLength(1);
    });

  for (const [index, point] of ANSWER.entries())
    it(`at ${point} of answer-review: pushed once, and one comment`, firstOnly(index), async ({ world }) => {
      const bench = new Bench(world);
      world.agent('agent', 'go; commit; echo Renamed.');
      world.workflow('work', [
        {
          ...{ id: 'await', type: 'poll', action: 'pull-request-poll', intervalSeconds: 1 },
          ...{ capture: { review_feedback: 'stdout' }, on: { changes: 'fix' } },
        },
        {
          ...{ id: 'fix', type: 'agent', prompt: 'Fix: {{ review_feedback }}' },
          ...{ capture: { review_answer: 'stdout' }, onSuccess: 'answer' },
        },
        { id: 'answer', type: 'action', action: 'answer-review' },
      ]);
      world.plan('p', { tickets: { a: {} } });
      const worktree = await bench.work('a');
      const { number } = await bench.open('a');
      bench.gh.pullRequest(number, (pull) => {
        const commit = { oid: bench.tip('ticket/p/a') };
        const by = { author: { login: 'ann' }, authorAssociation: 'MEMBER', commit };
        const submittedAt = new Date().toISOString();
        pull.reviews.push({ ...by, state: 'CHANGES_REQUESTED', body: 'Rename it.', submittedAt });
      });
      world.go();
      const crash = { ...bench.env, SIGNALBOX_CRASH_AT: point };
      expect(await world.start(['run', 'p'], crash).ended).toMatchObject({ signal: 'SIGKILL' });
      const tip = git(worktree, 'rev-parse', 'HEAD');
      const { code, out, err } = await world.invoke(['run', 'p'], bench.env).ended;
      expect(code, out + err).toBe(0);
      expect(kept(story(world.ticket('p', 'a')))).toEqual(['await success', 'fix success', 'answer success']);
      expect(bench.tip('ticket/p/a')).toBe(tip);
      expect(bench.pulls()[0]?.comments.map(({ body }) => body)).toEqual([
        expect.stringMatching(/^<!-- signalbox-comment .* -->\nRenamed\.\n$/),
      ]);
      expect(bench.gh.calls('pr comment')).toHaveLength(1);
    });
});
