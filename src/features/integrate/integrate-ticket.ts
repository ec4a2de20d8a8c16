import type { ActionCall, EngineContext, StepEnd } from '../../engine/context.ts';
import { readTip, recordLanded } from '../../engine/create-release-and-diff-ticket-workspace.ts';
import { workspaceFor } from '../../engine/work-out-workspace-and-repository.ts';
import { EXIT } from '../../model/actions.ts';
import { explained, SignalboxError, WorkspaceError } from '../../model/errors.ts';
import type { TicketRef } from '../../model/ids-and-branch-names.ts';
import { WORK_PHASE } from '../../model/issue-phases.ts';
import { shellWord } from '../../model/text/quote-values-for-shell.ts';
import { type Ticket, tipOf } from '../../model/ticket.ts';
import { needsVerification, sayNotMerged } from '../../model/verdict-criteria-and-missing-checks.ts';
import type { Integrated, WorkspaceSpec } from '../../workspaces/workspaces.ts';
import { findLanded } from '../landed/find-landed-work.ts';
import { ancestorsOf } from '../pull-requests/find-tickets-below-and-above.ts';

/** Errors that only a person can fix: sending an agent back to work would not help. */
const NEEDS_A_PERSON = new Set(['merge/base-conflict', 'workspace/no-base-branch', 'workspace/target-busy']);

/** Merges a ticket's branch for a phase or a person. A person may also merge work that is not verified yet. */
export async function integrateStep({
  engine,
  ref,
  inPhase,
}: Pick<ActionCall, 'engine' | 'ref'> & { inPhase: boolean }): Promise<StepEnd> {
  const notMergedReason = inPhase ? await whyNotMerged(engine, ref) : undefined;
  if (notMergedReason !== undefined)
    return { exit: EXIT.done, out: notMergedReason, data: { left: notMergedReason } };
  if (!inPhase) refuseOwnBranch(engine, ref);
  try {
    const data = await integrateTicket(engine, ref);
    const { target, branch } = data;
    if ('conflict' in data) {
      const err = `Conflict with the base in ${data.conflict.join(', ')}. Merge ${target} into ${branch}, resolve, and commit.`;
      return { exit: EXIT.failed, err, data };
    }
    const lines = [`${target} is now at ${data.commit.slice(0, 10)}.`];
    if (data.fastForward) lines.push(`To bring it into your checkout: ${data.fastForward}`);
    return { exit: EXIT.done, out: lines.join('\n'), data };
  } catch (error) {
    const isRefused = error instanceof SignalboxError && NEEDS_A_PERSON.has(error.code);
    if (!isRefused || !inPhase) throw error;
    return { exit: EXIT.refused, err: `❌ ${explained(error)}`, data: null };
  }
}

/** Tickets that share a branch start from it. What merges it elsewhere is git. */
function refuseOwnBranch({ store, settings }: EngineContext, ref: TicketRef): void {
  const ticket = store.ticket(ref);
  const { repo, branch } = workspaceFor(ticket, store.plan(ref.planId), settings, store.glance());
  if (ticket.base?.ref !== branch) return;
  throw new WorkspaceError(
    'workspace/no-work',
    `${branch} is the branch that ${ref.ticketId} started from.`,
    {
      hint: `To merge it into the branch that is checked out: git -C ${shellWord(repo)} merge ${shellWord(branch)}`,
      details: { branch },
    },
  );
}

/** Merges a ticket's branch into the base it started from. */
async function integrateTicket(
  engine: EngineContext,
  ref: TicketRef,
): Promise<Integrated & { branch: string }> {
  const { store, settings, workspaces } = engine;
  const ticket = store.ticket(ref);
  const plan = store.plan(ref.planId);
  const workspace = workspaceFor(ticket, plan, settings, store.glance());
  // A run without its work phase has not checked that there are commits.
  if (plan.kind === 'run' && ticket.skipPhases.includes(WORK_PHASE))
    await checkWork(engine, workspace, ticket.base);
  engine.crash('integrate:ready');
  const done = await workspaces.integrate({ ...workspace, message: ticket.title, recordedBase: ticket.base });
  engine.crash('integrate:done');
  if (!('conflict' in done)) await recordLanded(engine, ref, done.target);
  return { ...done, branch: workspace.branch };
}

async function checkWork(
  { workspaces }: EngineContext,
  workspace: WorkspaceSpec,
  base: Ticket['base'],
): Promise<void> {
  const { repo, branch } = workspace;
  const state = base && (await workspaces.branchAhead({ repo, branch, of: base.commit }));
  if (!state || state.ahead > 0) return;
  throw new WorkspaceError(
    'workspace/no-work',
    `${branch} has no commit that ${base.ref} does not have: there is nothing to merge.`,
    { hint: `Do the work first: name ${WORK_PHASE} in --phases.`, details: { branch } },
  );
}

/**
 * Why a run does not merge a ticket itself: a person has to verify it, or unmerged work that it builds on. Undefined if it can be
 * merged.
 */
async function whyNotMerged(engine: EngineContext, ref: TicketRef): Promise<string | undefined> {
  const ticket = engine.store.ticket(ref);
  const open: Ticket[] = [];
  for (const each of [ticket, ...ancestorsOf(ticket, engine.store.glance())])
    if (needsVerification(each) && !(await isMerged(engine, each))) open.unshift(each);
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

/** Whether the base or its integration branch has all of the work. */
async function isMerged(engine: EngineContext, ticket: Ticket): Promise<boolean> {
  const { store, settings } = engine;
  const workspace = workspaceFor(ticket, store.plan(ticket.planId), settings, store.glance());
  const tip = (await readTip(engine, workspace)) ?? tipOf(ticket);
  return (
    tip !== null &&
    (await findLanded(engine, { ...workspace, tickets: [ticket], commit: tip }, ['history'])) !== null
  );
}
