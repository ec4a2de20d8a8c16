import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import type { Ticket } from '../../src/model/ticket.ts';
import { it, type World } from '../support/index.ts';

const SPEND = [
  { write: { path: 'x.txt', text: 'x' } },
  { commit: 'Done' },
  { usage: { inputTokens: 100, outputTokens: 10, costUsd: 0.6 } },
];

function prepare(world: World, rules: unknown[]): void {
  world.rehearsal(rules);
  world.workflow('work', [{ id: 'build', type: 'agent', prompt: 'Build.' }]);
  world.config({ defaultAgent: 'rehearsal', maxConcurrency: 1 });
}

const isHeld = (ticket: Ticket) => ticket.hold !== null && ticket.claim === null;

describe('a plan that is deleted', () => {
  it.concurrent('gives none of the day’s money back', { tags: 'full' }, async ({ world }) => {
    prepare(world, [{ when: {}, do: SPEND }]);
    world.config({ budgets: { day: { usd: 1 } } });
    for (const id of ['p', 'q', 'r']) world.plan(id, { tickets: { a: {} } });
    for (const id of ['p', 'q']) expect((await world.cli('run', id)).code).toBe(0);
    for (const id of ['p', 'q'])
      expect((await world.cli('plan', 'delete', id, '--force')).out).toBe(`Plan ${id} is deleted.\n`);
    const run = world.invoke(['run', 'r']);
    const { hold } = await world.reaches('r', 'a', isHeld);
    expect(hold).toMatchObject({ reason: 'today’s budget is used up: $1.20 of $1.00' });
    await run.kill('SIGTERM');
  });

  it.concurrent('counts for no other plan of its name', { tags: 'full' }, async ({ world }) => {
    prepare(world, [{ when: {}, do: SPEND }]);
    for (let i = 0; i < 2; i++) {
      world.plan('p', { budget: { usd: 0.5 }, tickets: { a: { branch: `b${i}`, budget: { usd: 0.5 } } } });
      expect((await world.cli('run', 'p')).code).toBe(0);
      expect(existsSync(join(world.stateDir, 'jobs', 'p', 'a'))).toBe(true);
      expect((await world.cli('plan', 'delete', 'p', '--force')).code).toBe(0);
      expect(existsSync(join(world.stateDir, 'jobs', 'p'))).toBe(false);
    }
  });

  it.concurrent('leaves the usage limit that its agent met', async ({ world }) => {
    prepare(world, [
      { when: { ticket: 'limited' }, do: [{ limit: { seconds: 600, message: 'Come back later.' } }] },
      { when: {}, do: SPEND },
    ]);
    world.plan('p', { tickets: { limited: {} } });
    world.plan('r', { tickets: { a: {} } });
    const first = world.invoke(['run', 'p']);
    const met = await world.reaches('p', 'limited', isHeld);
    await first.kill('SIGTERM');
    expect((await world.cli('plan', 'delete', 'p', '--force')).code).toBe(0);
    const run = world.invoke(['run', 'r']);
    const { hold } = await world.reaches('r', 'a', isHeld);
    expect(hold).toMatchObject({ kind: 'limit', until: met.hold?.until });
    await run.kill('SIGTERM');
  });
});
