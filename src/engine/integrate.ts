import { WorkspaceError } from '../model/errors.ts';
import type { TicketRef } from '../model/ids.ts';
import type { Ticket } from '../model/ticket.ts';
import type { Integrated, WorkspaceSpec } from '../workspaces/index.ts';
import { workspaceSpec } from './facts.ts';
import { WORK } from './issue-done.ts';
import type { Parts } from './parts.ts';

/** Merges a ticket's branch into the base it started from. */
export async function integrateTicket(
  parts: Parts,
  ref: TicketRef,
): Promise<Integrated & { branch: string }> {
  const { store, settings, workspaces } = parts;
  const ticket = store.ticket(ref);
  const plan = store.plan(ref.planId);
  const spec = workspaceSpec(ticket, plan, settings, store.view());
  // Where the run does no work itself, nobody has seen yet that there is any.
  if (plan.kind === 'run' && ticket.skipPhases.includes(WORK)) await checkWork(parts, spec, ticket.base);
  const done = await workspaces.integrate({ ...spec, message: ticket.title, recordedBase: ticket.base });
  return { ...done, branch: spec.branch };
}

async function checkWork({ workspaces }: Parts, spec: WorkspaceSpec, base: Ticket['base']): Promise<void> {
  const { repo, branch } = spec;
  const state = base && (await workspaces.branchAhead({ repo, branch, of: base.commit }));
  if (!state || state.ahead > 0) return;
  throw new WorkspaceError(
    'workspace/no-work',
    `${branch} has no commit that ${base.ref} does not have: there is nothing to merge.`,
    { hint: `Do the work first: name ${WORK} in --phases.`, details: { branch } },
  );
}
