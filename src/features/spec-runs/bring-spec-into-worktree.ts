import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import type { EngineContext } from '../../engine/context.ts';
import { mergedTasks, type TaskIdentity } from '../../kiro/tick-and-merge-tasks.ts';
import { isLink, realOf } from '../../machine/files/read-and-remove-files.ts';
import { writeAtomic } from '../../machine/files/write-atomic-and-note-facts.ts';
import { InputError } from '../../model/errors.ts';
import { digest } from '../../model/ids-and-branch-names.ts';
import type { Plan, PlanSpec } from '../../model/plan.ts';
import type { WorkspaceSpec } from '../../workspaces/workspaces.ts';
import { engineTicks, updateSpecPlan } from './run-request-ticks-and-halt.ts';

export const STATE_FILE = 'SEQUENTIAL_STATE.json';
export const PROGRESS_FILE = 'SEQUENTIAL_PROGRESS.md';

/** The message of the commit that ticks a unit. */
export function tickMessage(unit: string, spec: string): string {
  return `Tick ${unit} of ${spec}`;
}

/** The path of the spec's files in a tree, from its top; a spec from elsewhere gets the usual path. */
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
  engine: EngineContext,
  spec: WorkspaceSpec,
  kept: PlanSpec,
  known: readonly TaskIdentity[],
  given?: string,
): Promise<PlanSpec> {
  const dir = join(spec.path, kept.inTree);
  const name = join(kept.inTree, kept.files.tasks);
  const original = join(kept.dir, kept.files.tasks);
  const place = () => placeOfFile(spec.path, name, original);
  const isTracked = () => engine.workspaces.isTracked(spec.path, name);
  if (dir === kept.dir || realOf(dir) === kept.dir)
    return { ...kept, tracked: await isTracked(), text: readFileSync(original, 'utf8'), list: place().name };
  const text = given ?? readFileSync(original, 'utf8');
  const tracked = existsSync(join(spec.path, name)) && (await isTracked());
  if (!tracked && engine.store.fleet) throw untracked(name, 'the branch that it starts from');
  if (!tracked) {
    mkdirSync(dir, { recursive: true });
    writeAt(place().file, readFileSync(original));
    writeFileSync(join(dir, '.gitignore'), '*\n');
  }
  const others = await bringOthers(engine, spec, kept);
  const list = place();
  const brought = { ...kept, tracked, text, list: list.name, brought: others };
  if (!tracked) return brought;
  const onBranch = readFileSync(list.file, 'utf8');
  const next = mergedTasks({ was: kept.text, mine: text, branch: onBranch }, known);
  if (next === null)
    throw new InputError(
      'spec/changed',
      `${original} and ${list.file} were both changed since the last run.`,
      {
        hint: `Make both files equal and commit ${list.file}, then run the spec again.`,
        details: { file: list.file, original },
      },
    );
  if (next === onBranch) return brought;
  writeAtomic(list.file, next, 0o644);
  const message = `Bring the tasks of ${kept.name} up to date`;
  await engine.workspaces.commitPaths({ path: spec.path, files: [list.name], message });
  return brought;
}

/** Only what git has reaches the other machines of a fleet. */
export function untracked(name: string, where: string): InputError {
  return new InputError('spec/untracked', `${name} is not in git, in ${where}: workers could not read it.`, {
    hint: 'Commit the spec and bring it to origin, then run it again. Or run it with the plans of this machine, without the store.',
  });
}

/** Brings a task list that was edited while a unit's work was in the worktree to the branch. True: there was one. */
export async function bringPending(
  engine: EngineContext,
  { id }: Pick<Plan, 'id'>,
  workspace: WorkspaceSpec,
): Promise<boolean> {
  const plan = engine.store.plan(id);
  if (plan.spec?.pending === undefined) return false;
  const { pending, ...kept } = plan.spec;
  kept.base ??= (await engine.workspaces.head(workspace.path)).commit;
  const ticks = engineTicks(plan, engine.store.tickets(plan));
  const brought = await bringSpec(engine, workspace, kept, ticks, pending);
  const { carried: _, ...spec } = brought;
  await updateSpecPlan(engine, id, (latest) => ({ ...latest, spec }));
  return true;
}

/**
 * Brings the user's requirements and design into the tree, in a commit if git tracks them: prompts are made from them. An agent's
 * changes on the branch are kept until the user changes the file.
 */
async function bringOthers(
  { workspaces }: EngineContext,
  spec: WorkspaceSpec,
  kept: PlanSpec,
): Promise<Record<string, string>> {
  const brought: Record<string, string> = {};
  for (const other of kept.files.others) {
    const original = join(kept.dir, other);
    const carried = kept.carried?.[other];
    if (carried === undefined && !existsSync(original)) continue;
    const mine = carried === undefined ? readFileSync(original) : Buffer.from(carried);
    brought[other] = digest(mine);
    const place = placeOfFile(spec.path, join(kept.inTree, other), original);
    const isThere = existsSync(place.file);
    if (isThere && (brought[other] === kept.brought?.[other] || readFileSync(place.file).equals(mine)))
      continue;
    writeAt(place.file, mine);
    const message = `Bring ${other} of ${kept.name} up to date`;
    await workspaces.commitPaths({ path: spec.path, files: [place.name], message });
  }
  return brought;
}

/** Keeps the two files that show a run, and their temporary files, out of git. */
export function excludeFiles(commonDir: string, root: string, place: string): void {
  const inside = relative(root, place);
  if (inside.startsWith('..') || isAbsolute(inside)) return;
  const file = join(commonDir, 'info', 'exclude');
  const known = existsSync(file) ? readFileSync(file, 'utf8') : '';
  const escaped = (inside === '' ? '' : `${inside}/`).replace(/[\\*?[\]#! ]/g, '\\$&');
  const line = `/${escaped}SEQUENTIAL_*`;
  if (known.split('\n').includes(line)) return;
  mkdirSync(dirname(file), { recursive: true });
  appendFileSync(file, `${known === '' || known.endsWith('\n') ? '' : '\n'}${line}\n`);
}

/**
 * Where a file of a spec is written, and its name in git, from the top of the tree. A link in a worktree is followed inside it, or to the user's own file. A link that an agent has pointed elsewhere is
 * replaced, so that nothing is written outside.
 */
export function placeOfFile(tree: string, name: string, original: string) {
  const file = join(tree, name);
  const target = realOf(file) ?? pointedAt(file);
  if (target === undefined) return { file, name };
  const inside = relative(realOf(tree) ?? tree, target);
  const isOut = inside.startsWith('..') || isAbsolute(inside) || inside.split(sep)[0] === '.git';
  if (!isOut) return { file: target, name: inside };
  return { file: target === realOf(original) ? target : file, name };
}

/** Writes a file; a link that was not followed is replaced. */
function writeAt(file: string, data: Buffer): void {
  if (isLink(file)) rmSync(file);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, data);
}

/** The target of a link where nothing exists. */
function pointedAt(file: string): string | undefined {
  const dir = realOf(dirname(file));
  return dir !== undefined && isLink(file) ? resolve(dir, readlinkSync(file)) : undefined;
}
