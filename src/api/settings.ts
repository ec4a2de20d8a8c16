import { packageDir } from '../config/find-config-and-state.ts';
import { loadSettings } from '../config/load-settings.ts';
import type { RunSettings, Settings } from '../config/settings-table.ts';
import type { Env } from '../machine/paths-and-user-home.ts';
import { surroundingsOf } from './orchestrator-arguments.ts';

export { InputError, SignalboxError } from '../model/errors.ts';
export type { RunSettings };
export type SignalboxSettings = Settings;

export interface GetSettingsOptions {
  /** Where the project is; default the working directory of the process at the time of the call. */
  cwd?: string;
  /** Default the environment of the process at the time of the call. */
  env?: Env;
  /** A config file instead of the user's own; it must exist. */
  configPath?: string;
}

/**
 * All settings: defaults < the user's config.yaml < the project's .signalbox/settings.json < environment. A bad one
 * rejects with an InputError that names file, line and what is allowed.
 */
export async function getSettings(options: GetSettingsOptions = {}): Promise<SignalboxSettings> {
  const { configPath } = options;
  return loadSettings({ ...surroundingsOf(options), configPath, packageDir: packageDir() });
}
