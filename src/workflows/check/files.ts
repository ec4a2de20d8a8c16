import { accessSync, constants } from 'node:fs';
import type { Finding } from '../../config/file-problem.ts';
import type { Path } from '../../config/yaml-source.ts';
import { InputError } from '../../model/errors.ts';
import { didYouMean } from '../../model/text/near.ts';
import { findScript, namesIn, readPrompt } from '../find.ts';

export type FoundPrompt = { path: string; text: string };

/** What is wrong with the script that a phase names at `path`, if anything. */
export async function scriptFinding(name: string, path: Path, dirs: readonly string[]): Promise<Finding[]> {
  const found = await finding(path, () => findScript(name, dirs));
  if (typeof found === 'string') return isExecutable(found) ? [] : [notExecutable(found, path)];
  return [found ?? (await missing('script', name, path, dirs))];
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Found out here, or it would be tried again and again. */
function notExecutable(file: string, path: Path): Finding {
  return { path, message: `The script ${file} is not executable.`, hint: `Run: chmod +x ${file}` };
}

/** The prompt that a phase names at `path`, or what is wrong with it. */
export async function promptOrFinding(
  name: string,
  path: Path,
  dirs: readonly string[],
): Promise<{ prompt: FoundPrompt } | { finding: Finding }> {
  const found = await finding(path, () => readPrompt(name, dirs));
  if (found && 'text' in found) return { prompt: found };
  return { finding: found ?? (await missing('prompt', name, path, dirs)) };
}

async function finding<T>(path: Path, look: () => Promise<T>): Promise<T | Finding> {
  try {
    return await look();
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    return { path, message: error.message, ...(error.hint ? { hint: error.hint } : {}) };
  }
}

async function missing(kind: string, name: string, path: Path, dirs: readonly string[]): Promise<Finding> {
  const message = `There is no ${kind} "${name}".${didYouMean(name, await namesIn(dirs))}`;
  return { path, message, hint: `Looked in ${dirs.join(' and ') || 'no directory'}.` };
}
