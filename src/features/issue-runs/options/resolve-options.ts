import { fromText } from '../../../config/check-value.ts';
import { valueAt } from '../../../config/describe-schema-problems.ts';
import { checkGiven, variableLayer } from '../../../config/read-setting-layers.ts';
import { flagOfOption, optionOf, RUN_SETTINGS } from '../../../config/run-flags.ts';
import { RUN_ONLY, type RunOnlyRow } from '../../../config/run-settings-table.ts';
import { flagOf } from '../../../config/settings-table.ts';
import { found, type Kind } from '../../../config/value-kinds.ts';
import { emptyTextError } from '../../../issues/issues-and-tasks-from-caller.ts';
import { type Env, userHome } from '../../../machine/paths-and-user-home.ts';
import { InputError } from '../../../model/errors.ts';
import { ISSUE_PHASES, OPTIONAL_PHASES } from '../../../model/issue-phases.ts';
import { didYouMean } from '../../../model/text/nearest-word.ts';
import type { Given, MergedRunOptions, RunOptions, SettingsOfRuns } from '../request-and-result-types.ts';
import { checkCombination, checkMerged, namesNothing } from './check-options-and-parse-batches.ts';
import { parsePhases, rulesWithout } from './phases-models-and-label-rules.ts';

/** Marks merged options; copies made by spreading keep it. */
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
  // In merged options, a value may be only a default or a setting.
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
    const value = valueAt(settings, row.key.split('.'));
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

/** Layers from lowest to highest. A key that is missing or undefined in a layer is not set there. */
export interface ConfigLayers<T extends object> {
  defaults: T;
  settings?: Given<T>;
  /** Texts are read as the type of the default, when that is a number or a boolean; an empty text then counts as not set. */
  env?: { [K in keyof T]?: T[K] | string | undefined };
  explicit?: Given<T>;
}

/** Merges layers of configuration key by key: defaults < settings < env < explicit. The layers stay as they are. */
export class ConfigResolver<T extends object> {
  readonly #layers: ConfigLayers<T>;

  constructor(layers: ConfigLayers<T>) {
    this.#layers = layers;
  }

  /** Throws an InputError that names the key when a text from `env` cannot be read. */
  resolve(): T {
    const { defaults, settings = {}, env = {}, explicit = {} } = this.#layers;
    const read = Object.entries(env).map(([key, value]) => [key, readEnv(key, value, own(defaults, key))]);
    const layers = [defaults, settings, Object.fromEntries(read), explicit];
    const entries = layers.flatMap((layer) =>
      Object.entries(layer).filter(([, value]: [string, unknown]) => value !== undefined),
    );
    return Object.fromEntries(entries) as T;
  }
}

function readEnv(key: string, value: unknown, preset: unknown): unknown {
  const kind = typeof preset === 'number' ? 'number' : typeof preset === 'boolean' ? 'boolean' : null;
  if (typeof value !== 'string' || kind === null) return value;
  if (value === '') return undefined;
  const result = fromText({ is: kind }, value);
  if (typeof result === 'boolean' || Number.isFinite(result)) return result;
  const wanted = kind === 'number' ? 'a number' : 'true, false, 1 or 0';
  throw new InputError('config/value', `${key}: found ${found(value)}; allowed is ${wanted}.`, {
    hint: `Correct the environment variable that sets ${key}, or unset it.`,
    details: { key, value },
  });
}

function own(object: object, key: string): unknown {
  return Object.hasOwn(object, key) ? (object as Record<string, unknown>)[key] : undefined;
}

/** Values by option name; options of a group have dotted names: `rotation.maxFiles`. */
type Values = Record<string, unknown>;

const NEGATED = { noLog: 'logJson', noSmartTests: 'smartTests', noRetry: 'retry', noPr: 'pr' } as const;
const KNOWN = new Set([
  ...RUN_SETTINGS.map((row) => optionOf(row).replace(/\..*/, '')),
  ...Object.keys(RUN_ONLY),
  ...Object.keys(NEGATED),
]);

/** The options of the group `rotation`, which accepts no others. */
const ROTATION: Kind = {
  is: 'object',
  fields: Object.fromEntries(
    RUN_SETTINGS.filter((row) => optionOf(row).startsWith('rotation.')).map((row) => [
      optionOf(row).replace('rotation.', ''),
      row,
    ]),
  ),
};

/** A caller's own options, checked: undefined ones dropped, `noX` folded into `x`, phases as one text. */
function readOptions(options: RunOptions, userHome: string, named: 'option' | 'flag'): Values {
  const given = fold(options);
  const values: Values = {};
  if (given.rotation !== undefined)
    checkGiven(ROTATION, 'options.rotation', given.rotation, { base: '', userHome });
  if (typeof given.phases === 'string' && given.phases.trim() === '')
    throw new InputError(
      'run/phases',
      `${named === 'flag' ? '--phases' : 'options.phases'} names no phase.`,
      { hint: `Phases: ${ISSUE_PHASES.join(', ')}.` },
    );
  if (Array.isArray(given.batch) && given.batch.includes('')) throw namesNothing('');
  if (Array.isArray(given.task) && given.task.some((text) => String(text).trim() === ''))
    throw emptyTextError();
  const take = (option: string, flag: string, kind: Kind) => {
    const value = valueAt(given, option.split('.'));
    if (value === undefined) return;
    const name = named === 'flag' ? flag : `options.${option}`;
    values[option] = checkGiven(kind, name, value, { base: '', userHome, key: option });
  };
  for (const row of RUN_SETTINGS) take(optionOf(row), flagOf(row), row.kind);
  for (const [option, row] of Object.entries<RunOnlyRow>(RUN_ONLY))
    take(option, flagOfOption(option), row.kind);
  if (typeof values.phases === 'string') values.phases = parsePhases(values.phases).join(',');
  return values;
}

function fold(options: RunOptions): Values {
  const given: Values = Object.fromEntries(
    Object.entries(options).filter(([, value]) => value !== undefined),
  );
  for (const name of Object.keys(given)) if (!KNOWN.has(name)) throw unknownOption(name);
  for (const [negated, option] of Object.entries(NEGATED)) {
    const value = given[negated];
    delete given[negated];
    if (value === undefined) continue;
    const positive = !checkGiven({ is: 'boolean' }, `options.${negated}`, value, { base: '', userHome: '' });
    if (given[option] !== undefined && given[option] !== positive)
      throw new InputError('run/combination', `The options ${negated} and ${option} contradict each other.`, {
        hint: 'Use only one of them.',
      });
    given[option] = positive;
  }
  if (Array.isArray(given.phases)) given.phases = given.phases.join(',');
  return given;
}

/** The error for an unknown option, which would otherwise be ignored silently. */
function unknownOption(name: string): InputError {
  const text = `There is no option ${JSON.stringify(name.slice(0, 80))}.${didYouMean(name, KNOWN)}`;
  return new InputError('run/unknown-option', text, { hint: `Options: ${[...KNOWN].sort().join(', ')}.` });
}

function nested(values: Values): Values {
  const result: Values = {};
  for (const [path, value] of Object.entries(values)) {
    const [name = path, leaf] = path.split('.');
    result[name] = leaf === undefined ? value : { ...(result[name] as object | undefined), [leaf]: value };
  }
  return result;
}
