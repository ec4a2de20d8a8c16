import { checkGiven, variableLayer } from '../../../config/layers.ts';
import { optionOf, RUN_SETTINGS } from '../../../config/run-flags.ts';
import { type Env, userHome } from '../../../machine/environment.ts';
import { OPTIONAL_PHASES } from '../../../model/issue-phases.ts';
import { checkCombination, checkMerged } from './combinations.ts';
import { ConfigResolver } from './config-resolver.ts';
import { rulesWithout } from './phases.ts';
import { at, nested, readOptions, type Values } from './read-options.ts';
import type { MergedRunOptions, RunOptions, SettingsOfRuns } from './types.ts';

/** On options that were merged; copies made by spreading keep it. */
const MERGED = Symbol('merged');

/**
 * Options over environment over settings over defaults. Undefined keys are ignored; anything bad, unknown or
 * contradictory throws an InputError that says where it came from.
 */
export function mergeRunOptions(
  cliOptions: RunOptions,
  settings: SettingsOfRuns,
  { env, named }: { env: Env; named: 'option' | 'flag' },
): MergedRunOptions {
  const home = userHome(env);
  const explicit = readOptions(cliOptions, home, named);
  // In options that were merged before, a value may be no more than a default or a setting.
  const again = MERGED in cliOptions;
  (again ? checkMerged : checkCombination)(nested(explicit));
  const variables = variableValues(env, home);
  const merged = merge(settingsValues(settings, home), variables, explicit);
  const no = (option: string) => (explicit[option] ?? variables[option]) === false;
  const phases = OPTIONAL_PHASES.filter((phase) => no(phase === 'testgen' ? 'testgen' : 'securityReview'));
  const rules = again ? merged.rules : rulesWithout(merged.rules, { phases, qualityLoop: no('qualityLoop') });
  const result = { ...merged, rules, [MERGED]: true };
  return result;
}

/** Completes options that may have been merged before: missing ones come from the settings. */
export function completeOptions(options: RunOptions, settings: SettingsOfRuns): MergedRunOptions {
  const home = userHome({});
  return merge(settingsValues(settings, home), {}, readOptions(options, home, 'option'));
}

function merge(settings: Values, variables: Values, explicit: Values): MergedRunOptions {
  const presets = RUN_SETTINGS.map((row) => [optionOf(row), structuredClone(row.default)]);
  const layers = {
    defaults: Object.fromEntries(presets) as Values,
    settings,
    env: implied(variables),
    explicit: implied(explicit),
  };
  return nested(new ConfigResolver<Values>(layers).resolve()) as unknown as MergedRunOptions;
}

/** What the options of a layer imply, so that it overrides the layers below. */
function implied(layer: Values): Values {
  const many = typeof layer.concurrency === 'number' && layer.concurrency > 1;
  return {
    ...layer,
    sequential: layer.sequential ?? (layer.chain === true ? true : many ? false : undefined),
    autoDetectPhases: layer.autoDetectPhases ?? (layer.phases === undefined ? undefined : false),
  };
}

function settingsValues(settings: SettingsOfRuns, home: string): Values {
  const values = RUN_SETTINGS.map((row): [string, unknown] => {
    const value = at(settings, row.key);
    if (value === undefined) return [optionOf(row), undefined];
    const places = { base: '', userHome: home, key: row.key };
    return [optionOf(row), checkGiven(row.kind, `settings.${row.key}`, value, places)];
  });
  return Object.fromEntries(values);
}

function variableValues(env: Env, home: string): Values {
  const given = variableLayer(env, '', home, RUN_SETTINGS);
  return Object.fromEntries(
    RUN_SETTINGS.map((row) => [optionOf(row), given.find(({ key }) => key === row.key)?.value]),
  );
}
