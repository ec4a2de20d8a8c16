import { resolveWorkflow } from '../content/index.ts';
import { newerRunOf } from '../model/superseded.ts';
import type { Ticket } from '../model/ticket.ts';
import { settle } from '../model/walk.ts';
import { finishedWork } from './issue-done.ts';
import { EarlierIssues, sourceKey } from './issue-earlier.ts';
import type { Parts } from './parts.ts';
import { tipOf } from './tip.ts';

/** Issues of a run that newer ones took over and finished count as done before: what waits for them starts from that work. */
export async function adoptFinished(parts: Parts, planId: string): Promise<void> {
  const { store, settings, now } = parts;
  const taken = [...store.view().tickets.values()].filter(
    (ticket) => ticket.planId === planId && newerRunOf(ticket) !== undefined,
  );
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
