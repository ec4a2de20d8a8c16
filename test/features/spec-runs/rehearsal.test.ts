import { fileURLToPath } from 'node:url';
import { describe, expect } from 'vitest';
import { it, runSpec, story, tasks, withoutWaits, writeSpec } from './support.ts';

const SCENARIO = fileURLToPath(new URL('../../../rehearsals/spec-task.yaml', import.meta.url));

describe.concurrent('the bundled rehearsal of spec-task', () => {
  it('goes the ways it says', { tags: 'full' }, async ({ world }) => {
    withoutWaits(world);
    world.config({ agents: { rehearsal: { defaultArgs: ['--scenario', SCENARIO] } } });
    const dir = writeSpec(world, tasks('One', 'Two', 'Three', 'Four', 'Five', 'Six', 'Seven'), {
      assigned: false,
    });
    const first = await runSpec(world, dir);
    expect(first.code).toBe(2);
    expect(first.result.halted).toEqual({ ticketId: '6', reason: 'Should old entries be kept?' });
    const second = await world.cli('resume', 'spec-limits', '--no-tmux', '--answer', 'Yes.');
    expect(second.code).toBe(2);
    const ways = Object.fromEntries(
      ['1', '2', '3', '4', '5', '6', '7'].map((id) => [id, story(world.ticket('spec-limits', id))]),
    );
    const end = ['checks success', 'tick success'];
    expect(ways).toEqual({
      1: ['assign success', 'implement success', ...end],
      2: ['assign success', 'implement limit', 'implement success', ...end],
      3: ['assign failure', 'fallback success', 'implement success', ...end],
      4: ['assign success', 'implement failure', 'implement failure', 'implement success', ...end],
      5: ['assign success', 'review success', ...end],
      6: ['assign success', 'implement success', 'halted success', 'implement success', ...end],
      7: ['assign success', 'implement failure', 'implement failure', 'implement failure'],
    });
    expect(world.ticket('spec-limits', '7').status).toBe('failed');
  });
});
