import { appendFileSync, cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, relative } from 'node:path';
import { InputError } from '../model/errors.ts';
import { mergedTasks, type TaskIdentity } from '../sources/kiro/index.ts';
import { writeAtomic } from '../store/atomic.ts';
import type { WorkspaceSpec } from '../workspaces/index.ts';
import type { Parts } from './parts.ts';
import type { PlanSpec } from './spec-unit.ts';

export const STATE_FILE = 'SEQUENTIAL_STATE.json';
export const PROGRESS_FILE = 'SEQUENTIAL_PROGRESS.md';

/** Where the spec's files are in a tree, from its top; a spec from elsewhere gets the usual place. */
export function placeInTree(dir: string, root: string): string {
  const inside = relative(root, dir);
  const isOut = inside === '' || inside.startsWith('..') || isAbsolute(inside);
  return isOut ? join('.kiro', 'specs', basename(dir)) : inside;
}

/**
 * Brings the spec into the tree: where git has it, an edited tasks.md is committed with the ticks of what is complete;
 * where git does not, its files are copied and kept out of git. `given` is the text to bring, where it is not what the
 * user's file has by now.
 */
export async function bringSpec(
  parts: Parts,
  spec: WorkspaceSpec,
  kept: PlanSpec,
  known: readonly TaskIdentity[],
  given?: string,
): Promise<PlanSpec> {
  const dir = join(spec.path, kept.inTree);
  const file = join(dir, kept.files.tasks);
  if (dir === kept.dir) {
    const tracked = await parts.workspaces.isTracked(spec.path, join(kept.inTree, kept.files.tasks));
    return { ...kept, tracked, text: readFileSync(file, 'utf8') };
  }
  const text = given ?? readFileSync(join(kept.dir, kept.files.tasks), 'utf8');
  const tracked =
    existsSync(file) && (await parts.workspaces.isTracked(spec.path, join(kept.inTree, kept.files.tasks)));
  if (!tracked) {
    mkdirSync(dir, { recursive: true });
    for (const name of [kept.files.tasks, ...kept.files.others])
      cpSync(join(kept.dir, name), join(dir, name));
    writeFileSync(join(dir, '.gitignore'), '*\n');
    return { ...kept, tracked, text };
  }
  const ours = readFileSync(file, 'utf8');
  const next = mergedTasks({ was: kept.text, mine: text, branch: ours }, known);
  if (next === null) throw changedTwice(file, kept);
  if (next === ours) return { ...kept, tracked, text };
  writeAtomic(file, next, 0o644);
  const message = `Bring the tasks of ${kept.name} up to date`;
  await parts.workspaces.commitPaths({
    path: spec.path,
    files: [join(kept.inTree, kept.files.tasks)],
    message,
  });
  return { ...kept, tracked, text };
}

function changedTwice(file: string, kept: PlanSpec): InputError {
  const original = join(kept.dir, kept.files.tasks);
  return new InputError('spec/changed', `${original} and ${file} were both changed since the last run.`, {
    hint: `Make them alike and commit ${file}, then run the spec again.`,
    details: { file, original },
  });
}

/** Keeps the two files that show a run out of git, with what writing them leaves; they lie beside the spec. */
export function excludeFiles(commonDir: string, root: string, specDir: string): void {
  const inside = relative(root, dirname(specDir));
  if (inside.startsWith('..') || isAbsolute(inside)) return;
  const file = join(commonDir, 'info', 'exclude');
  const known = existsSync(file) ? readFileSync(file, 'utf8') : '';
  const lines = [`/${escaped(inside === '' ? '' : `${inside}/`)}SEQUENTIAL_*`];
  const missing = lines.filter((line) => !known.split('\n').includes(line));
  if (missing.length === 0) return;
  mkdirSync(dirname(file), { recursive: true });
  appendFileSync(file, `${known === '' || known.endsWith('\n') ? '' : '\n'}${missing.join('\n')}\n`);
}

function escaped(path: string): string {
  return path.replace(/[\\*?[\]#! ]/g, '\\$&');
}
