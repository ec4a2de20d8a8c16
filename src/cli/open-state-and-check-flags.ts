import { dirname, join } from 'node:path';
import { packageDir, plainStateDir } from '../config/find-config-and-state.ts';
import type { Settings } from '../config/settings-table.ts';
import type { EngineContext } from '../engine/context.ts';
import { InputError } from '../model/errors.ts';
import type { EngineEvent } from '../model/events.ts';
import { openForReading } from '../store/open-for-reading.ts';
import type { Io } from './io.ts';

export interface GlobalOptions {
  config?: string;
  json?: boolean;
}

export async function openSettings(
  io: Io,
  options: GlobalOptions,
  flags: Record<string, unknown> = {},
): Promise<Settings> {
  const { loadSettings } = await import('../config/load-settings.ts');
  return loadSettings({
    cwd: io.cwd,
    env: io.env,
    configPath: options.config,
    flags,
    packageDir: packageDir(),
  });
}

/** The store alone, for commands that only show something. `read`: what of it they show; default: everything. */
export async function openState(io: Io, options: GlobalOptions, read?: Parameters<typeof openForReading>[1]) {
  const plain = plainStateDir({ cwd: io.cwd, env: io.env, configPath: options.config });
  const stateDir = plain ?? (await openSettings(io, options)).stateDir;
  return { stateDir, ...(await openForReading(stateDir, read)) };
}

export async function openStore(io: Io, options: GlobalOptions) {
  const settings = await openSettings(io, options);
  return { settings, ...(await openForReading(settings.stateDir)) };
}

export async function openEngine(
  io: Io,
  options: GlobalOptions,
  by: string,
  more: { flags?: Record<string, unknown>; listen?: (event: EngineEvent) => void } = {},
): Promise<EngineContext> {
  const [settings, engine] = await Promise.all([
    openSettings(io, options, more.flags),
    import('../api/open-engine-with-features.ts'),
  ]);
  const bell = io.tty ? () => io.stderr.write('\u0007') : undefined;
  return engine.openEngine({
    settings,
    env: io.env,
    by,
    bell,
    ...(more.listen ? { listen: more.listen } : {}),
  });
}

/** The setting that `--no-base-check` stands for. */
export function baseCheckFlag({ baseCheck }: { baseCheck?: boolean | undefined }): { baseCheck?: 'off' } {
  return baseCheck === false ? { baseCheck: 'off' } : {};
}

/** The command line of this program, for another process. */
export function ownCommand(): [node: string, cli: string] {
  return [process.execPath, join(packageDir(), 'dist', 'cli.cjs')];
}

/** Refuses to run agents with the settings of an untrusted repository, which could bring plans and workflows of its own. */
export function trusted(settings: Settings): void {
  const file = settings.untrusted;
  if (file === null) return;
  throw new InputError(
    'config/untrusted',
    `${file} decides where plans come from, and you have not trusted its directory.`,
    {
      hint: `Read it first; if you agree with it, run: signalbox config trust ${dirname(file)}`,
      details: { file },
    },
  );
}

export async function openRunner(...args: Parameters<typeof openEngine>): Promise<EngineContext> {
  const engine = await openEngine(...args);
  trusted(engine.settings);
  return engine;
}

/** Refuses what is not a positive whole number, before anything is opened. */
export function positiveInteger(flag: string, value: string | number | undefined): number | undefined {
  if (value === undefined) return undefined;
  if (!/^[1-9]\d{0,5}$/.test(String(value)))
    throw invalid(flag, value, 'Must be a positive integer.', `For example: ${flag} 4`);
  return Number(value);
}

export function oneOf<const T extends string>(flag: string, value: string, choices: readonly T[]): T {
  const found = choices.find((choice) => choice === value);
  if (found !== undefined) return found;
  throw invalid(flag, value, `Must be ${choices.join(' or ')}.`, `For example: ${flag} ${choices.at(-1)}`);
}

export function invalid(flag: string, value: unknown, rule: string, hint?: string): InputError {
  return new InputError('usage', `Invalid ${flag} value: ${value}. ${rule}`, { hint });
}

/** What the settings say about how an engine runs. */
export function limitsOf({ maxConcurrency, pollInterval }: Settings) {
  return { maxConcurrency, checkEveryMs: pollInterval * 1000 };
}
