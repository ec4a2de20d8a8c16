import { join } from 'node:path';
import { describe, expect } from 'vitest';
import type { Ticket } from '../../src/model/ticket.ts';
import { DONE, errorIn, it, linesOf, refusal, STUCK, setUp, type World } from './support.ts';

/** Works in the background until the test lets it go on. */
async function atWork(world: World, command: string[] = ['run', 'p']): Promise<ReturnType<World['start']>> {
  const run = world.start(command);
  await world.call('working');
  return run;
}

/** A plan of one ticket: an agent builds, a script checks. */
function buildAndCheck(world: World, agent: string): void {
  world.agent('agent', agent);
  world.workflow('work', [
    { id: 'build', type: 'agent', prompt: 'x', onSuccess: 'check' },
    { id: 'check', type: 'script', command: 'check.sh', onSuccess: 'done' },
    DONE,
  ]);
  world.script('check.sh', 'true');
  world.plan('p', { tickets: { a: {} } });
}

describe.concurrent('pause and resume', () => {
  it('end the agent at once with all its processes, and go on later', { tags: 'full' }, async ({ world }) => {
    setUp(world, 'sleep 300 & note working; go; commit');
    const run = await atWork(world);
    const { pid } = await world.call('working');
    expect(await world.cli('pause', 'p', 'a')).toMatchObject({ code: 0, out: 'p/a is paused at build.\n' });
    expect(() => process.kill(-pid, 0)).toThrow('ESRCH');
    expect(world.ticket('p', 'a').hold).toMatchObject({ kind: 'stopped', reason: 'paused by a person' });
    expect((await run.ended).code).toBe(1);
    world.go();
    expect((await world.cli('resume', 'p', 'a')).out).toBe(
      'p/a is ready at build. Run it with: signalbox run p\n',
    );
    expect((await world.cli('run', 'p')).code).toBe(0);
    expect(world.ticket('p', 'a').phaseHistory.map(({ status }) => status)).toEqual([
      'interrupted',
      'success',
    ]);
  });

  it('are told by the run and the daemon that see them', { tags: 'full' }, async ({ world }) => {
    setUp(world, 'note working; go; commit', { a: {}, b: {} });
    const run = world.invoke(['run', 'p', '--json', '-c', '2']);
    await world.call('working', {}, 2);
    await world.cli('pause', 'p', 'a');
    await run.says('"status":"paused"');
    world.go();
    const told = linesOf((await run.ended).out) as Record<string, unknown>[];
    const paused = told.filter(({ type, status }) => type === 'ticket:status' && status === 'paused');
    expect(paused).toMatchObject([
      { ticketId: 'a', hold: { kind: 'stopped', reason: 'paused by a person' } },
    ]);
    const plain = await world.cli('run', 'p');
    expect(plain.out).toMatch(/^‖ +a +paused/m);

    world.plan('q', { tickets: { c: {}, d: { blockedBy: ['c'] } } });
    world.remove(join(world.dir, 'go', 'all'));
    const daemon = world.invoke(['daemon']);
    await world.call('working', { ticket: 'q/c' });
    await world.cli('pause', 'q', 'd');
    await daemon.says('‖ q/d paused by a person');
    await world.cli('pause', 'q', 'c');
    await daemon.says('‖ q/c paused by a person');
    expect((await daemon.kill('SIGTERM')).out.match(/‖/g)).toHaveLength(2);
  });

  it('print the ticket as JSON', async ({ world }) => {
    setUp(world);
    expect(await world.json('pause', 'p', 'a')).toMatchObject({ ticketId: 'a', status: 'paused' });
    expect(await world.json('resume', 'p', 'a')).toMatchObject({
      ticketId: 'a',
      status: 'ready',
      hold: null,
    });
  });

  it('work for a whole plan, and leave its tickets as they are', { tags: 'full' }, async ({ world }) => {
    setUp(world, 'note working; go; commit', { a: {}, b: { blockedBy: ['a'] } });
    const run = await atWork(world);
    expect(await world.cli('pause-plan', 'p')).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^Plan p is paused\.\n/),
    });
    expect((await run.ended).code).toBe(1);
    expect(world.ticket('p', 'a')).toMatchObject({ status: 'ready', claim: null });
    world.go();
    expect((await world.cli('resume-plan', 'p')).out).toBe(
      'Plan p is active. Run it with: signalbox run p\n',
    );
    expect((await world.cli('run', 'p')).code).toBe(0);
  });

  it('stop a ticket, or the plan, in the same way', { tags: 'full' }, async ({ world }) => {
    setUp(world, 'note working; go; commit', { a: {}, b: {} });
    expect((await world.cli('stop', 'p', 'b')).out).toBe(
      'p/b is paused.\nContinue with: signalbox resume p b. Give it up with: signalbox cancel p b\n',
    );
    expect(world.ticket('p', 'b').hold?.reason).toBe('stopped by a person');
    const run = await atWork(world);
    expect((await world.cli('stop', 'p')).out).toBe(
      'Plan p is paused.\nContinue with: signalbox resume p. Give it up with: signalbox cancel p\n',
    );
    await run.ended;
    expect(await world.json('resume')).toMatchObject({ plan: { id: 'p', status: 'active' }, resumed: ['b'] });
  });

  it('say so when there is nothing to resume', async ({ world }) => {
    setUp(world);
    const ended = await world.cli('resume', '--json');
    expect(ended.code).toBe(1);
    expect(errorIn(ended)).toMatchObject({
      message: 'Nothing is paused or stopped.',
      hint: 'See: signalbox status',
    });
  });
});

describe.concurrent('retry and skip', () => {
  it('run a failed phase again with its counters at zero', async ({ world }) => {
    setUp(world, '[ -e "$HOME/works" ] || exit 3; commit');
    expect((await world.cli('run', 'p')).code).toBe(1);
    world.append('user/works', '');
    expect((await world.cli('retry', 'p', 'a')).out).toBe(
      'p/a is ready at build. Run it with: signalbox run p\n',
    );
    expect(world.ticket('p', 'a')).toMatchObject({ retries: { build: 0 }, error: null });
    expect((await world.cli('run', 'p')).code).toBe(0);
  });

  it('go on at another phase, also out of a running one', async ({ world }) => {
    buildAndCheck(world, 'note working; go; commit');
    const run = await atWork(world, ['daemon']);
    expect((await world.cli('skip', 'p', 'a', 'check')).code).toBe(0);
    const { phaseHistory } = await world.reaches('p', 'a', 'complete');
    expect(phaseHistory.map(({ phase, status }) => `${phase} ${status}`)).toEqual([
      'build interrupted',
      'build skipped',
      'check success',
    ]);
    await run.kill('SIGTERM');
  });
});

describe.concurrent('skip to the end', () => {
  it('completes a plan that no engine looks after', async ({ world }) => {
    setUp(world);
    expect((await world.cli('skip', 'p', 'a', 'done')).out).toBe('p/a is complete at done.\n');
    expect(world.readPlan('p').status).toBe('complete');
  });
});

describe.concurrent('skip of the only ticket of a run', () => {
  const slow = (world: World) => buildAndCheck(world, "trap '' TERM; note working; go; commit");

  it('is waited for by the run, which goes on at that phase', { tags: 'full' }, async ({ world }) => {
    slow(world);
    const run = await atWork(world, ['run', 'p']);
    const skipped = await world.cli('skip', 'p', 'a', 'check');
    expect(skipped.out).toContain(`Its run (pid ${run.pid}) continues it.`);
    expect((await run.ended).code).toBe(0);
    expect(world.ticket('p', 'a').phaseHistory.at(-1)).toMatchObject({ phase: 'check', status: 'success' });
  });

  it('is followed by logs until it really rests', { tags: 'full' }, async ({ world }) => {
    slow(world);
    const run = await atWork(world, ['run', 'p']);
    const logs = world.invoke(['logs', 'p', 'a', '-f', '--until-rest']);
    await logs.says('build');
    await world.cli('skip', 'p', 'a', 'check');
    expect((await logs.ended).out).toContain('a complete');
    expect((await run.ended).code).toBe(0);
  });
});

describe.concurrent('respond', () => {
  async function asked(world: World): Promise<void> {
    world.agent('agent', 'commit');
    world.workflow('work', [
      { id: 'build', type: 'agent', prompt: 'x', onSuccess: 'ask' },
      { id: 'ask', type: 'gate', prompt: 'Ship {{ title }}?', on: { ship: 'done', hold: 'stuck' } },
      DONE,
      STUCK,
    ]);
    world.plan('p', { tickets: { a: { title: 'the thing' } } });
    expect((await world.cli('run', 'p')).code).toBe(1);
  }

  it('answers a gate, with a message that later phases can use', async ({ world }) => {
    await asked(world);
    const { out } = await world.cli('status');
    expect(out).toContain('Ship the thing?');
    expect(out).toMatch(/ → signalbox respond p a ship\n +→ signalbox respond p a hold\n/);
    expect(await world.cli('respond', 'p', 'a')).toMatchObject({
      code: 2,
      err: '❌ Name the decision.\n   signalbox respond p a ship\n   signalbox respond p a hold\n',
    });
    expect((await world.cli('report')).out).toMatch(
      / → signalbox respond p a ship\n +→ signalbox respond p a hold\n/,
    );
    expect((await world.cli('respond', 'p', 'a', 'ship', 'looks', 'good')).code).toBe(0);
    expect(world.ticket('p', 'a')).toMatchObject({
      status: 'complete',
      context: { ask_decision: 'ship', ask_message: 'looks good' },
    });
  });

  it('refuses a decision that the gate does not have, and names those it has', async ({ world }) => {
    await asked(world);
    const before = world.ticket('p', 'a');
    const ended = await world.cli('respond', 'p', 'a', 'maybe');
    expect(ended.code).toBe(1);
    expect(refusal(ended)).toBe('❌ "maybe" is not a decision of gate "ask".\n   Decisions: ship, hold.\n');
    expect(world.ticket('p', 'a')).toEqual(before);
  });
});

describe.concurrent('a gate whose answer completes its ticket', () => {
  it('names what continues the tickets behind it', async ({ world }) => {
    world.workflow('ask', [
      { id: 'ask', type: 'gate', prompt: 'Ship it?', on: { yes: 'done' } },
      { id: 'done', type: 'terminal' },
    ]);
    const hold = { kind: 'gate', reason: 'Ship it?', until: null } as const;
    const at = '2026-01-01T00:00:00.000Z';
    const open = { phase: 'ask', visit: 1, attempt: 1, status: 'running', startedAt: at } as const;
    const asks = { status: 'needs_attention', currentPhase: 'ask', hold, visits: { ask: 1 } } as const;
    const asked = { ...asks, phaseHistory: [open] } as unknown as Partial<Ticket>;
    world.plan('p', { workflow: 'ask', tickets: { a: asked, b: { blockedBy: ['a'] } } });
    world.plan('q', { workflow: 'ask', tickets: { a: asked } });
    expect((await world.cli('respond', 'p', 'a', 'yes')).out).toBe(
      'p/a is complete at done. Run the plan with: signalbox run p\n',
    );
    expect((await world.cli('respond', 'q', 'a', 'yes')).out).toBe('q/a is complete at done.\n');
  });
});
