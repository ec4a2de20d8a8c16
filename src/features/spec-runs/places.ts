import { createHash } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { EngineContext } from '../../engine/context.ts';
import { worktreeRootOf } from '../../engine/ticket-defaults.ts';
import { InputError, messageOf, WorkspaceError } from '../../model/errors.ts';
import { branchProblem, idProblem, slug } from '../../model/ids.ts';
import type { Plan } from '../../model/plan.ts';
import { ticketOf } from '../../model/plans/view.ts';
import type { Ticket } from '../../model/ticket.ts';
import type { SpecRunRequest } from './request.ts';

/** An earlier run of the same spec that this one continues. */
export interface EarlierRun {
  plan: Plan;
  tickets: readonly Ticket[];
}

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
  { workdir, cwd }: Pick<SpecRunRequest, 'workdir' | 'cwd'>,
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
        hint: 'Say with --workdir in which repository the work happens.',
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
  const hint = `Name a branch that is there, or make it: git -C ${repo} branch ${base}`;
  await named(() => workspaces.checkBase({ repo, base }), '--base', hint);
}

/** Git stores branches as files: `x` and `x/y` cannot both exist. */
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

/** Errors name the flag that gave the path or branch. */
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

/** Numbered where another plan has the id. */
export function freePlanId(parts: EngineContext, name: string): string {
  for (let number = 1; ; number += 1) {
    const id = `spec-${plainName(name)}${behind(number)}`;
    if (!parts.store.exists({ planId: id, ticketId: null })) return id;
  }
}

function plainName(name: string): string {
  return idProblem(name) === undefined ? name : readable(name);
}

const behind = (number: number) => (number === 1 ? '' : `-${number}`);

/** A name without Latin letters is replaced by a few digits of its hash. */
function readable(name: string): string {
  const plain = slug(name, 60);
  return plain === slug('') ? createHash('sha256').update(name).digest('hex').slice(0, 8) : plain;
}

type BranchInput = Pick<SpecLocation, 'root' | 'before'> & { name: string; inPlace: boolean };

/** The branch of earlier runs, the checkout's own with `--in-place`, or a free one. */
export async function branchFor(parts: EngineContext, input: BranchInput): Promise<string> {
  const known = input.before?.tickets[0]?.branch;
  if (known && (input.before?.plan.workspace === 'checkout') === input.inPlace) return known;
  if (input.inPlace) {
    const { branch } = await parts.workspaces.head(input.root);
    if (branch !== undefined) return branch;
    throw new InputError('spec/detached', `The checkout ${input.root} is on no branch.`, {
      hint: `Switch to one: git -C ${input.root} switch -c spec/${slug(input.name)}`,
    });
  }
  return freeBranch(parts, input);
}

/** Branches are numbered among the plans of one repository, plan ids in the whole state directory. */
function freeBranch(parts: EngineContext, { root, name }: BranchInput): string {
  const plain = `spec/${plainName(name)}`;
  const first = branchProblem(plain) === undefined ? plain : `spec/${slug(name)}`;
  const view = parts.store.view();
  const taken = new Set(
    view.plans.flatMap(({ id, repo, tickets: [one] }) =>
      one && repo === root ? [ticketOf(view, { planId: id, ticketId: one.ticketId })?.branch] : [],
    ),
  );
  for (let number = 1; ; number += 1) {
    const branch = `${first}${behind(number)}`;
    if (!taken.has(branch)) return branch;
  }
}

interface FreeTree {
  /** As a ticket stores it: null is the default path. */
  worktree: string | null;
  /** What the person should know. */
  notes: string[];
}

/** The path of a spec's worktree. Where another repository has something there, the next free number is added. */
export async function freeTree(parts: EngineContext, place: SpecLocation): Promise<FreeTree> {
  const { before, root, branch } = place;
  const named = treeOf(parts, place);
  const worktreeRoot = before?.plan.worktreeRoot ?? null;
  const usual = named ?? join(worktreeRootOf({ worktreeRoot }, parts.settings, root), branch);
  const known =
    before?.plan.workspace === 'checkout'
      ? null
      : before?.tickets.find((ticket) => ticket.worktree !== null)?.worktree;
  const first = known ?? usual;
  const { commonDir } = await parts.workspaces.checkRepo(root);
  for (let number = 1; ; number += 1) {
    const path = number === 1 ? first : `${first}-${number}`;
    if (!(await isForeign(parts, path, commonDir))) {
      const note = `The worktree is ${path}: ${first} is taken by something else.`;
      return { worktree: path === usual ? named : path, notes: path === first ? [] : [note] };
    }
  }
}

/** Whether something is at the path that does not belong to this repository. */
async function isForeign({ workspaces }: EngineContext, path: string, commonDir: string): Promise<boolean> {
  if (!existsSync(path)) return false;
  try {
    if (readdirSync(path).length === 0) return false;
    return (await workspaces.checkRepo(path)).commonDir !== commonDir;
  } catch (error) {
    if (error instanceof WorkspaceError || (error as NodeJS.ErrnoException).code === 'ENOTDIR') return true;
    throw error;
  }
}

/** A worktree whose branch is not named after its plan is: worktrees of several repositories may be in one directory. */
function treeOf(parts: EngineContext, { root, planId, before, branch }: SpecLocation): string | null {
  const name = `spec/${planId.slice('spec-'.length)}`;
  if (branch === name || branchProblem(name) !== undefined) return null;
  const worktreeRoot = before?.plan.worktreeRoot ?? null;
  return join(worktreeRootOf({ worktreeRoot }, parts.settings, root), name);
}
