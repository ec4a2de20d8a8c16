import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { it, story, type World } from '../support/index.ts';

const END = { type: 'result', subtype: 'success', is_error: false, result: 'done', session_id: 's' };

/** An agent has ended, its engine was killed, and nothing says how it ended. */
async function loseRecord(world: World, prints: string): Promise<void> {
  world.agent('agent', `commit; ${prints}`, { adapter: 'claude' });
  world.workflow('work', [{ id: 'build', type: 'agent', prompt: 'Build.', expect: { commits: true } }]);
  world.plan('p', { tickets: { a: {} } });
  await world.start(['run', 'p'], { SIGNALBOX_CRASH_AT: 'attempt:performed' }).ended;
  rmSync(join(world.stateDir, 'jobs/p/a/build.1.1/exit.json'));
}

it('a finished agent without an exit record is known by its end event, and not run again', async ({
  world,
}) => {
  await loseRecord(world, `echo '${JSON.stringify(END)}'`);
  const { code, out, err } = await world.cli('run', 'p');
  expect(code, out + err).toBe(0);
  expect(story(world.ticket('p', 'a'))).toEqual(['build success']);
  expect(world.calls('start')).toHaveLength(1);
});
