import * as processes from '../processes.ts';
import { MARKER } from './job.ts';

/** Signals a process group; false when nobody is in it any more. */
export function signalGroup(pid: number, signal: NodeJS.Signals | 0): boolean {
  return processes.sendSignal(-pid, signal);
}

/**
 * Processes that carry a job's marker in their environment: tools run in sessions of their own
 * survive the end of their agent. `since` is the job's own pid: later processes have higher ones.
 */
export function markedProcesses(marker: string, since = 0): Promise<number[]> {
  return processes.markedProcesses(`${MARKER}=${marker}`, since);
}

/** Kills everything that carries the marker and returns what would not go. */
export function killMarked(marker: string, since: number): Promise<number[]> {
  return processes.killMarked(`${MARKER}=${marker}`, since);
}
