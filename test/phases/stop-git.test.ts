import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { it, story, waitFor } from '../support/index.ts';
import { within } from '../support/within.ts';

it('a stop does not wait for a git that hangs on what the agent left', async ({ world }) => {
  world.agent('agent', 'commit; mkfifo .gitattributes; echo more >> README.md');
  world.workflow('work', [
    { id: 'build', type: 'agent', prompt: 'Build.', maxRetries: 0, expect: { clean: true } },
  ]);
  world.plan('p', { tickets: { a: {} } });
  const run = world.invoke(['run', 'p']);
  const job = join(world.stateDir, 'jobs', 'p', 'a', 'build.1.1');
  await waitFor('the end of the agent', () => existsSync(join(job, 'exit.json')));
  const began = performance.now();
  await run.kill('SIGTERM');
  expect(performance.now() - began).toBeLessThan(within(20_000));
  expect(story(world.ticket('p', 'a'))).toEqual(['build interrupted']);
  expect(world.ticket('p', 'a').status).toBe('paused');
});
