import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { isRunning, it, story, type World, waitFor } from '../support/index.ts';
import { within } from '../support/within.ts';

const PERSON = { id: 'person', type: 'terminal', notify: true };
const agent = (more: Record<string, unknown>) => ({
  id: 'build',
  type: 'agent',
  prompt: 'Build.',
  onFailure: 'person',
  ...more,
});

function isOver(world: World, ticketId: string): Promise<unknown> {
  return world.reaches('p', ticketId, (ticket) => ticket.status === 'needs_attention' && !ticket.claim);
}

describe('every wait ends', () => {
  it.concurrent('wall clock and silence end an agent or script; retries come first, then the failure edge', {
    tags: 'full',
  }, async ({ world }) => {
    world.agent(
      'agent',
      'case $SIGNALBOX_TICKET in silent) sleep 60;; *) while :; do echo tick; sleep 0.05; done;; esac',
    );
    world.script('forever.sh', 'while :; do echo tick; sleep 0.05; done');
    world.script('silent.sh', 'sleep 60');
    world.workflow('wall', [agent({ timeoutSeconds: 0.4, maxRetries: 1 }), PERSON]);
    world.workflow('idle', [agent({ idleSeconds: 0.4, maxRetries: 1 }), PERSON]);
    const script = { id: 'build', type: 'script', onFailure: 'person', maxRetries: 1 };
    world.workflow('script-wall', [{ ...script, command: 'forever.sh', timeoutSeconds: 0.4 }, PERSON]);
    world.workflow('script-idle', [{ ...script, command: 'silent.sh', idleSeconds: 0.4 }, PERSON]);
    const own = {
      ...script,
      onFailure: undefined,
      on: { timeout: 'later', failure: 'person' },
      timeoutSeconds: 0.4,
    };
    world.workflow('own-edge', [
      { ...own, command: 'forever.sh' },
      PERSON,
      { id: 'later', type: 'terminal' },
    ]);
    world.plan('p', {
      tickets: {
        loud: { workflow: 'wall' },
        silent: { workflow: 'idle' },
        loudscript: { workflow: 'script-wall' },
        silentscript: { workflow: 'script-idle' },
        edge: { workflow: 'own-edge' },
      },
    });
    await world.cli('run', 'p', '-c', '5');
    const kinds = { loud: 'timeout', silent: 'idle', loudscript: 'timeout', silentscript: 'idle' };
    for (const [id, kind] of Object.entries(kinds)) {
      const ticket = world.ticket('p', id);
      expect(ticket, id).toMatchObject({
        status: 'needs_attention',
        currentPhase: 'person',
        retries: { build: 2 },
      });
      expect(
        ticket.phaseHistory.map((entry) => entry.error?.class),
        id,
      ).toEqual([kind, kind]);
    }
    expect(world.ticket('p', 'edge')).toMatchObject({ status: 'complete', currentPhase: 'later' });
    for (const { pid } of world.calls('start')) expect(isRunning(pid)).toBe(false);
  });

  it.concurrent('a poll that is never ready takes its failure edge after its time in all', {
    tags: 'full',
  }, async ({ world }) => {
    world.script('never.sh', 'echo "3 of 5 checks"; exit 1');
    world.script('broken.sh', 'echo "no such thing" >&2; exit 2');
    world.script('third.sh', `[ "$(grep -c 'start p/ready' '${world.dir}/agents.log')" = 3 ] || exit 1`);
    const poll = { id: 'wait', type: 'poll', intervalSeconds: 0.1, onFailure: 'person' };
    world.workflow('never', [{ ...poll, command: 'never.sh', timeoutSeconds: 0.5 }, PERSON]);
    world.workflow('broken', [{ ...poll, command: 'broken.sh', maxRetries: 1 }, PERSON]);
    world.workflow('third', [{ ...poll, command: 'third.sh' }, PERSON]);
    world.plan('p', {
      tickets: { never: { workflow: 'never' }, broken: { workflow: 'broken' }, ready: { workflow: 'third' } },
    });
    const { out } = await world.cli('run', 'p');
    expect(out).toMatch(/never waits: wait: 3 of 5 checks/);
    const never = world.ticket('p', 'never');
    expect(never).toMatchObject({ status: 'needs_attention', currentPhase: 'person' });
    expect(never.phaseHistory).toMatchObject([
      { status: 'failure', outcome: 'timeout', error: { class: 'timeout' } },
    ]);
    expect(never.phaseHistory[0]?.checks).toBeGreaterThan(0);
    expect(story(world.ticket('p', 'broken'))).toEqual(['wait failure', 'wait failure']);
    expect(world.ticket('p', 'broken').error).toContain('no such thing');
    expect(world.ticket('p', 'ready').status).toBe('complete');
    expect(world.calls('start', { ticket: 'p/ready' })).toHaveLength(3);
  });

  it.concurrent('an exception in an attempt is a failure like any other: retried, then the edge', async ({
    world,
  }) => {
    world.agent('agent', 'commit');
    const lost = { id: 'build', type: 'script', command: 'lost.sh', maxRetries: 1, onFailure: 'person' };
    world.script('lost.sh', ':');
    world.script('spoil.sh', `rm -f '${world.home}/scripts/lost.sh'; mkdir '${world.home}/scripts/lost.sh'`);
    world.workflow('work', [
      { id: 'spoil', type: 'script', command: 'spoil.sh', onSuccess: 'build' },
      lost,
      PERSON,
    ]);
    world.plan('p', { tickets: { a: {} } });
    await world.cli('run', 'p');
    const ticket = world.ticket('p', 'a');
    expect(story(ticket)).toEqual(['spoil success', 'build failure', 'build failure']);
    expect(ticket.currentPhase).toBe('person');
  });

  it.concurrent('what no repetition can help is not repeated', async ({ world }) => {
    world.agent('absent', 'true');
    world.script('uninstall.sh', `rm -f ${join(world.dir, 'bin', 'absent')}`);
    world.rehearsal([{ when: {}, do: [{ fail: { class: 'auth', message: 'The key was refused.' } }] }]);
    world.workflow('work', [
      { id: 'uninstall', type: 'script', command: 'uninstall.sh', onSuccess: 'build' },
      agent({ maxRetries: 3 }),
      PERSON,
    ]);
    world.plan('p', { tickets: { absent: { agent: 'absent' }, refused: { agent: 'rehearsal' } } });
    await world.cli('run', 'p');
    for (const [id, kind] of Object.entries({ absent: 'config', refused: 'auth' })) {
      const ticket = world.ticket('p', id);
      expect(ticket, id).toMatchObject({ status: 'needs_attention', currentPhase: 'person' });
      expect(
        ticket.phaseHistory.slice(1).map((entry) => entry.error?.class),
        id,
      ).toEqual([kind]);
    }
  });

  it.concurrent('a loop ends at maxVisits and takes the failure edge', async ({ world }) => {
    world.agent('agent', 'commit');
    world.script('no.sh', 'exit 1');
    world.workflow('work', [
      { ...agent({ maxVisits: 3 }), onSuccess: 'check' },
      { id: 'check', type: 'script', command: 'no.sh', onFailure: 'build' },
      PERSON,
    ]);
    world.plan('p', { tickets: { a: {} } });
    await world.cli('run', 'p');
    const ticket = world.ticket('p', 'a');
    expect(ticket).toMatchObject({ status: 'needs_attention', currentPhase: 'person' });
    expect(world.calls('start').filter((call) => call.attempt.startsWith('build'))).toHaveLength(3);
    expect(ticket.phaseHistory.at(-1)?.error).toMatchObject({ class: 'visits' });
  });

  it.concurrent('a gate nobody answers takes its failure edge in time', async ({ world }) => {
    world.workflow('work', [
      {
        id: 'ask',
        type: 'gate',
        prompt: 'Ship {{ title }}?',
        timeoutSeconds: 0.6,
        on: { ship: 'done' },
        onFailure: 'person',
      },
      { id: 'done', type: 'terminal' },
      PERSON,
    ]);
    world.plan('p', { tickets: { a: {} } });
    const { out } = await world.cli('run', 'p');
    expect(out).toContain('a needs attention: Ship Title of a? (ship)');
    const ticket = world.ticket('p', 'a');
    expect(ticket).toMatchObject({ currentPhase: 'person', hold: null });
    expect(ticket.error).toContain('no answer for');
  });

  it.concurrent('a wait that a clock two hours ahead began ends in its time from now', {
    tags: 'full',
  }, async ({ world }) => {
    world.script('never.sh', 'exit 1');
    const wait = { timeoutSeconds: 3, onFailure: 'person' };
    world.workflow('poll', [
      { id: 'wait', type: 'poll', command: 'never.sh', intervalSeconds: 1, ...wait },
      PERSON,
    ]);
    world.workflow('gate', [{ id: 'ask', type: 'gate', on: { ship: 'person' }, ...wait }, PERSON]);
    world.plan('p', { tickets: { poll: { workflow: 'poll' }, gate: { workflow: 'gate' } } });
    await world.cli('tick');
    for (const id of ['poll', 'gate']) {
      const { hold, since, phaseHistory, ...ticket } = world.ticket('p', id);
      const ahead = (time: string | null | undefined) =>
        new Date(Date.parse(time ?? '') + 7_200_000).toISOString();
      world.writeTicket('p', id, {
        ...ticket,
        since: ahead(since),
        hold: hold && { ...hold, until: ahead(hold.until) },
        phaseHistory: phaseHistory.map((entry) => ({ ...entry, startedAt: ahead(entry.startedAt) })),
      });
    }
    await world.cli('run', 'p');
    for (const id of ['poll', 'gate'])
      expect(world.ticket('p', id), id).toMatchObject({
        currentPhase: 'person',
        phaseHistory: [{ outcome: 'timeout' }],
      });
  });

  it.concurrent('repetitions wait longer each time, and the slot is free meanwhile', {
    tags: 'full',
  }, async ({ world }) => {
    // Long enough for the other ticket to begin meanwhile.
    const wait = within(300);
    world.agent('agent', '[ $SIGNALBOX_TICKET = other ] || exit 1');
    world.workflow('work', [agent({ retry: { max: 2, delaySeconds: wait / 1000, factor: 2 } }), PERSON]);
    world.plan('p', { concurrency: 1, tickets: { fails: {}, other: { order: 1 } } });
    const { out } = await world.cli('run', 'p', '-c', '1');
    expect(out).toContain('attempt 1 failed: the agent ended with exit code 1');
    const ticket = world.ticket('p', 'fails');
    const gaps = ticket.phaseHistory.slice(1).map((entry, index) => {
      return Date.parse(entry.startedAt) - Date.parse(ticket.phaseHistory[index]?.completedAt ?? '');
    });
    expect(gaps[0]).toBeGreaterThanOrEqual(wait);
    expect(gaps[1]).toBeGreaterThanOrEqual(2 * wait);
    const other = world.ticket('p', 'other').phaseHistory[0]?.startedAt ?? '';
    expect(other < (ticket.phaseHistory[1]?.startedAt ?? '')).toBe(true);
  });

  it.concurrent('a capture that hangs, or leaves a process behind, is stopped with its ticket', async ({
    world,
  }) => {
    world.script('fine.sh', ':');
    const script = { id: 'build', type: 'script', command: 'fine.sh' };
    world.workflow('hangs', [{ ...script, capture: { x: `echo $$ > ${world.dir}/hanging; sleep 60` } }]);
    world.workflow('leaves', [
      { ...script, capture: { x: `sleep 60 & echo $! > ${world.dir}/left; echo value` } },
    ]);
    world.plan('p', { tickets: { hangs: { workflow: 'hangs' }, leaves: { workflow: 'leaves' } } });
    const run = world.invoke(['run', 'p']);
    const done = await world.reaches('p', 'leaves', 'complete');
    expect(done.context).toEqual({ x: 'value' });
    await waitFor('the end of what was left', () => !isRunning(Number(world.read('left'))));
    const pid = await waitFor('the capture', () =>
      world.exists('hanging') ? Number(world.read('hanging')) : 0,
    );
    expect((await world.cli('pause', 'p', 'hangs')).code).toBe(0);
    expect(isRunning(pid)).toBe(false);
    await run.ended;
    expect(world.ticket('p', 'hangs').status).toBe('paused');
  });

  it.concurrent('an agent that dies over and over is a failure after all', async ({ world }) => {
    world.agent('agent', 'kill -9 $$');
    world.workflow('work', [agent({}), PERSON]);
    world.plan('p', { tickets: { a: {} } });
    const run = world.invoke(['run', 'p']);
    await isOver(world, 'a');
    await run.ended;
    const ticket = world.ticket('p', 'a');
    expect(ticket.currentPhase).toBe('person');
    expect(ticket.error).toContain('in a row');
    expect(ticket.phaseHistory.length).toBeLessThanOrEqual(7);
  });
});
