import { describe, expect } from 'vitest';
import { commitsOf, it, story, waitFor, worktreesOf } from '../support/index.ts';
import { randomFrom } from '../support/random.ts';
import { firstOnly } from '../support/tiers.ts';

const ROUNDS = 4;

describe('kill -9 at any moment', () => {
  for (const seed of [1, 2, 3]) {
    it.concurrent(`converges to the same end (${seed})`, firstOnly(seed - 1), async ({ world }) => {
      world.agent('agent', 'alone; sleep 0.05; commit');
      world.script('check.sh', 'sleep 0.02');
      world.workflow('work', [
        { id: 'build', type: 'agent', prompt: 'Build it.', expect: { commits: true }, onSuccess: 'check' },
        { id: 'check', type: 'script', command: 'check.sh', onSuccess: 'polish' },
        { id: 'polish', type: 'agent', prompt: 'Polish it.', expect: { commits: 2, clean: true } },
      ]);
      const ids = ['a', 'b', 'c', 'd', 'e', 'f'];
      world.plan('p', { tickets: Object.fromEntries(ids.map((id) => [id, {}])) });
      const random = randomFrom(seed);
      for (let round = 0; round < ROUNDS; round++) {
        const run = world.start(['run', 'p']);
        // A number of recorded events instead of a time: as random, and the same on a slow machine.
        const enough = world.events('p').length + 1 + Math.floor(random() * 8);
        await waitFor('events', () => !run.alive || world.events('p').length >= enough);
        await run.kill('SIGKILL');
      }
      const { code, out, err } = await world.cli('run', 'p');
      expect(code, out + err + JSON.stringify(world.calls())).toBe(0);
      expect(world.calls('clash')).toEqual([]);
      expect(worktreesOf(world.repo)).toEqual([]);
      for (const id of ids) {
        const ticket = world.ticket('p', id);
        expect(ticket).toMatchObject({ status: 'complete', claim: null });
        const done = story(ticket).filter((line) => line.endsWith('success'));
        expect(done).toEqual(['build success', 'check success', 'polish success']);
        const ends = world.calls('end', { ticket: `p/${id}` }).map((call) => call.attempt);
        expect(new Set(ends).size, 'no attempt runs twice').toBe(ends.length);
        expect(commitsOf(world.repo, `ticket/p/${id}`).length).toBeGreaterThanOrEqual(2);
      }
    });
  }
});
