import { stopJob } from '../machine/jobs/stop.ts';
import { messageOf } from '../model/errors.ts';
import { planOf } from '../model/plans/view.ts';
import { reduce } from '../model/state/reduce.ts';
import { openAttempt, type Ticket } from '../model/ticket.ts';
import type { StoreView } from '../store/port.ts';
import { type EngineContext, isFatal } from './context.ts';
import { pinnedFor } from './pinned-workflow.ts';
import { readTip, releaseWorkspace } from './prepare-workspace.ts';
import { workspaceSpec } from './ticket-defaults.ts';

/**
 * Puts in order what a dead engine left half done on tickets that nobody will drive again by themselves:
 * the process of a paused one is stopped, the worktree of a finished one is given back, and their claims are cleared.
 * (Tickets that were running are simply driven again; that adopts, reads or repeats their attempt.)
 */
export async function recoverOrphans(parts: EngineContext, view: StoreView): Promise<void> {
  for (const ticket of view.tickets.values()) {
    const orphaned = ticket.claim !== null && !parts.holder.isLive(ticket.claim);
    const settled = ticket.status !== 'running' && ticket.status !== 'ready' && ticket.status !== 'queued';
    if (!orphaned || !settled) continue;
    try {
      await recoverOrphan(parts, ticket, view);
    } catch (error) {
      if (isFatal(error)) throw error;
      const { planId, ticketId } = ticket;
      parts.listen({ type: 'problem', planId, ticketId, message: messageOf(error), path: null });
    }
  }
}

export async function recoverOrphan(parts: EngineContext, ticket: Ticket, view: StoreView): Promise<void> {
  const plan = planOf(view, ticket.planId);
  if (!plan) return;
  const open = openAttempt(ticket);
  const waits = ticket.hold?.kind === 'gate' || ticket.hold?.kind === 'poll';
  const { workflow } = await pinnedFor(parts, ticket, plan);
  if (open && !waits) await stopJob(parts.machine.job(ticket, open), 'stopped');
  const spec = workspaceSpec(ticket, plan, parts.settings, view);
  await parts.workspaces.endSetup(spec.path);
  const tip = ticket.status === 'complete' ? await readTip(parts, spec) : undefined;
  if (ticket.status === 'complete') await releaseWorkspace(parts, ticket, spec);
  await parts.store.updateTicket(ticket, (latest) => {
    if (latest.claim && parts.holder.isLive(latest.claim)) return latest;
    const now = parts.now();
    const deliberate = latest.status === 'paused';
    const reason = saidWhy(ticket, latest);
    const end = { type: 'interrupted', reason, deliberate } as const;
    const closed = open && !waits ? reduce(workflow, latest, { type: 'end', end }, now) : latest;
    return reduce(workflow, closed, { type: 'release', tip }, now);
  });
}

/** Nobody drives a ticket between two looks, so whoever stops it then ends the wait; no engine has died. */
function saidWhy(found: Ticket, latest: Ticket): string {
  const stopped = latest.status === 'paused' && found.claim === null ? latest.hold?.reason : undefined;
  return stopped ?? 'the engine was gone';
}
