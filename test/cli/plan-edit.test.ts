import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect } from 'vitest';
import type { Plan } from '../../src/model/plan.ts';
import type { Ticket } from '../../src/model/ticket.ts';
import { FakeGh } from '../support/gh/fake-gh.ts';
import { cliIn, errorIn, git, it, refusal, setUp, stateOf, type World, write } from './support.ts';

interface Drafted {
  plan: Plan;
  tickets: Ticket[];
  notes: string[];
}

describe.concurrent('plan new', () => {
  it('makes a draft of files that can be approved and run', { tags: 'full' }, async ({ world }) => {
    setUp(world, 'commit', {});
    write(world, 'one.md', '---\nid: one\n---\n# First\n\nDo it.\n\n## Acceptance criteria\n- it is done\n');
    write(world, 'two.md', '---\nid: two\ndependsOn: [one]\n---\n# Second {{ title }}\n');
    const made = await world.cli(
      'plan',
      'new',
      'p',
      '--from',
      'two.md',
      'one.md',
      '--repo',
      'repo',
      '--name',
      'Both',
    );
    expect(made).toMatchObject({
      code: 0,
      out: 'Plan p is a draft with 2 tickets. Check it with: signalbox plan check p\n',
    });
    expect(world.readPlan('p')).toMatchObject({
      name: 'Both',
      status: 'draft',
      repo: world.repo,
      createdBy: 'signalbox plan new',
      tickets: [
        { ticketId: 'one', order: 1, blockedBy: [] },
        { ticketId: 'two', order: 2, blockedBy: ['one'] },
      ],
    });
    expect(world.ticket('p', 'one')).toMatchObject({ title: 'First', acceptanceCriteria: ['it is done'] });
    expect(world.ticket('p', 'two').title).toBe('Second {{ title }}');
    expect((await world.cli('plan', 'approve', 'p')).code).toBe(0);
    expect((await world.cli('run', 'p')).code).toBe(0);
  });

  it('makes one of issues: links, criteria, order; what is closed is left out, what is missing is told', async ({
    world,
  }) => {
    setUp(world, 'commit', {});
    git(world.repo, 'remote', 'add', 'origin', 'https://github.com/acme/web.git');
    const fake = new FakeGh(join(world.dir, 'github')).issues(
      { number: 1, title: 'One', body: '## Acceptance criteria\n- ok', blockedBy: [2, 3, 9] },
      { number: 2, title: 'Two' },
      { number: 3, title: 'Three', state: 'CLOSED' },
      { number: 9, title: 'Nine' },
    );
    const args = ['plan', 'new', 'p', '--from', '1', '#2', '3', '--json'];
    const { code, out } = await cliIn(world, world.repo, args, fake.env);
    expect(code).toBe(0);
    const { plan, tickets, notes } = JSON.parse(out) as Drafted;
    expect(plan.name).toBe('1 and 1 more');
    expect(plan.tickets).toMatchObject([{ ticketId: '2' }, { ticketId: '1', blockedBy: ['2'] }]);
    expect(tickets[1]).toMatchObject({
      linearUrl: 'https://github.com/acme/web/issues/1',
      acceptanceCriteria: ['ok'],
      source: { key: 'github:acme/web#1', number: 1 },
    });
    expect(notes).toEqual([
      '#3 is done and left out.',
      '1 depends on github:acme/web#9, which is not in the plan.',
    ]);
  });

  it('lets an issue wait for its sub-issues that are in the plan, and says so', async ({ world }) => {
    setUp(world, 'commit', {});
    git(world.repo, 'remote', 'add', 'origin', 'https://github.com/acme/web.git');
    const fake = new FakeGh(join(world.dir, 'github')).issues(
      { number: 1, title: 'Epic', subIssues: [2, 3, 4] },
      { number: 2, title: 'Two' },
      { number: 3, title: 'Three', blockedBy: [1] },
    );
    const args = ['plan', 'new', 'p', '--from', '1', '2', '3', '--json'];
    const { out } = await cliIn(world, world.repo, args, fake.env);
    const { plan, notes } = JSON.parse(out) as Drafted;
    expect(plan.tickets).toMatchObject([
      { ticketId: '2', blockedBy: [] },
      { ticketId: '1', blockedBy: ['2'] },
      { ticketId: '3', blockedBy: ['1'] },
    ]);
    expect(notes).toEqual(['1 waits for its sub-issues 2; if they are all of it: signalbox plan remove p 1']);
  });

  it('makes one of a spec', async ({ world }) => {
    setUp(world, 'commit', {});
    write(world, 'tasks.md', '- [x] 1. Done\n- [ ] 2. Next\n- [ ] 3. Last\n');
    const { plan, notes } = await world.json<Drafted>('plan', 'new', 'p', '--from', '.', '--repo', 'repo');
    expect(plan.name).toBe(basename(world.dir));
    expect(plan.tickets).toMatchObject([
      { ticketId: '2', blockedBy: [] },
      { ticketId: '3', blockedBy: ['2'] },
    ]);
    expect(notes).toEqual(['1 is done and left out.']);
  });

  const withBlocked = (world: World) => {
    setUp(world, 'commit', {});
    write(world, 'tasks.md', '- [ ] 1. (P) One\n  - _Blocked: needs key_\n- [ ] 2. (P) Two\n');
    return world.json<Drafted>('plan', 'new', 'p', '--from', '.', '--repo', 'repo');
  };

  it('makes one of a spec in which a blocked unit waits for a person', async ({ world }) => {
    const { tickets, notes } = await withBlocked(world);
    expect(tickets).toMatchObject([
      { ticketId: '1', status: 'needs_attention', hold: { kind: 'blocked', reason: 'needs key' } },
      { ticketId: '2', status: 'queued' },
    ]);
    expect(notes).toEqual([expect.stringContaining('tasks.md:1: Unit 1 is blocked: needs key.')]);
  });

  it('leaves a blocked unit of a spec alone until a person retries it', { tags: 'full' }, async ({
    world,
  }) => {
    await withBlocked(world);
    await world.cli('plan', 'approve', 'p');
    const { code, out } = await world.cli('run', 'p');
    expect(code, out).toBe(1);
    expect(world.ticket('p', '1')).toMatchObject({ status: 'needs_attention', phaseHistory: [] });
    expect(world.ticket('p', '2').status).toBe('complete');
    expect((await world.cli('status', 'p')).out).toContain('once that is settled: signalbox retry p 1');
    expect((await world.cli('retry', 'p', '1')).code).toBe(0);
    expect((await world.cli('run', 'p')).code).toBe(0);
  });

  it('writes nothing when something cannot be had, or the plan is there already', { tags: 'full' }, async ({
    world,
  }) => {
    setUp(world, 'commit', { a: {} });
    write(world, 'one.md', '# One\n');
    const lost = await world.cli(
      'plan',
      'new',
      'q',
      '--from',
      'one.md',
      'none.md',
      '--repo',
      'repo',
      '--json',
    );
    expect(lost.code).toBe(2);
    expect(errorIn(lost)).toMatchObject({ code: 'plan/source', message: expect.stringContaining('none.md') });
    expect(existsSync(world.planFile('q'))).toBe(false);
    const taken = await world.cli('plan', 'new', 'p', '--json');
    expect(errorIn(taken)).toMatchObject({ code: 'plan/exists' });
    write(world, 'x.md', '---\nid: x\ndependsOn: [y]\n---\n# X\n');
    write(world, 'y.md', '---\nid: y\ndependsOn: [x]\n---\n# Y\n');
    const cycle = await world.cli('plan', 'new', 'q', '--from', 'x.md', 'y.md', '--repo', 'repo', '--json');
    expect(errorIn(cycle)).toMatchObject({ code: 'plan/cycle' });
    const evil = await world.cli('plan', 'new', '../evil', '--json');
    expect(evil.code).toBe(2);
    expect(errorIn(evil)).toMatchObject({
      message: expect.stringContaining('"../evil"'),
      hint: expect.stringContaining('signalbox plan new --help'),
    });
  });
});

describe.concurrent('a workflow that does not exist', () => {
  it('is refused by plan new, add and edit, which write nothing then', async ({ world }) => {
    setUp(world);
    const before = world.read('home/state/plans/p/plan.json');
    for (const args of [
      ['new', 'q'],
      ['add', 'p', 'b', '--title', 'B'],
      ['edit', 'p'],
      ['edit', 'p', 'a'],
    ]) {
      const ended = await world.cli('plan', ...args, '--workflow', 'wrok');
      expect(ended.code).toBe(2);
      expect(refusal(ended)).toMatch(
        /^❌ There is no workflow "wrok"\. Did you mean "work"\?\n {3}Workflows: /,
      );
    }
    expect(world.exists('home/state/plans/q')).toBe(false);
    expect(world.read('home/state/plans/p/plan.json')).toBe(before);
  });
});

describe.concurrent('plan add', () => {
  it('adds a ticket behind the others, and one that waits', async ({ world }) => {
    setUp(world, 'commit', {});
    await world.cli('plan', 'new', 'p', '--repo', 'repo');
    write(world, 'text.md', 'All of it.\n');
    await world.cli('plan', 'add', 'p', 'a', '--title', 'First', '--description-file', 'text.md');
    const ticket = await world.json<Ticket>(
      ...['plan', 'add', 'p', 'b', '--title', 'Second', '--criteria', 'one, two', '--criteria', 'three'],
      ...[
        '--blocked-by',
        'a',
        '--path',
        'src',
        '--branch',
        'feature/b',
        '--agent',
        'agent',
        '--url',
        'https://x/1',
        '--worker-labels',
        'gpu, linux,gpu',
      ],
    );
    expect(ticket).toMatchObject({
      title: 'Second',
      acceptanceCriteria: ['one, two', 'three'],
      paths: ['src'],
      branch: 'feature/b',
      agent: 'agent',
      linearUrl: 'https://x/1',
      workerLabels: ['gpu', 'linux'],
    });
    expect(world.ticket('p', 'a').description).toBe('All of it.\n');
    expect(world.readPlan('p').tickets).toMatchObject([
      { ticketId: 'a', order: 1, blockedBy: [] },
      { ticketId: 'b', order: 2, blockedBy: ['a'] },
    ]);
    expect(await world.json('plan', 'check', 'p')).toMatchObject({ ok: true });
  });

  it('refuses what could not run, and writes nothing then', { tags: 'full' }, async ({ world }) => {
    setUp(world, 'commit', { a: {}, b: { blockedBy: ['a'] } });
    const before = stateOf(world);
    const wrong: [string[], string][] = [
      [['p', 'a', '--title', 'x'], 'ticket/exists'],
      [['p', 'c'], 'usage'],
      [['p', 'c', '--title', 'x', '--blocked-by', 'zzz'], 'plan/dependencies'],
      [['p', 'c', '--title', 'x', '--branch', 'a..b'], 'plan/value'],
      [['p', '../c', '--title', 'x'], 'plan/value'],
      [['p', 'c', '--title', 'x', '--order', 'soon'], 'usage'],
      [['p', 'c', '--title', 'x', '--description', 'x', '--description-file', 'y'], 'usage'],
      [['p', 'c', '--title', 'x', '--description-file', 'none.md'], 'usage'],
      [['q', 'c', '--title', 'x'], 'plan/unknown'],
    ];
    for (const [args, code] of wrong) {
      const ended = await world.cli('plan', 'add', ...args, '--json');
      expect(ended.code, args.join(' ')).toBe(2);
      expect(errorIn(ended).code, args.join(' ')).toBe(code);
    }
    expect(stateOf(world)).toEqual(before);
    expect(existsSync(world.ticketFile('p', 'c'))).toBe(false);
  });
});

describe.concurrent('plan edit', () => {
  it('takes a plan whose kind is null, and leaves that as it is', async ({ world }) => {
    world.plan('p', { tickets: { a: {} } });
    const read = () => JSON.parse(readFileSync(world.planFile('p'), 'utf8'));
    writeFileSync(world.planFile('p'), JSON.stringify({ kind: null, ...read() }));
    expect(await world.cli('plan', 'edit', 'p', '--name', 'Mine')).toMatchObject({ code: 0 });
    expect(read()).toMatchObject({ kind: null, name: 'Mine' });
  });

  it('changes what is named and nothing else; an empty text takes a value out', async ({ world }) => {
    setUp(world, 'commit', {});
    world.plan('p', {
      tickets: { a: { notes: 'mine' }, b: { blockedBy: ['a'], agent: 'agent', acceptanceCriteria: ['x'] } },
    });
    await world.cli(
      'plan',
      'edit',
      'p',
      'b',
      '--title',
      'New',
      '--blocked-by',
      '',
      '--agent',
      '',
      '--criteria',
      'y',
    );
    expect(world.ticket('p', 'b')).toMatchObject({ title: 'New', agent: null, acceptanceCriteria: ['y'] });
    expect(world.readPlan('p').tickets[1]).toMatchObject({ ticketId: 'b', blockedBy: [] });
    await world.cli('plan', 'edit', 'p', 'a', '--order', '5');
    expect(world.ticket('p', 'a')).toMatchObject({ title: 'Title of a', notes: 'mine' });
    const flags = ['--name', 'Plan', '--concurrency', '2', '--worker-labels', 'gpu'];
    expect(await world.json('plan', 'edit', 'p', ...flags)).toMatchObject({
      name: 'Plan',
      concurrency: 2,
      workerLabels: ['gpu'],
      tickets: [{ order: 5 }, {}],
    });
  });

  it('refuses cycles, flags of the other kind, and nothing at all', { tags: 'full' }, async ({ world }) => {
    setUp(world, 'commit', { a: {}, b: { blockedBy: ['a'] } });
    const before = stateOf(world);
    for (const [args, code] of [
      [['p', 'a', '--blocked-by', 'b'], 'plan/dependencies'],
      [['p', 'a', '--base', 'main'], 'usage'],
      [['p', '--title', 'x'], 'usage'],
      [['p', 'a', '--title', ''], 'plan/value'],
      [['p', 'a'], 'usage'],
      [['p'], 'usage'],
      [['p', 'z', '--title', 'x'], 'ticket/unknown'],
    ] as const) {
      const ended = await world.cli('plan', 'edit', ...args, '--json');
      expect(errorIn(ended).code, args.join(' ')).toBe(code);
    }
    expect(stateOf(world)).toEqual(before);
  });

  it('refuses a running ticket, and of one that has begun what its work is made of', {
    tags: 'full',
  }, async ({ world }) => {
    setUp(world, 'note working; go; commit', { a: {}, b: {} });
    const run = world.invoke(['run', 'p', 'a']);
    await world.call('working');
    const busy = await world.cli('plan', 'edit', 'p', 'a', '--title', 'x');
    expect(busy.code).toBe(1);
    expect(refusal(busy)).toMatch(/p\/a is running.*\n {3}Pause it first: signalbox pause p a/);
    expect((await world.cli('plan', 'remove', 'p', 'a')).code).toBe(1);
    await world.cli('pause', 'p', 'a');
    expect((await world.cli('plan', 'edit', 'p', 'a', '--description', 'More.')).code).toBe(0);
    expect(errorIn(await world.cli('plan', 'edit', 'p', 'a', '--branch', 'x', '--json')).code).toBe(
      'ticket/begun',
    );
    expect(errorIn(await world.cli('plan', 'edit', 'p', '--repo', 'repo', '--json')).code).toBe('plan/begun');
    expect(errorIn(await world.cli('plan', 'remove', 'p', 'a', '--json')).code).toBe('ticket/begun');
    await run.ended;
    await world.cli('resume', 'p', 'a');
    world.go();
    expect((await world.cli('run', 'p', 'a')).code).toBe(0);
    expect(world.ticket('p', 'a').description).toBe('More.');
    expect(errorIn(await world.cli('plan', 'edit', 'p', 'a', '--title', 'x', '--json')).code).toBe(
      'ticket/over',
    );
  });

  it('leaves plans to the runs that made them, and plans that are over', async ({ world }) => {
    setUp(world, 'commit', {});
    world.plan('p', { kind: 'run', tickets: { a: {} } } as never);
    world.plan('q', { status: 'archived', tickets: { a: {} } });
    expect(errorIn(await world.cli('plan', 'edit', 'p', 'a', '--title', 'x', '--json')).code).toBe(
      'plan/made',
    );
    expect(errorIn(await world.cli('plan', 'add', 'q', 'b', '--title', 'x', '--json')).code).toBe(
      'plan/over',
    );
  });
});

describe.concurrent('plan remove', () => {
  it('takes a ticket out, unless somebody waits for it', async ({ world }) => {
    setUp(world, 'commit', { a: {}, b: { blockedBy: ['a'] } });
    const needed = await world.cli('plan', 'remove', 'p', 'a', '--json');
    expect(errorIn(needed)).toMatchObject({ code: 'ticket/needed', message: 'p/b waits for a.' });
    expect(await world.json('plan', 'remove', 'p', 'b')).toEqual({ removed: 'p/b' });
    expect(existsSync(world.ticketFile('p', 'b'))).toBe(false);
    expect(world.readPlan('p').tickets.map(({ ticketId }) => ticketId)).toEqual(['a']);
    expect((await world.cli('plan', 'remove', 'p', 'b')).code).toBe(2);
  });

  it('takes out one whose file cannot be read', async ({ world }) => {
    setUp(world, 'commit', { a: {}, b: {} });
    writeFileSync(world.ticketFile('p', 'b'), '{');
    expect((await world.cli('plan', 'remove', 'p', 'b')).code).toBe(0);
    expect(readFileSync(world.planFile('p'), 'utf8')).not.toContain('"b"');
  });
});
