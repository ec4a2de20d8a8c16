import { availableParallelism } from 'node:os';
import { configDefaults, defineConfig } from 'vitest/config';
import { memoryDisk } from './tools/memory-disk.mjs';

const fast = memoryDisk();

export default defineConfig({
  define: { __VERSION__: JSON.stringify('test') },
  test: {
    include: ['test/**/*.test.ts'],
    tags: [{ name: 'full', description: 'Left out of `npm test` because it is slow.' }],
    exclude: [...configDefaults.exclude, 'test/system/**'],
    env: process.env.TMPDIR === undefined && fast ? { TMPDIR: fast } : {},
    // Tests wait with deadlines that grow with the load of the machine; this one is for a test that waits for nothing.
    testTimeout: 600_000,
    hookTimeout: 300_000,
    globalSetup: ['test/support/global-setup.ts'],
    setupFiles: ['test/support/setup.ts'],
    pool: 'forks',
    // Loading our sources anew for each of some hundred files would take longer than many of them run.
    isolate: false,
    // Many tests wait for processes, so that one worker more than there are cores keeps them all busy.
    maxWorkers: availableParallelism() + 1,
  },
});
