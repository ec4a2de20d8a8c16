import { existsSync } from 'node:fs';
import { IllegalMoveError, ignoring, messageOf, WorkspaceError } from '../model/errors.ts';
import { refKey, refOf, type TicketRef } from '../model/ids-and-branch-names.ts';
import { saysStatus, tipOf } from '../model/ticket.ts';
import type { WorkspaceSpec } from '../workspaces/workspaces.ts';
import { refuseHeldTicket } from './claim-and-complete-plan.ts';
import { type EngineContext, emit, isFatal, type TicketPlace } from './context.ts';
import { isStillNeeded } from './share-worktree-between-tickets.ts';
import { currentWorkspace } from './work-out-workspace-and-repository.ts';

/** Removes the worktree of a finished ticket; what would be lost with it is kept and reported. */
export async function releaseWorkspace(at: TicketPlace): Promise<void> {
  if (existsSync(at.workspace.path) && !isStillNeeded(at)) await releaseAndReport(at);
}

/** Returns why it was kept. */
export async function releaseAndReport(at: TicketPlace): Promise<string | undefined> {
  const { engine, ticket, workspace } = at;
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
  const { workspaces } = engine;
  const ticket = engine.store.ticket(ref);
  const workspace = currentWorkspace(engine, ticket);
  const made = await workspaces.ensure({ ...workspace, recordedBase: ticket.base });
  await workspaces.verify(workspace);
  const about = [`${made.path} is on ${made.branch}, from ${made.base.ref}`, ...made.notes];
  return { ok: true, path: made.path, message: about.join('\n') };
}

/** Removes a worktree. Inside a phase, which still runs in it, the engine removes it when the ticket ends. */
export async function releaseFor(engine: EngineContext, ref: TicketRef, insidePhase: boolean): Promise<Done> {
  const ticket = engine.store.ticket(ref);
  const workspace = currentWorkspace(engine, ticket);
  const { path, branch } = workspace;
  if (insidePhase) return { ok: true, path, message: `${path} will be removed when the ticket ends` };
  refuseHeldTicket(engine, ref, ticket.claim);
  const released = await engine.workspaces.release(workspace);
  if (!released.released) return { ok: false, path, message: `Kept ${path}: ${released.reason}` };
  return { ok: true, path, message: `${path} was removed; branch ${branch} still exists` };
}

/** The diff of a ticket's work against its base. */
export async function diffTicket(
  engine: EngineContext,
  ref: TicketRef,
  as?: 'stat' | 'patch',
): Promise<{ base: string; branch: string; text: string }> {
  const { store, workspaces } = engine;
  const ticket = store.ticket(ref);
  if (!ticket.base) {
    throw new IllegalMoveError(
      'ticket/unstarted',
      `${refKey(ref)} has no workspace yet: it ${saysStatus(ticket)}.`,
      { hint: `See: signalbox status --plan ${ref.planId}` },
    );
  }
  const plan = store.plan(ref.planId);
  const workspace = currentWorkspace(engine, ticket, plan);
  const handed = await engine.handOver?.ofOtherMachine(plan, { engine, ticket, workspace });
  return {
    base: ticket.base.commit,
    branch: workspace.branch,
    text: await workspaces.diff(workspace, ticket.base.commit, as, handed),
  };
}
