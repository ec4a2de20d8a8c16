import { resolve } from 'node:path';
import type { Env } from '../machine/environment.ts';
import { InputError } from '../model/errors.ts';
import type { RunSurroundings } from './run-types.ts';
import type { SignalboxSettings } from './settings.ts';

type Given = Pick<RunSurroundings, 'cwd' | 'env'>;

/** Where a call works and with which variables; what is not given is the process's own at this moment. */
export function surroundingsOf({ cwd = process.cwd(), env = process.env }: Given): { cwd: string; env: Env } {
  if (typeof cwd !== 'string' || cwd === '')
    throw bad(
      '`cwd` is not the path of a directory.',
      'Give it as text; fileURLToPath() makes one of a URL.',
    );
  if (typeof env !== 'object' || env === null)
    throw bad('`env` is no object of variables.', 'Give an object of texts, or leave it out.');
  return { cwd: resolve(cwd), env };
}

export function checkSignal(signal: unknown, name = 'signal'): void {
  if (signal === undefined || signal === null) return;
  const { aborted, addEventListener } = signal as Partial<AbortSignal>;
  if (typeof aborted !== 'boolean' || typeof addEventListener !== 'function')
    throw bad(`\`${name}\` is no AbortSignal.`, 'Give the `signal` of an AbortController.');
}

export function checkSettings(settings: unknown): asserts settings is SignalboxSettings {
  const hint = 'Get them with getSettings().';
  if (!settings) throw new InputError('run/config', 'A run needs `settings`.', { hint });
  const { stateDir, run, agents, searchPath } = settings as Partial<SignalboxSettings>;
  const isWhole = [run, agents, searchPath].every((part) => typeof part === 'object' && part !== null);
  if (typeof stateDir !== 'string' || !isWhole)
    throw new InputError('run/config', '`settings` are not complete.', { hint });
}

function bad(message: string, hint: string): InputError {
  return new InputError('run/call', message, { hint });
}
