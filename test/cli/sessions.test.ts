import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect } from 'vitest';
import { isRunning } from '../support/index.ts';
import { DONE, errorIn, git, it, linesOf, refusal, type Shown, type World, waitFor } from './support.ts';

const FIXTURES = fileURLToPath(new URL('./fixtures', import.meta.url));

interface Call {
  args: string[];
  cwd: string;
  branch: string;
  fromConfig: string | null;
  pid: number;
}

interface Session {
  phase: string;
  agent: string;
  status: string;
  sessionId: string;
}

/** A plan whose ticket has worked with the fixture `claude` in two phases and waits for a person now. */
async function worked(world: World): Promise<Session[]> {
  world.terminal = true;
  world.agent('agent', 'commit');
  world.config({
    agents: { claude: { command: join(FIXTURES, 'claude'), env: { FROM_CONFIG: 'a secret' } } },
  });
  world.workflow('work', [
    { id: 'build', type: 'agent', agent: 'claude', prompt: 'Build.', onSuccess: 'review' },
    { id: 'review', type: 'agent', agent: 'claude', prompt: 'Review.', onSuccess: 'ask' },
    { id: 'ask', type: 'gate', prompt: 'Good?', on: { yes: 'last', no: 'done' } },
    { id: 'last', type: 'agent', agent: 'agent', prompt: 'End.', onSuccess: 'done' },
    DONE,
  ]);
  world.plan('p', { tickets: { a: {} } });
  await world.cli('run', 'p');
  expect(world.ticket('p', 'a')).toMatchObject({
    status: 'needs_attention',
    hold: { kind: 'gate', reason: 'Good? (yes | no)' },
  });
  return world.json<Session[]>('sessions', 'p', 'a');
}

function callsOf(world: World): (Call | string)[] {
  const file = join(world.dir, 'calls');
  return existsSync(file) ? linesOf(world.read('calls')) : [];
}

function variables(world: World, more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
  return { CLAUDE_CALLS: join(world.dir, 'calls'), ...more };
}

describe.concurrent('sessions', () => {
  it('are listed, of one phase or of all', async ({ world }) => {
    const all = await worked(world);
    expect(all.map(({ phase, agent, status }) => [phase, agent, status])).toEqual([
      ['build', 'claude', 'success'],
      ['review', 'claude', 'success'],
    ]);
    const { out, code } = await world.cli('sessions', 'p', 'a');
    expect(code).toBe(0);
    for (const { phase, sessionId } of all)
      expect(out).toMatch(new RegExp(`\\d\\. +${phase} +success .* ${sessionId}`));
    expect(out).toContain('signalbox resume-session p a <session>');
    expect(await world.json('sessions', 'p', 'a', '--phase', 'review')).toEqual(all.slice(1));
    expect((await world.cli('sessions', 'p', 'a', '--phase', 'last')).out).toBe(
      'p/a has no sessions of phase last yet.\n',
    );
    for (const [verb, phase] of [
      ['sessions', 'bogus'],
      ['resume-session', 'bogus'],
      ['resume-session', 'last'],
    ] as const) {
      const ended = await world.cli(verb, 'p', 'a', '--phase', phase);
      expect(ended.code, verb).toBe(2);
      expect(refusal(ended)).toBe(
        `❌ p/a has no session of phase "${phase}".\n   It has sessions of: build, review.\n`,
      );
    }
  });
});

describe.concurrent('resume-session', () => {
  it('is refused for an agent whose sessions are in a sandbox', async ({ world }) => {
    await worked(world);
    world.config({ agents: { claude: { command: join(FIXTURES, 'claude'), sandbox: 'bwrap' } } });
    const { code, err } = await world.cli('resume-session', 'p', 'a');
    expect(code).not.toBe(0);
    expect(err).toContain('works in a sandbox, and its sessions stay there');
    expect(err).toContain('signalbox logs p a --phase review');
  });

  it('starts the agent on the latest session, in the ticket’s worktree and on its branch', {
    tags: 'full',
  }, async ({ world }) => {
    const [build, review] = await worked(world);
    expect((await world.cli('workspace', 'release', 'p', 'a')).code).toBe(0);
    expect(existsSync(world.worktree('p', 'a'))).toBe(false);
    const ended = await world.invoke(['resume-session', 'p', 'a'], variables(world, { CLAUDE_EXIT: '5' }))
      .ended;
    expect(ended.code).toBe(5);
    expect(ended.out).toContain(
      `Session ${review?.sessionId} of p/a (review) in ${world.worktree('p', 'a')}\np/a waits until you leave this session.\n`,
    );
    expect(callsOf(world)).toMatchObject([
      {
        args: ['--resume', review?.sessionId],
        cwd: world.worktree('p', 'a'),
        branch: 'ticket/p/a',
        fromConfig: 'a secret',
      },
    ]);
    expect(world.ticket('p', 'a').claim).toBeNull();

    await world.invoke(['resume-session', 'p', 'a', '--phase', 'build'], variables(world)).ended;
    await world.invoke(['resume-session', 'p', 'a', review?.sessionId ?? ''], variables(world)).ended;
    const sessions = (callsOf(world) as Call[]).map(({ args }) => args[1]);
    expect(sessions.slice(1)).toEqual([build?.sessionId, review?.sessionId]);
  });

  it('needs a terminal, and makes no worktree without one', async ({ world }) => {
    await worked(world);
    await world.cli('workspace', 'release', 'p', 'a');
    world.terminal = false;
    const ended = await world.invoke(['resume-session', 'p', 'a'], variables(world)).ended;
    expect(ended.code).toBe(2);
    expect(refusal(ended)).toBe(
      '❌ resume-session needs a terminal.\n   Read the session here with: signalbox logs p a --phase review\n',
    );
    expect(existsSync(world.worktree('p', 'a'))).toBe(false);
    expect(callsOf(world)).toEqual([]);
  });

  it('leaves no worktree behind that it made, and one that was there before', { tags: 'full' }, async ({
    world,
  }) => {
    await worked(world);
    await world.invoke(['resume-session', 'p', 'a'], variables(world)).ended;
    expect(existsSync(world.worktree('p', 'a'))).toBe(true);
    await world.cli('workspace', 'release', 'p', 'a');
    await world.invoke(['resume-session', 'p', 'a'], variables(world)).ended;
    expect(callsOf(world)).toHaveLength(2);
    expect(existsSync(world.worktree('p', 'a'))).toBe(false);
  });

  it('holds the ticket meanwhile: a run does not take it, and no second person gets in', {
    tags: 'full',
  }, async ({ world }) => {
    await worked(world);
    const go = join(world.dir, 'go', 'claude');
    const person = world.start(['resume-session', 'p', 'a'], variables(world, { CLAUDE_GO: go }));
    await waitFor('the agent', () => callsOf(world).length > 0);
    const paused = await world.cli('pause', 'p', 'a');
    expect(paused.code).toBe(3);
    expect(refusal(paused)).toContain(`p/a is held by session (pid ${person.pid} on `);
    expect((await world.cli('respond', 'p', 'a', 'yes')).code).toBe(0);
    const run = world.start(['run', 'p']);
    const second = await world.cli('resume-session', 'p', 'a');
    expect(second.code).toBe(3);
    expect(refusal(second)).toContain(`p/a is driven by session (pid ${person.pid} on `);
    const { tickets } = await world.json<Shown>('status', '--plan', 'p');
    expect(tickets[0]).toMatchObject({ status: 'ready', claim: { by: 'session', pid: person.pid } });
    expect(world.calls('start', { attempt: 'last.1.1' })).toEqual([]);

    writeFileSync(go, '');
    expect((await person.ended).code).toBe(0);
    expect((await run.ended).code).toBe(0);
    expect(world.calls('start', { attempt: 'last.1.1' })).toHaveLength(1);
  });

  it('holds the ticket as long as its agent lives, also when it was killed itself', { tags: 'full' }, async ({
    world,
    onTestFailed,
  }) => {
    await worked(world);
    const go = join(world.dir, 'go', 'claude');
    onTestFailed(() => writeFileSync(go, ''));
    // Nobody says when a process ends whose parent is gone.
    world.config({ pollInterval: 1 });
    const more = { CLAUDE_GO: go, CLAUDE_STAYS: '1' };
    const person = world.start(['resume-session', 'p', 'a'], variables(world, more));
    await waitFor('the agent', () => callsOf(world).length > 0);
    const { pid } = callsOf(world)[0] as Call;
    await world.reaches('p', 'a', (ticket) => ticket.claim?.agent?.pid === pid);
    process.kill(person.pid, 'SIGKILL');
    await waitFor('the kill', () => !isRunning(person.pid));
    expect((await world.cli('status', '--plan', 'p')).out).toContain(
      `Good? (yes | no); a person is in its session (pid ${pid})`,
    );
    const second = await world.cli('resume-session', 'p', 'a');
    expect(second.code).toBe(3);
    expect(refusal(second)).toContain(`leave that first (process ${pid}).`);
    for (const verb of ['archive', 'delete']) {
      const refused = await world.cli('plan', verb, 'p');
      expect(refused.code, verb).toBe(1);
      expect(refusal(refused)).toContain('A person is in a session of a of plan "p".');
      expect(refused.err).toContain(`leave that first (process ${pid}).`);
    }
    expect((await world.cli('respond', 'p', 'a', 'yes')).code).toBe(0);
    expect((await world.cli('status', '--plan', 'p')).out).toContain(
      `a person is in its session (pid ${pid})`,
    );
    const run = world.start(['run', 'p']);
    await waitFor('the run', () => world.readPlan('p').claim);
    expect((await world.cli('tick')).code).toBe(0);
    expect(world.calls('start', { attempt: 'last.1.1' })).toEqual([]);
    writeFileSync(go, '');
    await waitFor('its end', () => !isRunning(pid));
    const { code, out, err } = await run.ended;
    expect(code, out + err).toBe(0);
    expect(world.calls('start', { attempt: 'last.1.1' })).toHaveLength(1);
  });

  it('starts no agent that nobody would know of, when it is killed before it could note it', async ({
    world,
  }) => {
    await worked(world);
    const env = variables(world, { SIGNALBOX_CRASH_AT: 'session:waits' });
    expect((await world.start(['resume-session', 'p', 'a'], env).ended).signal).toBe('SIGKILL');
    expect(world.ticket('p', 'a').claim).toMatchObject({ by: 'session' });
    expect(world.ticket('p', 'a').claim).not.toHaveProperty('agent');
    // Whoever comes next is the only one in the worktree.
    await world.invoke(['resume-session', 'p', 'a'], variables(world)).ended;
    expect(callsOf(world)).toHaveLength(1);
  });

  it('leaves Ctrl-C to the agent and the ticket held until the agent is gone', { tags: 'full' }, async ({
    world,
  }) => {
    await worked(world);
    const go = join(world.dir, 'go', 'claude');
    const person = world.start(['resume-session', 'p', 'a'], variables(world, { CLAUDE_GO: go }));
    await waitFor('the agent', () => callsOf(world).length > 0);
    process.kill(person.pid, 'SIGINT');
    expect(world.ticket('p', 'a').claim?.pid).toBe(person.pid);
    expect((await world.cli('workspace', 'release', 'p', 'a')).code).toBe(3);
    expect(person.alive).toBe(true);
    writeFileSync(go, '');
    expect((await person.ended).code).toBe(0);
    expect(world.ticket('p', 'a').claim).toBeNull();
  });

  it('prints the launch as JSON and starts nothing; values of variables stay secret', async ({ world }) => {
    const [, review] = await worked(world);
    const { out, code } = await world.invoke(['resume-session', 'p', 'a', '--json'], variables(world)).ended;
    expect(code).toBe(0);
    expect(JSON.parse(out)).toEqual({
      sessionId: review?.sessionId,
      phase: 'review',
      agent: 'claude',
      argv: [join(FIXTURES, 'claude'), '--resume', review?.sessionId],
      env: { FROM_CONFIG: '***' },
      cwd: world.worktree('p', 'a'),
    });
    expect(callsOf(world)).toEqual([]);
    expect(world.ticket('p', 'a').claim).toBeNull();
  });

  it('refuses when the worktree is on another branch, and starts nothing', async ({ world }) => {
    await worked(world);
    git(world.worktree('p', 'a'), 'switch', '--quiet', '--create', 'elsewhere');
    const ended = await world.invoke(['resume-session', 'p', 'a'], variables(world)).ended;
    expect(ended.code).toBe(1);
    expect(ended.err).toContain('is taken by a worktree on branch elsewhere');
    expect(ended.err).toContain(`git -C ${world.worktree('p', 'a')} switch ticket/p/a`);
    expect(callsOf(world)).toEqual([]);
    expect(world.ticket('p', 'a').claim).toBeNull();
  });

  it('refuses a session it does not know, a ticket without any, and an agent that cannot or is not there', {
    tags: 'full',
  }, async ({ world }) => {
    const [build, review] = await worked(world);
    const unknown = await world.cli('resume-session', 'p', 'a', 'nope');
    expect(unknown.code).toBe(2);
    expect(refusal(unknown)).toContain(`Its sessions: ${build?.sessionId}, ${review?.sessionId}.`);
    world.plan('q', { agent: 'rehearsal', workflow: 'minimal', tickets: { b: {}, c: {} } });
    await world.cli('run', 'q', 'b');
    const cannot = await world.cli('resume-session', 'q', 'b', '--json');
    expect(cannot.code).toBe(1);
    expect(errorIn(cannot)).toMatchObject({
      code: 'session/agent',
      hint: 'Read it instead: signalbox logs q b --phase implement',
    });
    expect((await world.cli('resume-session', 'q', 'c')).err).toContain('q/c has no session yet.');
    const here = world.ticket('p', 'a');
    world.writeTicket('p', 'a', { ...here, machine: { host: 'build-2', state: '/state' } });
    expect(errorIn(await world.cli('resume-session', 'p', 'a', '--json'))).toMatchObject({
      code: 'session/elsewhere',
      hint: 'Run there: signalbox resume-session p a',
    });
    world.writeTicket('p', 'a', { ...here });

    world.config({ agents: { claude: { command: 'no-such-claude', adapter: 'claude' } } });
    const absent = await world.cli('resume-session', 'p', 'a');
    expect(absent.code).toBe(2);
    expect(absent.err).toContain('Agent "claude": no-such-claude cannot be started');
    expect(absent.err).toContain('signalbox doctor');
    expect(world.ticket('p', 'a').claim).toBeNull();
  });
});
