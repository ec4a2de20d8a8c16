import { renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { lockRepo, type Repository } from '../git/context-and-locks.ts';
import { find } from '../git/inspect-worktrees.ts';
import { type GitLocation, gitDirOf } from '../git/locate-git-directories.ts';
import { writeSmallFile } from '../machine/files/make-directory-and-handle-storage-errors.ts';
import { readRegularText } from '../machine/files/read-and-remove-files.ts';
import type { ProcessIdentity } from '../machine/process-identity-and-signals.ts';
import { WorkspaceError } from '../model/errors.ts';
import { parseJson } from '../model/text/parse-json-and-find-places.ts';
import { asRecord } from '../model/text/values-of-unknown-type.ts';
import { canonical } from './resolve-symlinks-make-and-remove-directories.ts';
import type { WorkspaceSpec } from './workspace-spec.ts';

/**
 * Who may use a worktree, kept in git's own directory for it, where no agent's `git add` finds it.
 * `checkout`: git is filling it; `setup`: files are copied and hooks run; `slot`: a free warm worktree, in which nothing is
 * unique.
 */
export interface Owner {
  owner: string;
  branch: string;
  state: 'checkout' | 'setup' | 'ready' | 'slot';
  /** False for a worktree that Signalbox did not create: it is used, never released. */
  created: boolean;
  base: { ref: string; commit: string } | null;
  /** SHA-256 of the untracked files that were copied in, by path. */
  copied: Record<string, string>;
  /** A warm worktree that still has cache directories. */
  caches: boolean;
  /** The stamp of git's directory for a warm worktree when it was released. */
  stamp?: string | undefined;
  /** Whose setup commands run, while the state is `setup`. */
  by?: ProcessIdentity | undefined;
  /** Its owner has left it to the next ticket of its branch. */
  left?: boolean | undefined;
}

const ownerFile = (gitDir: string) => join(gitDir, 'signalbox-owner');

/** The owner, or undefined when there is none or the file is damaged: such a worktree must not be deleted. */
export function readOwner(gitDir: string): Owner | undefined {
  const value: Partial<Owner> = asRecord(parseJson(readRegularText(ownerFile(gitDir)) ?? ''));
  if (typeof value.owner !== 'string' || typeof value.branch !== 'string') return undefined;
  return {
    owner: value.owner,
    branch: value.branch,
    state: value.state ?? 'ready',
    created: value.created === true,
    base: value.base ?? null,
    copied: value.copied ?? {},
    caches: value.caches !== false,
    stamp: value.stamp,
    by: value.by,
    left: value.left === true || undefined,
  };
}

/** The owner of the worktree at a path. */
export function readOwnerAt(path: string): Owner | undefined {
  const gitDir = gitDirOf(path);
  return gitDir === undefined ? undefined : readOwner(gitDir);
}

export function writeOwner(gitDir: string, owner: Owner): void {
  const path = ownerFile(gitDir);
  writeSmallFile(`${path}.tmp`, `${JSON.stringify(owner)}\n`);
  renameSync(`${path}.tmp`, path);
}

/** Throws if another ticket owns the worktree: one ticket at a time uses it. */
export function refuseOther({ owner }: Owner, spec: WorkspaceSpec): void {
  if (owner === spec.owner) return;
  throw new WorkspaceError('workspace/owned', `The worktree ${spec.path} belongs to ${owner}.`, {
    hint: 'Give one of the two tickets another `worktree` and `branch`. If the other is gone: signalbox clean',
    details: { path: spec.path, owner },
  });
}

/** Makes a ticket the owner of the worktree whose work it continues. */
export async function takeOverOwnership(
  repo: GitLocation,
  { gitDir }: GitLocation,
  owner: Owner,
  spec: WorkspaceSpec,
): Promise<Owner> {
  const isFree = ({ owner: other, state, left }: Owner) =>
    state !== 'slot' && (left === true || spec.takesOver?.includes(other) === true);
  if (!isFree(owner)) return owner;
  // If several tickets find the same free worktree, the first gets it.
  return lockRepo(repo, () => {
    const latest = readOwner(gitDir) ?? owner;
    if (!isFree(latest)) return latest;
    const mine = { ...latest, owner: spec.owner, left: undefined };
    writeOwner(gitDir, mine);
    return mine;
  });
}

/** Records the owner of a worktree that had none, unless another ticket was faster. */
export function recordOwner(
  repo: GitLocation,
  { gitDir }: GitLocation,
  owner: Owner,
  spec: WorkspaceSpec,
): Promise<void> {
  return lockRepo(repo, () => {
    const other = readOwner(gitDir);
    if (other) refuseOther(other, spec);
    writeOwner(gitDir, owner);
  });
}

/** Leaves a worktree, with all that is in it, to the next ticket of its branch. */
export async function leaveToNextTicket(
  repo: Repository,
  given: Pick<WorkspaceSpec, 'repo' | 'path' | 'owner'>,
): Promise<void> {
  const path = canonical(given.path);
  await repo.inTurn(path, () =>
    lockRepo(repo, async () => {
      const found = await find(repo.git, path);
      if ('kind' in found || found.commonDir !== repo.commonDir) return;
      const owner = readOwner(found.gitDir);
      if (owner?.owner !== given.owner || owner.state === 'slot') return;
      // A worktree that Signalbox did not create loses its owner file.
      if (owner.created) writeOwner(found.gitDir, { ...owner, left: true, by: undefined });
      else rmSync(ownerFile(found.gitDir), { force: true });
    }),
  );
}
