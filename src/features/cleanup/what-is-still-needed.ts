import type { EngineContext } from '../../engine/context.ts';
import { workspaceFor } from '../../engine/work-out-workspace-and-repository.ts';
import { realOf } from '../../machine/files/read-and-remove-files.ts';
import { ifUsable, messageOf, orError, WorkspaceError } from '../../model/errors.ts';
import { idProblem, parseRef, refKey } from '../../model/ids-and-branch-names.ts';
import type { Plan } from '../../model/plan.ts';
import { planOf } from '../../model/plans/plans-view.ts';
import { isOver, isSuperseded, type Ticket } from '../../model/ticket.ts';
import type { StoreView } from '../../store/store-interface.ts';
import type { WorkspaceSpec } from '../../workspaces/workspaces.ts';

/** An unknown plan may belong to another installation: its worktree counts as left over only after this time. */
const UNKNOWN_PLAN_MS = 3_600_000;

/** A ticket and where its work is; null where that is unknown. */
export interface InventoryTicket {
  ticket: Ticket;
  /** Over or superseded, and no engine works on it or its plan. */
  done: boolean;
  spec: WorkspaceSpec | null;
  commonDir: string | null;
}

/** All tickets and repositories, to decide what is still needed. */
export interface Inventory {
  view: StoreView;
  tickets: InventoryTicket[];
  /** By shared git directory, each with one of its checkouts. */
  repos: Map<string, string>;
  /** The only repository to clean; null for all. */
  only: string | null;
  notes: string[];
}

/** Inside a repository it covers only that one, unless `all` is set. */
export async function takeInventory(engine: EngineContext, cwd: string, all = false): Promise<Inventory> {
  const view = engine.store.view();
  const inventory: Inventory = { view, tickets: [], repos: new Map(), only: null, notes: [] };
  const gone = new Set<string>();
  for (const ticket of view.tickets.values()) {
    const plan = planOf(view, ticket.planId);
    if (!plan) continue;
    const spec = ifUsable(() => workspaceFor(ticket, plan, engine.settings, view)) ?? null;
    const found = spec ? await openRepo(engine, inventory, spec.repo) : null;
    if (found instanceof WorkspaceError) gone.add(messageOf(found));
    const commonDir = typeof found === 'string' ? found : null;
    inventory.tickets.push({ ticket, done: isDone(engine, ticket, plan), spec, commonDir });
  }
  const here = await openRepo(engine, inventory, cwd);
  if (!all && typeof here === 'string') inventory.only = here;
  else inventory.notes.push(...gone);
  return inventory;
}

async function openRepo(
  engine: EngineContext,
  { repos }: Inventory,
  path: string,
): Promise<string | WorkspaceError> {
  const found = await orError(WorkspaceError, () => engine.workspaces.checkRepo(path));
  if (found instanceof WorkspaceError) return found;
  if (!repos.has(found.commonDir)) repos.set(found.commonDir, found.root);
  return found.commonDir;
}

/** A superseded ticket is done: the newer run of its issue counts. */
function isDone({ holder }: EngineContext, ticket: Ticket, plan: Plan): boolean {
  const held = [ticket.claim, plan.claim].some((claim) => claim && holder.isLive(claim));
  return (isOver(ticket) || isSuperseded(ticket)) && !held;
}

/** `p/a is complete`, `p/a is superseded by run-2`. */
export function sayDone(ticket: Ticket): string {
  return `${refKey(ticket)} is ${isSuperseded(ticket) ? ticket.hold?.reason : ticket.status}`;
}

export function isCovered({ only }: Inventory, commonDir: string): boolean {
  return only === null || only === commonDir;
}

/** Whether an unfinished ticket works at the path. */
export function needsPath({ tickets }: Inventory, path: string): boolean {
  const real = (file: string) => realOf(file) ?? file;
  return tickets.some(({ done, spec }) => !done && spec && real(spec.path) === real(path));
}

/** Whether an unfinished ticket works on the branch or starts from it. */
export function needsBranch({ tickets }: Inventory, commonDir: string, branch: string): boolean {
  return tickets.some(
    ({ done, spec, commonDir: own }) =>
      !done && spec && own === commonDir && [spec.branch, spec.base, ...spec.stackOn].includes(branch),
  );
}

/** Why the worktree of an owner (`plan/ticket`) is no longer needed; undefined while it may be. */
export function whyStale(
  engine: EngineContext,
  inventory: Inventory,
  { owner, usedAt, left }: { owner: string; usedAt: number; left: boolean },
): string | undefined {
  const { store, settings } = engine;
  const ref = parseRef(owner, '');
  if (idProblem(ref.planId) || idProblem(ref.ticketId)) return undefined;
  if (!store.exists({ planId: ref.planId, ticketId: null })) {
    const quiet = left || Date.parse(engine.now()) - usedAt > UNKNOWN_PLAN_MS;
    return quiet ? `there is no plan ${ref.planId} in ${settings.stateDir}` : undefined;
  }
  const counted = inventory.tickets.find(({ ticket }) => refKey(ticket) === owner);
  if (counted) return counted.done ? sayDone(counted.ticket) : undefined;
  // A plan or ticket that cannot be read may still be in use.
  const plan = planOf(inventory.view, ref.planId);
  const listed = plan?.tickets.some(({ ticketId }) => ticketId === ref.ticketId);
  if (!plan || listed || store.exists(ref)) return undefined;
  return `plan ${ref.planId} no longer has a ticket ${ref.ticketId}`;
}

/** Something that is no longer needed. */
export interface Stale {
  kind: 'worktree' | 'slot' | 'branch' | 'output' | 'log';
  /** Path, or the name of a branch. */
  name: string;
  repo: string | null;
  /** Why it counts as left over. */
  why: string;
  /** What removing it would lose for good. */
  loses: { files: number; commits: number };
  bytes: number | null;
  /** Ignored files and directories that go with it. */
  ignored: string[];
  /** Why it is kept; null when removing it loses nothing. */
  keep: string | null;
  removed: boolean;
}

/** A stale item and how to remove it. */
export interface Found {
  item: Stale;
  /** Removes it after checking again, or says why not. */
  remove(): Promise<string | null>;
}

export function stale(kind: Stale['kind'], name: string, repo: string | null, why: string): Stale {
  const loses = { files: 0, commits: 0 };
  return { kind, name, repo, why, loses, bytes: null, ignored: [], keep: null, removed: false };
}
