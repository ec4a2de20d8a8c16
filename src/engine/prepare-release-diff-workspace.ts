import { existsSync } from 'node:fs';
import { readJob } from '../machine/jobs/start-and-read-job.ts';
import { IllegalMoveError, ignoring, messageOf, WorkspaceError } from '../model/errors.ts';
import { refKey, refOf, type TicketRef } from '../model/ids-and-branch-names.ts';
import type { Plan } from '../model/plan.ts';
import { openAttempt, type Ticket, tipOf } from '../model/ticket.ts';
import type { Place } from '../phases/perform-phase.ts';
import type { WorkspaceSpec } from '../workspaces/workspaces.ts';
import { refuseHeldTicket } from './claim-and-complete-plan.ts';
import { type EngineContext, emit, hooksOf, isFatal, type TicketPlace } from './context.ts';
import { handOver, isStillNeeded, putBack } from './hand-over-worktree.ts';
import { type TicketWorkspace, workspaceFor } from './ticket-workspace.ts';

/**
 * The worktree of a process that an earlier engine started. It is checked only after the process has ended: during a rebase,
 * for example, it is on no branch, and refusing it then would leave the process running unwatched.
 */
export function adoptedPlace({ engine, ticket, workspace }: TicketPlace): Place | undefined {
  const open = openAttempt(ticket);
  if (!open || !ticket.base || ticket.worktree !== workspace.path) return undefined;
  const { state } = readJob(engine.machine.job(ticket, open));
  if (state !== 'running' && state !== 'ended') return undefined;
  return placeOf(workspace, ticket.base);
}

/** Prepares the ticket's worktree on its branch. Throws if the directory is something else, so that no phase runs in it. */
export async function preparePlace(plan: Plan, at: TicketPlace): Promise<Place> {
  const fetched = await at.engine.handOver?.fetch(plan, at);
  const place = await prepare(plan, at);
  await fetched?.finish();
  return place;
}

async function prepare(plan: Plan, at: TicketPlace): Promise<Place> {
  const { engine, ticket, workspace } = at;
  const { workspaces } = engine;
  const { shared, inPlace, path } = workspace;
  if (shared && workspaces.isReady(path)) await putBack(at);
  const moved = inPlace ? null : await hooksOf(engine, plan).startFrom?.(plan, ticket, workspace);
  const known = !moved && ticket.worktree === path ? ticket.base : null;
  if (known && (await workspaces.verifyReady(workspace))) {
    await catchUp(plan, at);
    return placeOf(workspace, known);
  }
  if (inPlace) {
    await workspaces.verify(workspace);
    return placeOf(workspace, await handOver(plan, at));
  }
  const made = await create(engine, ticket, moved ?? workspace, moved !== null && moved !== undefined);
  await catchUp(plan, at);
  const base = shared ? await handOver(plan, at) : made.base;
  return placeOf(workspace, base);
}

function placeOf({ repo, branch, path: worktree, inPlace }: TicketWorkspace, base: Place['base']): Place {
  return { repo, branch, worktree, inPlace, base };
}

/** Creates the worktree, or finds it. `moved`: it starts from something else than what the ticket has recorded. */
async function create(engine: EngineContext, ticket: Ticket, workspace: TicketWorkspace, moved: boolean) {
  const made = await engine.workspaces.ensure({
    ...workspace,
    ...(moved ? { recordedBase: null, formerBase: ticket.base } : { recordedBase: ticket.base }),
  });
  await engine.workspaces.verify(workspace);
  const about = { ...refOf(ticket), path: made.path, branch: made.branch };
  if (made.created || made.reused) emit(engine, { type: 'workspace:ready', reused: made.reused, ...about });
  for (const message of made.notes) emit(engine, { type: 'problem', message, path: null, ...refOf(ticket) });
  return made;
}

/** Brings the worktree up to date before an attempt. After the first successful one, agents install packages themselves. */
async function catchUp(plan: Plan, { engine, ticket, workspace }: TicketPlace): Promise<void> {
  await hooksOf(engine, plan).catchUp?.(plan, ticket, workspace);
  if (ticket.phaseHistory.some(({ status }) => status === 'success')) return;
  await engine.workspaces.refresh(workspace);
}

/** Removes the worktree of a finished ticket; what would be lost with it is kept and reported. */
export async function releaseWorkspace(at: TicketPlace): Promise<void> {
  if (existsSync(at.workspace.path) && !isStillNeeded(at)) await releaseAndReport(at);
}

/** Returns why it was kept. */
export async function releaseAndReport({
  engine,
  ticket,
  workspace,
}: TicketPlace): Promise<string | undefined> {
  let kept: string | undefined;
  try {
    const released = await engine.workspaces.release(workspace);
    kept = released.released ? undefined : released.reason;
  } catch (error) {
    if (isFatal(error)) throw error;
    kept = messageOf(error);
  }
  engine.crash('workspace:released');
  const about = { ...refOf(ticket), path: workspace.path };
  if (kept === undefined) emit(engine, { type: 'workspace:release', ...about });
  else emit(engine, { type: 'workspace:keep', reason: kept, ...about });
  return kept;
}

/** The commit of a branch; undefined where the branch or its repository is gone. */
export function readTip(
  { workspaces }: EngineContext,
  workspace: WorkspaceSpec,
): Promise<string | undefined> {
  return ignoring(WorkspaceError, () => workspaces.tip(workspace));
}

/** Keeps the last commit of a complete ticket, because a person may delete the branch. */
export async function recordTip({ engine, ticket, workspace }: TicketPlace): Promise<void> {
  const tip = await readTip(engine, workspace);
  if (tip === undefined || tip === tipOf(ticket)) return;
  await engine.store.updateTicket(ticket, (latest) => ({ ...latest, tip }));
}

/** Records that a branch has the work of a complete ticket. */
export async function recordLanded({ store }: EngineContext, ref: TicketRef, into: string): Promise<void> {
  await store.updateTicket(ref, (latest) =>
    latest.status === 'complete' ? { ...latest, landed: { into, tip: tipOf(latest) } } : latest,
  );
}

interface Done {
  ok: boolean;
  path: string;
  message: string;
}

/** Creates a ticket's worktree, or finds it, as the engine does before a phase. */
export async function ensureFor(engine: EngineContext, ref: TicketRef): Promise<Done> {
  const { store, settings, workspaces } = engine;
  const ticket = store.ticket(ref);
  const workspace = workspaceFor(ticket, store.plan(ref.planId), settings, store.glance());
  const made = await workspaces.ensure({ ...workspace, recordedBase: ticket.base });
  await workspaces.verify(workspace);
  const about = [`${made.path} is on ${made.branch}, from ${made.base.ref}`, ...made.notes];
  return { ok: true, path: made.path, message: about.join('\n') };
}

/** Removes a worktree. Inside a phase, which still runs in it, the engine removes it when the ticket ends. */
export async function releaseFor(engine: EngineContext, ref: TicketRef, insidePhase: boolean): Promise<Done> {
  const { store, settings, workspaces } = engine;
  const ticket = store.ticket(ref);
  const workspace = workspaceFor(ticket, store.plan(ref.planId), settings, store.glance());
  const { path, branch } = workspace;
  if (insidePhase) return { ok: true, path, message: `${path} will be removed when the ticket ends` };
  refuseHeldTicket(engine, ref, ticket.claim);
  const released = await workspaces.release(workspace);
  if (!released.released) return { ok: false, path, message: `Kept ${path}: ${released.reason}` };
  return { ok: true, path, message: `${path} was removed; branch ${branch} still exists` };
}

/** The diff of a ticket's work against its base. */
export async function diffTicket(
  engine: EngineContext,
  ref: TicketRef,
  as?: 'stat' | 'patch',
): Promise<{ base: string; branch: string; text: string }> {
  const { store, settings, workspaces } = engine;
  const ticket = store.ticket(ref);
  if (!ticket.base) {
    throw new IllegalMoveError(
      'ticket/unstarted',
      `${refKey(ref)} has no workspace yet: it is ${ticket.status}.`,
      { hint: `See: signalbox status --plan ${ref.planId}` },
    );
  }
  const plan = store.plan(ref.planId);
  const workspace = workspaceFor(ticket, plan, settings, store.glance());
  const handed = await engine.handOver?.ofOtherMachine(plan, { engine, ticket, workspace });
  return {
    base: ticket.base.commit,
    branch: workspace.branch,
    text: await workspaces.diff(workspace, ticket.base.commit, as, handed),
  };
}
