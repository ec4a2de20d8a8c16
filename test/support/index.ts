import { test } from 'vitest';
import { World } from './world.ts';

export { isRunning } from './processes.ts';
export { commitsOf, git, worktreesOf } from './repo.ts';
export { waitFor } from './wait-for.ts';
export { story, World } from './world.ts';

/** A test with a world of its own, which is gone afterwards together with every process in it. */
export const it = test.extend<{ world: World }>({
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads the names from the pattern
  world: async ({}, use) => {
    const world = new World();
    try {
      await use(world);
    } finally {
      await world.close();
    }
  },
});
