import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Context, lockRepo } from '../git/context.ts';
import { branchRef, readRef } from '../git/refs.ts';
import type { Repo } from '../git/repository.ts';
import { inspect, register, type Worktree } from '../git/worktrees.ts';
import { WorkspaceError } from '../model/errors.ts';
import { addWorktree, freeBranch } from './add.ts';
import { checkOut, checkOutSlot, repairCheckout } from './checkout.ts';
import { refuseTrunk } from './own-branch.ts';
import { type Owner, readOwner, writeOwner } from './owner.ts';
import { canonical, checkBranch, pathTaken, realDirectory, refuseInside } from './place.ts';
import { waitForGit } from './processes.ts';
import { endSetup, refreshSetup, setUp } from './setup/setup.ts';
import type { WorkspaceSpec } from './spec.ts';
import { findStart, moveToStart, type Start } from './start.ts';
import { own, refuseOther, takenOver } from './take-over.ts';
import { checkSlot, discardSlot, takeSlot } from './warm/slots.ts';

export interface Ensured {
  path: string;
  branch: string;
  base: { ref: string; commit: string };
  /** False when the worktree was there already. */
  created: boolean;
  /** True when it was made from a slot. */
  reused: boolean;
  /** What went another way than wished, such as a fetch that failed. */
  notes: string[];
}

/** Makes a ticket's worktree, or finds it as it was left. */
export async function ensureWorkspace(context: Context, given: WorkspaceSpec): Promise<Ensured> {
  checkBranch(given.branch);
  if (given.base !== null) checkBranch(given.base, 'base branch');
  for (const branch of given.stackOn) checkBranch(branch, 'prerequisite branch');
  const repo = await context.repo(given.repo);
  await refuseTrunk(context, repo, given);
  const spec = { ...given, path: canonical(given.path), worktreeRoot: realDirectory(given.worktreeRoot) };
  refuseInside(repo, spec.path, spec.worktreeRoot);
  const ensured = await context.inTurn(spec.path, () => ensureAt(context, repo, spec));
  return { ...ensured, path: given.path };
}

/** What came into a worktree that is ready may need other packages. */
export async function refreshWorkspace(context: Context, spec: WorkspaceSpec): Promise<void> {
  if (!spec.install) return;
  const path = canonical(spec.path);
  await context.inTurn(path, async () => {
    const found = inspect(path);
    if (found.kind !== 'worktree') return;
    const { worktree } = found;
    await refreshSetup(context, spec, { worktree, owner: readOwner(worktree.adminDir) });
  });
}

async function ensureAt(context: Context, repo: Repo, spec: WorkspaceSpec): Promise<Ensured> {
  const found = inspect(spec.path);
  if (found.kind === 'absent' || found.kind === 'empty') return create(context, repo, spec);
  if (found.kind !== 'worktree') throw pathTaken(spec.path, found.kind);
  const { worktree } = found;
  if (worktree.commonDir !== repo.commonDir) throw pathTaken(spec.path, 'a worktree of another repository');
  // Another engine may be making it at this moment: under the lock it is made, with its owner, or was left unfinished.
  const recorded =
    readOwner(worktree.adminDir) ??
    (await lockRepo(repo, async () => readOwner(worktree.adminDir) ?? ownUnfinished(worktree, spec)));
  const owner = recorded && (await takenOver(repo, worktree, recorded, spec));
  if (owner?.state === 'slot') return create(context, repo, spec, { inPlace: await settled(worktree) });
  if (owner) refuseOther(owner, spec);
  if (owner?.state === 'checkout') {
    const whole = await repairCheckout(context, repo, await settled(worktree), spec.path);
    return create(context, repo, spec, { inPlace: whole, formerBase: owner.base });
  }
  if (owner?.state === 'setup') await endSetup(worktree.path);
  return reopen(context, repo, spec, worktree, owner);
}

/** The worktree as it is once a git call of an engine that died has ended. */
async function settled(worktree: Worktree): Promise<Worktree> {
  await waitForGit(worktree.path);
  const found = inspect(worktree.path);
  return found.kind === 'worktree' ? found.worktree : worktree;
}

/**
 * A detached worktree without index or files is what an engine that died right after `worktree add` left behind.
 * Noted before it is filled: half-filled and without an owner it would be a stranger's.
 */
function ownUnfinished(worktree: Worktree, spec: WorkspaceSpec): Owner | undefined {
  const unfinished = worktree.head.oid !== undefined && !existsSync(join(worktree.adminDir, 'index'));
  if (!unfinished || readdirSync(worktree.path).length !== 1) return undefined;
  const owner = newOwner(spec, null);
  writeOwner(worktree.adminDir, owner);
  return owner;
}

function newOwner(spec: WorkspaceSpec, base: Owner['base']): Owner {
  return {
    owner: spec.owner,
    branch: spec.branch,
    state: 'checkout',
    created: true,
    base,
    copied: {},
    caches: false,
  };
}

/** Goes on in a worktree that is as it should be. */
async function reopen(
  context: Context,
  repo: Repo,
  spec: WorkspaceSpec,
  worktree: Worktree,
  owner: Owner | undefined,
): Promise<Ensured> {
  const { path, branch } = spec;
  if (worktree.head.branch !== branch)
    throw pathTaken(
      path,
      worktree.head.branch ? `a worktree on branch ${worktree.head.branch}` : 'a worktree on no branch',
      `If it is this ticket's: git -C ${path} switch ${branch}. Else set \`worktree\` of the ticket to another place.`,
    );
  if (worktree.registeredAt !== worktree.path) {
    if (!owner)
      throw pathTaken(
        path,
        'a worktree that git has registered elsewhere',
        `Run: git -C ${path} worktree repair`,
      );
    await lockRepo(repo, () => register(worktree, path));
  }
  const start = await findStart(context, repo, {
    ...spec,
    formerBase: owner?.base ?? spec.formerBase ?? null,
  });
  await moveToStart(context, repo, { branch, start, worktree });
  const found = owner ?? { ...newOwner(spec, start.base), state: 'ready', created: false };
  // Other commits may need other dependencies.
  const kept: Owner = start.movesFrom ? { ...found, base: start.base, state: 'setup' } : found;
  const notes = [...start.notes];
  if (kept.state === 'setup') notes.push(...(await setUp(context, repo, spec, { worktree, owner: kept })));
  else if (!owner) await own(repo, worktree, kept, spec);
  else await refreshSetup(context, spec, { worktree, owner });
  return { path, branch, base: start.base, created: false, reused: false, notes };
}

/** Makes the worktree: from the slot that lies at the path already, from another slot, or anew. */
async function create(
  context: Context,
  repo: Repo,
  spec: WorkspaceSpec,
  { inPlace, formerBase = null }: { inPlace?: Worktree; formerBase?: Owner['base'] } = {},
): Promise<Ensured> {
  const start = await findStart(context, repo, {
    ...spec,
    formerBase: formerBase ?? spec.formerBase ?? null,
  });
  const isThere = inPlace?.head.branch === spec.branch;
  if (start.tip && !isThere) await freeBranch(context, repo, spec.branch);
  await moveToStart(context, repo, { branch: spec.branch, start, worktree: isThere ? inPlace : undefined });
  const owner = newOwner(spec, start.base);
  const notes = [...start.notes];
  let reused = true;
  let worktree = await fromSlot(context, repo, { spec, start, owner, inPlace, notes });
  if (!worktree) {
    reused = false;
    worktree = await lockRepo(repo, () =>
      addWorktree(context, repo, { ...spec, commit: start.tip ?? start.base.commit, owner }),
    );
    // A slot may have failed after it had made the branch.
    const tip = start.tip ?? (await readRef(context.git, repo, branchRef(spec.branch)));
    await checkOut(context, worktree, { branch: spec.branch, tip, start: start.base.commit });
  }
  notes.push(...(await setUp(context, repo, spec, { worktree, owner })));
  return { path: spec.path, branch: spec.branch, base: start.base, created: true, reused, notes };
}

interface SlotRequest {
  spec: WorkspaceSpec;
  start: Start;
  owner: Owner;
  inPlace: Worktree | undefined;
  notes: string[];
}

async function fromSlot(context: Context, repo: Repo, request: SlotRequest): Promise<Worktree | undefined> {
  const { spec, start, owner, inPlace } = request;
  const taken = inPlace
    ? adopt(inPlace, owner)
    : await lockRepo(repo, () => {
        // Another ticket's worktree may have come into being around this place meanwhile.
        refuseInside(repo, spec.path, spec.worktreeRoot);
        return takeSlot(context, repo, { ...spec, owner });
      });
  if (!taken) return undefined;
  try {
    if (taken.isSlot) await checkSlot(context, taken.worktree);
    if (inPlace?.head.branch !== spec.branch)
      await checkOutSlot(context, taken.worktree, {
        branch: spec.branch,
        tip: start.tip,
        start: start.base.commit,
        caches: taken.caches,
        keep: spec.caches,
      });
    return taken.worktree;
  } catch (error) {
    if (!(error instanceof WorkspaceError)) throw error;
    const note = await lockRepo(repo, () => discardSlot(context, repo, taken.worktree, spec));
    if (note) request.notes.push(note);
    return undefined;
  }
}

function adopt(worktree: Worktree, owner: Owner) {
  const before = readOwner(worktree.adminDir);
  const caches = before?.caches !== false;
  writeOwner(worktree.adminDir, { ...owner, caches });
  return { worktree, caches, isSlot: before?.state === 'slot' };
}
