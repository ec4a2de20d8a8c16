import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import { type LoadOptions, loadSettings } from '../../src/config/load-settings.ts';
import type { Settings } from '../../src/config/settings-table.ts';
import { SignalboxError } from '../../src/model/errors.ts';
import type { Ended } from '../support/cli.ts';
import { CliCall } from '../support/cli-call.ts';

export interface Scratch {
  dir: string;
  /** Writes a file below the directory and gives back its path. */
  write(name: string, text: string, mode?: number): string;
  path(...names: string[]): string;
  /** Loads as a user whose home is `user/` and who stands in `cwd/`. */
  load(options?: Partial<LoadOptions>): Promise<Settings>;
}

/** A directory that is gone after the test. */
export function scratch(): Scratch {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'signalbox-config-')));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const path = (...names: string[]) => join(dir, ...names);
  for (const name of ['user', 'cwd', 'package']) mkdirSync(path(name));
  return {
    dir,
    path,
    write(name, text, mode = 0o644) {
      mkdirSync(dirname(path(name)), { recursive: true });
      writeFileSync(path(name), text, { mode });
      return path(name);
    },
    load: (options = {}) =>
      loadSettings({
        cwd: path('cwd'),
        env: { HOME: path('user') },
        packageDir: path('package'),
        ...options,
      }),
  };
}

/** The error a promise ends with, which must be one of ours. */
export async function failure(promise: Promise<unknown>): Promise<SignalboxError> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof SignalboxError) return error;
    throw error;
  }
  throw new Error('no error was thrown');
}

/** What is said when a call is refused, which must be by one of our errors. */
export function refusal(call: () => unknown): string {
  try {
    call();
  } catch (error) {
    if (error instanceof SignalboxError) return error.message;
    throw error;
  }
  throw new Error('nothing was refused');
}

/** Runs a command in directories of the test's own. */
export function runCommand(
  args: string[],
  world: { cwd: string; env: NodeJS.ProcessEnv },
): Promise<Omit<Ended, 'signal'>> {
  return new CliCall(args, world).ended.then(({ signal: _, ...ended }) => ended);
}
