import { describe, expect } from 'vitest';
import type { Ticket } from '../../src/model/ticket.ts';
import { git, it, story, type World } from '../support/index.ts';

const usage = (costUsd: number) => ({ usage: { inputTokens: 100, outputTokens: 10, costUsd } });
const FINISH = [{ write: { path: 'rest.txt', text: 'x' } }, { commit: 'The rest' }, usage(0.5)];

function prepare(world: World, rules: unknown[]): void {
  world.rehearsal(rules);
  world.workflow('work', [
    { id: 'build', type: 'agent', prompt: 'Build.', expect: { commits: true }, onFailure: 'person' },
    { id: 'person', type: 'terminal', notify: true },
  ]);
  world.config({ defaultAgent: 'rehearsal' });
}

const isBroke = (ticket: Ticket) => ticket.hold?.kind === 'budget' && ticket.claim === null;

function raise(world: World, planId: string, ticketId: string, budget: Record<string, number>): void {
  world.writeTicket(planId, ticketId, { ...world.ticket(planId, ticketId), budget });
}

describe('a budget', () => {
  it.concurrent('stops an agent while it works, asks it to commit, and goes on in its session once raised', async ({
    world,
  }) => {
    prepare(world, [
      {
        when: { resumed: false },
        do: [{ write: { path: 'half.txt', text: 'x' } }, usage(1), usage(2.5), { hang: {} }],
      },
      { when: { attempt: 1 }, do: [{ commit: 'What is done' }, usage(0.25)] },
      { when: {}, do: FINISH },
    ]);
    world.plan('p', { tickets: { a: { budget: { usd: 2 } } } });
    const first = await world.cli('run', 'p');
    expect(first.code).toBe(1);
    const held = world.ticket('p', 'a');
    expect(held).toMatchObject({
      status: 'ready',
      hold: { kind: 'budget', reason: 'the ticket’s budget is used up: $2.75 of $2.00', until: null },
      retries: {},
    });
    expect(story(held)).toEqual(['build interrupted']);
    expect(held.phaseHistory[0]).toMatchObject({ usage: { costUsd: 2.75 }, error: { class: 'budget' } });
    expect(git(world.worktree('p', 'a'), 'log', '-1', '--format=%s').trim()).toBe('What is done');
    expect(world.promptOf('p', 'a', 'build.1.1.landing')).toContain('Commit what is done');
    expect((await world.cli('status', '--plan', 'p')).out).toContain('goes on when the budget is raised');

    expect((await world.cli('run', 'p')).code).toBe(1);
    expect(world.ticket('p', 'a').phaseHistory).toHaveLength(1);
    raise(world, 'p', 'a', { usd: 20 });
    expect((await world.cli('run', 'p')).code).toBe(0);
    const done = world.ticket('p', 'a');
    expect(story(done)).toEqual(['build interrupted', 'build success']);
    expect(done.phaseHistory[1]?.sessionId).toBe(done.phaseHistory[0]?.sessionId);
  });

  it.concurrent('asks nothing more of an agent that has left nothing uncommitted', async ({ world }) => {
    prepare(world, [{ when: {}, do: [usage(9), { hang: {} }] }]);
    world.plan('p', { tickets: { a: { budget: { tokens: 50 } } } });
    expect((await world.cli('run', 'p')).code).toBe(1);
    expect(world.ticket('p', 'a').hold?.reason).toBe(
      'the ticket’s budget is used up: 110 tokens of 50 tokens',
    );
    expect(world.jobDirs().map((dir) => dir.split('/').at(-1))).toEqual(['build.1.1']);
  });

  it.concurrent('of a plan is one for all its tickets, and other plans go on', async ({ world }) => {
    prepare(world, [{ when: {}, do: FINISH }]);
    world.config({ maxConcurrency: 1 });
    world.plan('p', { budget: { usd: 1 }, tickets: { a: {}, b: { order: 1 }, c: { order: 2 } } });
    world.plan('q', { tickets: { d: {} } });
    expect((await world.cli('run', 'p')).code).toBe(1);
    expect((await world.cli('run', 'q')).code).toBe(0);
    const states = ['a', 'b', 'c']
      .map((id) => world.ticket('p', id))
      .map((each) => each.hold?.kind ?? each.status);
    expect(states).toEqual(['complete', 'complete', 'budget']);
    world.editPlan('p', (plan) => Object.assign(plan, { budget: { usd: 5 } }));
    expect((await world.cli('run', 'p')).code).toBe(0);
  });

  it.concurrent('of a day ends with it, and status says when', async ({ world }) => {
    prepare(world, [{ when: {}, do: FINISH }]);
    world.config({ maxConcurrency: 1, budgets: { day: { launches: 1 } } });
    world.plan('p', { tickets: { a: {}, b: { order: 1 } } });
    const run = world.start(['run', 'p']);
    const held = await world.reaches('p', 'b', isBroke);
    const midnight = new Date(`${new Date().toISOString().slice(0, 10)}T00:00:00Z`).getTime() + 86_400_000;
    expect(held.hold).toMatchObject({
      reason: 'today’s budget is used up: 1 launch of 1 launch',
      until: new Date(midnight).toISOString(),
    });
    expect(run.alive).toBe(true);
    await run.kill('SIGTERM');
  });

  it.concurrent('of time ends an attempt that takes longer', async ({ world }) => {
    prepare(world, [{ when: {}, do: [{ hang: {} }] }]);
    world.workflow('work', [{ id: 'build', type: 'agent', prompt: 'Build.', budget: { seconds: 1 } }]);
    world.plan('p', { tickets: { a: {} } });
    expect((await world.cli('run', 'p')).code).toBe(1);
    expect(world.ticket('p', 'a')).toMatchObject({
      status: 'ready',
      hold: { kind: 'budget', reason: 'the phase’s budget is used up: 1 s of 1 s' },
    });
  });

  it.concurrent('blocks on request when nobody knows what an agent used', async ({ world }) => {
    prepare(world, []);
    world.agent('agent', 'commit');
    world.workflow('work', [
      { id: 'build', type: 'agent', prompt: 'Build.', onSuccess: 'review' },
      { id: 'review', type: 'agent', prompt: 'Review.' },
    ]);
    world.config({ budgets: { ticket: { usd: 5 }, unknown: 'block' } });
    world.plan('p', { tickets: { a: {} } });
    expect((await world.cli('run', 'p')).code).toBe(1);
    expect(world.ticket('p', 'a').hold).toMatchObject({
      kind: 'budget',
      reason: expect.stringContaining('nobody knows what build#1#1 cost'),
    });
    world.config({ budgets: { ticket: { usd: 5 } } });
    expect((await world.cli('run', 'p')).code).toBe(0);
  });
});
