import { describe, expect } from 'vitest';
import { it, story } from '../support/index.ts';

describe('a gate', () => {
  it.concurrent('asks a person, refuses an unknown decision with the list, and hands the message on', async ({
    world,
  }) => {
    world.agent('agent', 'commit');
    world.workflow('work', [
      {
        id: 'build',
        type: 'agent',
        prompt: 'Build.{% if feedback %} A person said: {{ feedback }}{% endif %}',
        maxVisits: 3,
        onSuccess: 'ask',
      },
      { id: 'ask', type: 'gate', prompt: 'Is {{ title }} good?', on: { approve: 'done', again: 'build' } },
      { id: 'done', type: 'terminal' },
    ]);
    world.plan('p', { tickets: { a: {} } });
    const first = await world.cli('run', 'p');
    expect(first.code).toBe(1);
    expect(first.out).toContain('Is Title of a good? (approve | again)');
    const status = await world.cli('status', '--plan', 'p');
    expect(status.out).toContain('signalbox respond p a');
    const wrong = await world.cli('respond', 'p', 'a', 'aprove');
    expect(wrong.code).toBe(1);
    expect(wrong.err).toContain('"aprove" is not a decision of gate "ask".');
    expect(wrong.err).toContain('approve, again');
    expect((await world.cli('respond', 'p', 'a', 'again', 'shorter,', 'please')).code).toBe(0);
    await world.cli('run', 'p');
    expect(world.promptOf('p', 'a', 'build.2.1')).toBe('Build. A person said: shorter, please');
    expect((await world.cli('respond', 'p', 'a', 'approve')).code).toBe(0);
    const ticket = world.ticket('p', 'a');
    expect(ticket).toMatchObject({
      status: 'complete',
      context: { ask_decision: 'approve', ask_message: '' },
    });
    expect(story(ticket)).toEqual(['build success', 'ask success', 'build success', 'ask success']);
    const late = await world.cli('respond', 'p', 'a', 'approve');
    expect(late.code).toBe(1);
    expect(late.err).toContain('it is complete');
  });

  it.concurrent('answered under a running daemon goes on at once, and holds no slot while it waits', async ({
    world,
  }) => {
    world.agent('agent', 'commit');
    world.workflow('work', [
      { id: 'ask', type: 'gate', on: { go: 'build' } },
      { id: 'build', type: 'agent', prompt: 'Build.' },
    ]);
    world.workflow('plain', [{ id: 'build', type: 'agent', prompt: 'Build.' }]);
    world.plan('p', { tickets: { asks: {}, other: { workflow: 'plain', order: 1 } } });
    const daemon = world.start(['daemon', '-c', '1']);
    await world.reaches('p', 'asks', (ticket) => ticket.hold?.kind === 'gate');
    await world.reaches('p', 'other', 'complete');
    expect((await world.cli('respond', 'p', 'asks', 'go')).code).toBe(0);
    await world.reaches('p', 'asks', 'complete');
    await daemon.says('p: plan complete');
  });
});
