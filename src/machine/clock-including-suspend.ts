import { readFileSync } from 'node:fs';
import { ifPossible } from './files/read-and-remove-files.ts';

/**
 * Seconds by a clock that also counts the time in which the machine sleeps, which every process of the machine can read. On Linux since its
 * start; elsewhere it is the wall clock.
 */
export function secondsWithSleep(): number {
  const [, seconds] =
    /^(\d+(?:\.\d+)?) /.exec(ifPossible(() => readFileSync('/proc/uptime', 'latin1')) ?? '') ?? [];
  return seconds === undefined ? Date.now() / 1000 : Number(seconds);
}
