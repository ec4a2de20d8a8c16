import type { ValueOf } from '../../../config/kinds.ts';
import type { RUN_ONLY } from '../../../config/run-table.ts';
import type { RunSettings } from '../../../config/settings.ts';
import type { AgentConfig } from '../../../model/agent.ts';

interface OfSettings extends Omit<RunSettings, 'phases' | 'defaultBase'> {
  base: RunSettings['defaultBase'];
  phasePolicies: RunSettings['phases'];
}
type OfRun = { [K in keyof typeof RUN_ONLY]: ValueOf<(typeof RUN_ONLY)[K]['kind']> };

type Given<T> = { [K in keyof T]?: T[K] | undefined };

/** Options of one run. A key that is missing or undefined comes from variables, settings or defaults. */
export interface RunOptions extends Given<Omit<OfSettings, 'rotation'>>, Given<Omit<OfRun, 'phases'>> {
  /** `spec,exec,qa`, or a list. */
  phases?: string | readonly string[] | undefined;
  rotation?: Given<OfSettings['rotation']> | undefined;
  /** The same as `logJson: false`, `smartTests: false`, `retry: false` and `pr: false`. */
  noLog?: boolean | undefined;
  noSmartTests?: boolean | undefined;
  noRetry?: boolean | undefined;
  noPr?: boolean | undefined;
}

/** Options after merging: every setting has a value. */
export interface MergedRunOptions extends OfSettings, Partial<Omit<OfRun, 'phases'>> {
  phases?: string;
}

/** What is needed of SignalboxSettings; what is missing has its default. */
export interface SettingsOfRuns {
  run?: Partial<RunSettings>;
  agents?: Record<string, AgentConfig>;
}
