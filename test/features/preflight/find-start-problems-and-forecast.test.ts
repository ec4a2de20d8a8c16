import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { Attempt } from '../../../src/model/ticket-schema.ts';
import { IssueWorld } from '../../cli/issue-world.ts';
import { git, it, type World, worktreesOf } from '../../support/index.ts';
import { Bench } from '../pull-requests/bench.ts';
import { tasks, writeSpec } from '../spec-runs/support.ts';
import { BUILD, branchesOf, program } from './support.ts';

/** Plans that are stored. */
function plansOf(world: World): string[] {
  const dir = join(world.stateDir, 'plans');
  return existsSync(dir) ? readdirSync(dir) : [];
}

/** Nothing of a run exists: no branch, no worktree, no event, no attempt. */
function expectNothing(world: World): void {
  expect(branchesOf(world)).toEqual(['main']);
  expect(worktreesOf(world.repo)).toEqual([]);
  expect(world.events('p')).toEqual([]);
  expect(world.ticket('p', 'a')).toMatchObject({ status: 'queued', phaseHistory: [], claim: null });
  expect(world.calls('start')).toEqual([]);
}

describe.concurrent('before a plan is run', () => {
  it('an agent that is not installed is an error with exit code 2, and nothing is created', async ({
    world,
  }) => {
    world.config({ agents: { gone: { adapter: 'custom', command: '/nowhere/agent' } } });
    world.workflow('work', [BUILD]);
    world.plan('p', { tickets: { a: { agent: 'gone' } } });
    const { code, err } = await world.cli('run', 'p');
    expect({ code, err }).toEqual({
      code: 2,
      err: expect.stringMatching(
        /^❌ Agent gone: \/nowhere\/agent not found\.\n {3}Install it, or correct agents/,
      ),
    });
    expectNothing(world);
  });

  it('an agent that is too old is an error, also when only a later phase uses it', async ({ world }) => {
    world.agent('agent', 'commit');
    const env = program(world, 'claude', '[ "$1" = --version ] && echo "2.0.0 (Claude Code)"');
    world.workflow('work', [
      { ...BUILD, onSuccess: 'review' },
      { id: 'review', type: 'agent', agent: 'claude', prompt: 'Review.' },
    ]);
    world.plan('p', { tickets: { a: {} } });
    const { code, err } = await world.invoke(['run', 'p'], { ...env, ANTHROPIC_API_KEY: 'some' }).ended;
    expect({ code, err }).toEqual({
      code: 2,
      err: expect.stringMatching(
        /^❌ Agent claude: .*\/claude is version 2\.0\.0; 2\.1\.41 or newer is needed\.\n {3}Update it: npm install/,
      ),
    });
    expectNothing(world);
  });

  it('an agent that is only a fallback is a warning, where a phase allows it', async ({ world }) => {
    world.config({
      agents: {
        agent: { adapter: 'custom', command: world.agent('agent', 'commit'), fallback: 'spare' },
        spare: { adapter: 'custom', command: '/nowhere/spare', fallback: 'agent' },
      },
    });
    world.workflow('work', [BUILD]);
    world.workflow('own', [{ ...BUILD, fallback: false }]);
    world.plan('p', { tickets: { a: { agent: 'agent' } } });
    world.plan('q', { workflow: 'own', tickets: { a: { agent: 'agent' } } });
    const warning = 'Agent spare of agents.agent.fallback: /nowhere/spare not found.';
    const { code, out, err } = await world.cli('run', 'p');
    expect(out + err).toContain(warning);
    expect(code).toBe(0);
    const other = await world.cli('run', 'q');
    expect(other.out + other.err).not.toContain('spare');
  });

  it('an agent that no setting knows is an error', async ({ world }) => {
    world.agent('agent', 'commit');
    world.workflow('work', [BUILD]);
    world.plan('p', { tickets: { a: { agent: 'agnet' } } });
    const { code, err } = await world.cli('run', 'p');
    expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining('did you mean "agent"') });
    expectNothing(world);
  });

  it('only agents of tickets and phases that are still to come count', async ({ world }) => {
    world.agent('agent', 'commit');
    world.config({ agents: { gone: { adapter: 'custom', command: '/nowhere/agent' } } });
    world.workflow('work', [
      { ...BUILD, onSuccess: 'more' },
      { ...BUILD, id: 'more', agent: 'gone' },
    ]);
    world.plan('p', { tickets: { a: { skipPhases: ['more'] }, b: { agent: 'gone', status: 'complete' } } });
    world.go();
    expect((await world.cli('run', 'p')).code).toBe(0);
  });

  it('a missing git identity is an error', async ({ world }) => {
    world.agent('agent', 'commit');
    world.workflow('work', [BUILD]);
    world.plan('p', { tickets: { a: {} } });
    const nameless = join(world.dir, 'nameless');
    writeFileSync(nameless, '[user]\n\tuseConfigOnly = true\n');
    const env = {
      ...{ GIT_CONFIG_GLOBAL: nameless, GIT_AUTHOR_NAME: '', GIT_AUTHOR_EMAIL: '' },
      ...{ GIT_COMMITTER_NAME: '', GIT_COMMITTER_EMAIL: '' },
    };
    const { code, err } = await world.invoke(['run', 'p'], env).ended;
    expect({ code, err }).toEqual({
      code: 2,
      err: expect.stringContaining('❌ Git: nothing can be committed in'),
    });
    expect(err).toContain('git config --global user.email');
    expectNothing(world);
    const doctor = await world.invoke(['doctor'], env, world.repo).ended;
    expect(doctor).toMatchObject({
      code: 1,
      out: expect.stringMatching(/✗ git +nothing can be committed in/),
    });
  });

  it('a path that something else has is an error; one of the ticket itself is not', async ({ world }) => {
    world.agent('agent', 'go; commit');
    world.workflow('work', [BUILD]);
    world.plan('p', { tickets: { a: {} } });
    mkdirSync(world.worktree('p', 'a'), { recursive: true });
    writeFileSync(join(world.worktree('p', 'a'), 'mine.txt'), 'mine');
    const { code, err } = await world.cli('run', 'p');
    expect({ code, err }).toEqual({
      code: 2,
      err: expect.stringContaining('❌ Worktree of a: The worktree path'),
    });
    expectNothing(world);
    world.remove(world.worktree('p', 'a'));
    await world.cli('workspace', 'ensure', 'p', 'a');
    world.go();
    expect((await world.cli('run', 'p')).code).toBe(0);
  });
});

describe.concurrent('before issues or a spec are run', () => {
  it('an issue run that is not ready ends with 2, and leaves no plan, branch, worktree or log', async ({
    world,
  }) => {
    world.config({ agents: { gone: { adapter: 'custom', command: '/nowhere/agent' } } });
    const issues = new IssueWorld(world).write('a.md', '# A\n');
    const { code, err } = await issues.cli('run', 'a.md', '--no-pr', '--agent', 'gone');
    expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining('❌ Agent gone: /nowhere/agent') });
    expect(plansOf(world)).toEqual([]);
    expect(branchesOf(world)).toEqual(['main']);
    expect(worktreesOf(world.repo)).toEqual([]);
    expect(existsSync(join(world.repo, '.signalbox'))).toBe(false);
  });

  it('an issue run with a pull request needs gh before the first agent; with --no-pr it does not', {
    tags: 'full',
  }, async ({ world }) => {
    const bench = new Bench(world);
    world.agent('agent', 'go; commit');
    const issues = new IssueWorld(world, bench.env).write('a.md', '# A\n');
    git(world.repo, 'push', '--quiet', 'origin', 'main');
    bench.gh.change((state) => {
      state.loggedIn = false;
    });
    const refused = await issues.cli('run', 'a.md', '--phases', 'exec');
    expect(refused).toMatchObject({ code: 2, err: expect.stringContaining('not logged in to github.com') });
    expect(plansOf(world)).toEqual([]);
    world.go();
    expect((await issues.cli('run', 'a.md', '--phases', 'exec', '--no-pr')).code).toBe(0);
  });

  it('a spec run that is not ready ends with 5, and leaves no plan, branch or worktree', async ({
    world,
  }) => {
    world.config({ agents: { gone: { adapter: 'custom', command: '/nowhere/agent' } } });
    const dir = writeSpec(world, tasks('One'));
    const { code, err } = await world.cli('spec', dir, '--backend', 'gone');
    expect({ code, err }).toEqual({ code: 5, err: expect.stringContaining('❌ Agent gone: /nowhere/agent') });
    expect(plansOf(world)).toEqual([]);
    expect(branchesOf(world)).toEqual(['main']);
    expect(worktreesOf(world.repo)).toEqual([]);
  });
});

describe.concurrent('in a daemon', () => {
  it('a plan that is not ready is held alone, says why, and starts when that is fixed', async ({ world }) => {
    const command = world.agent('late', 'go; commit');
    world.agent('agent', 'go; commit');
    world.config({ pollInterval: 0.2 });
    world.remove(command);
    world.workflow('work', [BUILD]);
    world.plan('bad', { tickets: { a: { agent: 'late' } } });
    world.plan('good', { tickets: { a: {} } });
    world.go();
    const daemon = world.invoke(['daemon']);
    await world.reaches('good', 'a', 'complete');
    const held = await world.reaches('bad', 'a', ({ hold }) => hold);
    expect(held).toMatchObject({ status: 'ready', phaseHistory: [], claim: null });
    expect(held.hold).toMatchObject({
      kind: 'broken',
      reason: `Agent late: ${command} not found. Install it, or correct agents.late.command.`,
    });
    expect((await world.cli('status', '--plan', 'bad')).out).toContain('Agent late:');
    expect(world.exists('worktrees/ticket/bad/a')).toBe(false);
    world.agent('late', 'go; commit');
    await world.reaches('bad', 'a', 'complete');
    await daemon.kill('SIGTERM');
  });

  it('a ticket that is added to a plan at work is checked before it starts', async ({ world }) => {
    world.agent('agent', 'go; commit');
    world.config({
      pollInterval: 0.2,
      agents: { gone: { adapter: 'custom', command: '/nowhere/agent' } },
    });
    world.workflow('work', [BUILD]);
    world.workflow('reviewed', [
      { ...BUILD, onSuccess: 'review' },
      { id: 'review', type: 'agent', agent: 'gone', prompt: 'Review.' },
    ]);
    world.plan('p', { tickets: { a: {} } });
    const daemon = world.invoke(['daemon']);
    await world.call('start', { ticket: 'p/a' });
    const added = ['plan', 'add', 'p', 'b', '--title', 'B', '--agent', 'agent', '--workflow', 'reviewed'];
    expect((await world.cli(...added)).code).toBe(0);
    const held = await world.reaches('p', 'b', ({ hold }) => hold);
    expect(held.hold?.reason).toContain('Agent gone: /nowhere/agent not found.');
    expect(held.phaseHistory).toEqual([]);
    world.go();
    await world.reaches('p', 'a', 'complete');
    await daemon.kill('SIGTERM');
  });

  it('a plan at work is checked again when the settings have changed', async ({ world }) => {
    world.agent('agent', 'go; commit');
    world.config({ pollInterval: 0.2 });
    world.workflow('work', [BUILD]);
    world.plan('p', { tickets: { a: {}, b: { blockedBy: ['a'] } } });
    const daemon = world.invoke(['daemon']);
    await world.call('start', { ticket: 'p/a' });
    world.config({ pollInterval: 0.2, agents: { agent: { adapter: 'custom', command: '/nowhere/agent' } } });
    await daemon.says('The settings have changed.');
    world.go();
    const held = await world.reaches('p', 'b', ({ hold }) => hold?.kind === 'broken');
    expect(held.hold?.reason).toContain('Agent agent: /nowhere/agent not found.');
    expect(held.phaseHistory).toEqual([]);
    await daemon.kill('SIGTERM');
  });

  it('tick starts what is ready and holds the rest', async ({ world }) => {
    world.agent('agent', 'go; commit');
    world.config({ agents: { gone: { adapter: 'custom', command: '/nowhere/agent' } } });
    world.workflow('work', [BUILD]);
    world.plan('bad', { tickets: { a: { agent: 'gone' } } });
    world.plan('good', { tickets: { a: {} } });
    world.go();
    await world.cli('tick');
    expect(world.ticket('good', 'a').status).toBe('complete');
    expect(world.ticket('bad', 'a')).toMatchObject({ status: 'ready', hold: { kind: 'broken' } });
    // A run asks anew, and refuses.
    expect((await world.cli('run', 'bad')).code).toBe(2);
  });
});

describe.concurrent('before a workflow with pull requests is run', () => {
  const OPEN = [
    { ...BUILD, onSuccess: 'open' },
    { id: 'open', type: 'action', action: 'pull-request' },
  ];

  it('a repository without origin is an error', async ({ world }) => {
    world.agent('agent', 'commit');
    world.workflow('work', OPEN);
    world.plan('p', { tickets: { a: {} } });
    const { code, err } = await world.cli('run', 'p');
    expect({ code, err }).toEqual({
      code: 2,
      err: expect.stringMatching(
        /^❌ Origin: .* has no remote called origin to push to\.\n.* remote add origin/,
      ),
    });
    expectNothing(world);
  });

  it('an origin that is not on GitHub is an error that names a way without pull requests', async ({
    world,
  }) => {
    const bench = new Bench(world);
    world.agent('agent', 'commit');
    world.workflow('work', OPEN);
    world.plan('p', { tickets: { a: {} } });
    const env = { ...bench.env, ...bench.overSsh('git@gitlab.com:acme/web.git') };
    expect(await world.invoke(['run', 'p'], env).ended).toMatchObject({
      code: 2,
      err: expect.stringMatching(
        /^❌ GitHub: origin of \S+ is not on GitHub, so no pull request can be opened\.?\n {3}Push to GitHub, or use a workflow without pull requests \(issue runs: --no-pr\)\.\n$/,
      ),
    });
  });

  it('a GitHub CLI that is missing or logged out is an error', async ({ world }) => {
    const bench = new Bench(world);
    world.agent('agent', 'commit');
    world.workflow('work', OPEN);
    world.plan('p', { tickets: { a: {} } });
    const run = () =>
      world.invoke(['run', 'p'], { ...bench.env, ...bench.overSsh('git@github.com:acme/web.git') }).ended;
    bench.gh.change((state) => {
      state.loggedIn = false;
    });
    expect(await run()).toMatchObject({
      code: 2,
      err: expect.stringContaining('❌ GitHub: The GitHub CLI is not logged in to github.com'),
    });
    world.config({ ghCommand: '/nowhere/gh' });
    expect(await run()).toMatchObject({
      code: 2,
      err: expect.stringMatching(
        /\(\/nowhere\/gh\) is not installed.*\n {3}Install it .* to where it is\. Do that, or use a/,
      ),
    });
    expect(branchesOf(world)).toEqual(['main']);
    expect(world.calls('start')).toEqual([]);
  });

  it('a network that is down is no error: it may be up when the work is pushed', async ({ world }) => {
    const bench = new Bench(world);
    world.agent('agent', 'go; commit');
    world.workflow('work', OPEN);
    world.plan('p', { tickets: { a: {} } });
    bench.gh.change((state) => {
      state.failures.push({ call: 'repo view', stderr: 'error connecting to api.github.com\n' });
    });
    world.go();
    const { code, out, err } = await world.invoke(['run', 'p'], bench.env).ended;
    expect(code, out + err).toBe(0);
    expect(bench.pulls()).toHaveLength(1);
  });
});

describe.concurrent('a dry run', () => {
  const EARLIER = [60, 90, 120].map((seconds, at) =>
    Attempt.parse({
      phase: 'build',
      visit: 1,
      attempt: at + 1,
      status: 'failure',
      startedAt: '2026-01-01T00:00:00.000Z',
      completedAt: new Date(Date.parse('2026-01-01T00:00:00.000Z') + seconds * 1000).toISOString(),
      agent: 'agent',
      usage: {
        inputTokens: 1,
        outputTokens: 1,
        cacheReadTokens: null,
        cacheWriteTokens: null,
        costUsd: seconds / 60,
      },
    }),
  );

  it('of a plan names mode, agent, models, forge and an estimate, and starts nothing', async ({ world }) => {
    world.agent('agent', 'commit');
    world.workflow('work', [
      { ...BUILD, model: 'opus', effort: 'high', onSuccess: 'open' },
      { id: 'open', type: 'action', action: 'pull-request' },
    ]);
    world.plan('p', { tickets: { a: {}, b: {} } });
    world.plan('old', { status: 'complete', tickets: { x: { status: 'complete', phaseHistory: EARLIER } } });
    const { code, out } = await world.cli('run', 'p', '--dry-run');
    expect(code).toBe(0);
    expect(out).toContain('Would run a: ');
    expect(out).toContain('\n  phases    build → open\n');
    expect(out).toContain(
      [
        '',
        'mode        parallel, at most 3 at once',
        'agent       agent',
        'models      build opus (effort high), others as the agent chooses',
        'forge       origin and gh, for open',
        'estimate    1m 0s to 4m 30s, $2.00 to $9.00, from no rework to the most so far',
        '',
      ].join('\n'),
    );
    expectNothing(world);
    expect((await world.cli('run', 'p', 'b', '--dry-run')).out).not.toContain('Would run a');
    expect((await world.cli('run', 'p', '--dry-run', '--json')).out).toContain('"mode": "parallel"');
  });

  it('of issues names labels that add phases', async ({ world }) => {
    const issues = new IssueWorld(world)
      .write('a.md', '---\nlabels: [Security, other, complex]\n---\n# A\n')
      .write('b.md', '# B\n');
    const { out } = await issues.cli('run', 'a.md', 'b.md', '--chain', '--dry-run');
    expect(out).toContain('\n  labels    Security, complex → security_review, the quality loop\n');
    expect(out.match(/ labels /g)).toHaveLength(1);
    expect(out).toContain('\nmode        chain, each from the branch of the one before\n');
    expect(out).toContain(
      '\nestimate    none: it needs three earlier attempts of the same phase and agent\n',
    );
  });

  it('of a spec says the same', { tags: 'full' }, async ({ world }) => {
    const dir = writeSpec(world, tasks('One'));
    const { out } = await world.cli('spec', dir, '--dry-run');
    expect(out).toContain('\nmode        sequential, one at a time\n');
    expect(out).toContain('\nforge       not needed\n');
  });
});
