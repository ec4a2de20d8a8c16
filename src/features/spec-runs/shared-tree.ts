import { existsSync } from 'node:fs';
import { type EngineContext, emit } from '../../engine/context.ts';
import { workspaceSpec } from '../../engine/ticket-defaults.ts';
import { stopJob } from '../../machine/jobs/stop.ts';
import { explained, WorkspaceError } from '../../model/errors.ts';
import { refKey, type TicketRef } from '../../model/ids.ts';
import type { Plan } from '../../model/plan.ts';
import { ticketOf, ticketsOf } from '../../model/plans/view.ts';
import { isShared } from '../../model/state/turns.ts';
import { openAttempt, type Ticket } from '../../model/ticket.ts';
import type { WorkspaceSpec } from '../../workspaces/index.ts';
import { bringSpec } from './tree.ts';
import { engineTicks, failedRef, type PlanSpec, specOf } from './unit.ts';

/**
 * Gives the tree of a shared plan to the next ticket: what one that failed left in it is kept on a ref and taken out,
 * and the ticket starts from where the branch is now. Calling it again, after a crash at any point, comes to the same.
 */
export async function handOver(
  parts: EngineContext,
  plan: Plan,
  ticket: Ticket,
  spec: WorkspaceSpec,
): Promise<{ ref: string; commit: string }> {
  for (const left of leftBehind(parts, plan, ticket, spec)) await takeOut(parts, left, spec);
  const { commit: head } = await parts.workspaces.head(spec.path);
  const { dirty } = await parts.workspaces.evidence(spec.path, head, { files: false });
  if (dirty.length > 0 && !spec.inPlace) await sweep(parts, ticket, spec, head);
  else if (dirty.length > 0)
    throw new WorkspaceError(
      'workspace/dirty',
      `${spec.path} has changes that nobody committed: ${dirty.slice(0, 5).join(', ')}${dirty.length > 5 ? '…' : ''}.`,
      { hint: `Commit or stash them, then: signalbox retry ${ticket.planId} ${ticket.ticketId}` },
    );
  const brought = await bringPending(parts, plan, spec);
  return { ref: spec.branch, commit: brought ? (await parts.workspaces.head(spec.path)).commit : head };
}

/** Brings a task list to the branch that was edited while a unit's work lay in the tree; units were made from it already. */
export async function bringPending(
  parts: EngineContext,
  { id }: Pick<Plan, 'id'>,
  spec: WorkspaceSpec,
): Promise<boolean> {
  const plan = parts.store.plan(id);
  const { pending, ...kept } = specOf(plan) ?? {};
  if (pending === undefined || !('dir' in kept)) return false;
  const own = ticketsOf(parts.store.view(), plan);
  const brought = await bringSpec(parts, spec, kept as PlanSpec, engineTicks(plan, own), pending);
  await parts.store.updatePlan(id, (latest) => ({ ...latest, spec: brought }));
  return true;
}

/** What checks leave in a tree of our own, such as reports, is in nobody's way and not lost either. */
async function sweep(parts: EngineContext, ticket: Ticket, spec: WorkspaceSpec, to: string): Promise<void> {
  const { planId, ticketId } = ticket;
  const keepAt = `refs/signalbox/left/${planId}/before-${ticketId}`;
  const message = `What lay in the tree before ${refKey(ticket)} began`;
  const { keptAt } = await parts.workspaces.rewind({ ...spec, to, keepAt, message });
  if (keptAt === null) return;
  const reason = `files that nobody had committed were taken out of the tree and are kept at ${keptAt}`;
  emit(parts, { type: 'workspace:keep', planId, ticketId, path: spec.path, reason });
}

/** Failed tickets whose work is still in the tree. */
function leftBehind(parts: EngineContext, plan: Plan, ticket: Ticket, spec: WorkspaceSpec): Ticket[] {
  return ticketsOf(parts.store.view(), plan).filter(
    ({ status, base, worktree, ticketId }) =>
      status === 'failed' && base !== null && worktree === spec.path && ticketId !== ticket.ticketId,
  );
}

async function takeOut(parts: EngineContext, left: Ticket, spec: WorkspaceSpec): Promise<void> {
  if (!left.base) return;
  const { keptAt } = await parts.workspaces.rewind({
    repo: spec.repo,
    path: spec.path,
    branch: spec.branch,
    to: left.base.commit,
    keepAt: failedRef(left),
    message: `What ${refKey(left)} left when it failed\n\n${left.error ?? ''}`,
  });
  const at = parts.now();
  await parts.store.updateTicket(left, (latest) => ({ ...latest, base: null, rewound: { at, ref: keptAt } }));
  if (keptAt === null) return;
  const { planId, ticketId } = left;
  const reason = `its work was taken out of the tree and is kept at ${keptAt}`;
  emit(parts, { type: 'workspace:keep', planId, ticketId, path: spec.path, reason });
}

/**
 * With `--on-failure continue` the tree is nobody's once a unit has failed for good, also when no other comes after it.
 * What cannot be taken out now is told; the next one to come tries again.
 */
export async function giveUpTree(
  parts: EngineContext,
  plan: Plan,
  ref: TicketRef,
  spec: WorkspaceSpec,
): Promise<void> {
  const ticket = parts.store.ticket(ref);
  if (!specOf(plan) || plan.stopOnFailure || ticket.status !== 'failed' || ticket.base === null) return;
  try {
    await putBack(parts, ticket, spec);
    await takeOut(parts, ticket, spec);
  } catch (error) {
    if (!(error instanceof WorkspaceError)) throw error;
    parts.listen({ type: 'problem', ...ref, message: explained(error), path: spec.path });
  }
}

/** Takes what a ticket that is not wanted in this run has left out of the tree. */
export async function setAside(parts: EngineContext, plan: Plan, ticket: Ticket): Promise<void> {
  const latest = parts.store.ticket(ticket);
  const open = openAttempt(latest);
  if (open) await stopJob(parts.machine.job(latest, open), 'stopped');
  const spec = workspaceSpec(latest, plan, parts.settings, parts.store.view());
  if (latest.base === null || latest.worktree !== spec.path || !existsSync(spec.path)) return;
  await putBack(parts, latest, spec);
  await takeOut(parts, latest, spec);
}

/**
 * A tree that an agent left on another branch, or on none, goes back to its own; what it has there is kept on a ref. In
 * the user's checkout they may have done so themselves.
 */
export async function putBack(parts: EngineContext, ticket: Ticket, spec: WorkspaceSpec): Promise<void> {
  if (spec.inPlace) return;
  const { keptAt } = await parts.workspaces.comeBack({
    repo: spec.repo,
    path: spec.path,
    branch: spec.branch,
    to: ticket.base?.commit ?? null,
    keepAt: failedRef(ticket),
    message: `What lay on another branch in the tree of ${refKey(ticket)}`,
  });
  if (keptAt === null) return;
  const { planId, ticketId } = ticket;
  const reason = `it was on another branch; what lay there is kept at ${keptAt}`;
  emit(parts, { type: 'workspace:keep', planId, ticketId, path: spec.path, reason });
}

/** The tree of a shared plan stays until all of its tickets are complete; a checkout is nobody's to give back. */
export function isStillNeeded(parts: EngineContext, ticket: Ticket): boolean {
  const plan = parts.store.plan(ticket.planId);
  if (!isShared(plan)) return false;
  if (plan.workspace === 'checkout') return true;
  const view = parts.store.view();
  return plan.tickets.some(
    ({ ticketId }) => ticketOf(view, { planId: plan.id, ticketId })?.status !== 'complete',
  );
}
