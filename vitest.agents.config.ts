import { defineConfig } from 'vitest/config';
import { PINNED } from './tools/agents/pinned.mjs';

const asked = process.env.SIGNALBOX_CONTRACT_AGENTS?.split(',') ?? Object.keys(PINNED);
const slow = asked.some((name) => PINNED[name]?.slow);

/**
 * The contract suite: real CLIs. `npm run test:agents` installs them and runs it.
 * Most of its time is spent waiting, so that two cores are enough for six tests of quick CLIs at once.
 */
export default defineConfig({
  define: { __VERSION__: JSON.stringify('test') },
  test: {
    include: ['test/contract/**/*.contract.ts'],
    testTimeout: 180_000,
    hookTimeout: 30_000,
    setupFiles: ['test/support/setup.ts'],
    pool: 'forks',
    maxWorkers: slow ? 2 : 3,
    maxConcurrency: slow ? 1 : 2,
    sequence: { concurrent: !slow },
  },
});
