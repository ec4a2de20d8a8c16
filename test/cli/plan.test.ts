import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { describe, expect } from 'vitest';
import { errorIn, git, it, refusal, setUp, stateOf } from './support.ts';

interface Checked {
  plan: string;
  ok: boolean;
  problems: {
    ticketId: string | null;
    place: string;
    file: string;
    path: string | null;
    message: string;
    severity: string;
  }[];
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
    expect(out).toMatch(/✗ agent: .*"nobody" is not configured.*\(agent\)/);
    expect(out).toMatch(/✗ flow: .*wrok.*\(workflow\)/);
    expect(out).toMatch(/✗ repo: The repository .* does not exist.*\(repo\)/);
    expect(out).toMatch(/✗ twin: .*same branch as "good".*\(branch\)/);
    expect(out).toMatch(
      /✗ wait: Ticket "wait" is blocked by "later", which does not exist\. \(plan\.json: tickets\)/,
    );
    expect(out).toContain(`✗ torn: ${world.ticketFile('p', 'torn')}:1:`);
    expect(out).toContain('! good: The ticket has no acceptance criteria.');
    expect(out).not.toContain('✗ good');
    const { ok, problems } = await world.json<Checked>('plan', 'check', 'p');
    expect(ok).toBe(false);
    const errors = problems.filter(({ severity }) => severity === 'error');
    const at = errors.map(({ ticketId, file, path }) => [ticketId, basename(file), path]);
    expect(at).toEqual([
      ['torn', 'torn.json', null],
      ['wait', 'plan.json', 'tickets[5].blockedBy[0]'],
      ['twin', 'twin.json', 'branch'],
      ['agent', 'agent.json', 'agent'],
      ['flow', 'flow.json', 'workflow'],
      ['repo', 'repo.json', 'repo'],
    ]);
  });

  it('check says once what is wrong with the plan itself, however many tickets go by it', {
    tags: 'full',
  }, async ({ world }) => {
    const acceptanceCriteria = ['x'];
    setUp(world, 'commit', {});
    const tickets = { a: { acceptanceCriteria }, b: { acceptanceCriteria }, c: { workflow: 'wrok' } };
    world.plan('p', { workflow: 'wrok', repo: world.worktrees, tickets });
    const { problems } = await world.json<Checked>('plan', 'check', 'p');
    const errors = problems.filter(({ severity }) => severity === 'error');
    expect(errors.map(({ ticketId, file, path }) => [ticketId, basename(file), path])).toEqual([
      [null, 'plan.json', 'repo'],
      [null, 'plan.json', 'workflow'],
      ['c', 'c.json', 'workflow'],
    ]);
    const { out } = await world.cli('plan', 'check', 'p');
    expect(out).toMatch(/^✗ p: There is no workflow "wrok"\..*\(workflow\)$/m);
  });

  it('check finds a ticket without a title', async ({ world }) => {
    setUp(world, 'commit', { a: { title: ' ', acceptanceCriteria: ['x'] } });
    const { code, out } = await world.cli('plan', 'check', 'p');
    expect(code).toBe(1);
    expect(out).toContain('The ticket has no title.');
  });

  it('check finds every problem of a file, also of plan.json itself', async ({ world }) => {
    setUp(world, 'commit', { a: {} });
    world.writeTicket('p', 'a', { title: 7, branch: 'a..b', aceptanceCriteria: ['x'] });
    const inTicket = await world.json<Checked>('plan', 'check', 'p');
    expect(inTicket.problems.map(({ path, severity }) => `${severity} ${path}`)).toEqual([
      'error title',
      'error branch',
      'warning aceptanceCriteria',
    ]);
    world.editPlan('p', (plan) => {
      plan.status = 'actve';
      plan.tickets.push({ ticketId: 3 });
    });
    const { code, out } = await world.cli('plan', 'check', 'p', '--json');
    expect(code).toBe(1);
    const { ok, problems } = JSON.parse(out) as Checked;
    expect(ok).toBe(false);
    expect(problems.map(({ file, path }) => `${basename(file)} ${path}`)).toEqual([
      'plan.json status',
      'plan.json tickets[1].ticketId',
    ]);
  });

  it('check foresees a path or branch that is taken, here and by other plans', async ({ world }) => {
    setUp(world, 'commit', { a: {}, b: {}, c: { branch: 'ticket/q/x' }, d: { branch: 'mine' } });
    world.plan('q', { tickets: { x: { branch: 'ticket/q/x' } } });
    mkdirSync(dirname(world.worktree('p', 'a')), { recursive: true });
    writeFileSync(world.worktree('p', 'a'), '');
    git(world.repo, 'branch', 'mine');
    git(world.repo, 'worktree', 'add', '--quiet', `${world.dir}/mine`, 'mine');
    const { problems } = await world.json<Checked>('plan', 'check', 'p');
    const errors = problems.filter(({ severity }) => severity === 'error');
    expect(errors.map(({ ticketId, path, message }) => [ticketId, path, message])).toEqual([
      ['a', 'worktree', `The worktree path ${world.worktree('p', 'a')} is taken by a file.`],
      ['c', 'branch', 'Branch "ticket/q/x" is also the branch of q/x, which is queued.'],
      ['d', 'branch', `The branch mine is checked out in ${world.dir}/mine.`],
    ]);
    expect((await world.cli('plan', 'check', 'q')).code).toBe(1);
  });

  it('check refuses work on the base, on full ref names and on names that git cannot have together', async ({
    world,
  }) => {
    setUp(world, 'commit', {});
    git(world.repo, 'switch', '--quiet', '--create', 'feature');
    world.plan('p', {
      base: 'main',
      tickets: {
        a: { branch: 'main' },
        b: { branch: 'refs/heads/x' },
        c: { branch: 'y' },
        d: { branch: 'y/z' },
        e: { branch: 'q/x' },
      },
    });
    world.plan('q', { tickets: { x: { branch: 'q' } } });
    const { ok, problems } = await world.json<Checked>('plan', 'check', 'p');
    expect(ok).toBe(false);
    const errors = problems.filter(({ severity }) => severity === 'error');
    expect(
      errors.map(({ ticketId, file, path, message }) => [ticketId, basename(file), path, message]),
    ).toEqual([
      ['b', 'b.json', 'branch', expect.stringContaining('is a full ref name')],
      ['d', 'd.json', 'branch', 'Ticket "d" has the branch y/z, which git cannot have beside y of "c".'],
      ['a', 'a.json', 'branch', 'The branch main is the base that its work is merged into.'],
      ['e', 'e.json', 'branch', 'Git cannot have branch "q/x" beside "q" of q/x, which is queued.'],
    ]);
    world.plan('r', { base: 'main', tickets: { a: { branch: 'main' } } });
    const before = git(world.repo, 'rev-parse', 'main');
    await world.cli('run', 'r');
    expect(world.ticket('r', 'a')).toMatchObject({ status: 'needs_attention', base: null });
    expect(git(world.repo, 'rev-parse', 'main')).toBe(before);
  });

  it('check warns once of an agent whose program is not installed', async ({ world }) => {
    setUp(world, 'commit', {});
    world.config({ agents: { gone: { command: 'no-such-agent' }, away: { command: '/no/such/agent' } } });
    world.plan('p', {
      tickets: { a: { agent: 'gone' }, b: { agent: 'gone' }, c: { agent: 'away', status: 'complete' } },
    });
    const { code, out } = await world.cli('plan', 'check', 'p');
    expect(code).toBe(0);
    expect(out.match(/^! p: .*$/gm)).toEqual([
      '! p: Agent "gone" cannot start here: no-such-agent not found on PATH. (agent gone)',
    ]);
    expect(out).toContain('Install it, or correct agents.gone.command.');
    const checked = await world.json<Checked>('plan', 'check', 'p');
    expect(checked.ok).toBe(true);
  });

  it('check does not ask to detach one’s own checkout', async ({ world }) => {
    setUp(world, 'commit', {});
    world.plan('p', { base: 'nope', tickets: { a: { branch: 'main' } } });
    const { problems } = await world.json<Checked>('plan', 'check', 'p');
    const branch = problems.find(({ path }) => path === 'branch');
    expect(branch).toMatchObject({ hint: 'Give the ticket a `branch` of its own.' });
  });

  it('check warns of tickets that will change the same files side by side', async ({ world }) => {
    const acceptanceCriteria = ['ok'];
    setUp(world, 'commit', {
      a: { acceptanceCriteria, paths: ['src/api'] },
      b: { acceptanceCriteria, paths: ['src/api/x.ts'] },
      c: { acceptanceCriteria, paths: ['src/api'], blockedBy: ['a', 'b'] },
      d: { acceptanceCriteria, paths: ['../x'] },
    });
    const { ok, problems } = await world.json<Checked>('plan', 'check', 'p');
    expect(ok).toBe(false);
    expect(
      problems.map(({ ticketId, path, severity, message }) => [ticketId, path, severity, message]),
    ).toEqual([
      ['d', 'paths', 'error', 'The path "../x" leaves the repository.'],
      ['b', 'paths', 'warning', 'a and b may run at once and both will change src/api and src/api/x.ts.'],
    ]);
  });

  it('check sums a good plan up for the person who approves it', async ({ world }) => {
    const acceptanceCriteria = ['it works'];
    setUp(world, 'commit', {});
    world.plan('p', {
      name: 'First',
      status: 'draft',
      tickets: { b: { acceptanceCriteria, blockedBy: ['a'], agent: 'rehearsal' }, a: { acceptanceCriteria } },
    });
    const { code, out } = await world.cli('plan', 'check', 'p');
    expect(code).toBe(0);
    expect(out).toBe(
      [
        `First (p), draft: 2 tickets in ${world.repo}, from main, workflow work, agent agent`,
        'round  ticket  title       criteria',
        '1      a       Title of a  1',
        '2      b       Title of b  1         after a; agent rehearsal',
        '',
        '✓ Plan p can run. Approve it with: signalbox plan approve p',
        '',
      ].join('\n'),
    );
    expect(await world.json('plan', 'check', 'p')).toEqual({ plan: 'p', ok: true, problems: [] });
    expect((await world.cli('plan', 'check', 'nope')).code).toBe(2);
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
    expect(await world.cli('plan', 'approve', 'p')).toMatchObject({
      code: 0,
      out: 'Plan p is active. Run it with: signalbox run p\n',
    });
    expect((await world.cli('run', 'p')).code).toBe(0);
  });

  it('archive keeps everything and runs nothing', async ({ world }) => {
    setUp(world);
    expect(await world.json('plan', 'archive', 'p')).toMatchObject({ id: 'p', status: 'archived' });
    const ended = await world.cli('run', 'p', '--json');
    expect(ended.code).toBe(1);
    expect(errorIn(ended).hint).toBe('An archived plan cannot be run.');
    expect((await world.cli('tick')).code).toBe(0);
    expect(world.calls()).toEqual([]);
  });

  it('delete advises to archive only what is not archived yet', async ({ world }) => {
    setUp(world);
    await world.cli('run', 'p');
    expect(errorIn(await world.cli('plan', 'delete', 'p', '--json')).hint).toContain('plan archive');
    await world.cli('plan', 'archive', 'p');
    expect(errorIn(await world.cli('plan', 'delete', 'p', '--json')).hint).toBe(
      'Merge or delete the branch first, or use: plan delete --force (keeps the branches).',
    );
  });

  it('delete removes a plan whose work is merged, and keeps branches when forced', async ({ world }) => {
    setUp(world);
    await world.cli('run', 'p');
    expect(await world.json('plan', 'delete', 'p', '--force')).toEqual({ deleted: 'p' });
    expect(existsSync(dirname(world.planFile('p')))).toBe(false);
    expect(git(world.repo, 'branch', '--list', 'ticket/p/a')).not.toBe('');
    expect((await world.cli('plan', 'show', 'p')).code).toBe(2);
  });

  it('delete refuses nothing for a branch that is gone', async ({ world }) => {
    setUp(world);
    await world.cli('run', 'p');
    git(world.repo, 'branch', '--quiet', '-D', 'ticket/p/a');
    expect(await world.json('plan', 'delete', 'p')).toEqual({ deleted: 'p' });
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
