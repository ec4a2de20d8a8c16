import { describe, expect } from 'vitest';
import type { Ticket } from '../../src/model/ticket.ts';
import { it, story, type World } from '../support/index.ts';

function prepare(world: World, rules: unknown[]): void {
  world.rehearsal(rules);
  world.agent('other', 'commit');
  world.workflow('work', [
    {
      id: 'build',
      type: 'agent',
      prompt: 'Build.',
      expect: { commits: true },
      maxRetries: 0,
      onFailure: 'person',
    },
    { id: 'person', type: 'terminal', notify: true },
  ]);
  world.config({ defaultAgent: 'rehearsal', maxConcurrency: 1 });
}

const isParked = (ticket: Ticket) => ticket.hold?.kind === 'limit' && ticket.claim === null;

describe('a usage limit', () => {
  it.concurrent('parks the ticket until the reset, costs no attempt, and the session goes on after', {
    tags: 'full',
  }, async ({ world }) => {
    prepare(world, [
      { when: { ticket: 'limited', resumed: false }, do: [{ say: 'Working.' }, { limit: 1.5 }] },
      { when: {}, do: [{ write: { path: 'x.txt', text: 'x' } }, { commit: 'Done' }] },
    ]);
    world.plan('p', {
      tickets: { limited: {}, second: { agent: 'other', order: 1 }, elsewhere: { agent: 'other', order: 2 } },
    });
    const run = world.invoke(['run', 'p']);
    const parked = await world.reaches('p', 'limited', isParked);
    expect(parked).toMatchObject({ status: 'ready', claim: null, retries: {} });
    const until = Date.parse(parked.hold?.until ?? '');
    // With one slot the others can only have run while the first one was parked.
    for (const id of ['second', 'elsewhere']) await world.reaches('p', id, 'complete');
    expect((await run.ended).code).toBe(0);
    const done = world.ticket('p', 'limited');
    expect(story(done)).toEqual(['build limit', 'build success']);
    expect(Date.parse(done.phaseHistory[1]?.startedAt ?? '')).toBeGreaterThanOrEqual(until);
    expect(done.phaseHistory[1]?.sessionId).toBe(done.phaseHistory[0]?.sessionId);
    expect(world.argvOf('p', 'limited', 'build.1.2')).toEqual(
      expect.arrayContaining(['--resume', done.phaseHistory[0]?.sessionId]),
    );
    expect(done.retries.build ?? 0).toBe(0);
  });

  it.concurrent('is still remembered after a kill -9, and status says until when', { tags: 'full' }, async ({
    world,
  }) => {
    prepare(world, [
      { when: { resumed: false }, do: [{ limit: { seconds: 600, message: 'Come back later.' } }] },
    ]);
    world.plan('p', { tickets: { limited: {} } });
    const run = world.start(['run', 'p']);
    const parked = await world.reaches('p', 'limited', isParked);
    await run.kill('SIGKILL');
    const tick = await world.cli('tick');
    expect(tick.code).toBe(0);
    const after = world.ticket('p', 'limited');
    expect(after.hold).toEqual(parked.hold);
    expect(after.phaseHistory).toHaveLength(1);
    const status = await world.cli('status', '--plan', 'p');
    expect(status.out).toContain('usage limit: Come back later.');
  });

  it.concurrent('that is still there at its own reset time does not make the engine spin', async ({
    world,
  }) => {
    prepare(world, [{ when: {}, do: [{ limit: 0 }] }]);
    world.plan('p', { tickets: { limited: {} } });
    world.invoke(['run', 'p']);
    const second = await world.reaches(
      'p',
      'limited',
      (ticket) => story(ticket).length === 2 && isParked(ticket),
    );
    expect(story(second)).toEqual(['build limit', 'build limit']);
    expect(Date.parse(second.hold?.until ?? '') - Date.parse(second.since ?? '')).toBeGreaterThan(1500);
  });
});
