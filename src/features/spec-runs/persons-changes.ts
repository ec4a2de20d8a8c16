import type { EngineContext } from '../../engine/context.ts';
import type { Journal } from '../../engine/ticket-writer.ts';
import type { Plan } from '../../model/plan.ts';
import { ticketsOf } from '../../model/plans/view.ts';
import type { Ticket } from '../../model/ticket.ts';
import type { WorkspaceSpec } from '../../workspaces/index.ts';
import { baseAfterPerson } from './checkout-state.ts';
import { refuseDirty } from './refusals.ts';

/** In a checkout nothing begins or goes on with what a person has there since; their commits are not the ticket's. */
export async function sparePerson(
  parts: EngineContext,
  plan: Plan,
  { found, journal, spec }: { found: Ticket; journal: Journal; spec: WorkspaceSpec },
): Promise<void> {
  const others = ticketsOf(parts.store.view(), plan).filter(({ ticketId }) => ticketId !== found.ticketId);
  await refuseDirty(parts, plan, [found, ...others]);
  const base = await baseAfterPerson(parts, found, spec.path);
  const { branch, path: worktree } = spec;
  if (base) await journal.apply({ type: 'base', base, branch, worktree });
}
