import type { Dirent } from 'node:fs';
import { readdir, readFile, realpath, stat } from 'node:fs/promises';
import { isAbsolute, join, sep } from 'node:path';
import { scriptInstead } from '../model/actions.ts';
import { InputError } from '../model/errors.ts';
import { actionOf, type Phase } from '../model/workflow.ts';

/** Where content is looked up: user directories first, the bundled one last. The first directory that has a file wins. */
export interface SearchPath {
  workflows: readonly string[];
  prompts: readonly string[];
  scripts: readonly string[];
}

/** More than this is no prompt: agents refuse it or lose its beginning. */
export const MAX_PROMPT_BYTES = 1024 * 1024;
const MAX_NAMES = 500;

export function findPrompt(name: string, dirs: readonly string[]): Promise<string | undefined> {
  return findFile('prompt', name, dirs);
}

export function findScript(name: string, dirs: readonly string[]): Promise<string | undefined> {
  return findFile('script', name, dirs);
}

/** The user's script that runs instead of a phase's action. The bundled directory, which comes last, has only the originals. */
export async function findScriptInsteadOfAction(
  phase: Phase,
  dirs: readonly string[],
): Promise<{ name: string; path: string } | undefined> {
  const action = actionOf(phase);
  if (action === undefined) return undefined;
  const name = scriptInstead(action);
  const path = await findScript(name, dirs.slice(0, -1));
  return path === undefined ? undefined : { name, path };
}

/** Text of a prompt file with the path it came from, or undefined when no directory has it. */
export async function readPrompt(
  name: string,
  dirs: readonly string[],
): Promise<{ path: string; text: string } | undefined> {
  const path = await findPrompt(name, dirs);
  if (path === undefined) return undefined;
  const { size } = await stat(path);
  if (size > MAX_PROMPT_BYTES) {
    throw new InputError(
      'prompt/too-large',
      `Prompt ${path} has ${size} bytes; at most ${MAX_PROMPT_BYTES} are allowed.`,
      {
        hint: 'Let the agent read large material from files in the worktree instead.',
        details: { path, size },
      },
    );
  }
  return { path, text: await readFile(path, 'utf8') };
}

/** Says why a name cannot name a file of a content directory, or undefined when it can. */
function nameProblem(name: string): string | undefined {
  if (name.trim() === '') return 'is empty';
  if (name.includes('\0') || name.includes('\\')) return 'contains a NUL or "\\"';
  if (isAbsolute(name) || name.startsWith('~')) return 'is a path of its own';
  if (name.split('/').some((part) => part === '..' || part === '.' || part === ''))
    return 'has an empty, "." or ".." part';
  return undefined;
}

/** Files below the directories by the name one would write for them, for suggestions; not endlessly many. */
export async function namesIn(dirs: readonly string[]): Promise<string[]> {
  const names = new Set<string>();
  for (const dir of dirs) {
    const open = [''];
    for (let below = open.shift(); below !== undefined && names.size < MAX_NAMES; below = open.shift()) {
      for (const entry of await entriesOf(join(dir, below))) {
        if (entry.isDirectory()) open.push(join(below, entry.name));
        else names.add(join(below, entry.name));
      }
    }
  }
  return [...names].sort();
}

/** Workflow files of one directory, sorted. A directory that does not exist has none. */
export async function workflowFiles(dir: string): Promise<string[]> {
  const names = (await entriesOf(dir)).filter((entry) => !entry.isDirectory()).map((entry) => entry.name);
  return names
    .filter(isWorkflowName)
    .sort()
    .map((name) => join(dir, name));
}

/** Whether a file of this name is read as a workflow. */
export function isWorkflowName(name: string): boolean {
  return !name.startsWith('.') && /\.ya?ml$/.test(name);
}

async function findFile(kind: string, name: string, dirs: readonly string[]): Promise<string | undefined> {
  const problem = nameProblem(name);
  if (problem) throw outside(kind, name, problem);
  for (const dir of dirs) {
    const path = join(dir, name);
    const real = await realpath(path).catch(absent);
    if (real === undefined || !(await stat(real)).isFile()) continue;
    const root = await realpath(dir);
    if (!real.startsWith(root.endsWith(sep) ? root : root + sep)) {
      throw outside(kind, name, `is a link to ${real}, outside ${dir}`);
    }
    return path;
  }
  return undefined;
}

function outside(kind: string, name: string, problem: string): InputError {
  const label = kind === 'prompt' ? 'Prompt' : 'Script';
  return new InputError(`${kind}/name`, `${label} ${JSON.stringify(name)} ${problem}.`, {
    hint: `Name a file inside the ${kind} directory, for example "${kind === 'prompt' ? 'implement.md' : 'checks.sh'}".`,
    details: { name },
  });
}

/** What a directory has, hidden files left out. A directory that does not exist has nothing. */
export async function entriesOf(dir: string): Promise<Dirent[]> {
  const entries = (await readdir(dir, { withFileTypes: true }).catch(absent)) ?? [];
  return entries.filter((entry) => !entry.name.startsWith('.'));
}

/** Returns undefined for a missing file or directory; rethrows other errors. */
function absent(error: unknown): undefined {
  const code = (error as NodeJS.ErrnoException).code;
  if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
  throw error;
}
