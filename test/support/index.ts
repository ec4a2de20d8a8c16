import { type TestContext, test } from 'vitest';
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

/**
 * A test for each row, of which the first is in `npm test` and the rest, slow variants of the same case, are in `full`.
 * As `it.for(rows)`.
 */
export function variants<const Row>(rows: readonly Row[]) {
  return (name: string, body: (row: Row, context: TestContext & { world: World }) => Promise<void>): void => {
    it.for(rows.slice(0, 1))(name, body);
    it.for(rows.slice(1))(name, { tags: 'full' }, body);
  };
}
