import { describe, expect } from 'vitest';
import { it, story } from '../support/index.ts';

describe('a poll with outcomes of its own', () => {
  it.concurrent('takes the edge that its script names, and hands on what is below', async ({ world }) => {
    world.agent('agent', 'commit');
    world.script('ready.sh', "printf 'again\\nMore tea.\\n{{ x }}\\n'");
    const poll = { type: 'poll', intervalSeconds: 0.1, maxVisits: 2, capture: { wish: 'stdout' } };
    world.workflow('work', [
      { id: 'wait', ...poll, command: 'ready.sh', on: { again: 'build', closed: 'over' }, onFailure: 'over' },
      { id: 'build', type: 'agent', prompt: 'Build: {{ wish }}', onSuccess: 'wait' },
      { id: 'over', type: 'terminal', notify: true },
    ]);
    world.plan('p', { tickets: { a: {} } });
    await world.cli('run', 'p');
    const ticket = world.ticket('p', 'a');
    expect(ticket.phaseHistory.map(({ phase, outcome }) => `${phase} ${outcome}`).slice(0, 3)).toEqual([
      ...['wait again', 'build success', 'wait again'],
    ]);
    expect(ticket.context.wish).toBe('More tea.\n{{ x }}');
    expect(world.promptOf('p', 'a', 'build.1.1')).toBe('Build: More tea.\n{{ x }}');
    expect(ticket).toMatchObject({ status: 'needs_attention', currentPhase: 'over' });
  });

  it.concurrent('fails when its script says something else, or nothing', async ({ world }) => {
    world.script('look.sh', 'echo ready');
    world.workflow('work', [
      { id: 'wait', type: 'poll', command: 'look.sh', on: { approved: 'done' } },
      { id: 'done', type: 'terminal' },
    ]);
    world.plan('p', { tickets: { a: {} } });
    expect((await world.cli('run', 'p')).code).toBe(1);
    const ticket = world.ticket('p', 'a');
    expect(story(ticket)).toEqual(['wait failure']);
    expect(ticket.error).toBe('wait: it said "ready", which is none of approved');
  });
});
