import { describe, expect } from 'vitest';
import { it, story } from '../support/index.ts';

describe('a gate', () => {
  it.concurrent('asks a person, refuses an unknown decision with the list, and hands the message on', {
    tags: 'full',
  }, async ({ world }) => {
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
    expect(late.err).toContain('Gate "ask" of p/a was already answered: approve');
  });

  it.concurrent('takes from a person only what is theirs to decide', { tags: 'full' }, async ({ world }) => {
    world.agent('agent', 'commit');
    world.config({ pollInterval: 0.1 });
    world.script('answer.sh', 'test -e "$HOME/merged" || exit 1\necho merged');
    const on = { stop: 'left', merged: 'done' };
    const ask = { id: 'ask', type: 'gate', command: 'answer.sh', on };
    const ends = [
      { id: 'left', type: 'terminal', notify: true },
      { id: 'done', type: 'terminal' },
    ];
    world.workflow('work', [{ ...ask, found: ['merged'] }, ...ends]);
    world.plan('p', { tickets: { a: {} } });
    const run = world.invoke(['run', 'p']);
    const { hold } = await world.reaches(
      'p',
      'a',
      ({ hold, claim }) => hold?.kind === 'gate' && claim === null,
    );
    expect(hold?.reason).toMatch(/\(stop\)$/);
    const refused = await world.cli('respond', 'p', 'a', 'merged');
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining('Decisions: stop.') });
    world.append('user/merged', '');
    await world.reaches('p', 'a', 'complete');
    expect((await run.ended).code).toBe(0);
    world.workflow('slip', [{ ...ask, found: ['merge'] }, ...ends]);
    const checked = await world.cli('workflow', 'check');
    expect(checked.out + checked.err).toContain('"merge" is none of the decisions in "on".');
  });

  it.concurrent('answered under a running daemon goes on at once, and holds no slot while it waits', {
    tags: 'full',
  }, async ({ world }) => {
    world.agent('agent', 'commit');
    world.workflow('work', [
      { id: 'ask', type: 'gate', on: { go: 'build' } },
      { id: 'build', type: 'agent', prompt: 'Build.' },
    ]);
    world.workflow('plain', [{ id: 'build', type: 'agent', prompt: 'Build.' }]);
    world.plan('p', { tickets: { asks: {}, other: { workflow: 'plain', order: 1 } } });
    const daemon = world.invoke(['daemon', '-c', '1']);
    await world.reaches('p', 'asks', ({ hold, claim }) => hold?.kind === 'gate' && claim === null);
    await world.reaches('p', 'other', 'complete');
    expect((await world.cli('respond', 'p', 'asks', 'go')).code).toBe(0);
    await world.reaches('p', 'asks', 'complete');
    await daemon.says('p: plan complete');
  });

  it.concurrent('with a script takes the answer that it finds elsewhere, or the person’s, whichever is first', async ({
    world,
  }) => {
    world.agent('agent', 'commit');
    world.config({ pollInterval: 0.1 });
    world.script('answer.sh', 'test -e "$HOME/$1" || exit 1\ncat "$HOME/$1"');
    world.workflow('work', [
      {
        id: 'ask',
        type: 'gate',
        command: 'answer.sh',
        args: ['{{ ticketId }}.answer'],
        on: { approve: 'done', again: 'build' },
      },
      { id: 'build', type: 'agent', prompt: '{{ ask_message }}', onSuccess: 'done' },
      { id: 'done', type: 'terminal' },
    ]);
    world.plan('p', { tickets: { found: {}, person: {} } });
    const run = world.invoke(['run', 'p', '-c', '1']);
    await world.reaches('p', 'person', (ticket) => (ticket.phaseHistory[0]?.checks ?? 0) > 1);
    world.append('user/found.answer', 'nonsense');
    await world.reaches('p', 'found', (ticket) => ticket.hold?.reason.includes('none of approve, again'));
    world.remove(`${world.dir}/user/found.answer`);
    world.append('user/found.answer', 'again\nshorter,\nplease\n');
    await world.reaches('p', 'found', 'complete');
    expect(world.ticket('p', 'found').context).toEqual({
      ask_decision: 'again',
      ask_message: 'shorter,\nplease',
    });
    expect(world.promptOf('p', 'found', 'build.1.1')).toBe('shorter,\nplease');
    expect((await world.cli('respond', 'p', 'person', 'approve')).code).toBe(0);
    expect((await run.ended).code).toBe(0);
    const told = world.events('p').filter((event) => event.type === 'ticket:status');
    expect(told.filter(({ ticketId }) => ticketId === 'person').length).toBeLessThan(5);
  });
});
