import { defineConfig } from 'vitest/config';

/** What needs programs beside Node and git, such as tmux. */
export default defineConfig({
  define: { __VERSION__: JSON.stringify('test') },
  test: {
    include: ['test/system/**/*.test.ts'],
    testTimeout: 60_000,
    hookTimeout: 30_000,
    pool: 'forks',
  },
});
