import { processStart } from '../../src/machine/processes.ts';

/** Whether a process still does anything; one that only waits to be buried does not. */
export function isRunning(pid: number): boolean {
  return processStart(pid) !== undefined;
}
