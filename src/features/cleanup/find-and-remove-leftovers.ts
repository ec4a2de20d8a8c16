import { existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { EngineContext } from '../../engine/context.ts';
import { oldOutput, sweepOutput } from '../../engine/delete-old-output.ts';
import { messageOf, orError, WorkspaceError } from '../../model/errors.ts';
import { refKey } from '../../model/ids-and-branch-names.ts';
import { plural } from '../../model/text/clean-escape-quote-plural.ts';
import { isSuperseded } from '../../model/ticket.ts';
import {
  type BranchSpec,
  type KnownWorktree,
  type ReleaseSpec,
  whyKeepBranch,
} from '../../workspaces/workspaces.ts';
import {
  type Found,
  type Inventory,
  type InventoryTicket,
  isCovered,
  needsBranch,
  needsPath,
  type Stale,
  sayDone,
  stale,
  takeInventory,
  whyStale,
} from './what-is-still-needed.ts';

export type { Stale };

const DAY_MS = 86_400_000;

/** Lists what is left over; with `remove`, also removes what can be removed without loss. */
export async function clean(
  engine: EngineContext,
  options: { cwd: string; remove: boolean; all: boolean },
): Promise<{ items: Stale[]; notes: string[]; others: string[] }> {
  const inventory = await takeInventory(engine, options.cwd, options.all);
  const worktrees = await staleWorktrees(engine, inventory, options.cwd);
  const found = [
    ...worktrees.found,
    ...(await staleBranches(engine, inventory, worktrees)),
    ...oldFiles(engine),
  ];
  if (options.remove) for (const each of found) await removeOne(each);
  const others = [...inventory.repos].flatMap(([dir, root]) => (isCovered(inventory, dir) ? [] : [root]));
  return { items: found.map(({ item }) => item), notes: inventory.notes, others };
}

async function removeOne({ item, remove }: Found): Promise<void> {
  if (item.keep !== null) return;
  const kept = await orError(WorkspaceError, remove);
  item.keep = kept && messageOf(kept);
  item.removed = kept === null;
}

/** Output of attempts beyond the retention setting, and log files of the same age. */
function oldFiles(engine: EngineContext): Found[] {
  const { settings } = engine;
  const { days } = settings.retention;
  const found: Found[] = [];
  const output = oldOutput(engine);
  if (output.length > 0) {
    const why = `output of ${plural(output.length, 'attempt')} beyond the retention setting; events and results stay`;
    const item = stale('output', engine.machine.jobs, null, why);
    item.bytes = output.reduce((sum, { bytes }) => sum + bytes, 0);
    const remove = async () => {
      sweepOutput(engine, true);
      return null;
    };
    found.push({ item, remove });
  }
  const daemon = engine.holder.daemon() !== undefined;
  for (const path of filesIn(settings.logDir)) {
    const { mtimeMs, size } = statSync(path);
    if (Date.parse(engine.now()) - mtimeMs <= days * DAY_MS) continue;
    const item = stale('log', path, null, `not written to for more than ${plural(days, 'day')}`);
    item.bytes = size;
    // The daemon's log is kept: writes to a deleted file would be lost.
    if (daemon) item.keep = 'a daemon is running and may write to it';
    const remove = async () => {
      rmSync(path, { force: true });
      return null;
    };
    found.push({ item, remove });
  }
  return found;
}

function filesIn(dir: string): string[] {
  if (!existsSync(dir)) return [];
  return readdirSync(dir, { withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(log|jsonl)(\.\d+)?$/.test(entry.name))
    .map((entry) => join(dir, entry.name));
}

/** Branches of tickets that are done or deleted. Merged ones are safe to delete. */
async function staleBranches(
  engine: EngineContext,
  inventory: Inventory,
  worktrees: StaleWorktrees,
): Promise<Found[]> {
  const wanted = new Map<string, { spec: BranchSpec; commonDir: string; why: string }>();
  const add = (spec: BranchSpec, commonDir: string | null, why: string) => {
    if (
      commonDir !== null &&
      isCovered(inventory, commonDir) &&
      !needsBranch(inventory, commonDir, spec.branch)
    )
      wanted.set(`${commonDir}\n${spec.branch}`, { spec, commonDir, why });
  };
  for (const spec of worktrees.orphans) {
    const [commonDir] = [...inventory.repos].find(([, root]) => root === spec.repo) ?? [null];
    add(spec, commonDir, 'the ticket it was for is gone');
  }
  // If an issue has several runs, the reason names one that ended.
  const late = ({ ticket }: InventoryTicket) => Number(!isSuperseded(ticket));
  for (const { ticket, done, spec, commonDir } of inventory.tickets.toSorted((a, b) => late(a) - late(b)))
    if (done && spec && ticket.base) add(spec, commonDir, sayDone(ticket));
  const going = worktrees.found.filter(({ item }) => item.keep === null).map(({ item }) => item.name);
  const found: Found[] = [];
  for (const { spec, why } of wanted.values()) {
    const each = await branch(engine, { spec, why, going });
    if (each) found.push(each);
  }
  return found;
}

async function branch(
  engine: EngineContext,
  { spec, why, going }: { spec: BranchSpec; why: string; going: string[] },
): Promise<Found | undefined> {
  const item = stale('branch', spec.branch, spec.repo, why);
  const state = await orError(WorkspaceError, () => engine.workspaces.examineBranch(spec));
  if (!state) return undefined;
  if (state instanceof WorkspaceError) item.keep = messageOf(state);
  else {
    item.loses.commits = state.pushed ? 0 : state.unmerged;
    item.keep = whyKeepBranch(state, going) ?? null;
  }
  return {
    item,
    remove: async () => {
      const done = await engine.workspaces.deleteBranch(spec);
      return done.deleted ? null : done.reason;
    },
  };
}

interface StaleWorktrees {
  found: Found[];
  /** Branches of worktrees whose plan is gone. */
  orphans: BranchSpec[];
}

async function staleWorktrees(
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
