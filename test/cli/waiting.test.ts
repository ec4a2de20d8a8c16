import { writeFileSync } from 'node:fs';
import { describe, expect } from 'vitest';
import { DONE, it, setUp, type World } from './support.ts';

const GATE = {
  id: 'ask',
  type: 'gate',
  prompt: 'Ship it?',
  command: 'look.sh',
  intervalSeconds: 600,
  on: { yes: 'done', no: 'gone' },
};
const GONE = {
  id: 'gone',
  type: 'terminal',
  notify: true,
  description: 'Nobody wants it. `signalbox skip <plan> <ticket> ask` asks again.',
};

/** A ticket that stands before a gate which looks every ten minutes, with nobody at work. */
async function standing(world: World): Promise<void> {
  world.workflow('work', [GATE, DONE, GONE]);
  world.script('look.sh', 'exit 1');
  world.plan('p', { tickets: { a: {} } });
  const first = world.start(['run', 'p']);
  await world.reaches('p', 'a', ({ hold, claim }) => hold?.kind === 'gate' && claim === null);
  await first.kill('SIGKILL');
}

describe.concurrent('a ticket that waits for a person', { timeout: 60_000 }, () => {
  it('is told by a run as soon as it begins, with the command that answers', async ({ world }) => {
    await standing(world);
    const run = world.start(['run', 'p', '--plain']);
    await run.says('→ signalbox respond p a <decision>');
    expect(run.out).toContain('! a needs attention: Ship it? (yes | no)');
    expect((await world.start(['respond', 'p', 'a', 'yes']).ended).code).toBe(0);
    expect((await run.ended).code).toBe(0);
  });

  it('has waited since it was asked, and the next look is no deadline', async ({ world }) => {
    await standing(world);
    const asked = Date.now() - 3_600_000;
    const file = world.ticketFile('p', 'a');
    const ticket = world.ticket('p', 'a');
    const [open] = ticket.phaseHistory;
    writeFileSync(
      file,
      JSON.stringify({ ...ticket, phaseHistory: [{ ...open, startedAt: new Date(asked).toISOString() }] }),
    );
    const { out } = await world.start(['status', 'p']).ended;
    expect(out).toMatch(/needs attention +for 1h 0m/);
    expect(out).toMatch(/Ship it\? \(yes \| no\) \(next look /);
    expect(out).not.toContain('until');
  });

  it('at the end of its workflow is given the way on that the workflow names', async ({ world }) => {
    await standing(world);
    expect((await world.start(['respond', 'p', 'a', 'no']).ended).code).toBe(0);
    const { out } = await world.start(['status', 'p']).ended;
    expect(out).toContain('gone: Nobody wants it. `signalbox skip p a ask` asks again.');
    expect(out).toContain('→ signalbox skip p a ask\n');
  });

  it('or for a usage limit is told at once, too', async ({ world }) => {
    setUp(world);
    const until = new Date(Date.now() + 3_600_000).toISOString();
    const hold = { kind: 'limit', reason: 'Five hours are over.', until };
    writeFileSync(
      world.ticketFile('p', 'a'),
      JSON.stringify({ ...world.ticket('p', 'a'), status: 'ready', hold, since: new Date().toISOString() }),
    );
    const run = world.start(['run', 'p', '--plain']);
    await run.says('Five hours are over.');
    expect(run.out).toMatch(/◌ a waits until .*: Five hours are over\./);
    await run.kill('SIGKILL');
  });
});
