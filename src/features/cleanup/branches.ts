import type { EngineContext } from '../../engine/context.ts';
import { messageOf, WorkspaceError } from '../../model/errors.ts';
import { isSuperseded } from '../../model/ticket.ts';
import { type BranchSpec, whyKeepBranch } from '../../workspaces/index.ts';
import {
  type Found,
  type Inventory,
  type InventoryTicket,
  isCovered,
  needsBranch,
  sayDone,
  stale,
} from './inventory.ts';
import type { StaleWorktrees } from './worktrees.ts';

/** Branches of tickets that are done or deleted. Merged ones are safe to delete. */
export async function staleBranches(
  parts: EngineContext,
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
    const each = await branch(parts, { spec, why, going });
    if (each) found.push(each);
  }
  return found;
}

async function branch(
  parts: EngineContext,
  { spec, why, going }: { spec: BranchSpec; why: string; going: string[] },
): Promise<Found | undefined> {
  const item = stale('branch', spec.branch, spec.repo, why);
  try {
    const state = await parts.workspaces.examineBranch(spec);
    if (!state) return undefined;
    item.loses.commits = state.pushed ? 0 : state.unmerged;
    item.keep = whyKeepBranch(state, going) ?? null;
  } catch (error) {
    if (!(error instanceof WorkspaceError)) throw error;
    item.keep = messageOf(error);
  }
  return {
    item,
    remove: async () => {
      const done = await parts.workspaces.deleteBranch(spec);
      return done.deleted ? null : done.reason;
    },
  };
}
