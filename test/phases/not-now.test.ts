import { describe, expect } from 'vitest';
import type { Ticket } from '../../src/model/ticket.ts';
import { it } from '../support/index.ts';

const DONE = { id: 'done', type: 'terminal' };

/** Waits, and no engine holds it: a command to it is refused before. */
const isParked = ({ hold, claim }: Ticket) => hold?.kind === 'poll' && claim === null;

describe('a script that says not now', () => {
  it('is run again at the time it names, in the same attempt, with no retry and no slot used up', {
    tags: 'full',
  }, async ({ world }) => {
    world.script(
      'later.sh',
      `echo x >> ${world.dir}/runs-$SIGNALBOX_TICKET
[ "$(wc -l < ${world.dir}/runs-$SIGNALBOX_TICKET)" -gt 2 ] && exit 0
date -u -d '+1 second' +%Y-%m-%dT%H:%M:%SZ
echo 'the line is down'
exit 75`,
    );
    world.script('quick.sh', 'true');
    world.workflow('later', [{ id: 'work', type: 'script', command: 'later.sh', onSuccess: 'done' }, DONE]);
    world.workflow('quick', [{ id: 'work', type: 'script', command: 'quick.sh', onSuccess: 'done' }, DONE]);
    world.config({ maxConcurrency: 1 });
    world.plan('p', { tickets: { later: { workflow: 'later' }, quick: { workflow: 'quick' } } });
    const { code, out, err } = await world.cli('run', 'p');
    expect(code, out + err).toBe(0);
    expect(world.read('runs-later')).toBe('x\nx\nx\n');
    const [only, ...more] = world.ticket('p', 'later').phaseHistory;
    expect(more).toEqual([]);
    expect(only).toMatchObject({ status: 'success', attempt: 1, checks: 2 });
    expect(world.ticket('p', 'quick').status).toBe('complete');
  });

  it('waits a minute where it names no time, says why, and goes on at once when a person says so', async ({
    world,
  }) => {
    world.script('later.sh', `[ -e ${world.dir}/up ] || { echo 'no line' >&2; exit 75; }`);
    world.workflow('later', [{ id: 'work', type: 'script', command: 'later.sh', onSuccess: 'done' }, DONE]);
    world.plan('p', { workflow: 'later', tickets: { a: {} } });
    const run = world.invoke(['run', 'p']);
    const { hold } = await world.reaches('p', 'a', isParked);
    expect(hold?.reason).toBe('work: no line');
    const seconds = (Date.parse(hold?.until ?? '') - Date.now()) / 1000;
    expect(seconds).toBeGreaterThan(30);
    expect(seconds).toBeLessThanOrEqual(60);
    world.append('up', '');
    const retried = await world.cli('retry', 'p', 'a');
    expect(retried.code, retried.err).toBe(0);
    expect((await run.ended).code).toBe(0);
  });
});

describe('a script that says that it is no use', () => {
  it('is not tried again: its failure edge is taken at once', async ({ world }) => {
    world.script('never.sh', "echo 'somebody closed it' >&2; exit 65");
    world.workflow('never', [
      {
        ...{ id: 'work', type: 'script', command: 'never.sh', onSuccess: 'done', onFailure: 'help' },
        retry: { max: 3, delaySeconds: 3600 },
      },
      { id: 'help', type: 'terminal', notify: true },
      DONE,
    ]);
    world.plan('p', { workflow: 'never', tickets: { a: {} } });
    await world.cli('run', 'p');
    const { currentPhase, phaseHistory } = world.ticket('p', 'a');
    expect(currentPhase).toBe('help');
    expect(phaseHistory).toMatchObject([
      {
        phase: 'work',
        outcome: 'failure',
        error: { class: 'refused', message: 'somebody closed it' },
      },
    ]);
  });
});
