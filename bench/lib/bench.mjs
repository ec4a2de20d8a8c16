import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createSandbox } from './sandbox.mjs';

/** What all cases share: the place, the command under test, the clock and the count of what went wrong. */
export function createBench({ cli, dir, secondsPerCase = 60, secondsInAll = 600 }) {
  const sandbox = createSandbox(dir);
  const scripts = join(dirname(fileURLToPath(import.meta.url)), '..', 'scripts');
  const lost = [];
  const failures = [];
  let [runs, tickets] = [0, 0];
  const start = performance.now();
  let [current, began] = ['', start];
  const bench = {
    sandbox,
    env: { ...sandbox.env, BENCH_SCRIPTS: scripts },
    cli: [process.execPath, resolve(cli)],
    floorLost: 0,
    /** True for the first round of a case always, for further ones while there is time. */
    hasTime(name, turn) {
      if (name !== current) [current, began] = [name, performance.now()];
      const now = performance.now();
      const left = now - began < secondsPerCase * 1000 && now - start < secondsInAll * 1000;
      if (!left && turn > 0) bench.progress(`${name}: out of time after ${turn} rounds`);
      return left || turn === 0;
    },
    /** Notes a run of so many tickets and what it lost. */
    count(inRun, missing) {
      runs += 1;
      tickets += inRun;
      lost.push(...missing);
    },
    fail: (message) => failures.push(message),
    progress: (text) => process.stderr.write(`${text}\n`),
    result: () => ({ runs, tickets, lost, failures, floorLost: bench.floorLost }),
    close: () => sandbox.remove(),
  };
  return bench;
}
