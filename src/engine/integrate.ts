import type { TicketRef } from '../model/ids.ts';
import type { Integrated } from '../workspaces/index.ts';
import { workspaceSpec } from './facts.ts';
import type { Parts } from './parts.ts';

/** Merges a ticket's branch into the base it started from. */
export async function integrateTicket(
  parts: Parts,
  ref: TicketRef,
): Promise<Integrated & { branch: string }> {
  const { store, settings, workspaces } = parts;
  const ticket = store.ticket(ref);
  const spec = workspaceSpec(ticket, store.plan(ref.planId), settings, store.view());
  const done = await workspaces.integrate({ ...spec, message: ticket.title, recordedBase: ticket.base });
  return { ...done, branch: spec.branch };
}
