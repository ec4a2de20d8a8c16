import { firstFree } from '../machine/files/read-and-remove-files.ts';

import { stopJob } from '../machine/jobs/stop-job.ts';
import { messageOf } from '../model/errors.ts';
import { refOf } from '../model/ids-and-branch-names.ts';
import type { Plan } from '../model/plan.ts';
import { planOf } from '../model/plans/plans-view.ts';
import { reduce, type Unseen } from '../model/state/reduce.ts';
import { openAttempt, type Ticket } from '../model/ticket.ts';
import type { Workflow } from '../model/workflow.ts';
import type { StoreView } from '../store/store-interface.ts';
import { claimedTickets } from './claimed-tickets-and-counted-usage.ts';
import { type EngineContext, hooksOf, isFatal } from './context.ts';
import { readTip, releaseWorkspace } from './create-release-and-diff-ticket-workspace.ts';
import { jobOf } from './jobs-of-ticket.ts';
import { pinnedFor } from './pinned-workflow.ts';
import { currentWorkspace, workspaceFor } from './work-out-workspace-and-repository.ts';

/**
 * Cleans up after a dead engine, on tickets that no engine will drive again without a person: stops the process of a paused
 * one, releases the worktree of a finished one, and clears their claims. Tickets that were running are driven again, which
 * adopts, reads or repeats their attempt.
 */
export async function recoverOrphans(engine: EngineContext): Promise<void> {
  for (const ticket of [...claimedTickets(engine).values()]) {
    const orphaned = ticket.claim !== null && !engine.holder.isLive(ticket.claim);
    const settled = ticket.status !== 'running' && ticket.status !== 'ready' && ticket.status !== 'queued';
    if (!orphaned || !settled) continue;
    try {
      await recoverOrphan(engine, ticket, engine.store.glance());
    } catch (error) {
      if (isFatal(error)) throw error;
      const { planId, ticketId } = ticket;
      engine.listen({ type: 'problem', planId, ticketId, message: messageOf(error), path: null });
    }
  }
}

export async function recoverOrphan(engine: EngineContext, ticket: Ticket, view: StoreView): Promise<void> {
  const plan = planOf(view, ticket.planId);
  if (!plan) return;
  const open = openAttempt(ticket);
  const waits = ticket.hold?.kind === 'gate' || ticket.hold?.kind === 'poll';
  const { workflow } = await pinnedFor(engine, ticket, plan);
  if (isElsewhere(engine, ticket)) return releaseOrphan(engine, ticket, workflow);
  if (open && !waits) await stopJob(engine.machine.job(ticket, open), 'stopped');
  const unseen = waits ? undefined : await unseenJob(engine, plan, ticket);
  const workspace = workspaceFor(ticket, plan, engine.settings, view);
  await engine.workspaces.endSetup(workspace.path);
  const tip = ticket.status === 'complete' ? await readTip(engine, workspace) : undefined;
  if (ticket.status === 'complete') await releaseWorkspace({ engine, ticket, workspace });
  const free = await engine.store.updateTicket(ticket, (latest) => {
    if (latest.claim && engine.holder.isLive(latest.claim)) return latest;
    const now = engine.now();
    const deliberate = latest.status === 'paused';
    const reason = stopReason(ticket, latest);
    const end = { type: 'interrupted', reason, deliberate } as const;
    const left = unseen ? reduce(workflow, latest, { type: 'unseen', ...unseen }, now) : latest;
    const closed = open && !waits ? reduce(workflow, left, { type: 'end', end }, now) : left;
    return reduce(workflow, closed, { type: 'release', tip }, now);
  });
  if (free.claim === null) await hooksOf(engine, plan).left?.(plan, free, workspace);
}

/** Whether a worker of another machine of the fleet drove it last: its job and its worktree are there. */
export function isElsewhere({ machine }: EngineContext, { claim }: Ticket): boolean {
  return claim?.state !== undefined && claim.state !== machine.stateDir;
}

/** The watchdog of its job has ended that with the lease, so only the record has to be put right. */
async function releaseOrphan(
  engine: EngineContext,
  { planId, ticketId }: Ticket,
  workflow: Workflow,
): Promise<void> {
  await engine.store.updateTicket({ planId, ticketId }, (latest) => {
    if (!latest.claim || engine.holder.isLive(latest.claim)) return latest;
    const now = engine.now();
    const deliberate = latest.status === 'paused';
    const end = { type: 'interrupted', reason: 'its worker was gone', deliberate } as const;
    const closed = openAttempt(latest) ? reduce(workflow, latest, { type: 'end', end }, now) : latest;
    return reduce(workflow, closed, { type: 'release' }, now);
  });
}

/**
 * The job of an open attempt whose engine is gone, if it cannot be seen from here and may still run. The ticket continues where that
 * job cannot write: in a new worktree, from the last commit. In a tree that others use, too, a person has to decide.
 */
export async function unseenJob(
  engine: EngineContext,
  plan: Plan,
  ticket: Ticket,
): Promise<Unseen | undefined> {
  const open = openAttempt(ticket);
  const job = open && jobOf(engine.machine.job(ticket, open));
  if (job?.state !== 'unknown') return undefined;
  const { path, shared } = currentWorkspace(engine, ticket, plan);
  const who = `process ${job.identity.pid} on ${job.identity.host} cannot be seen from here`;
  const reason = `Its ${who} and may still work in ${path}.`;
  // A gate's check works in no worktree.
  if (open?.asks !== undefined) return { reason: `Its ${who}.`, worktree: ticket.worktree ?? path };
  if (shared) return { reason, worktree: null };
  if (!ticket.base) return { reason, worktree: path };
  await engine.workspaces.detach(path);
  const worktree = firstFree((number) => `${path}-${number}`, 2);
  const message = `The ${who}. The ticket continues in ${worktree}, from the last commit; what that process leaves stays in ${path}.`;
  engine.listen({ type: 'problem', ...refOf(ticket), message, path: null });
  return { reason, worktree };
}

/** Why an attempt was interrupted. A polling ticket has no engine between two checks, so a person's stop is not a lost engine. */
function stopReason(found: Ticket, latest: Ticket): string {
  const stopped = latest.status === 'paused' && found.claim === null ? latest.hold?.reason : undefined;
  return stopped ?? 'the engine was gone';
}
