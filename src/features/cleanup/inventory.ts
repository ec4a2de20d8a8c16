import { existsSync, realpathSync } from 'node:fs';
import type { EngineContext } from '../../engine/context.ts';
import { workspaceSpec } from '../../engine/ticket-defaults.ts';
import { InputError, messageOf, WorkspaceError } from '../../model/errors.ts';
import { idProblem, parseRef, refKey } from '../../model/ids.ts';
import type { Plan } from '../../model/plan.ts';
import { planOf } from '../../model/plans/view.ts';
import { isSuperseded } from '../../model/state/superseded.ts';
import { isOver, type Ticket } from '../../model/ticket.ts';
import type { StoreView } from '../../store/port.ts';
import type { WorkspaceSpec } from '../../workspaces/index.ts';

/** A plan that is not here may be another installation's: its worktree counts as left behind only after this long. */
const QUIET_MS = 3_600_000;

/** A ticket with where its work is; null where that cannot be told. */
export interface Counted {
  ticket: Ticket;
  /** Over or superseded, and nobody is at work on it or its plan. */
  done: boolean;
  spec: WorkspaceSpec | null;
  commonDir: string | null;
}

/** All tickets and repositories, as far as they decide what is still needed. */
export interface Census {
  view: StoreView;
  tickets: Counted[];
  /** By shared git directory, each with one of its checkouts. */
  repos: Map<string, string>;
  /** The one repository that is looked at; null for all of them. */
  only: string | null;
  notes: string[];
}

/** Inside a repository, and unless `all` is wanted, only that one is looked at. */
export async function takeCensus(parts: EngineContext, cwd: string, all = false): Promise<Census> {
  const view = parts.store.view();
  const census: Census = { view, tickets: [], repos: new Map(), only: null, notes: [] };
  const gone = new Set<string>();
  for (const ticket of view.tickets.values()) {
    const plan = planOf(view, ticket.planId);
    if (!plan) continue;
    const spec = specOf(parts, ticket, plan, view);
    const found = spec ? await openRepo(parts, census, spec.repo) : null;
    if (found instanceof WorkspaceError) gone.add(messageOf(found));
    const commonDir = typeof found === 'string' ? found : null;
    census.tickets.push({ ticket, done: isDone(parts, ticket, plan), spec, commonDir });
  }
  const here = await openRepo(parts, census, cwd);
  if (!all && typeof here === 'string') census.only = here;
  else census.notes.push(...gone);
  return census;
}

function specOf(parts: EngineContext, ticket: Ticket, plan: Plan, view: StoreView): WorkspaceSpec | null {
  try {
    return workspaceSpec(ticket, plan, parts.settings, view);
  } catch (error) {
    if (error instanceof InputError) return null;
    throw error;
  }
}

async function openRepo(
  parts: EngineContext,
  { repos }: Census,
  path: string,
): Promise<string | WorkspaceError> {
  try {
    const { root, commonDir } = await parts.workspaces.checkRepo(path);
    if (!repos.has(commonDir)) repos.set(commonDir, root);
    return commonDir;
  } catch (error) {
    if (error instanceof WorkspaceError) return error;
    throw error;
  }
}

/** Of an issue that a newer run has, that one decides. */
function isDone({ holder }: EngineContext, ticket: Ticket, plan: Plan): boolean {
  const held = [ticket.claim, plan.claim].some((claim) => claim && holder.isLive(claim));
  return (isOver(ticket) || isSuperseded(ticket)) && !held;
}

/** `p/a is complete`, `p/a is superseded by run-2`. */
export function sayDone(ticket: Ticket): string {
  return `${refKey(ticket)} is ${isSuperseded(ticket) ? ticket.hold?.reason : ticket.status}`;
}

export function isLookedAt({ only }: Census, commonDir: string): boolean {
  return only === null || only === commonDir;
}

/** Whether a ticket that is not done works at the path. */
export function needsPath({ tickets }: Census, path: string): boolean {
  return tickets.some(({ done, spec }) => !done && spec && real(spec.path) === real(path));
}

/** Whether a ticket that is not done works on the branch, starts from it or builds upon it. */
export function needsBranch({ tickets }: Census, commonDir: string, branch: string): boolean {
  return tickets.some(
    ({ done, spec, commonDir: own }) =>
      !done && spec && own === commonDir && [spec.branch, spec.base, ...spec.stackOn].includes(branch),
  );
}

/** Why the worktree of an owner (`plan/ticket`) is no longer needed; undefined while it may be. */
export function whyStale(
  parts: EngineContext,
  census: Census,
  { owner, usedAt, left }: { owner: string; usedAt: number; left: boolean },
): string | undefined {
  const { store, settings } = parts;
  const ref = parseRef(owner, '');
  if (idProblem(ref.planId) || idProblem(ref.ticketId)) return undefined;
  if (!store.exists({ planId: ref.planId, ticketId: null })) {
    const quiet = left || Date.parse(parts.now()) - usedAt > QUIET_MS;
    return quiet ? `there is no plan ${ref.planId} in ${settings.stateDir}` : undefined;
  }
  const counted = census.tickets.find(({ ticket }) => refKey(ticket) === owner);
  if (counted) return counted.done ? sayDone(counted.ticket) : undefined;
  // A plan or ticket that cannot be read may well be alive.
  const plan = planOf(census.view, ref.planId);
  const listed = plan?.tickets.some(({ ticketId }) => ticketId === ref.ticketId);
  if (!plan || listed || store.exists(ref)) return undefined;
  return `plan ${ref.planId} no longer has a ticket ${ref.ticketId}`;
}

function real(path: string): string {
  return existsSync(path) ? realpathSync.native(path) : path;
}

/** Something that nobody needs any more. */
export interface Stale {
  kind: 'worktree' | 'slot' | 'branch' | 'output' | 'log';
  /** Path, or the name of a branch. */
  name: string;
  repo: string | null;
  /** Why it counts as left behind. */
  why: string;
  /** What would be gone for good. */
  loses: { files: number; commits: number };
  bytes: number | null;
  /** Ignored files and directories that go with it. */
  ignored: string[];
  /** Why it is kept; null when removing it loses nothing. */
  keep: string | null;
  removed: boolean;
}

/** A stale thing and how to get rid of it. */
export interface Found {
  item: Stale;
  /** Removes it after another look, or says why not. */
  remove(): Promise<string | null>;
}

export function stale(kind: Stale['kind'], name: string, repo: string | null, why: string): Stale {
  const loses = { files: 0, commits: 0 };
  return { kind, name, repo, why, loses, bytes: null, ignored: [], keep: null, removed: false };
}
