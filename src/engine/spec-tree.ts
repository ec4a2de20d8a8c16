import { appendFileSync, cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, relative } from 'node:path';
import { InputError } from '../model/errors.ts';
import { isWork, parseTasks, tick } from '../sources/kiro/index.ts';
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
 * The text with the boxes ticked of tasks that another copy has as done. Parents follow from what is in them: one that
 * was ticked and has something new in it is not done.
 */
export function withTicksOf(text: string, other: string | null): string {
  if (other === null || other === text) return text;
  const done = new Map(parseTasks(other).all.flatMap((task) => (task.done ? [[task.id, task.title]] : [])));
  const tasks = parseTasks(text).all.filter(
    (task) => isWork(task) && task.box !== null && done.get(task.id) === task.title,
  );
  return tasks.length === 0 ? text : tick(text, tasks).text;
}

/** tasks.md as the spec's branch has it, or as it lies in the tree; null where there is none yet. */
export async function tasksInTree(parts: Parts, spec: WorkspaceSpec, kept: PlanSpec): Promise<string | null> {
  const file = join(kept.inTree, kept.files.tasks);
  const path = join(spec.path, file);
  if (existsSync(path)) return readFileSync(path, 'utf8');
  return parts.workspaces.readCommitted({ repo: spec.repo, branch: spec.branch, file });
}

/**
 * Brings the spec into the tree: where git has it, an edited tasks.md is committed with the ticks that the branch has;
 * where git does not, its files are copied and kept out of git.
 */
export async function bringSpec(parts: Parts, spec: WorkspaceSpec, kept: PlanSpec): Promise<PlanSpec> {
  const dir = join(spec.path, kept.inTree);
  const file = join(dir, kept.files.tasks);
  if (dir === kept.dir) {
    const tracked = await parts.workspaces.isTracked(spec.path, join(kept.inTree, kept.files.tasks));
    return { ...kept, tracked };
  }
  const text = readFileSync(join(kept.dir, kept.files.tasks), 'utf8');
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
  const theirs = withTicksOf(text, ours);
  if (theirs === ours) return { ...kept, tracked, text };
  if (kept.text !== '' && kept.text !== text && withTicksOf(kept.text, ours) !== ours)
    throw changedTwice(file, kept);
  if (kept.text !== '' && kept.text === text) return { ...kept, tracked };
  writeAtomic(file, theirs, 0o644);
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

/** Keeps the two files that show a run out of git; they lie beside the spec. */
export function excludeFiles(commonDir: string, root: string, specDir: string): void {
  const inside = relative(root, dirname(specDir));
  if (inside.startsWith('..') || isAbsolute(inside)) return;
  const file = join(commonDir, 'info', 'exclude');
  const known = existsSync(file) ? readFileSync(file, 'utf8') : '';
  const lines = [STATE_FILE, PROGRESS_FILE].map((name) => `/${escaped(join(inside, name))}`);
  const missing = lines.filter((line) => !known.split('\n').includes(line));
  if (missing.length === 0) return;
  mkdirSync(dirname(file), { recursive: true });
  appendFileSync(file, `${known === '' || known.endsWith('\n') ? '' : '\n'}${missing.join('\n')}\n`);
}

function escaped(path: string): string {
  return path.replace(/[\\*?[\]#! ]/g, '\\$&');
}
