import { resolve } from 'node:path';
import type { Settings as SignalboxSettings } from '../config/settings-table.ts';
import type { RunLogWriter } from '../features/issue-runs/logs/rewrite-run-log.ts';
import { parseBatches } from '../features/issue-runs/options/check-options-and-parse-batches.ts';
import { completeOptions, mergeRunOptions } from '../features/issue-runs/options/resolve-options.ts';
import type { PhasePlanCallback, ProgressCallback } from '../features/issue-runs/progress-callbacks.ts';
import type {
  ManifestOfRun,
  MergedRunOptions,
  RunOptions,
  SettingsOfRuns,
  WorktreeInfo,
} from '../features/issue-runs/request-and-result-types.ts';
import type { IssueInfo } from '../issues/issues-and-tasks-from-caller.ts';
import type { Env } from '../machine/paths-and-user-home.ts';
import { InputError } from '../model/errors.ts';
import type { Door, EngineEvent } from '../model/events.ts';
import type { ExecutionConfig } from '../model/plan-schema.ts';
import type { Store } from '../store/store-interface.ts';

/** The configuration with the signals of its services and its base merged in. */
export function withBaseAndSignals(given: OrchestratorConfig): OrchestratorConfig {
  const { baseBranch, services } = given;
  const config = baseBranch ? { ...given.config, base: baseBranch } : given.config;
  const signals = [given.signal, services?.shutdownManager?.signal].filter((signal) => signal !== undefined);
  const [first] = signals;
  const signal = signals.length > 1 ? AbortSignal.any(signals) : first;
  return { ...given, config, ...(signal ? { signal } : {}) };
}

const MODES = ['chain', 'sequential', 'qaGate', 'dryRun'] as const;

/** The groups in a caller's options. Options that contradict `config` are refused. */
export function groupsOf(
  { options, config }: Pick<OrchestratorConfig, 'options' | 'config'>,
  numbers: readonly number[],
  settings: SettingsOfRuns,
): string[][] | null {
  if (!options) return null;
  const completed = completeOptions(options, settings);
  const other = MODES.find((mode) => completed[mode] === true && !config[mode]);
  if (other)
    throw new InputError('run/config', `options.${other} is true, but config.${other} is not.`, {
      hint: 'Make config of the same options: buildExecutionConfig(options, settings, count).',
    });
  if (!completed.batch?.length) return null;
  const groups = parseBatches(completed.batch).map((names) => names.map((name) => name.replace(/^#/, '')));
  const stranger = groups.flat().find((name) => !numbers.map(String).includes(name));
  if (stranger !== undefined)
    throw new InputError('run/batch', `options.batch names ${stranger}, which is not to be executed.`, {
      hint: 'Name it in the call of execute(), too.',
    });
  return groups;
}

export function checkManifest(manifest: ManifestOfRun): ManifestOfRun {
  const bad = (what: string) =>
    new InputError('run/config', `${what} is neither text nor null.`, {
      hint: 'Get the manifest with getManifest(), or leave it out.',
    });
  if (typeof manifest !== 'object' || manifest === null) throw bad('manifest');
  const { stack, packageManager } = manifest;
  for (const [name, value] of Object.entries({ stack, packageManager }))
    if (value !== undefined && value !== null && typeof value !== 'string') throw bad(`manifest.${name}`);
  return { stack: stack ?? null, packageManager: packageManager ?? null };
}

/** Checks what TypeScript checks, for callers without it: a text would be taken for a list of its letters. */
export function checkCall(init: unknown, issueArgs: unknown, batches: unknown): void {
  if (typeof init !== 'object' || init === null)
    throw badCall('A run needs an object with `options` and `settings`.');
  if (!Array.isArray(issueArgs) || issueArgs.some((name) => typeof name !== 'string'))
    throw badCall("Issues are given as a list of texts: ['123', '456'].");
  if (batches === undefined || batches === null) return;
  if (!Array.isArray(batches) || !batches.every((group) => Array.isArray(group) && group.every(isNumber)))
    throw badCall('Batches are given as lists of numbers: [[123, 456], [789]].');
}

export function checkResume(init: unknown, runId: unknown): void {
  if (typeof init !== 'object' || init === null)
    throw badCall('Resuming a run needs an object with `settings`.');
  if (typeof runId !== 'string' || runId === '')
    throw badCall('A run is resumed by its id, the `planId` of its result.');
}

/** Labels and dependencies that are no lists would fail in the middle of a run. */
export function checkInfos(map: unknown): void {
  if (!(map instanceof Map))
    throw badCall('`issueInfoMap` is a Map of what is known of issues, by their number.');
  for (const [number, info] of map as Map<unknown, Record<string, unknown> | null>) {
    const { title, labels = [], body = '', dependsOn = [] } = info ?? {};
    const isList = Array.isArray(labels) && labels.every((label) => typeof label === 'string');
    if (typeof title !== 'string' || typeof body !== 'string' || !isList)
      throw badCall(
        `Of #${number}, issueInfoMap has no text as title and body, or no list of texts as labels.`,
      );
    if (!Array.isArray(dependsOn) || !dependsOn.every(isNumber))
      throw badCall(`What #${number} depends on is given as a list of numbers: [123, 456].`);
  }
}

export function checkNumbers(numbers: unknown): void {
  if (!Array.isArray(numbers) || !numbers.every(isNumber))
    throw badCall('Issues are given as a list of numbers: [123, 456].');
}

function isNumber(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) > 0;
}

function badCall(message: string, hint = 'docs/library.md shows how it is called.'): InputError {
  return new InputError('run/call', message, { hint });
}

type Given = Pick<RunSurroundings, 'cwd' | 'env'>;

/** Directory and environment of a call; default: those of the process at this moment. */
export function surroundingsOf({ cwd = process.cwd(), env = process.env }: Given): { cwd: string; env: Env } {
  if (typeof cwd !== 'string' || cwd === '')
    throw badCall(
      '`cwd` is not the path of a directory.',
      'Give it as text; fileURLToPath() makes one of a URL.',
    );
  if (typeof env !== 'object' || env === null)
    throw badCall('`env` is no object of variables.', 'Give an object of texts, or leave it out.');
  return { cwd: resolve(cwd), env };
}

export function checkSignal(signal: unknown, name = 'signal'): void {
  if (signal === undefined || signal === null) return;
  const { aborted, addEventListener } = signal as Partial<AbortSignal>;
  if (typeof aborted !== 'boolean' || typeof addEventListener !== 'function')
    throw badCall(`\`${name}\` is no AbortSignal.`, 'Give the `signal` of an AbortController.');
}

export function checkSettings(settings: unknown): asserts settings is SignalboxSettings {
  const hint = 'Get them with getSettings().';
  if (!settings) throw new InputError('run/config', 'A run needs `settings`.', { hint });
  const { stateDir, run, agents, searchPath } = settings as Partial<SignalboxSettings>;
  const isWhole = [run, agents, searchPath].every((part) => typeof part === 'object' && part !== null);
  if (typeof stateDir !== 'string' || !isWhole)
    throw new InputError('run/config', '`settings` are not complete.', { hint });
}

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

/** Surroundings of a run; each has the process's own as its default, at the time of the call. */
export interface RunSurroundings {
  cwd?: string;
  env?: Env;
  /** Aborting stops all agents and leaves the work so that it can be resumed. */
  signal?: AbortSignal;
  /** Called in order for every phase of every issue; may throw. */
  onProgress?: ProgressCallback;
  /** Called in order with every event; may throw. */
  onEvent?: (event: EngineEvent) => void;
  /** Where plans are; default: the files of the state directory. */
  store?: Store;
  /** Recorded with what a person decides; default: `library`. */
  door?: Door;
}

export interface OrchestratorServices {
  logWriter?: RunLogWriter | null;
  /** null: state is kept in a temporary directory and forgotten. */
  stateManager?: { stateDir: string } | null;
  /** Stops the run as `signal` does, for programs with one shutdown signal for everything. */
  shutdownManager?: { readonly signal: AbortSignal } | null | undefined;
}

export interface OrchestratorConfig extends RunSurroundings {
  config: ExecutionConfig;
  /** The options that `config` was made of. Its `batch` has the groups; a mode that `config` does not have is refused. */
  options?: RunOptions;
  /** Dependencies are read from labels and bodies, as for GitHub issues. */
  issueInfoMap: ReadonlyMap<number, IssueInfo>;
  worktreeMap?: ReadonlyMap<number | string, WorktreeInfo>;
  services?: OrchestratorServices;
  settings?: SignalboxSettings;
  /** Overrides what is detected from the project's files. */
  packageManager?: string | null;
  /** Overrides `config.base`. */
  baseBranch?: string;
  onPhasePlan?: PhasePlanCallback;
}
