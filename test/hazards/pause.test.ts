import { describe, expect } from 'vitest';
import { isRunning, it, story, type World } from '../support/index.ts';

/** Starts a child, a grandchild in a session of its own, and one without our environment's help to find it by group. */
const FAMILY = `
  sh -c 'echo $$ > "$FAMILY/child"; exec sleep 300' &
  setsid sh -c 'echo $$ > "$FAMILY/setsid"; sh -c "echo \\$\\$ > \\"$FAMILY/deep\\"; exec sleep 300"' &
  trap '' TERM INT
  while [ ! -s "$FAMILY/child" ] || [ ! -s "$FAMILY/setsid" ] || [ ! -s "$FAMILY/deep" ]; do sleep 0.02; done
  note family
  go`;

function prepare(world: World, body: string): void {
  world.agent('agent', body, { env: { FAMILY: world.dir } });
  world.workflow('work', [
    { id: 'build', type: 'agent', prompt: 'Build.', onSuccess: 'polish' },
    { id: 'polish', type: 'agent', prompt: 'Polish.' },
  ]);
}

function familyOf(world: World): number[] {
  return [
    ...['child', 'setsid', 'deep'].map((name) => Number(world.read(name))),
    world.calls('family')[0]?.pid ?? 0,
  ];
}

describe('pause', () => {
  it.concurrent('ends the whole process tree before it returns, strangers to the group included', {
    tags: 'full',
  }, async ({ world }) => {
    prepare(world, FAMILY);
    world.plan('p', { tickets: { a: {} } });
    const run = world.invoke(['run', 'p']);
    await world.call('family');
    const paused = await world.cli('pause', 'p', 'a');
    expect(paused.code, paused.err).toBe(0);
    expect(paused.out).toContain('p/a is paused at build');
    expect(familyOf(world).map(isRunning)).toEqual([false, false, false, false]);
    const ticket = world.ticket('p', 'a');
    expect(ticket).toMatchObject({
      status: 'paused',
      claim: null,
      hold: { kind: 'stopped', reason: 'paused by a person' },
    });
    expect(story(ticket)).toEqual(['build interrupted']);
    expect((await run.ended).code).toBe(1);
  });

  it.concurrent('works when the engine is gone but its agent lives on', { tags: 'full' }, async ({
    world,
  }) => {
    prepare(world, FAMILY);
    world.plan('p', { tickets: { a: {} } });
    const run = world.start(['run', 'p']);
    await world.call('family');
    await run.kill('SIGKILL');
    expect(familyOf(world).map(isRunning)).toEqual([true, true, true, true]);
    const paused = await world.cli('pause', 'p', 'a');
    expect(paused.code, paused.err).toBe(0);
    expect(familyOf(world).map(isRunning)).toEqual([false, false, false, false]);
    expect(world.ticket('p', 'a')).toMatchObject({ status: 'paused', claim: null });
  });

  it.concurrent('and resume go on in the agent’s own session', { tags: 'full' }, async ({ world }) => {
    world.rehearsal([
      {
        when: { resumed: false, phase: 'build' },
        do: [{ say: 'Half-way.' }, { write: { path: 'half.txt', text: 'half' } }, 'hang'],
      },
      { when: {}, do: [{ write: { path: 'whole.txt', text: 'whole' } }, { commit: 'Whole' }] },
    ]);
    world.workflow('work', [
      { id: 'build', type: 'agent', prompt: 'Build.', expect: { commits: true, clean: true } },
    ]);
    world.plan('p', { tickets: { a: {}, other: { agent: 'rehearsal', order: 1 } } });
    const run = world.invoke(['run', 'p', 'a', '--verbose']);
    await run.says('Hanging');
    const begun = await world.reaches('p', 'a', (ticket) => ticket.phaseHistory[0]?.sessionId);
    const session = begun.phaseHistory[0]?.sessionId;
    await world.cli('pause', 'p', 'a');
    await run.ended;
    const resumed = await world.cli('resume', 'p', 'a');
    expect(resumed.out).toContain('p/a is ready at build');
    const { code, out } = await world.cli('run', 'p', 'a');
    expect(code, out).toBe(0);
    const ticket = world.ticket('p', 'a');
    expect(story(ticket)).toEqual(['build interrupted', 'build success']);
    expect(ticket.retries.build ?? 0).toBe(0);
    expect(world.argvOf('p', 'a', 'build.1.2')).toEqual(expect.arrayContaining(['--resume', session]));
  });

  it.concurrent('of a plan stops all that runs for it and leaves its tickets where they are', {
    tags: 'full',
  }, async ({ world }) => {
    prepare(world, 'note at; go; commit');
    world.plan('p', { tickets: { a: {}, b: {}, c: { order: 1 } } });
    world.plan('q', { tickets: { other: {} } });
    const daemon = world.start(['daemon', '-c', '3']);
    for (const ticket of ['p/a', 'p/b', 'q/other']) await world.call('at', { ticket });
    const paused = await world.cli('pause-plan', 'p');
    expect(paused.code, paused.err).toBe(0);
    for (const { pid } of [...world.calls('at', { ticket: 'p/a' }), ...world.calls('at', { ticket: 'p/b' })])
      expect(isRunning(pid)).toBe(false);
    expect(isRunning(world.calls('at', { ticket: 'q/other' })[0]?.pid ?? 0)).toBe(true);
    expect(world.readPlan('p').status).toBe('paused');
    for (const id of ['a', 'b'])
      expect(world.ticket('p', id)).toMatchObject({ status: 'ready', claim: null });
    expect(world.ticket('p', 'c').status).toBe('queued');
    world.go();
    expect((await world.cli('resume-plan', 'p')).out).toContain(`Daemon ${daemon.pid} continues it.`);
    for (const id of ['a', 'b', 'c']) await world.reaches('p', id, 'complete');
    await daemon.says('p: plan complete');
  });

  it.concurrent('of a plan without an engine stops the agents it left behind', { tags: 'full' }, async ({
    world,
  }) => {
    prepare(world, 'note at; go; commit');
    world.plan('p', { tickets: { a: {}, b: {} } });
    const run = world.start(['run', 'p']);
    for (const ticket of ['p/a', 'p/b']) await world.call('at', { ticket });
    await run.kill('SIGKILL');
    expect((await world.cli('stop', 'p')).code).toBe(0);
    for (const { pid } of world.calls('at')) expect(isRunning(pid)).toBe(false);
    world.go();
    expect((await world.cli('resume')).out).toContain('Plan p is active');
    expect((await world.cli('run', 'p')).code).toBe(0);
  });

  it.concurrent('skip on a running ticket stops its agent and goes on at the other phase', async ({
    world,
  }) => {
    prepare(world, 'note at; [ $SIGNALBOX_PHASE = polish ] || go; commit');
    world.plan('p', { tickets: { a: {} } });
    const daemon = world.invoke(['daemon']);
    const { pid } = await world.call('at');
    const wrong = await world.cli('skip', 'p', 'a', 'nowhere');
    expect(wrong.code).toBe(1);
    expect(wrong.err).toContain('Its phases: build, polish.');
    expect(isRunning(pid)).toBe(true);
    const skipped = await world.cli('skip', 'p', 'a', 'polish');
    expect(skipped.code, skipped.err).toBe(0);
    expect(isRunning(pid)).toBe(false);
    const ticket = await world.reaches('p', 'a', 'complete');
    expect(story(ticket).at(-1)).toBe('polish success');
    expect(world.calls('end').map((call) => call.attempt)).toEqual(['polish.1.1']);
    await daemon.kill('SIGTERM');
  });

  it.concurrent('between two looks of a poll is told as what it was', async ({ world }) => {
    world.script('look.sh', 'exit 1');
    world.workflow('wait', [{ id: 'wait', type: 'poll', command: 'look.sh', intervalSeconds: 600 }]);
    world.plan('p', { workflow: 'wait', tickets: { a: {} } });
    const run = world.invoke(['run', 'p']);
    await world.reaches('p', 'a', ({ hold, claim }) => hold?.kind === 'poll' && claim === null);
    expect((await world.cli('pause', 'p', 'a')).code).toBe(0);
    const { phaseHistory } = world.ticket('p', 'a');
    expect(phaseHistory.at(-1)).toMatchObject({
      status: 'interrupted',
      error: { message: 'paused by a person' },
    });
    expect((await world.cli('logs', 'p', 'a')).out).toContain('interrupted: paused by a person');
    expect((await run.ended).code).toBe(1);
  });

  it.concurrent('stop on a running ticket leaves the others alone; illegal moves name the legal ones', {
    tags: 'full',
  }, async ({ world }) => {
    prepare(world, 'note at; go; commit');
    world.plan('p', { tickets: { a: {}, b: {} } });
    const run = world.invoke(['run', 'p']);
    for (const ticket of ['p/a', 'p/b']) await world.call('at', { ticket });
    expect((await world.cli('stop', 'p', 'a')).code).toBe(0);
    expect(world.ticket('p', 'a')).toMatchObject({
      status: 'paused',
      hold: { reason: 'stopped by a person' },
    });
    const again = await world.cli('pause', 'p', 'a');
    expect(again.code).toBe(1);
    expect(again.err).toContain('Cannot pause p/a: it is paused.');
    expect(again.err).toContain('Possible now: resume, skip, retry.');
    world.go();
    expect((await run.ended).code).toBe(1);
    expect(world.ticket('p', 'b').status).toBe('complete');
    const done = await world.cli('resume', 'p', 'b');
    expect(done.code).toBe(1);
    expect(done.err).toContain('it is complete');
  });

  it.concurrent('of a waiting poll or gate takes effect although nothing runs', { tags: 'full' }, async ({
    world,
  }) => {
    world.script('never.sh', 'exit 1');
    world.workflow('poll', [{ id: 'wait', type: 'poll', command: 'never.sh', intervalSeconds: 30 }]);
    world.workflow('gate', [
      { id: 'ask', type: 'gate', on: { yes: 'done' } },
      { id: 'done', type: 'terminal' },
    ]);
    world.plan('p', { tickets: { polls: { workflow: 'poll' }, asks: { workflow: 'gate' } } });
    const run = world.invoke(['run', 'p']);
    await world.reaches('p', 'polls', (ticket) => ticket.hold?.kind === 'poll' && !ticket.claim);
    await world.reaches('p', 'asks', (ticket) => ticket.hold?.kind === 'gate' && !ticket.claim);
    expect((await world.cli('pause', 'p', 'polls')).code).toBe(0);
    expect((await world.cli('pause', 'p', 'asks')).code).toBe(0);
    expect((await run.ended).code).toBe(1);
    for (const id of ['polls', 'asks']) expect(world.ticket('p', id).status).toBe('paused');
    expect((await world.cli('resume', 'p', 'asks')).code).toBe(0);
    await world.cli('run', 'p', 'asks');
    expect(world.ticket('p', 'asks')).toMatchObject({ status: 'needs_attention', hold: { kind: 'gate' } });
    expect((await world.cli('respond', 'p', 'asks', 'yes')).code).toBe(0);
    expect(world.ticket('p', 'asks').status).toBe('complete');
  });
});
