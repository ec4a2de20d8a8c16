import { mergeRunOptions } from '../features/issue-runs/options/run-options.ts';
import type { MergedRunOptions, RunOptions, SettingsOfRuns } from '../features/issue-runs/types.ts';
import type { Env } from '../machine/environment.ts';

interface ResolveOptions {
  /** Default: the environment of the process at the time of the call. */
  env?: Env;
  /** How errors name an option: as the caller's property, or as the command-line flag. */
  named?: 'option' | 'flag';
}

/**
 * Merges options over environment over settings over defaults. Undefined keys are ignored. Throws an InputError that names
 * the origin of anything bad, unknown or contradictory.
 */
export function resolveRunOptions(
  cliOptions: RunOptions,
  settings: SettingsOfRuns,
  { env = process.env, named = 'option' }: ResolveOptions = {},
): MergedRunOptions {
  return mergeRunOptions(cliOptions, settings, { env, named });
}
