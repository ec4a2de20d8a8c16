import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import type { Ticket } from '../../src/model/ticket.ts';
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
  const first = world.invoke(['daemon']);
  await world.reaches('p', 'a', ({ hold, claim }) => hold?.kind === 'gate' && claim === null);
  await first.kill('SIGTERM');
}

describe.concurrent('a ticket that waits for a person', () => {
  it('is told by a run as soon as it begins, with the command that answers', async ({ world }) => {
    await standing(world);
    const run = world.invoke(['run', 'p', '--plain']);
    await run.says('→ signalbox respond p a yes\n  → signalbox respond p a no');
    await run.says('! a needs attention: Ship it? (yes | no)');
    expect((await world.invoke(['respond', 'p', 'a', 'yes']).ended).code).toBe(0);
    expect((await run.ended).code).toBe(0);
  });

  it('is told by a daemon with the same commands', async ({ world }) => {
    world.workflow('work', [GATE, DONE, GONE]);
    world.script('look.sh', 'exit 1');
    world.plan('p', { tickets: { a: {} } });
    const daemon = world.invoke(['daemon', '--plain']);
    await daemon.says('  → signalbox respond p a yes\n  → signalbox respond p a no');
    await daemon.kill('SIGTERM');
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
    const { out } = await world.invoke(['status', 'p']).ended;
    expect(out).toMatch(/needs attention +for 1 h 0 m/);
    expect(out).toMatch(/Ship it\? \(yes \| no\) \(next check /);
    expect(out).not.toContain('until');
  });

  it('goes on asking while its gate looks for an answer elsewhere', async ({ world }) => {
    world.workflow('work', [{ ...GATE, intervalSeconds: 0.05 }, DONE, GONE]);
    const [looks, on] = [join(world.dir, 'looks'), join(world.dir, 'go', 'on')];
    world.script(
      'look.sh',
      `if [ ! -e '${looks}' ]; then touch '${looks}'; exit 1; fi
      touch '${looks}-again'; while [ ! -e '${on}' ]; do sleep 0.02; done; exit 1`,
    );
    world.plan('p', { tickets: { a: {} } });
    const run = world.invoke(['run', 'p']);
    await world.until('looks-again');
    expect(world.ticket('p', 'a').status).toBe('running');
    const { out } = await world.invoke(['status']).ended;
    expect(out).toContain('0/1 complete, 1 needs attention');
    expect(out).toMatch(
      /! a +needs attention +for .*\n +Ship it\? \(yes \| no\)\n +→ signalbox respond p a yes\n +→ signalbox respond p a no\n/,
    );
    const shown = await world.json<{ tickets: Ticket[] }>('status', '--plan', 'p');
    expect(shown.tickets).toMatchObject([{ status: 'needs_attention', hold: { kind: 'gate' } }]);
    const answer = world.invoke(['respond', 'p', 'a', 'yes']);
    writeFileSync(on, '');
    expect((await answer.ended).code).toBe(0);
    expect((await run.ended).code).toBe(0);
  });

  it('at the end of its workflow is given the way on that the workflow names', async ({ world }) => {
    await standing(world);
    expect((await world.invoke(['respond', 'p', 'a', 'no']).ended).code).toBe(0);
    const { out } = await world.invoke(['status', 'p']).ended;
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
    await run.says(/◌ a waits until .*: Five hours are over\./);
    await run.kill('SIGKILL');
  });
});
