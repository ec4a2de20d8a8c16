import type { EngineContext } from '../../engine/context.ts';
import { workspaceSpec } from '../../engine/ticket-defaults.ts';
import { IllegalMoveError } from '../../model/errors.ts';
import { refKey, type TicketRef } from '../../model/ids.ts';

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
  const spec = workspaceSpec(ticket, store.plan(ref.planId), settings, store.view());
  return {
    base: ticket.base.commit,
    branch: spec.branch,
    text: await workspaces.diff(spec, ticket.base.commit, { stat }),
  };
}
