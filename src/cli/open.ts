import type { Settings } from '../config/index.ts';
import type { Parts } from '../engine/parts.ts';
import type { EngineEvent } from '../model/events.ts';
import type { Io } from './io.ts';
import { packageDir } from './package-dir.ts';

export interface GlobalOptions {
  config?: string;
  json?: boolean;
}

export async function openSettings(
  io: Io,
  options: GlobalOptions,
  flags: Record<string, unknown> = {},
): Promise<Settings> {
  const { loadSettings } = await import('../config/index.ts');
  const configPath = options.config ?? io.env.SIGNALBOX_CONFIG;
  return loadSettings({ cwd: io.cwd, env: io.env, configPath, flags, packageDir: packageDir() });
}

/** The store alone, for commands that only look. */
export async function openStore(io: Io, options: GlobalOptions) {
  const [settings, { FileStore }] = await Promise.all([
    openSettings(io, options),
    import('../store/file-store.ts'),
  ]);
  return { settings, store: new FileStore(settings.stateDir) };
}

export async function openEngine(
  io: Io,
  options: GlobalOptions,
  by: string,
  more: { flags?: Record<string, unknown>; listen?: (event: EngineEvent) => void } = {},
): Promise<Parts> {
  const [settings, { openParts }] = await Promise.all([
    openSettings(io, options, more.flags),
    import('../engine/open.ts'),
  ]);
  return openParts({ settings, env: io.env, by, ...(more.listen ? { listen: more.listen } : {}) });
}

/** Refuses what is not a positive whole number, before anything is opened. */
export function positiveInteger(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^[1-9]\d{0,5}$/.test(text))
    throw new UsageError(`Invalid ${flag} value: ${text}. Must be a positive integer.`);
  return Number(text);
}

export class UsageError extends Error {}
