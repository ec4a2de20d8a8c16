import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Context, lockRepo, type Repository } from '../git/context-and-locks.ts';
import {
  confirm,
  describe,
  find,
  inspect,
  isConfirmed,
  rememberCheckout,
  type Worktree,
} from '../git/inspect-worktrees.ts';
import { branchRef, checkBranch, readRef } from '../git/refs.ts';
import { ignoring, shortageOf, WorkspaceError } from '../model/errors.ts';
import { shellQuote } from '../model/text/quote-values-for-shell.ts';
import {
  addWorktree,
  checkOut,
  freeBranch,
  lockPlace,
  openTree,
  repairCheckout,
  repairEntry,
  waitForGit,
} from './add-remove-repair-worktree.ts';
import { refuseTrunk } from './delete-branches-and-protect-trunk.ts';
import { findStart, moveToStart, type Start } from './find-start-and-merge-prerequisites.ts';
import { MADE_MEANWHILE, pathTaken, refuseInside } from './find-worktree-obstacles.ts';
import { canonical, realDirectory } from './resolve-symlinks-make-and-remove-directories.ts';
import { endSetup, isReady, refreshSetup, setUp } from './setup/set-up-worktree.ts';
import { checkOutWarm, discardWarm, refuseOwnState, type Taken, takeWarm } from './warm/warm-worktrees.ts';
import {
  type Owner,
  readOwner,
  recordOwner,
  refuseOther,
  takeOverOwnership,
  writeOwner,
} from './workspace-owner.ts';
import type { TreeSpec, WorkspaceSpec } from './workspace-spec.ts';

export interface Ensured {
  path: string;
  branch: string;
  base: { ref: string; commit: string };
  /** False when the worktree was there already. */
  created: boolean;
  /** True when it was made from a warm worktree. */
  reused: boolean;
  /** Problems that did not stop it, such as a failed fetch. */
  notes: string[];
}

/** Creates a ticket's worktree, or finds it as it was left; calling it again changes nothing. */
export async function ensureWorkspace(repo: Repository, given: WorkspaceSpec): Promise<Ensured> {
  checkBranch(given.branch);
  if (given.base !== null) checkBranch(given.base, 'base branch');
  for (const branch of given.stackOn) checkBranch(branch, 'prerequisite branch');
  await refuseTrunk(repo, given);
  const spec = { ...given, path: canonical(given.path), worktreeRoot: realDirectory(given.worktreeRoot) };
  await refuseInside(repo, spec.path, spec.worktreeRoot);
  const ensured = await repo.inTurn(spec.path, () => ensureAt(repo, spec));
  return { ...ensured, path: given.path };
}

/** Installs packages again in a ready worktree if its lock file has changed since. */
export async function refreshWorkspace(context: Context, spec: WorkspaceSpec): Promise<void> {
  if (!spec.install) return;
  const path = canonical(spec.path);
  await context.inTurn(path, async () => {
    const found = await find(context.git, path);
    if (!('kind' in found))
      await refreshSetup(context, spec, { worktree: found, owner: readOwner(found.gitDir) });
  });
}

async function ensureAt(repo: Repository, spec: WorkspaceSpec): Promise<Ensured> {
  const found = await inspect(repo.git, spec.path, spec.branch);
  if (found.kind === 'absent' || found.kind === 'empty') return create(repo, spec);
  if (found.kind !== 'worktree') throw pathTaken(spec.path, found.kind);
  const { worktree } = found;
  if (worktree.commonDir !== repo.commonDir)
    throw pathTaken(spec.path, 'a worktree of another repository', MADE_MEANWHILE);
  // Another engine may be creating it now. Under the lock it is either complete, with its owner, or was left unfinished.
  const recorded =
    readOwner(worktree.gitDir) ??
    (await lockRepo(repo, () => readOwner(worktree.gitDir) ?? ownUnfinished(worktree, spec)));
  const owner = recorded && (await takeOverOwnership(repo, worktree, recorded, spec));
  if (owner?.state === 'slot')
    return create(repo, spec, { inPlace: await afterKilledGit(repo, worktree, spec) });
  if (owner) refuseOther(owner, spec);
  if (owner?.state === 'checkout') {
    const whole = await repairCheckout(repo, await afterKilledGit(repo, worktree, spec));
    return create(repo, spec, { inPlace: whole, formerBase: owner.base });
  }
  if (owner?.state === 'setup') await endSetup(worktree.workTree);
  return reopen(repo, spec, worktree, owner);
}

/** Waits until a git call of a killed engine has ended, and reads the worktree again. */
async function afterKilledGit(
  context: Context,
  worktree: Worktree,
  { branch }: WorkspaceSpec,
): Promise<Worktree> {
  await waitForGit(worktree.workTree);
  const found = await inspect(context.git, worktree.workTree, branch);
  return found.kind === 'worktree' ? found.worktree : worktree;
}

/**
 * A detached worktree without index or files is from an engine that was killed right after `worktree add`. Its owner is recorded
 * before it is filled: half-filled and without an owner it would be taken for a person's.
 */
function ownUnfinished(worktree: Worktree, spec: WorkspaceSpec): Owner | undefined {
  const { gitDir, workTree, head } = worktree;
  const unfinished = head.branch === undefined && !existsSync(join(gitDir, 'index'));
  if (!unfinished || readdirSync(workTree).length !== 1) return undefined;
  const owner = newOwner(spec, null);
  writeOwner(gitDir, owner);
  return owner;
}

function newOwner({ owner, branch }: WorkspaceSpec, base: Owner['base']): Owner {
  return { owner, branch, state: 'checkout', created: true, base, copied: {}, caches: false };
}

/** Continues in an existing worktree of this ticket. */
async function reopen(
  repo: Repository,
  spec: WorkspaceSpec,
  worktree: Worktree,
  owner: Owner | undefined,
): Promise<Ensured> {
  const { path, branch } = spec;
  const { head } = worktree;
  if (head.branch !== branch)
    throw pathTaken(
      path,
      head.branch ? `a worktree on branch ${head.branch}` : 'a worktree on no branch',
      `If it is this ticket's: git -C ${path} switch ${branch}. Else set \`worktree\` of the ticket to another place.`,
    );
  if (worktree.registeredAt !== worktree.workTree && !owner)
    throw pathTaken(
      path,
      'a worktree that git has registered elsewhere',
      `Run: git -C ${path} worktree repair`,
    );
  await repairEntry(repo, worktree);
  const formerBase = owner?.base ?? spec.formerBase ?? null;
  const start = await findStart(repo, { ...spec, formerBase });
  await moveToStart(repo, { branch, start, worktree });
  const found = owner ?? { ...newOwner(spec, start.base), state: 'ready', created: false };
  // Other commits may need other dependencies.
  const kept: Owner = start.movesFrom ? { ...found, base: start.base, state: 'setup' } : found;
  const notes = [...start.notes];
  if (kept.state === 'setup') notes.push(...(await setUp(repo, spec, { worktree, owner: kept })));
  else if (!owner) await recordOwner(repo, worktree, kept, spec);
  else await refreshSetup(repo, spec, { worktree, owner });
  return { path, branch, base: start.base, created: false, reused: false, notes };
}

/** Creates the worktree: from a warm one that is already at the path, from another warm one, or a new one. */
async function create(
  repo: Repository,
  spec: WorkspaceSpec,
  { inPlace, formerBase = null }: { inPlace?: Worktree; formerBase?: Owner['base'] } = {},
): Promise<Ensured> {
  const { path, branch } = spec;
  const start = await findStart(repo, { ...spec, formerBase: formerBase ?? spec.formerBase ?? null });
  const isThere = inPlace?.head.branch === branch;
  if (start.tip && !isThere) await freeBranch(repo, branch);
  await moveToStart(repo, { branch, start, worktree: isThere ? inPlace : undefined });
  const owner = newOwner(spec, start.base);
  const notes = [...start.notes];
  const warm = await fromWarm(repo, { spec, start, owner, inPlace, notes });
  let worktree = warm?.at;
  if (!worktree) {
    const commit = start.tip ?? start.base.commit;
    worktree = await lockPlace(repo, spec, () => addWorktree(repo, { ...spec, commit, owner }));
    // Using a warm worktree may have failed after the branch was created.
    const tip = start.tip ?? (await readRef(repo, branchRef(branch)));
    await checkOut(repo, worktree, { branch, tip, start: start.base.commit });
  }
  rememberCheckout(repo.git, worktree, { branch, isNew: !inPlace && !warm?.mayDiffer });
  notes.push(...(await setUp(repo, spec, { worktree, owner })));
  return { path, branch, base: start.base, created: true, reused: warm !== undefined, notes };
}

interface WarmRequest {
  spec: WorkspaceSpec;
  start: Start;
  owner: Owner;
  inPlace: Worktree | undefined;
  notes: string[];
}

async function fromWarm(repo: Repository, request: WarmRequest): Promise<Taken | undefined> {
  const { spec, start, owner, inPlace } = request;
  const taken = inPlace
    ? adopt(inPlace, owner)
    : await lockPlace(repo, spec, async () => {
        // Another ticket's worktree may have been created above this path meanwhile.
        await refuseInside(repo, spec.path, spec.worktreeRoot);
        return takeWarm(repo, { ...spec, owner });
      });
  if (!taken) return undefined;
  try {
    await refuseOwnState(repo, taken);
    const wanted = { branch: spec.branch, tip: start.tip, start: start.base.commit, keep: spec.caches };
    if (inPlace?.head.branch !== spec.branch) await checkOutWarm(repo, taken, wanted);
    return taken;
  } catch (error) {
    // After a shortage the next try repairs it.
    if (!(error instanceof WorkspaceError) || shortageOf(error)) throw error;
    const note = await lockRepo(repo, () => discardWarm(repo, taken.at, spec));
    if (note) request.notes.push(note);
    return undefined;
  }
}

function adopt(at: Worktree, owner: Owner): Taken {
  const before = readOwner(at.gitDir);
  const caches = before?.caches !== false;
  writeOwner(at.gitDir, { ...owner, caches });
  return { at, caches, mayDiffer: before?.state === 'slot' };
}

export interface VerifySpec extends TreeSpec {
  /** The repository's own checkout is meant. */
  inPlace?: boolean | undefined;
}

/** Throws unless the directory is the repository's worktree on that branch. The error says what it is instead. */
export async function verifyWorkspace(context: Context, spec: VerifySpec): Promise<void> {
  const found = await find(context.git, spec.path);
  const commonDir = (await ignoring(WorkspaceError, () => context.repo(spec.repo)))?.commonDir;
  const isSameRepository = !('kind' in found) && found.commonDir === commonDir;
  const { git } = context;
  if (isSameRepository && (isConfirmed(git, found, spec.branch) || (await confirm(git, found, spec.branch))))
    return;
  const worktree = !('kind' in found)
    ? await describe(context.git, found)
    : spec.inPlace
      ? await openTree(context.git, spec.path)
      : undefined;
  const problem =
    worktree === undefined
      ? 'kind' in found && found.kind === 'absent'
        ? 'it does not exist'
        : 'it is not a git worktree'
      : problemOf(worktree, spec, commonDir);
  if (problem === undefined) return;
  throw new WorkspaceError(
    'workspace/unexpected',
    `${spec.path} is not the worktree of branch ${spec.branch}: ${problem}.`,
    {
      hint: `${switchBackHint(spec, worktree)}, then retry the ticket.`,
      details: { path: spec.path, branch: spec.branch },
    },
  );
}

function problemOf(worktree: Worktree, { branch }: VerifySpec, commonDir: string | undefined) {
  const { registeredAt, head } = worktree;
  if (worktree.commonDir !== commonDir) return `it is a worktree of ${worktree.commonDir}`;
  if (registeredAt !== worktree.workTree)
    return `git has it registered at ${registeredAt ?? 'another place'}`;
  if (head.branch === branch) return undefined;
  return `it is on ${head.branch ? `branch ${head.branch}` : 'no branch'}`;
}

/** The same for a ready worktree; false if it is not ready. */
export async function verifyReady(context: Context, spec: VerifySpec): Promise<boolean> {
  if (!isReady(spec.path)) return false;
  await verifyWorkspace(context, spec);
  return true;
}

/** The hint with the command that switches back. Git itself explains how to keep commits that would be on no branch. */
function switchBackHint({ path, branch }: VerifySpec, worktree: Worktree | undefined): string {
  const strayed = worktree !== undefined && worktree.registeredAt === path && worktree.head.branch !== branch;
  if (!strayed) return 'Fix it by hand or remove it';
  return `Look at what is there and put it back with: git -C ${shellQuote(path)} switch ${shellQuote(branch)}`;
}
