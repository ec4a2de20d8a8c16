import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { processStart } from '../../src/machine/process-identity-and-signals.ts';
import {
  BUILD,
  DONE,
  errorIn,
  git,
  it,
  linesOf,
  refusal,
  type Shown,
  STUCK,
  setUp,
  waitFor,
  worktreesOf,
} from './support.ts';

describe.concurrent('run', () => {
  it('works a plan off, shows each step and sums it up', async ({ world }) => {
    setUp(world, 'commit', { a: {}, b: { blockedBy: ['a'] } });
    const { code, out, err } = await world.cli('run', 'p');
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toMatch(/◌ b waits for a/);
    const shown = [
      'a: build started (agent)',
      'a: build ✓ (',
      '✓ a complete',
      'b: build started',
      'p: plan complete',
    ];
    const places = shown.map((line) => out.indexOf(line));
    expect(places).toEqual([...places].sort((x, y) => x - y));
    expect(places[0]).toBeGreaterThan(0);
    expect(out).toMatch(/✓ {2}a {7}complete {2}ticket\/p\/a/);
    expect(out).toMatch(/^2 of 2 done · /m);
    expect(world.readPlan('p').status).toBe('complete');
    expect(git(world.repo, 'branch', '--list', 'ticket/*', '--format=%(refname:short)')).toBe(
      'ticket/p/a\nticket/p/b',
    );
    expect(worktreesOf(world.repo)).toEqual([]);
  });

  it('ends with 1 when a ticket is not complete, and says why and how to go on', async ({ world }) => {
    setUp(world, 'exit 7');
    const { code, out } = await world.cli('run', 'p');
    expect(code).toBe(1);
    expect(out).toContain('build: the agent ended with exit code 7');
    expect(out).toContain('Details: signalbox status --plan p');
    expect(world.ticket('p', 'a').status).toBe('needs_attention');
  });

  it('runs only the tickets that are named', async ({ world }) => {
    setUp(world, 'commit', { a: {}, b: {}, c: {} });
    expect((await world.cli('run', 'p', 'a', 'c')).code).toBe(0);
    const { tickets } = await world.json<Shown>('status', '--plan', 'p');
    expect(tickets.map(({ status }) => status)).toEqual(['complete', 'queued', 'complete']);
    expect(world.readPlan('p').status).toBe('active');
  });

  it('uses another agent for tickets and plans that name none', async ({ world }) => {
    setUp(world, 'exit 1', { a: {}, b: { agent: 'agent' } });
    expect((await world.cli('run', 'p', '--agent', 'rehearsal')).code).toBe(1);
    expect(world.ticket('p', 'a').phaseHistory[0]).toMatchObject({ agent: 'rehearsal', status: 'success' });
    expect(world.ticket('p', 'b').phaseHistory[0]).toMatchObject({ agent: 'agent', status: 'failure' });
    expect((await world.cli('run', 'p', '--agent', 'rehersal')).err).toContain('did you mean "rehearsal"?');
  });

  it('prints events and then the result as JSON lines', async ({ world }) => {
    setUp(world);
    const { out, code } = await world.cli('run', 'p', '--json');
    expect(code).toBe(0);
    const lines = linesOf<{ type: string; at?: string }>(out);
    expect(lines.map(({ type }) => type)).toEqual(
      expect.arrayContaining([
        'workspace:ready',
        'attempt:start',
        'attempt:end',
        'ticket:status',
        'plan:status',
      ]),
    );
    expect(lines.slice(0, -1).every(({ at }) => at && !Number.isNaN(Date.parse(at)))).toBe(true);
    expect(lines.at(-1)).toMatchObject({
      type: 'result',
      ok: true,
      stopped: false,
      planId: 'p',
      plan: 'complete',
      problems: [],
      tickets: [{ ticketId: 'a', status: 'complete' }],
    });
  });

  it('has nothing to do for a plan that is complete', async ({ world }) => {
    setUp(world);
    await world.cli('run', 'p');
    expect((await world.cli('run', 'p')).code).toBe(0);
    expect(world.calls('start')).toHaveLength(1);
  });

  const refused: [string, string[], number, RegExp][] = [
    ['a plan that is not there', ['--plan', 'x'], 2, /no plan "x"\.\n {3}Plans: draft, loop, p\./],
    ['a ticket that is not there', ['p', 'z'], 2, /Plan "p" has no ticket "z"\.\n {3}Its tickets: a\./],
    ['a draft', ['draft'], 1, /is draft\.\n {3}.*signalbox plan approve draft/],
    [
      'tickets that wait for each other',
      ['loop'],
      2,
      /a → b → a\.\n {3}Correct the plan's files; see all problems with: signalbox plan check loop/,
    ],
    ['an id that is a path', ['--plan', '../p'], 2, /plan id "\.\.\/p"/],
  ];
  for (const [what, args, code, message] of refused)
    it(`refuses ${what}`, async ({ world }) => {
      setUp(world);
      world.plan('draft', { status: 'draft', tickets: { d: {} } });
      world.plan('loop', { tickets: { a: { blockedBy: ['b'] }, b: { blockedBy: ['a'] } } });
      const ended = await world.cli('run', ...args);
      expect(ended.code).toBe(code);
      expect(refusal(ended)).toMatch(message);
      expect(world.calls()).toEqual([]);
    });

  it('is refused with 3 while another run has the plan, and told who that is', async ({ world }) => {
    setUp(world, 'go; commit');
    const first = world.start(['run', 'p']);
    await world.call('start');
    const second = await world.cli('run', 'p', '--json');
    expect(second.code).toBe(3);
    expect(errorIn(second)).toMatchObject({
      code: 'plan/held',
      message: expect.stringContaining(`by another process (pid ${first.pid} on `),
      hint: 'Watch it with: signalbox status --plan p',
    });
    world.go();
    expect((await first.ended).code).toBe(0);
  });
});

describe.concurrent('Ctrl-C', () => {
  it('stops the agents, ends with 130 and leaves everything to go on with', { tags: 'full' }, async ({
    world,
  }) => {
    setUp(world, 'note working; go; commit');
    const run = world.start(['run', 'p']);
    const { pid } = await world.call('working');
    const { code, err, out } = await run.kill('SIGINT');
    expect(code).toBe(130);
    expect(err).toContain('Stopping the agents… (press Ctrl-C again to leave at once)');
    expect(out).toContain('Stopped. Continue with: signalbox resume p');
    expect(processStart(pid)).toBeUndefined();
    expect(world.ticket('p', 'a')).toMatchObject({ status: 'paused', claim: null });
    expect(world.readPlan('p')).toMatchObject({ status: 'paused', claim: null });
    const refused = await world.cli('run', 'p');
    expect(refused.code).toBe(1);
    expect(refused.err).toMatch(/Plan "p" is paused\.\n {3}Continue with: signalbox resume/);

    world.go();
    const resumed = await world.cli('resume');
    expect(resumed).toMatchObject({
      code: 0,
      out: 'Plan p is active (a resumed). Run it with: signalbox run p\n',
    });
    expect((await world.cli('run', 'p')).code).toBe(0);
  });

  it('is answered in the same way when it is SIGTERM, with 143', async ({ world }) => {
    setUp(world, 'note working; go; commit');
    const run = world.start(['run', 'p', '--json']);
    await world.call('working');
    const { code, out } = await run.kill('SIGTERM');
    expect(code).toBe(143);
    expect(linesOf(out).at(-1)).toMatchObject({ type: 'result', ok: false, stopped: true, plan: 'paused' });
  });

  it('leaves at once the second time; the agent is found again by the next run', { tags: 'full' }, async ({
    world,
  }) => {
    world.workflow('work', [BUILD, DONE, STUCK]);
    world.agent('agent', "trap '' TERM; note working; go; commit");
    world.plan('p', { tickets: { a: {} } });
    const run = world.start(['run', 'p']);
    await world.call('working');
    process.kill(run.pid, 'SIGINT');
    await run.says('Stopping the agents');
    expect((await run.kill('SIGINT')).code).toBe(130);
    world.go();
    await waitFor(
      'the agent to end by itself or by the stop',
      () => world.ticket('p', 'a').status === 'paused',
    );
    expect((await world.cli('resume', 'p')).code).toBe(0);
    expect((await world.cli('run', 'p')).code).toBe(0);
  });
});

describe.concurrent('work that was merged beside the checkout', () => {
  it('is told at the end, once, with the command that brings it there', async ({ world }) => {
    world.agent('agent', 'commit');
    world.workflow('work', [
      { id: 'build', type: 'agent', prompt: 'x', onSuccess: 'integrate' },
      { id: 'integrate', type: 'script', command: 'integrate.sh' },
    ]);
    world.plan('p', { tickets: { a: {}, b: {} } });
    const { out, code } = await world.cli('run', 'p', '-c', '1');
    expect(code).toBe(0);
    const told = out.split('\n').filter((line) => line.startsWith('Your checkout was left'));
    expect(told).toEqual([
      `Your checkout was left as it is. To bring the work into it: git -C ${world.repo} merge --ff-only signalbox/main`,
    ]);
    expect(out).not.toContain('\nWork: ');
    git(world.repo, 'merge', '--quiet', '--ff-only', 'signalbox/main');
    const again = (await world.cli('run', 'p')).out;
    expect(again).toContain('\nWork: 2 merged\n');
    expect(again).not.toContain('Your checkout was left');
  });
});

describe.concurrent('a name that is no plan', () => {
  it('is taken for a slip in that of a plan before it is taken for an issue', async ({ world }) => {
    setUp(world);
    world.plan('slow', { tickets: { a: {} } });
    const ended = await world.cli('run', 'slow-3');
    expect(ended.code).not.toBe(0);
    expect(ended.err).toContain(
      '"slow-3" is neither a plan nor an issue reference. Did you mean the plan "slow"?',
    );
  });

  it('is a slip in that of an issue file where there is one', async ({ world }) => {
    mkdirSync(join(world.repo, 'issues'));
    writeFileSync(join(world.repo, 'issues', 'alpha-1.md'), '# Alpha\n');
    const { err } = await world.invoke(['run', 'alpha-1'], {}, world.repo).ended;
    // The key of a tracker that looks like it was not meant.
    expect(err).toMatch(/ issue reference\.\n {3}Did you mean: signalbox run issues\/alpha-1\.md\n/);
    const folder = await world.invoke(['run', 'issues'], {}, world.repo).ended;
    expect(folder.err).toMatch(
      /issues is a directory, not an issue\.\n {3}Name its Markdown files: issues\/\*\.md\. /,
    );
    const missing = await world.invoke(['run', 'alpah.md'], {}, world.repo).ended;
    expect(missing.err).toMatch(/There is no file .*alpah\.md\.\n {3}Check the path\.\n$/);
  });

  it('shows the plans that there are, also before names of tickets', async ({ world }) => {
    setUp(world);
    expect(refusal(await world.cli('run', 'sprint-13', 'X'))).toMatch(
      /^❌ "sprint-13" is neither a plan nor an issue reference\. .*\n {3}Plans: p\.\n {3}Name an issue as 12, /,
    );
    world.plan('sprint-12', { tickets: { X: {} } });
    expect(refusal(await world.cli('run', 'sprint-13', 'X'))).toMatch(
      /Did you mean the plan "sprint-12"\?\n {3}Plans: p, sprint-12\./,
    );
  });
});
