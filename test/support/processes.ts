import { processStart } from '../../src/machine/process-identity-and-signals.ts';

/** Whether a process still does anything; one that only waits to be buried does not. */
export function isRunning(pid: number): boolean {
  return processStart(pid) !== undefined;
}
