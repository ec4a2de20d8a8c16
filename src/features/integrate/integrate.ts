import type { EngineContext } from '../../engine/context.ts';
import { readTip } from '../../engine/prepare-workspace.ts';
import { workspaceSpec } from '../../engine/ticket-defaults.ts';
import { WorkspaceError } from '../../model/errors.ts';
import type { TicketRef } from '../../model/ids.ts';
import type { Ticket } from '../../model/ticket.ts';
import { tipOf } from '../../model/ticket.ts';
import { needsVerification, sayNotMerged } from '../../model/verdict.ts';
import type { Integrated, WorkspaceSpec } from '../../workspaces/index.ts';
import { WORK } from '../issue-runs/finished-work.ts';
import { landed } from '../landed/landed.ts';
import { ancestorsOf } from '../pull-requests/ticket-stack.ts';

/** Merges a ticket's branch into the base it started from. */
export async function integrateTicket(
  parts: EngineContext,
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

async function checkWork(
  { workspaces }: EngineContext,
  spec: WorkspaceSpec,
  base: Ticket['base'],
): Promise<void> {
  const { repo, branch } = spec;
  const state = base && (await workspaces.branchAhead({ repo, branch, of: base.commit }));
  if (!state || state.ahead > 0) return;
  throw new WorkspaceError(
    'workspace/no-work',
    `${branch} has no commit that ${base.ref} does not have: there is nothing to merge.`,
    { hint: `Do the work first: name ${WORK} in --phases.`, details: { branch } },
  );
}

/**
 * Why a run does not merge a ticket by itself: a person has to verify it, or unmerged work that it builds on. Undefined
 * where nothing is in the way.
 */
export async function leftToVerify(parts: EngineContext, ref: TicketRef): Promise<string | undefined> {
  const ticket = parts.store.ticket(ref);
  const open: Ticket[] = [];
  for (const each of [ticket, ...ancestorsOf(ticket, parts.store.view())])
    if (needsVerification(each) && !(await isMerged(parts, each))) open.unshift(each);
  if (open.length === 0) return undefined;
  const below = open.filter((each) => each !== ticket);
  const commands = [...below, ticket].map(
    ({ planId, ticketId }) => `signalbox integrate ${planId} ${ticketId}`,
  );
  const names = below.map(({ ticketId }) => ticketId).join(', ');
  const why = open.includes(ticket)
    ? 'the verdict is NEEDS_VERIFICATION'
    : `it builds on ${names}, still to be verified`;
  return sayNotMerged(why, commands);
}

/** Whether the base, or what waits beside it to be brought in, has all of the work. */
async function isMerged(parts: EngineContext, ticket: Ticket): Promise<boolean> {
  const { store, settings } = parts;
  const spec = workspaceSpec(ticket, store.plan(ticket.planId), settings, store.view());
  const tip = (await readTip(parts, spec)) ?? tipOf(ticket);
  return (
    tip !== null && (await landed(parts, { ...spec, tickets: [ticket], commit: tip }, ['history'])) !== null
  );
}
