import { existsSync, readdirSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, relative } from 'node:path';
import type { EngineContext } from '../../engine/context.ts';
import { worktreeRootOf } from '../../engine/work-out-workspace-and-repository.ts';
import { parseTasks } from '../../kiro/parse-tasks.ts';
import type { Spec } from '../../kiro/read-spec.ts';
import { isWork } from '../../kiro/task-and-problem-types.ts';
import { identityOf, type TaskIdentity } from '../../kiro/tick-and-merge-tasks.ts';
import { realOf } from '../../machine/files/read-and-remove-files.ts';
import { InputError, messageOf, WorkspaceError } from '../../model/errors.ts';
import { branchProblem, digest, idProblem, slug } from '../../model/ids-and-branch-names.ts';
import type { Plan } from '../../model/plan.ts';
import { placeInTree, tickMessage } from './bring-spec-into-worktree.ts';
import type { EarlierRun, SpecRunRequest } from './run-request-ticks-and-halt.ts';

/** Where a spec is worked on. */
export interface SpecLocation {
  /** Real path of the spec's directory. */
  dir: string;
  /** Top of the repository. */
  root: string;
  planId: string;
  branch: string;
  before: EarlierRun | null;
}

/** The repository that is worked on: the named one, else the spec's, else the one at `cwd`. */
export async function repositoryOf(
  { workspaces }: EngineContext,
  { workdir, cwd }: SpecRunRequest,
  dir: string,
): Promise<string> {
  if (workdir !== null) {
    const { root } = await named(() => workspaces.checkRepo(workdir), '--workdir', 'Name a git repository.');
    return root;
  }
  try {
    return (await workspaces.checkRepo(dir)).root;
  } catch (error) {
    if (error instanceof WorkspaceError && error.code === 'workspace/no-commit') throw error;
    try {
      return (await workspaces.checkRepo(cwd)).root;
    } catch {
      throw new InputError('spec/no-repository', messageOf(error), {
        hint: 'Name the repository with --workdir.',
      });
    }
  }
}

/** A named base must exist before anything runs. */
export async function checkBase(
  { workspaces }: EngineContext,
  repo: string,
  base: string | null,
): Promise<void> {
  if (base === null) return;
  const hint = `Name an existing branch, or create it: git -C ${repo} branch ${base}`;
  await named(() => workspaces.checkBase({ repo, base }), '--base', hint);
}

/** Refuses a branch `x/y` if `x` exists: git stores branches as files. */
export async function refuseBranchAbove(
  { workspaces }: EngineContext,
  repo: string,
  branch: string,
): Promise<void> {
  const above = dirname(branch);
  if (above === '.' || !(await workspaces.tip({ repo, branch: above }))) return;
  throw new InputError(
    'spec/branch-name',
    `The branch ${branch} cannot be there together with the branch ${above}.`,
    {
      hint: `Give that one another name: git -C ${repo} branch -m ${above} ${above}-old\nOr work on the branch that the checkout is on, with --in-place.`,
      details: { branch, above },
    },
  );
}

/** Adds to errors the flag that the path or branch came from. */
async function named<T>(check: () => Promise<T>, flag: string, hint: string): Promise<T> {
  try {
    return await check();
  } catch (error) {
    if (!(error instanceof WorkspaceError)) throw error;
    const { message, code, details } = error;
    const way = code === 'workspace/no-commit' ? error.hint : hint;
    throw new InputError(code, `${flag}: ${message}`, { hint: way, details, cause: error });
  }
}

/** The name, with the first number that makes it free. */
async function firstFree(
  name: string,
  isTaken: (name: string) => boolean | Promise<boolean>,
): Promise<string> {
  let free = name;
  for (let number = 2; await isTaken(free); number += 1) free = `${name}-${number}`;
  return free;
}

/** Plans of specs, in the order of their ids. Of finished plans, only those with the id of a spec's plan are read. */
export function plansOfSpecs({ store }: EngineContext): Plan[] {
  // A database answers one question about all plans faster than one about each.
  if (store.fleet) return store.view().plans;
  const { plans, finished } = store.glance();
  const ids = [...(finished?.ids() ?? [])].filter((id) => id.startsWith(SPEC_PLAN));
  return [...plans, ...ids.flatMap((id) => finished?.plan(id) ?? [])].sort((a, b) => (a.id < b.id ? -1 : 1));
}

const SPEC_PLAN = 'spec-';

export function freePlanId({ store }: EngineContext, name: string): Promise<string> {
  return firstFree(`${SPEC_PLAN}${plainName(name)}`, (planId) => store.exists({ planId, ticketId: null }));
}

/** A name that can be part of an id. One without Latin letters is replaced by a few digits of its hash. */
function plainName(name: string): string {
  if (idProblem(name) === undefined) return name;
  const plain = slug(name, 60);
  return plain === slug('') ? digest(name, 8) : plain;
}

interface BranchInput extends Pick<SpecLocation, 'dir' | 'root' | 'before'> {
  spec: Spec;
  inPlace: boolean;
  fresh: boolean;
}

/** The branch of earlier runs, the checkout's own with `--in-place`, or a free one. */
export async function branchFor(engine: EngineContext, input: BranchInput): Promise<string> {
  const known = input.before?.tickets[0]?.branch;
  if (known && (input.before?.plan.workspace === 'checkout') === input.inPlace) return known;
  if (input.inPlace) {
    const { branch } = await engine.workspaces.head(input.root);
    if (branch !== undefined) return branch;
    throw new InputError('spec/detached', `The checkout ${input.root} is on no branch.`, {
      hint: `Switch to one: git -C ${input.root} switch -c spec/${slug(input.spec.name)}`,
    });
  }
  return freeBranch(engine, input);
}

/**
 * Branches are numbered among the plans of one repository, plan ids in the whole state directory. The last branch with ticks is
 * that of a run whose state is gone.
 */
async function freeBranch(engine: EngineContext, input: BranchInput): Promise<string> {
  const { store, workspaces } = engine;
  const { root, fresh, spec } = input;
  const usual = `spec/${plainName(spec.name)}`;
  const plain = branchProblem(usual) === undefined ? usual : `spec/${slug(spec.name)}`;
  const exists = async (branch: string) => Boolean(await workspaces.tip({ repo: root, branch }));
  const taken = new Set(
    plansOfSpecs(engine).flatMap((plan) =>
      plan.repo === root ? [store.tickets({ ...plan, tickets: plan.tickets.slice(0, 1) })[0]?.branch] : [],
    ),
  );
  if (fresh) return firstFree(plain, async (branch) => taken.has(branch) || (await exists(branch)));
  let found = await firstFree(plain, (branch) => taken.has(branch));
  for (let number = 2; await exists(`${plain}-${number}`); number += 1) {
    const branch = `${plain}-${number}`;
    if (!taken.has(branch) && (await ticksOnBranch(workspaces, { ...input, branch })).length > 0)
      found = branch;
  }
  return found;
}

/** Tasks that the engine ticked on a branch, by its last tick that the checkout does not have. */
export async function ticksOnBranch(
  workspaces: EngineContext['workspaces'],
  { dir, root, branch, spec }: Pick<SpecLocation, 'dir' | 'root' | 'branch'> & { spec: Spec },
): Promise<TaskIdentity[]> {
  const name = basename(spec.files.tasks);
  const inside = relative(root, realOf(join(dir, name)) ?? '');
  const file = inside.startsWith('..') || isAbsolute(inside) ? join(placeInTree(dir, root), name) : inside;
  const message = `^${tickMessage('.+', spec.name.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'))}$`;
  const text = await workspaces.readCommitted({ repo: root, branch, file, message });
  const tasks = text === null ? [] : parseTasks(text).all;
  return tasks.filter((task) => isWork(task) && task.mark === 'done').map(identityOf);
}

/**
 * The path of a spec's worktree as a ticket stores it (null is the default path), and what the person should know. Where another
 * repository has something there, the next free number is added.
 */
export async function freeTree(
  engine: EngineContext,
  { root, planId, before, branch }: SpecLocation,
): Promise<{ worktree: string | null; notes: string[] }> {
  const { worktreeRoot = null, workspace } = before?.plan ?? {};
  const trees = worktreeRootOf({ worktreeRoot }, engine.settings, root);
  // Worktrees of several repositories may be in one directory: one whose branch is named after another plan gets its own plan's name.
  const name = `spec/${planId.slice('spec-'.length)}`;
  const named = branch === name || branchProblem(name) !== undefined ? null : join(trees, name);
  const usual = named ?? join(trees, branch);
  const known =
    workspace === 'checkout' ? null : before?.tickets.find(({ worktree }) => worktree !== null)?.worktree;
  const first = known ?? usual;
  const { commonDir } = await engine.workspaces.checkRepo(root);
  const path = await firstFree(first, async (each) => {
    if (!existsSync(each)) return false;
    if (await isForeign(engine, each, commonDir)) return true;
    // A new run must not take over the worktree of another branch.
    return !before && readdirSync(each).length > 0 && (await engine.workspaces.head(each)).branch !== branch;
  });
  const note = `The worktree is ${path}: ${first} is taken by something else.`;
  return { worktree: path === usual ? named : path, notes: path === first ? [] : [note] };
}

/** Whether something is at the path that does not belong to this repository. */
async function isForeign({ workspaces }: EngineContext, path: string, commonDir: string): Promise<boolean> {
  try {
    if (readdirSync(path).length === 0) return false;
    return (await workspaces.checkRepo(path)).commonDir !== commonDir;
  } catch (error) {
    if (error instanceof WorkspaceError || (error as NodeJS.ErrnoException).code === 'ENOTDIR') return true;
    throw error;
  }
}
