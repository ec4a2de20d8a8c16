import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

/** What needs programs beside Node and git, such as tmux. */
export default defineConfig({
  define: { __VERSION__: JSON.stringify('test') },
  test: {
    include: ['test/system/**/*.test.ts'],
    tags: [{ name: 'full', description: 'Left out of `npm test`; here all tests run.' }],
    testTimeout: 600_000,
    hookTimeout: 300_000,
    globalSetup: ['test/support/global-setup.ts'],
    setupFiles: ['test/support/setup.ts'],
    pool: 'forks',
    // Loading our sources anew for each file would take longer than many of them run.
    isolate: false,
    maxWorkers: availableParallelism(),
  },
});
