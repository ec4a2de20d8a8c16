import { defineConfig } from 'vitest/config';

/** The contract suite: real CLIs, one at a time. `npm run test:agents` installs them and runs it. */
export default defineConfig({
  define: { __VERSION__: JSON.stringify('test') },
  test: {
    include: ['test/contract/**/*.contract.ts'],
    testTimeout: 180_000,
    hookTimeout: 30_000,
    pool: 'forks',
    maxWorkers: 1,
    fileParallelism: false,
  },
});
