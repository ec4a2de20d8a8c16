import { existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { EngineContext } from '../../engine/context.ts';
import { oldOutput, sweepOutput } from '../../engine/delete-old-output.ts';
import { messageOf, orError, WorkspaceError } from '../../model/errors.ts';
import { plural } from '../../model/text/clean-escape-quote-plural.ts';
import { isSuperseded } from '../../model/ticket.ts';
import { type BranchSpec, whyKeepBranch } from '../../workspaces/workspaces.ts';
import { type StaleWorktrees, staleWorktrees } from './find-stale-worktrees.ts';
import type { Found, Inventory, InventoryTicket, Stale } from './what-is-still-needed.ts';
import { isCovered, needsBranch, sayDone, stale, takeInventory } from './what-is-still-needed.ts';

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
