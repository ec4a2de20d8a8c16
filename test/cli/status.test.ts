import { mkdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { CliCall } from '../support/cli-call.ts';
import { errorIn, it, refusal, type Shown, setUp } from './support.ts';

describe.concurrent('status', () => {
  it('says where there are no plans', async ({ world }) => {
    setUp(world, 'commit', {});
    expect(await world.cli('status')).toMatchObject({
      code: 0,
      out: `No plans in ${world.stateDir}/plans.\n`,
    });
    expect(await world.json<Shown[]>('status')).toEqual([]);
  });

  it('tells why each ticket does not move and what comes next', async ({ world }) => {
    setUp(world, 'commit', {
      waits: {},
      blocked: { blockedBy: ['failed'] },
      failed: { status: 'failed', error: 'build: no evidence', since: '2020-01-01T00:00:00.000Z' },
      paused: { status: 'paused', hold: { kind: 'stopped', reason: 'paused by Ann', until: null } },
      over: { status: 'complete' },
    });
    world.plan('d', { status: 'draft', tickets: { x: {} } });
    const { out, code } = await world.cli('status');
    expect(code).toBe(0);
    expect(out).toContain('active — default workflow — 1/5 complete, 1 failed, 1 paused');
    expect(out).toMatch(/◌ waits .*\n +no engine is running\n +→ signalbox run p\n/);
    expect(out).toMatch(/✗ failed .*\d+ h \d+ m ago.*\n +build: no evidence\n +→ signalbox retry p failed\n/);
    expect(out).toMatch(/‖ paused .*\n +paused by Ann\n +→ signalbox resume p paused\n/);
    expect(out).toMatch(/✓ over .*\n/);
    expect(out).toMatch(/◌ x .*\n +the plan is a draft\n +→ signalbox plan approve d\n/);
  });

  it('drops a reason that is over, as text, as JSON and in a report', async ({ world }) => {
    const hold = { kind: 'limit' as const, reason: 'The five hour limit is reached.' };
    const since = new Date().toISOString();
    const waits = (until: string) => ({ status: 'ready' as const, since, hold: { ...hold, until } });
    setUp(world, 'commit', {
      over: waits('2026-01-01T00:00:00.000Z'),
      waits: waits('2999-01-01T00:00:00.000Z'),
    });
    const { out } = await world.cli('status');
    expect(out).toMatch(/◌ over .*\n +no engine is running\n/);
    expect(out).toMatch(/◌ waits .*\n +usage limit: The five hour limit is reached\. \(until /);
    const [shown] = await world.json<Shown[]>('status');
    expect(shown?.tickets.map(({ hold }) => hold?.reason ?? null)).toEqual([null, hold.reason]);
    const report = await world.cli('report', '--since', '1h');
    expect(report.out).toMatch(/1 ticket: p\/over\n +no engine is running\n/);
    expect(report.out).toMatch(/1 ticket: p\/waits\n +usage limit: .* \(until /);
  });

  it('shows what is open and how many plans more there are, and all of them when asked', async ({
    world,
  }) => {
    setUp(world, 'commit', { a: {} });
    for (let number = 10; number < 25; number += 1) {
      world.plan(`old${number}`, { status: 'complete', tickets: { x: { status: 'complete' } } });
      utimesSync(world.planFile(`old${number}`), number, number);
    }
    const shown = (out: string) => out.match(/^(p|old\d+)$/gm);
    const { out } = await world.cli('status');
    expect(shown(out)).toEqual(['p']);
    expect(out.trimEnd().split('\n').at(-1)).toBe('15 more finished plans: signalbox status --all');
    const all = await world.cli('status', '--all');
    expect(shown(all.out)).toHaveLength(16);
    expect(all.out).not.toContain('more finished');
    expect((await world.cli('status', 'old10')).out).toMatch(/^old10\n {2}complete/);
    expect(await world.json<Shown[]>('status')).toHaveLength(16);
  });

  it('shows inside a repository its own open plans, newest first, also by a link; elsewhere all', async ({
    world,
  }) => {
    setUp(world, 'commit', { a: {} });
    const other = join(world.dir, 'other');
    mkdirSync(join(other, '.git'), { recursive: true });
    const link = join(world.dir, 'link');
    symlinkSync(world.repo, link);
    const tickets = { a: {} };
    world.plan('older', { repo: link, createdAt: '2026-01-01T00:00:00Z', tickets });
    world.plan('newer', { repo: world.repo, createdAt: '2026-02-01T00:00:00Z', tickets });
    world.plan('there', { repo: other, createdAt: '2026-03-01T00:00:00Z', tickets });
    world.plan('mixed', { repo: null, tickets: { a: { repo: other } } });
    const shown = async (cwd: string, ...flags: string[]) =>
      (await world.invoke(['status', ...flags], {}, cwd).ended).out;
    const plansIn = (out: string) => out.match(/^\w+$/gm);
    expect(plansIn(await shown(world.repo))).toEqual(['newer', 'older', 'p']);
    expect(await shown(world.repo)).toMatch(
      /\n2 open plans of other repositories: signalbox status --all\n$/,
    );
    expect(plansIn(await shown(join(link)))).toEqual(['newer', 'older', 'p']);
    expect(plansIn(await shown(other))).toEqual(['there', 'mixed']);
    expect(plansIn(await shown(world.dir))).toHaveLength(5);
    expect(plansIn(await shown(world.repo, '--all'))).toHaveLength(5);
    expect(JSON.parse(await shown(world.repo, '--json'))).toHaveLength(5);
  });

  it('shows the last finished plan and where its work is, if none is open', async ({ world }) => {
    setUp(world);
    await world.cli('run', 'p');
    const { out } = await world.cli('status');
    expect(out).toMatch(/^No open plans\. The last one:\n\np\n {2}complete — /);
    expect(out).toContain('  Work: 1 on its branch → signalbox merge p\n');
    const detailed = (await world.cli('status', 'p')).out;
    expect(detailed.match(/branch ticket.p.a$/gm)).toEqual(['branch ticket/p/a']);
    expect((await world.cli('status', '--failed')).out).toBe('Nothing needs you here.\n');
    expect((await world.cli('status', '--waiting')).out).toBe('Nothing waits here.\n');
    expect((await world.cli('status', '--waiting', 'p')).out).toBe('Nothing waits in p.\n');
  });

  it('has one row for two tickets that failed for the same reason', async ({ world }) => {
    setUp(world, 'commit', { a: { status: 'failed', error: 'no' }, b: { status: 'failed', error: 'no' } });
    const { out } = await world.cli('status');
    expect(out).toMatch(/✗ 2 tickets {2}failed +a, b\n +no\n +→ signalbox retry --failed p\n/);
  });

  it('shows only what failed or needs you with --failed, and what waits with --waiting', async ({
    world,
  }) => {
    setUp(world, 'commit', {
      waits: {},
      bad: { status: 'failed', error: 'no evidence' },
      given: { status: 'failed', error: 'cancelled by a person', cancelledAt: '2026-01-01T00:00:00Z' },
      over: { status: 'complete' },
    });
    world.plan('fine', { tickets: { x: { status: 'complete' }, y: {} } });
    const failed = (await world.cli('status', '--failed')).out;
    expect(failed).toContain('1/4 complete, 2 failed');
    expect(failed.match(/^ {4}\S \S+/gm)).toEqual(['    ✗ bad']);
    expect((await world.cli('status', '--waiting')).out.match(/^ {4}\S \S+/gm)).toEqual([
      '    ◌ y',
      '    ◌ waits',
    ]);
    world.writeTicket('p', 'bad', { title: 'A' });
    expect((await world.cli('status', '--failed')).out).toBe('Nothing needs you here.\n');
  });

  it('shows all attempts of one ticket, which its id alone may name', async ({ world }) => {
    setUp(world);
    await world.cli('run', 'p');
    for (const words of [['p', 'a'], ['a']]) {
      const { out } = await world.cli('status', ...words);
      expect(out).toMatch(/^p\/a\n {2}✓ a {2}complete/);
      expect(out).toMatch(/^ {2}phase +result +time.*\n {2}build +success +[\d.]+s/m);
      expect(out).toContain('→ signalbox diff p a');
    }
    expect(await world.json<Shown>('status', 'p', 'a')).toMatchObject({ tickets: [{ ticketId: 'a' }] });
    expect(errorIn(await world.cli('status', 'p', 'z', '--json')).code).toBe('ticket/unknown');
  });

  it('breaks reasons between words on a narrow terminal', async ({ world }) => {
    const error =
      'The checks of this ticket found several problems that somebody has to look at before it can go on.';
    setUp(world, 'commit', { a: { status: 'failed', error } });
    const place = { cwd: world.dir, env: { ...world.env, NO_COLOR: '1' } };
    const { out } = await new CliCall(['status'], { ...place, terminal: true, columns: 60 }).ended;
    expect(out.replace(/\s+/g, ' ')).toContain(error);
    expect(out.split('\n').filter((line) => line.length > 60 && !line.includes('→'))).toEqual([]);
  });

  it('is shown again with --watch until Ctrl-C', { tags: 'full' }, async ({ world }) => {
    setUp(world);
    const call = new CliCall(['status', '--watch'], {
      cwd: world.dir,
      env: world.env,
      terminal: true,
      columns: 80,
    });
    await call.says('no engine is running');
    world.writeTicket('p', 'a', { title: 'A', status: 'failed', error: 'a new reason' });
    await call.says('a new reason');
    expect((await call.kill('SIGINT')).code).toBe(0);
  });

  it('is an array of {plan, tickets} as JSON, or one of them with --plan', async ({ world }) => {
    setUp(world, 'commit', { a: { order: 2 }, b: { order: 1 } });
    world.plan('q', { tickets: { c: {} } });
    const all = await world.json<Shown[]>('status');
    expect(all.map(({ plan, tickets }) => [plan?.id, tickets.map(({ ticketId }) => ticketId)])).toEqual([
      ['p', ['b', 'a']],
      ['q', ['c']],
    ]);
    const one = await world.json<Shown>('status', '--plan', 'p');
    expect(one).toEqual(all[0]);
    expect(one.tickets[0]).toMatchObject({
      planId: 'p',
      ticketId: 'b',
      status: 'queued',
      hold: null,
      why: 'no engine is running',
      next: 'signalbox run p',
    });
  });

  it('shows a file that cannot be read with path and reason, and everything else as ever', async ({
    world,
  }) => {
    setUp(world, 'commit', { a: {}, b: {} });
    world.plan('q', { tickets: { c: {} } });
    writeFileSync(world.ticketFile('p', 'b'), '{"planId": "p", "tick');
    writeFileSync(world.planFile('q'), '');
    const { out, code } = await world.cli('status');
    expect(code).toBe(0);
    expect(out).toContain(`✗ ${world.ticketFile('p', 'b')}:1:`);
    expect(out).toContain(`✗ ${world.planFile('q')}: the file is empty`);
    expect(out).toContain('no engine is running');
    const [p, q] = await world.json<Shown[]>('status');
    expect(p?.problems).toMatchObject([{ ticketId: 'b', path: world.ticketFile('p', 'b') }]);
    expect(q).toMatchObject({
      plan: null,
      tickets: [],
      problems: [{ planId: 'q', path: world.planFile('q') }],
    });
  });

  it('refuses a plan that is not there and names those that are', async ({ world }) => {
    setUp(world);
    const ended = await world.cli('status', '--plan', 'x');
    expect(ended.code).toBe(2);
    expect(refusal(ended)).toBe('❌ There is no plan "x".\n   Plans: p.\n   Help: signalbox status --help\n');
    const json = await world.cli('status', '--plan', 'x', '--json');
    expect(json.code).toBe(2);
    expect(errorIn(json)).toEqual({
      code: 'plan/unknown',
      message: 'There is no plan "x".',
      hint: 'Plans: p.',
    });
  });

  it('shows a running ticket with its phase, branch, worktree and session', async ({ world }) => {
    world.workflow('work', [{ id: 'build', type: 'agent', prompt: 'x' }]);
    world.agent('agent', 'commit');
    world.rehearsal([{ do: [{ say: 'Here.' }, 'hang'] }]);
    world.plan('p', { agent: 'rehearsal', tickets: { a: {} } });
    world.invoke(['run', 'p']);
    const { phaseHistory } = await world.reaches('p', 'a', (ticket) => ticket.phaseHistory?.[0]?.sessionId);
    const { out } = await world.cli('status', '--plan', 'p');
    expect(out).toMatch(/● a .*running.*for /);
    expect(out).toContain('phase build, branch ticket/p/a');
    expect(out).toContain(`worktree ${world.worktree('p', 'a')}`);
    expect(out).toContain(`session ${phaseHistory[0]?.sessionId}`);
    expect((await world.json<Shown>('status', '--plan', 'p')).tickets[0]?.why).toBe('build');
  });
});

describe.concurrent('status of one plan', () => {
  it('gives each ticket its own reason', async ({ world }) => {
    setUp(world, 'commit', { a: { blockedBy: ['x'] }, b: { blockedBy: ['y'] } });
    const { tickets } = await world.json<Shown>('status', '--plan', 'p');
    expect(tickets.map(({ why }) => why)).toEqual([
      'Ticket "a" is blocked by "x", which does not exist.',
      'Ticket "b" is blocked by "y", which does not exist.',
    ]);
  });

  it('shows a reason to its end, where the way out is', async ({ world }) => {
    setUp(world);
    const error = `${'A long story. '.repeat(30)}Then: git -C /somewhere switch main`;
    world.writeTicket('p', 'a', { title: 'A', status: 'failed', error });
    expect((await world.cli('status', '--plan', 'p')).out).toContain('git -C /somewhere switch main');
    expect((await world.cli('status')).out).not.toContain('switch main');
  });

  it('names the worktree that a complete ticket has kept', async ({ world }) => {
    setUp(world, 'commit; echo mine > left.txt');
    await world.cli('run', 'p');
    expect((await world.cli('status', '--plan', 'p')).out).toContain(
      `worktree kept: ${world.worktree('p', 'a')}`,
    );
    world.remove(world.worktree('p', 'a'));
    expect((await world.cli('status', '--plan', 'p')).out).not.toContain('worktree');
  });
});
