import { mkdirSync, realpathSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { writeAtomic } from '../machine/files/write-atomic-and-note-facts.ts';
import { InputError } from '../model/errors.ts';
import { readConfigText } from './find-config-and-state.ts';

/** Directories whose own settings may name commands; only this directory itself, nothing below it. */
function readTrusted(home: string): string[] {
  const file = join(home, 'trusted.json');
  const text = readConfigText(file);
  if (text === undefined) return [];
  const bad = (cause?: unknown) =>
    new InputError('config/trusted', `${file} does not hold {"version": 1, "directories": [...]}.`, {
      hint: 'Correct it, or delete it and run `signalbox config trust` again where you need it.',
      details: { file },
      cause,
    });
  let data: { version?: unknown; directories?: unknown } | null;
  try {
    data = JSON.parse(text) as typeof data;
  } catch (error) {
    throw bad(error);
  }
  const directories = data?.directories;
  if (data?.version !== 1 || !Array.isArray(directories)) throw bad();
  return directories.filter((entry): entry is string => typeof entry === 'string');
}

export function isTrusted(dir: string, home: string): boolean {
  return readTrusted(home).includes(realDirectory(dir));
}

/** Records a directory as trusted. Returns its real path and whether it is new. */
export function trust(dir: string, home: string): { dir: string; added: boolean } {
  const real = realDirectory(dir);
  const known = readTrusted(home);
  if (known.includes(real)) return { dir: real, added: false };
  mkdirSync(home, { recursive: true, mode: 0o700 });
  const text = JSON.stringify({ version: 1, directories: [...known, real] }, null, 2);
  writeAtomic(join(home, 'trusted.json'), `${text}\n`);
  return { dir: real, added: true };
}

/** Links are resolved, so that a trusted link cannot be changed to another directory later. */
function realDirectory(dir: string): string {
  try {
    const real = realpathSync(dir);
    if (statSync(real).isDirectory()) return real;
  } catch (error) {
    throw notADirectory(dir, error);
  }
  throw notADirectory(dir);
}

function notADirectory(dir: string, cause?: unknown): InputError {
  return new InputError('config/no-directory', `${dir} is not a directory.`, {
    hint: 'Name the directory that holds signalbox.yaml or .signalbox/settings.json.',
    details: { dir },
    cause,
  });
}
