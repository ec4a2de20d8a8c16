import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Env } from '../machine/paths-and-user-home.ts';
import { InputError } from '../model/errors.ts';
import { homeDir } from './find-config-and-state.ts';

/** Where the shared state of a fleet is. The text may contain a password, so it is never shown. */
export interface StoreAddress {
  text: string;
  /** An argument can be seen by every user of the machine, so it must not contain a password. */
  from: 'argument' | 'variable' | 'file';
}

/** The address of the store, if this is not the state directory: of an argument, the variable, or the file in the home. */
export function findStoreAddress(where: {
  env: Env;
  cwd: string;
  argument?: string | undefined;
}): StoreAddress | undefined {
  const { env, cwd, argument } = where;
  if (argument !== undefined) return { text: argument, from: 'argument' };
  const variable = env.SIGNALBOX_STORE?.trim();
  if (variable) return { text: variable, from: 'variable' };
  const file = join(homeDir(env, cwd), 'store-address');
  if (!existsSync(file)) return undefined;
  const lines = privateText(file).split('\n');
  const text = lines.map((line) => line.trim()).find((line) => line !== '' && !line.startsWith('#'));
  if (text !== undefined) return { text, from: 'file' };
  throw new InputError('store/address', `${file} has no address in it.`, {
    hint: 'Write one line into it, such as postgres://user:password@host/database, or delete it.',
  });
}

/** The text of a file with a password. The file must be readable by its owner alone. */
export function privateText(file: string): string {
  let mode: number;
  let text: string;
  try {
    mode = statSync(file).mode;
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new InputError(
      'store/address',
      `${file} cannot be read (${(error as NodeJS.ErrnoException).code}).`,
    );
  }
  if ((mode & 0o077) !== 0)
    throw new InputError('store/address', `${file} may contain a password, and other users can read it.`, {
      hint: `Remove that permission: chmod 600 ${file}`,
    });
  return text;
}
