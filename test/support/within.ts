import { spawnSync } from 'node:child_process';
import { availableParallelism, loadavg } from 'node:os';

/** How long a trivial process takes on an idle machine. */
const IDLE_SPAWN_MS = 10;
const MEASURE_EVERY_MS = 5_000;
/** A test that waits in vain fails before the time limit of the test runner. */
const MAX_FACTOR = 10;

let measured = { at: Number.NEGATIVE_INFINITY, factor: 1 };

/**
 * What takes so many milliseconds on an idle machine may take this long now. `SIGNALBOX_TEST_PATIENCE` multiplies it further.
 * Every deadline of a test is made with it.
 */
export function within(ms: number): number {
  return Math.ceil(ms * slowness() * (Number(process.env.SIGNALBOX_TEST_PATIENCE) || 1));
}

/** At least 1: by the length of the queue for the processors, and by how long a process takes to start. */
function slowness(): number {
  const now = performance.now();
  if (now - measured.at > MEASURE_EVERY_MS) {
    spawnSync('true');
    const spawn = (performance.now() - now) / IDLE_SPAWN_MS;
    const queue = (loadavg()[0] ?? 0) / availableParallelism();
    measured = { at: performance.now(), factor: Math.min(Math.max(1, spawn, queue), MAX_FACTOR) };
  }
  return measured.factor;
}
