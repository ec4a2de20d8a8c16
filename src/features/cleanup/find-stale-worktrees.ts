import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import type { EngineContext } from '../../engine/context.ts';
import { refKey } from '../../model/ids-and-branch-names.ts';
import type { BranchSpec, KnownWorktree, ReleaseSpec } from '../../workspaces/workspaces.ts';
import type { Found, Inventory } from './what-is-still-needed.ts';
import { isCovered, needsPath, stale, takeInventory, whyStale } from './what-is-still-needed.ts';

export interface StaleWorktrees {
  found: Found[];
  /** Branches of worktrees whose plan is gone. */
  orphans: BranchSpec[];
}

export async function staleWorktrees(
  engine: EngineContext,
  inventory: Inventory,
  cwd: string,
): Promise<StaleWorktrees> {
  const all: StaleWorktrees = { found: [], orphans: [] };
  for (const [commonDir, repo] of inventory.repos) {
    if (!isCovered(inventory, commonDir)) continue;
    for (const known of await engine.workspaces.list(repo)) {
      if (known.kind === 'slot') all.found.push(slot(engine, repo, known));
      if (known.kind === 'aside') all.found.push(await aside(engine, repo, known));
      if (known.kind !== 'worktree' || !known.created || needsPath(inventory, known.path)) continue;
      const why = whyStale(engine, inventory, known);
      if (why === undefined) continue;
      all.found.push(await worktree(engine, { repo, known, why, cwd }));
      const counted = inventory.tickets.some(({ ticket }) => refKey(ticket) === known.owner);
      if (!counted) all.orphans.push({ repo, branch: known.branch, base: null, recordedBase: known.base });
    }
  }
  return all;
}

interface WorktreeFacts {
  repo: string;
  known: KnownWorktree;
  why: string;
  cwd: string;
}

async function worktree(engine: EngineContext, { repo, known, why, cwd }: WorktreeFacts): Promise<Found> {
  const item = stale('worktree', known.path, repo, why);
  if (!known.exists) {
    // It may be on a disk that is not mounted.
    item.keep = `it does not exist; if it is gone for good: git -C ${repo} worktree prune`;
    return { item, remove: async () => item.keep };
  }
  const spec: ReleaseSpec = {
    repo,
    path: known.path,
    branch: known.branch,
    owner: known.owner,
    worktreeRoot: rootOf(known),
    // Caches are deleted with it, so they are examined, too.
    slots: 0,
    caches: [],
  };
  const { keep, files, commits, ignored } = await engine.workspaces.examine(spec);
  item.ignored = ignored;
  item.loses = { files, commits };
  item.keep = keep;
  return {
    item,
    remove: async () => {
      const now = await takeInventory(engine, cwd);
      if (needsPath(now, known.path) || whyStale(engine, now, known) === undefined)
        return 'it is in use again';
      const done = await engine.workspaces.release(spec);
      return done.released ? null : done.reason;
    },
  };
}

/** A warm worktree for the next ticket. */
function slot(engine: EngineContext, repo: string, { path }: KnownWorktree): Found {
  return {
    item: stale('slot', path, repo, 'it is free, kept warm for the next ticket'),
    remove: async () => {
      if (existsSync(path)) await engine.workspaces.sweep({ repo, worktreeRoot: dirname(dirname(path)) });
      return existsSync(path) ? 'it was taken again, or something was put into it' : null;
    },
  };
}

async function aside(engine: EngineContext, repo: string, { path }: KnownWorktree): Promise<Found> {
  const item = stale('worktree', path, repo, 'it was set aside when it could not be used again');
  item.keep = 'something in it may be nowhere else; check it and remove it by hand';
  const { commit } = await engine.workspaces.head(path);
  item.loses = { files: (await engine.workspaces.evidence(path, commit)).dirty.length, commits: 0 };
  return { item, remove: async () => item.keep };
}

/** The worktree root, derived from path and branch. */
function rootOf({ path, branch }: KnownWorktree): string {
  return path.endsWith(`/${branch}`) ? path.slice(0, -branch.length - 1) : dirname(path);
}
