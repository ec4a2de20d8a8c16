import { sayHolder, wayToFree } from '../model/claim.ts';
import { HeldError, IllegalMoveError } from '../model/errors.ts';
import { refKey, type TicketRef } from '../model/ids.ts';
import type { EngineContext } from './context.ts';
import { workspaceFor } from './ticket-defaults.ts';

interface Done {
  ok: boolean;
  path: string;
  message: string;
}

/** Creates a ticket's worktree, or finds it, as the engine does before a phase. */
export async function ensureFor(parts: EngineContext, ref: TicketRef): Promise<Done> {
  const { store, settings, workspaces } = parts;
  const ticket = store.ticket(ref);
  const workspace = workspaceFor(ticket, store.plan(ref.planId), settings, store.view());
  const made = await workspaces.ensure({ ...workspace, recordedBase: ticket.base });
  await workspaces.verify(workspace);
  const about = [`${made.path} is on ${made.branch}, from ${made.base.ref}`, ...made.notes];
  return { ok: true, path: made.path, message: about.join('\n') };
}

/** Removes a worktree. Inside a phase, which still runs in it, the engine removes it when the ticket ends. */
export async function releaseFor(parts: EngineContext, ref: TicketRef, insidePhase: boolean): Promise<Done> {
  const { store, settings, workspaces, holder } = parts;
  const ticket = store.ticket(ref);
  const workspace = workspaceFor(ticket, store.plan(ref.planId), settings, store.view());
  if (insidePhase)
    return {
      ok: true,
      path: workspace.path,
      message: `${workspace.path} is given back when the ticket ends`,
    };
  if (ticket.claim && holder.isLive(ticket.claim)) {
    throw new HeldError('ticket/held', `${refKey(ref)} is driven by ${sayHolder(ticket.claim)}.`, {
      hint: wayToFree(ticket.claim, ref),
    });
  }
  const released = await workspaces.release(workspace);
  if (released.released)
    return {
      ok: true,
      path: workspace.path,
      message: `${workspace.path} was given back; branch ${workspace.branch} stays`,
    };
  return { ok: false, path: workspace.path, message: `Kept ${workspace.path}: ${released.reason}` };
}

/** The diff of a ticket's work against its base. */
export async function diffTicket(
  parts: EngineContext,
  ref: TicketRef,
  stat: boolean,
): Promise<{ base: string; branch: string; text: string }> {
  const { store, settings, workspaces } = parts;
  const ticket = store.ticket(ref);
  if (!ticket.base) {
    throw new IllegalMoveError(
      'ticket/unstarted',
      `${refKey(ref)} has no workspace yet: it is ${ticket.status}.`,
      {
        hint: `See: signalbox status --plan ${ref.planId}`,
      },
    );
  }
  const workspace = workspaceFor(ticket, store.plan(ref.planId), settings, store.view());
  return {
    base: ticket.base.commit,
    branch: workspace.branch,
    text: await workspaces.diff(workspace, ticket.base.commit, { stat }),
  };
}
