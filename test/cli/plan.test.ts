import { existsSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { describe, expect } from 'vitest';
import { errorIn, git, it, refusal, setUp, stateOf } from './support.ts';

interface Checked {
  plan: string;
  ok: boolean;
  problems: { ticketId: string | null; place: string; message: string; severity: string }[];
}

describe.concurrent('plan', () => {
  it('list shows every plan with its progress', async ({ world }) => {
    setUp(world, 'commit', {});
    expect((await world.cli('plan', 'list')).out).toBe('No plans yet.\n');
    world.plan('p', { name: 'First', tickets: { a: { status: 'complete' }, b: {} } });
    world.plan('q', { status: 'draft', tickets: {} });
    expect((await world.cli('plan', 'list')).out).toMatch(
      /^p {5}active {2}1\/2 {7}First\nq {5}draft {3}0\/0$/m,
    );
    expect(await world.json('plan', 'list')).toEqual([
      { id: 'p', name: 'First', status: 'active', complete: 1, tickets: 2 },
      { id: 'q', name: '', status: 'draft', complete: 0, tickets: 0 },
    ]);
  });

  it('show prints a plan with its tickets', async ({ world }) => {
    setUp(world, 'commit', {});
    world.plan('p', {
      name: 'First',
      base: 'main',
      tickets: { a: {}, b: { order: 3, blockedBy: ['a', 'q/c'] } },
    });
    const { out } = await world.cli('plan', 'show', 'p');
    expect(out).toContain(`First (p), active\n  repository ${world.repo}\n`);
    expect(out).toMatch(/^3 {6}b {7}queued {2}a, q\/c {2}Title of b$/m);
    expect(await world.json('plan', 'show', 'p')).toMatchObject({
      plan: { id: 'p', base: 'main' },
      tickets: [{ ticketId: 'a' }, { ticketId: 'b' }],
    });
  });

  it('check finds everything that is wrong, and ends with 1', async ({ world }) => {
    setUp(world, 'commit', {
      good: {},
      agent: { agent: 'nobody' },
      flow: { workflow: 'wrok' },
      repo: { repo: world.worktrees },
      twin: { branch: 'ticket/p/good' },
      wait: { blockedBy: ['later'] },
      torn: {},
    });
    writeFileSync(world.ticketFile('p', 'torn'), '{');
    const { code, out } = await world.cli('plan', 'check', 'p');
    expect(code).toBe(1);
    expect(out).toMatch(/✗ agent: .*"nobody" is not configured.*\(phase build\)/);
    expect(out).toMatch(/✗ flow: .*wrok.*\(workflow\)/);
    expect(out).toMatch(/✗ repo: The repository .* does not exist.*\(repo\)/);
    expect(out).toMatch(/✗ twin: Branch "ticket\/p\/good" is also the branch of good\. \(repo\)/);
    expect(out).toMatch(
      /✗ wait: Ticket "wait" is blocked by "later", which does not exist\. \(plan\.json: tickets\)/,
    );
    expect(out).toContain(`✗ torn: ${world.ticketFile('p', 'torn')}: not valid JSON`);
    expect(out).toContain('! good: The ticket has no acceptance criteria.');
    expect(out).not.toContain('✗ good');
    const { ok, problems } = await world.json<Checked>('plan', 'check', 'p');
    expect(ok).toBe(false);
    expect(problems.filter(({ severity }) => severity === 'error')).toHaveLength(6);
  });

  it('check is content with a good plan', async ({ world }) => {
    setUp(world, 'commit', { a: { acceptanceCriteria: ['it works'] } });
    expect(await world.cli('plan', 'check', 'p')).toMatchObject({ code: 0, out: '✓ Plan p can run.\n' });
    expect(await world.json('plan', 'check', 'p')).toEqual({ plan: 'p', ok: true, problems: [] });
  });

  it('approve makes a draft active, unless the check finds an error', async ({ world }) => {
    setUp(world, 'commit', {});
    world.plan('p', { status: 'draft', tickets: { a: { agent: 'nobody' } } });
    const before = stateOf(world);
    const refused = await world.cli('plan', 'approve', 'p');
    expect(refused.code).toBe(1);
    expect(refusal(refused)).toMatch(
      /has 1 problem: .*nobody.*\n {3}See all of them with: signalbox plan check p/,
    );
    expect(stateOf(world)).toEqual(before);
    world.plan('p', { status: 'draft', tickets: { a: {} } });
    expect(await world.cli('plan', 'approve', 'p')).toMatchObject({ code: 0, out: 'Plan p is active.\n' });
    expect((await world.cli('run', 'p')).code).toBe(0);
  });

  it('archive keeps everything and runs nothing', async ({ world }) => {
    setUp(world);
    expect(await world.json('plan', 'archive', 'p')).toMatchObject({ id: 'p', status: 'archived' });
    const ended = await world.cli('run', 'p', '--json');
    expect(ended.code).toBe(1);
    expect(errorIn(ended).hint).toBe('An archived plan is not run any more.');
    expect((await world.cli('tick')).code).toBe(0);
    expect(world.calls()).toEqual([]);
  });

  it('delete removes a plan whose work is merged, and keeps branches when forced', async ({ world }) => {
    setUp(world);
    await world.cli('run', 'p');
    expect(await world.json('plan', 'delete', 'p', '--force')).toEqual({ deleted: 'p' });
    expect(existsSync(dirname(world.planFile('p')))).toBe(false);
    expect(git(world.repo, 'branch', '--list', 'ticket/p/a')).not.toBe('');
    expect((await world.cli('plan', 'show', 'p')).code).toBe(2);
  });

  it('delete keeps uncommitted work even when forced, and says where it is', async ({ world }) => {
    setUp(world, 'commit; echo precious > notes.txt; exit 3');
    await world.cli('run', 'p');
    const ended = await world.cli('plan', 'delete', 'p', '--force');
    expect(ended.code).toBe(1);
    expect(refusal(ended)).toContain(world.worktree('p', 'a'));
    expect(existsSync(`${world.worktree('p', 'a')}/notes.txt`)).toBe(true);
    expect(existsSync(world.planFile('p'))).toBe(true);
  });
});
