import { describe, expect } from 'vitest';
import type { Ticket } from '../../src/model/ticket.ts';
import { it, story, type World } from '../support/index.ts';
import { within } from '../support/within.ts';

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
    expect(status.out).toContain('usage limit: rehearsal: Come back later.');
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

const SESSION = 'ses_1';
const LIMIT =
  'level=ERROR message="stream error" small=false error.error="AI_APICallError: Rate limit reached. Please try again in 12s."';
const STEP = (type: string, part: object) => JSON.stringify({ type, sessionID: SESSION, part });

/** A CLI that reports a limit only on stderr and then sleeps, as opencode does; resumed, it ends well. */
function prepareSilentAgent(world: World): void {
  world.agent(
    'opencode',
    `case "$*" in
      *'--session ${SESSION}'*) echo '${STEP('step_finish', { reason: 'stop' })}' ;;
      *) echo '${STEP('step_start', {})}'; echo '${LIMIT}' >&2; sleep 300 ;;
    esac`,
    { adapter: 'opencode' },
  );
  world.config({ defaultAgent: 'opencode' });
  world.workflow('work', [{ id: 'build', type: 'agent', prompt: 'Build.', maxRetries: 0 }]);
  world.plan('p', { tickets: { a: {} } });
}

describe('a CLI that sleeps through a usage limit', () => {
  it.concurrent('is not waited for: the ticket is parked long before the agent counts as idle', async ({
    world,
  }) => {
    prepareSilentAgent(world);
    const { code, out } = await world.cli('run', 'p');
    expect(code, out).toBe(0);
    const ticket = world.ticket('p', 'a');
    expect(story(ticket)).toEqual(['build limit', 'build success']);
    const [first, second] = ticket.phaseHistory;
    const seconds = (from?: string | null, to?: string | null) =>
      (Date.parse(to ?? '') - Date.parse(from ?? '')) / 1000;
    expect(seconds(first?.startedAt, first?.completedAt)).toBeLessThan(within(20_000) / 1000);
    // The reset counts from when the limit was reported, not from when the agent was stopped.
    expect(seconds(first?.startedAt, second?.startedAt)).toBeGreaterThan(11.9);
    expect(seconds(first?.startedAt, second?.startedAt)).toBeLessThan(within(20_000) / 1000);
    expect(second?.sessionId).toBe(SESSION);
  });
});
