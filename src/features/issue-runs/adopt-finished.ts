import { tipOf } from '../../engine/branch-head.ts';
import type { EngineContext } from '../../engine/context.ts';
import { ticketsOf } from '../../model/plans/view.ts';
import { newerRunOf } from '../../model/state/superseded.ts';
import { settle } from '../../model/state/walk.ts';
import type { Ticket } from '../../model/ticket.ts';
import { resolveWorkflow } from '../../workflows/index.ts';
import { finishedWork } from './finished-work.ts';
import { EarlierIssues, sourceKey } from './previous-runs.ts';

/** Issues of a run that newer ones took over and finished count as done before: what waits for them starts from that work. */
export async function adoptFinished(parts: EngineContext, planId: string): Promise<void> {
  const { store, settings, now } = parts;
  const taken = ticketsOf(store.view(), planId).filter((ticket) => newerRunOf(ticket) !== undefined);
  if (taken.length === 0) return;
  const earlier = new EarlierIssues(parts);
  const name = store.plan(planId).workflow ?? settings.defaultWorkflow;
  const { workflow } = await resolveWorkflow(name, settings.searchPath);
  for (const ticket of taken) {
    const tickets = await earlier.of(sourceKey(ticket) ?? '', earlier.repoOf(ticket) ?? '');
    if (latestOf(ticket, tickets)?.status !== 'complete') continue;
    const work = await finishedWork(parts, { tickets, earlier, workflow });
    if (!work) continue;
    const { pr_url } = work.context;
    await store.updateTicket(ticket, (latest) => ({
      ...settle(latest, now(), { status: 'complete', error: null }),
      currentPhase: null,
      branch: work.branch,
      worktree: null,
      tip: tipOf(work),
      context: { ...latest.context, ...(pr_url === undefined ? {} : { pr_url }) },
      source: { ...(latest.source as object), already: true },
    }));
  }
}

/** The ticket that has an issue by now: the newer run may have been taken over, too. */
function latestOf(ticket: Ticket, tickets: readonly Ticket[]): Ticket | undefined {
  let latest: Ticket | undefined = ticket;
  for (const _ of tickets) {
    const newer: string | undefined = latest && newerRunOf(latest);
    if (newer === undefined) return latest;
    latest = tickets.find(({ planId }) => planId === newer);
  }
  return latest;
}
