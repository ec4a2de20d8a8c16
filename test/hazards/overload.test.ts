import { describe, expect } from 'vitest';
import type { Ticket } from '../../src/model/ticket.ts';
import { it, story, type World } from '../support/index.ts';

function prepare(world: World, rules: unknown[]): void {
  world.rehearsal(rules);
  world.agent('other', 'commit');
  world.workflow('work', [
    { id: 'build', type: 'agent', prompt: 'Build.', expect: { commits: true }, maxRetries: 0 },
  ]);
  world.config({ defaultAgent: 'rehearsal', maxConcurrency: 1 });
}

const overloaded = (message: string) => ({ fail: { class: 'overloaded', message } });
const DONE = { when: {}, do: [{ write: { path: 'x.txt', text: 'x' } }, { commit: 'Done' }] };
const isHeld = (ticket: Ticket) => ticket.hold?.kind === 'overload' && ticket.claim === null;

describe('an overloaded provider', () => {
  it.concurrent('is waited for without a slot, and the session continues', async ({ world }) => {
    prepare(world, [
      { when: { ticket: 'busy', attempt: 1 }, do: [{ say: 'Working.' }, overloaded('Error 529.')] },
      { when: { ticket: 'busy', resumed: false }, do: [{ fail: { class: 'crash', message: 'no session' } }] },
      DONE,
    ]);
    world.plan('p', { tickets: { busy: {}, second: { agent: 'other', order: 1 } } });
    const run = world.invoke(['run', 'p']);
    const held = await world.reaches('p', 'busy', isHeld);
    expect(held).toMatchObject({ status: 'ready', retries: {}, error: null, hold: { reason: 'Error 529.' } });
    const wait = Date.parse(held.hold?.until ?? '') - Date.parse(held.since ?? '');
    expect(wait).toBeGreaterThanOrEqual(5000);
    expect(wait).toBeLessThanOrEqual(6250);
    // With one slot the other can only have run while the first one waited.
    await world.reaches('p', 'second', 'complete');
    expect((await world.cli('status', '--plan', 'p')).out).toContain(
      'provider overloaded: Error 529. (until ',
    );
    expect((await world.cli('retry', 'p', 'busy')).code).toBe(0);
    expect((await run.ended).code).toBe(0);
    const done = world.ticket('p', 'busy');
    expect(story(done)).toEqual(['build interrupted', 'build success']);
    expect(done.phaseHistory[1]?.sessionId).toBe(done.phaseHistory[0]?.sessionId);
  });

  it.concurrent('is waited for as long as it says, and then once more', { tags: 'full' }, async ({
    world,
  }) => {
    prepare(world, [
      { when: { attempt: 1 }, do: [overloaded('Error 503, retry-after: 1')] },
      { when: { attempt: 2 }, do: [overloaded('Error 503, try again in 2s')] },
      DONE,
    ]);
    world.plan('p', { tickets: { busy: {} } });
    expect((await world.cli('run', 'p')).code).toBe(0);
    const { phaseHistory, retries } = world.ticket('p', 'busy');
    // The wait begins when it is read: after the start of the attempt and before its end.
    const waits = phaseHistory.map(({ resetAt, startedAt, completedAt }) =>
      [startedAt, completedAt].map((at) => (Date.parse(resetAt ?? '') - Date.parse(at ?? '')) / 1000),
    );
    for (const [index, seconds] of [1, 2].entries()) {
      const [sinceStart = 0, sinceEnd = 0] = waits[index] ?? [];
      expect(sinceStart).toBeGreaterThanOrEqual(seconds);
      expect(sinceEnd).toBeLessThanOrEqual(seconds);
    }
    expect(story(world.ticket('p', 'busy'))).toEqual([
      'build interrupted',
      'build interrupted',
      'build success',
    ]);
    expect(retries.build ?? 0).toBe(0);
  });
});
