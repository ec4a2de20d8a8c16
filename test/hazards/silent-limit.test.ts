import { describe, expect } from 'vitest';
import { it, story, type World } from '../support/index.ts';
import { within } from '../support/within.ts';

const SESSION = 'ses_1';
const LIMIT =
  'level=ERROR message="stream error" small=false error.error="AI_APICallError: Rate limit reached. Please try again in 12s."';
const STEP = (type: string, part: object) => JSON.stringify({ type, sessionID: SESSION, part });

/** A CLI that tells of a limit only on stderr and then sleeps, as opencode does; resumed, it ends well. */
function prepare(world: World): void {
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
    prepare(world);
    const { code, out } = await world.cli('run', 'p');
    expect(code, out).toBe(0);
    const ticket = world.ticket('p', 'a');
    expect(story(ticket)).toEqual(['build limit', 'build success']);
    const [first, second] = ticket.phaseHistory;
    const seconds = (from?: string | null, to?: string | null) =>
      (Date.parse(to ?? '') - Date.parse(from ?? '')) / 1000;
    expect(seconds(first?.startedAt, first?.completedAt)).toBeLessThan(within(20_000) / 1000);
    // The reset counts from when the limit was told, not from when the agent was stopped.
    expect(seconds(first?.startedAt, second?.startedAt)).toBeGreaterThan(11.9);
    expect(seconds(first?.startedAt, second?.startedAt)).toBeLessThan(within(20_000) / 1000);
    expect(second?.sessionId).toBe(SESSION);
  });
});
