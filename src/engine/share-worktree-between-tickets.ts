import { WorkspaceError } from '../model/errors.ts';
import { refKey, refOf } from '../model/ids-and-branch-names.ts';
import type { Plan } from '../model/plan.ts';
import { isAllComplete } from '../model/state/eligible.ts';
import type { Ticket } from '../model/ticket.ts';
import { emit, hooksOf, type TicketPlace } from './context.ts';

/** The ref that keeps the work of a ticket which was taken out of a shared worktree. */
export function failedRef(ticket: Ticket): string {
  return `refs/signalbox/failed/${ticket.planId}/${ticket.ticketId}`;
}

/**
 * Gives a shared worktree to the next ticket: what a failed one left is kept on a ref and taken out, and the ticket starts
 * from where the branch is now. Calling it again, after a crash at any point, has the same result.
 */
export async function giveSharedWorktree(
  plan: Plan,
  at: TicketPlace,
): Promise<{ ref: string; commit: string }> {
  const { engine, ticket, workspace } = at;
  for (const left of failedTicketsInWorktree(plan, at)) await takeOut({ ...at, ticket: left });
  const { commit: head } = await engine.workspaces.head(workspace.path);
  const { dirty } = await engine.workspaces.evidence(workspace.path, head, { files: false });
  if (dirty.length > 0 && !workspace.inPlace) await keepLeftoverFiles(at, head);
  else if (dirty.length > 0)
    throw new WorkspaceError(
      'workspace/dirty',
      `${workspace.path} has uncommitted changes: ${dirty.slice(0, 5).join(', ')}${dirty.length > 5 ? '…' : ''}.`,
      { hint: `Commit or stash them, then: signalbox retry ${ticket.planId} ${ticket.ticketId}` },
    );
  const committed = await hooksOf(engine, plan).handOver?.(plan, ticket, workspace);
  const commit = committed ? (await engine.workspaces.head(workspace.path)).commit : head;
  return { ref: workspace.branch, commit };
}

/** Files that checks leave in a worktree, such as reports, are kept on a ref so that the next ticket starts clean. */
async function keepLeftoverFiles(at: TicketPlace, to: string): Promise<void> {
  const { engine, ticket, workspace } = at;
  const keepAt = `refs/signalbox/left/${ticket.planId}/before-${ticket.ticketId}`;
  const message = `Files in the worktree before ${refKey(ticket)} began`;
  const { keptAt } = await engine.workspaces.rewind({ ...workspace, to, keepAt, message });
  reportKept(at, 'uncommitted files were moved out of the worktree and are', keptAt);
}

function reportKept({ engine, ticket, workspace }: TicketPlace, what: string, keptAt: string | null): void {
  const { path } = workspace;
  if (keptAt === null) return;
  emit(engine, { type: 'workspace:keep', ...refOf(ticket), path, reason: `${what} kept at ${keptAt}` });
}

/** Failed tickets whose work is still in the worktree. */
function failedTicketsInWorktree(plan: Plan, { engine, ticket, workspace }: TicketPlace): Ticket[] {
  return engine.store
    .tickets(plan)
    .filter(
      ({ status, base, worktree, ticketId }) =>
        status === 'failed' &&
        base !== null &&
        (worktree === workspace.path || engine.handOver !== undefined) &&
        ticketId !== ticket.ticketId,
    );
}

/** Takes a ticket's work out of a shared worktree and keeps it on a ref. */
export async function takeOut(at: TicketPlace): Promise<void> {
  const { engine, ticket: left, workspace } = at;
  if (!left.base) return;
  const { keptAt } = await engine.workspaces.rewind({
    ...workspace,
    to: left.base.commit,
    keepAt: failedRef(left),
    message: `What ${refKey(left)} left when it failed\n\n${left.error ?? ''}`,
  });
  const rewound = { at: engine.now(), ref: keptAt };
  await engine.store.updateTicket(left, (latest) => ({ ...latest, base: null, rewound }));
  reportKept(at, 'its work was taken out of the worktree and is', keptAt);
}

/**
 * Switches a worktree that an agent left on another branch, or on none, back to its own. What it has there is kept on a
 * ref. The user's checkout stays as it is, because the user may have switched it.
 */
export async function putBack(at: TicketPlace): Promise<void> {
  const { engine, ticket, workspace } = at;
  if (workspace.inPlace) return;
  const { keptAt } = await engine.workspaces.returnToBranch({
    ...workspace,
    to: ticket.base?.commit ?? null,
    keepAt: failedRef(ticket),
    message: `Work on another branch in the worktree of ${refKey(ticket)}`,
  });
  reportKept(at, 'it was on another branch; the work there is', keptAt);
}

/** A shared worktree stays until all tickets of the plan are complete; a checkout is never removed. */
export function isStillNeeded({ engine, ticket, workspace }: TicketPlace): boolean {
  const { shared, inPlace } = workspace;
  if (!shared) return false;
  if (inPlace) return true;
  const plan = engine.store.plan(ticket.planId);
  return !isAllComplete(plan, engine.store.tickets(plan));
}
