import { describe, expect } from 'vitest';
import type { Ticket } from '../../src/model/ticket.ts';
import { it, story, type World } from '../support/index.ts';
import { within } from '../support/within.ts';

const DONE = { when: {}, do: [{ write: { path: 'x.txt', text: 'x' } }, { commit: 'Done' }] };
const limit = (ticket: string, seconds: number, more: Record<string, unknown> = {}) => ({
  when: { ticket, resumed: false, ...more },
  do: [{ limit: { seconds, message: 'Five hours are over.' } }],
});

function prepare(world: World, rules: unknown[], phase: Record<string, unknown> = {}): void {
  world.rehearsal(rules);
  world.agent('other', 'commit');
  world.workflow('work', [
    { id: 'build', type: 'agent', prompt: 'Build.', expect: { commits: true }, ...phase },
  ]);
  world.config({ defaultAgent: 'rehearsal', maxConcurrency: 1 });
}

const isParked = (ticket: Ticket) => ticket.hold?.kind === 'limit' && ticket.claim === null;

describe('one limiter per account', () => {
  it.concurrent('what one ticket meets all others of that agent wait for, without being started', {
    tags: 'full',
  }, async ({ world }) => {
    prepare(world, [limit('first', Math.ceil(within(3_000) / 1000)), DONE]);
    world.plan('p', {
      tickets: { first: {}, second: { order: 1 }, elsewhere: { agent: 'other', order: 2 } },
    });
    const run = world.invoke(['run', 'p']);
    const first = await world.reaches('p', 'first', isParked);
    const second = await world.reaches('p', 'second', isParked);
    expect(second.hold?.until).toBe(first.hold?.until);
    expect(second).toMatchObject({ status: 'ready', phaseHistory: [] });
    await world.reaches('p', 'elsewhere', 'complete');
    const status = await world.cli('status', '--plan', 'p');
    expect(status.out.match(/usage limit: .*Five hours are over\. \(until /g)).toHaveLength(2);
    expect((await run.ended).code).toBe(0);
    const done = world.ticket('p', 'second');
    expect(story(done)).toEqual(['build success']);
    expect(Date.parse(done.phaseHistory[0]?.startedAt ?? '')).toBeGreaterThanOrEqual(
      Date.parse(first.hold?.until ?? ''),
    );
  });

  it.concurrent('holds for tickets of other plans and survives a kill -9', { tags: 'full' }, async ({
    world,
  }) => {
    prepare(world, [limit('first', 600), DONE]);
    world.plan('p', { tickets: { first: {} } });
    const run = world.start(['run', 'p']);
    const first = await world.reaches('p', 'first', isParked);
    await run.kill('SIGKILL');
    world.plan('q', { tickets: { later: {} } });
    await world.cli('tick');
    expect(world.ticket('q', 'later')).toMatchObject({
      status: 'ready',
      phaseHistory: [],
      hold: { kind: 'limit', until: first.hold?.until, reason: 'rehearsal: Five hours are over.' },
    });
  });

  it.concurrent('agents that share an account share its limit', { tags: 'full' }, async ({ world }) => {
    prepare(world, [limit('first', 600), DONE]);
    world.agent('mine', 'commit', { account: 'team' });
    world.config({ agents: { rehearsal: { ...rehearsalEntry(world), account: 'team' } } });
    world.plan('p', { tickets: { first: {}, second: { agent: 'mine', order: 1 } } });
    const run = world.invoke(['run', 'p']);
    expect((await world.reaches('p', 'second', isParked)).phaseHistory).toEqual([]);
    await run.kill('SIGTERM');
    expect(world.calls()).toEqual([]);
  });

  it.concurrent('a fallback takes phases that allow it, at once', { tags: 'full' }, async ({ world }) => {
    prepare(world, [limit('*', 600), DONE]);
    world.config({ agents: { rehearsal: { ...rehearsalEntry(world), fallback: 'other' } } });
    world.workflow('strict', [{ id: 'build', type: 'agent', agent: 'rehearsal', prompt: 'Build.' }]);
    world.plan('p', { tickets: { first: {}, second: { order: 1 } } });
    expect((await world.cli('run', 'p')).code).toBe(0);
    const agents = (ticket: Ticket) => ticket.phaseHistory.map(({ agent, status }) => `${agent} ${status}`);
    expect(agents(world.ticket('p', 'first'))).toEqual(['rehearsal limit', 'other success']);
    expect(agents(world.ticket('p', 'second'))).toEqual(['other success']);
    world.plan('q', { workflow: 'strict', tickets: { named: {} } });
    const run = world.invoke(['run', 'q']);
    expect((await world.reaches('q', 'named', isParked)).phaseHistory).toEqual([]);
    await run.kill('SIGTERM');
  });

  it.concurrent('a retry tries all the same, and what gets through lifts the limit for everybody', {
    tags: 'full',
  }, async ({ world }) => {
    prepare(world, [limit('first', 600, { attempt: 1 }), DONE]);
    world.plan('p', { tickets: { first: {}, second: { order: 1 } } });
    const run = world.invoke(['run', 'p']);
    await world.reaches('p', 'second', isParked);
    expect((await world.cli('retry', 'p', 'second')).code).toBe(0);
    await world.reaches('p', 'second', 'complete');
    await world.reaches('p', 'first', 'complete');
    expect((await run.ended).code).toBe(0);
  });

  it.concurrent('an empty account is an error and is not waited for', async ({ world }) => {
    prepare(world, [{ when: {}, do: [{ fail: { class: 'billing', message: 'Your credit is used up.' } }] }]);
    world.plan('p', { tickets: { first: {}, second: { order: 1 } } });
    expect((await world.cli('run', 'p')).code).toBe(1);
    for (const id of ['first', 'second']) {
      expect(world.ticket('p', id)).toMatchObject({ status: 'failed', hold: null });
    }
  });
});

/** The entry that `world.rehearsal` wrote, to add something to it. */
function rehearsalEntry(world: World): Record<string, unknown> {
  const config = JSON.parse(world.read('home/config.yaml')) as {
    agents: Record<string, Record<string, unknown>>;
  };
  return config.agents.rehearsal ?? {};
}
