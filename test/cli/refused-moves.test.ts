import { describe, expect } from 'vitest';
import type { Ticket } from '../../src/model/ticket.ts';
import { errorIn, git, it, setUp, stateOf } from './support.ts';

describe.concurrent('an illegal move is refused, with the legal ones named, and changes nothing', () => {
  const over: Partial<Ticket> = { status: 'complete', currentPhase: 'done' };
  const failed: Partial<Ticket> = { status: 'needs_attention', currentPhase: 'stuck', error: 'build: no' };
  const moves: [string, Partial<Ticket>, string[], string, string][] = [
    [
      'resume a complete ticket',
      over,
      ['resume'],
      'Cannot resume p/a: it is complete.',
      'It accepts no more commands.',
    ],
    [
      'pause a complete ticket',
      over,
      ['pause'],
      'Cannot pause p/a: it is complete.',
      'It accepts no more commands.',
    ],
    ['stop a failed ticket', { status: 'failed' }, ['stop'], 'Cannot stop p/a: it is failed.', 'retry, skip'],
    ['resume a queued ticket', {}, ['resume'], 'Cannot resume p/a: it is queued.', 'pause, stop, skip'],
    ['resume a failed ticket', failed, ['resume'], 'Cannot resume p/a', 'Possible now: retry, skip, pause.'],
    [
      'skip to an unknown phase',
      {},
      ['skip', 'nowhere'],
      '"work" has no phase "nowhere".',
      'build, done, stuck',
    ],
    [
      'answer what nobody asked',
      failed,
      ['respond', 'yes'],
      'Cannot respond to p/a: it is at no gate that asks for a decision.',
      'Possible now: retry, skip, pause.',
    ],
  ];
  it('of a ticket', { tags: 'full' }, async ({ world }) => {
    setUp(world, 'commit', Object.fromEntries(moves.map(([, ticket], index) => [`t${index}`, ticket])));
    const before = stateOf(world);
    for (const [index, [what, , [verb = '', ...rest], message, legal]] of moves.entries()) {
      const ended = await world.cli(verb, 'p', `t${index}`, ...rest, '--json');
      expect(ended.code, what).toBe(1);
      const error = errorIn(ended);
      expect(error.message, what).toContain(message.replace('p/a', `p/t${index}`));
      expect(error.hint, what).toContain(legal);
    }
    expect(stateOf(world)).toEqual(before);
  });

  it('retry, resume, archive or delete what is running', { tags: 'full' }, async ({ world }) => {
    setUp(world, 'note working; go; commit');
    const run = world.invoke(['run', 'p']);
    await world.call('working');
    const before = world.ticket('p', 'a').rev;
    const refused: [string[], string, string][] = [
      [['retry', 'p', 'a'], 'Cannot retry p/a: it is running.', 'Possible now: pause, stop, skip.'],
      [['resume', 'p', 'a'], 'Cannot resume p/a: it is running.', 'Possible now: pause, stop, skip.'],
      [['skip', 'p', 'a', 'nowhere'], 'has no phase "nowhere"', 'Its phases: build, done, stuck.'],
      [['plan', 'archive', 'p'], 'Plan "p" is at work on a.', 'signalbox pause-plan p'],
      [['plan', 'delete', 'p', '--force'], 'Plan "p" is at work on a.', 'signalbox pause-plan p'],
    ];
    for (const [args, message, hint] of refused) {
      const ended = await world.cli(...args, '--json');
      expect(ended.code, args.join(' ')).toBe(1);
      expect(errorIn(ended).message).toContain(message);
      expect(errorIn(ended).hint).toContain(hint);
    }
    expect(world.ticket('p', 'a')).toMatchObject({ status: 'running', rev: before });
    world.go();
    expect((await run.ended).code).toBe(0);
  });

  it('approve a plan that is no draft', async ({ world }) => {
    setUp(world);
    const ended = await world.cli('plan', 'approve', 'p', '--json');
    expect(ended.code).toBe(1);
    expect(errorIn(ended)).toMatchObject({
      message: 'Cannot approve plan "p": it is active.',
      hint: 'Possible for: draft.',
    });
  });

  it('delete a plan with unmerged work', async ({ world }) => {
    setUp(world);
    await world.cli('run', 'p');
    const before = stateOf(world);
    const ended = await world.cli('plan', 'delete', 'p', '--json');
    expect(ended.code).toBe(1);
    expect(errorIn(ended).message).toBe('Branch ticket/p/a of a is not merged.');
    expect(errorIn(ended).hint).toContain('plan archive');
    expect(stateOf(world)).toEqual(before);
    git(world.repo, 'merge', '--quiet', '--ff-only', 'ticket/p/a');
    expect((await world.cli('plan', 'delete', 'p')).code).toBe(0);
  });

  it('archive a plan twice', async ({ world }) => {
    setUp(world);
    expect((await world.cli('plan', 'archive', 'p')).out).toBe('Plan p is archived.\n');
    const ended = await world.cli('plan', 'archive', 'p');
    expect(ended.code).toBe(1);
    expect(ended.err).toContain('it is archived');
  });

  it('pause or resume a plan that does not run', { tags: 'full' }, async ({ world }) => {
    setUp(world, 'commit', {});
    for (const [status, verb] of [
      ['draft', 'pause-plan'],
      ['complete', 'pause-plan'],
      ['draft', 'resume-plan'],
      ['archived', 'resume-plan'],
    ] as const) {
      world.plan(status, { status, tickets: { a: {} } });
      const before = stateOf(world, status);
      const ended = await world.cli(verb, status, '--json');
      expect(ended.code, `${verb} ${status}`).toBe(1);
      expect(errorIn(ended).message).toContain(`it is ${status}`);
      expect(stateOf(world, status)).toEqual(before);
    }
  });
});
