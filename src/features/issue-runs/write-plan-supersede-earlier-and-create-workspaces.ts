import { releasePlanClaim } from '../../engine/claim-and-complete-plan.ts';
import { decider, type EngineContext, emit } from '../../engine/context.ts';
import { reportInstall } from '../../engine/prepare-place-of-ticket.ts';
import { reportStatus } from '../../engine/report-status-changes.ts';
import { withRepositoryNames, workspaceFor } from '../../engine/work-out-workspace-and-repository.ts';
import { sayItem, sayReference } from '../../issues/work-item.ts';
import { explained } from '../../model/errors.ts';
import type { Plan } from '../../model/plan.ts';
import { settle } from '../../model/state/enter-and-leave-phases.ts';
import { isOver, supersededHold, type Ticket } from '../../model/ticket.ts';
import { EarlierIssues, sourceKey } from './earlier-work-on-issues.ts';
import type { PreparedRun } from './plan-issues.ts';
import { liveClaim } from './prepare-issue-run.ts';
import { completeEarlierRuns, pauseIfSuperseded } from './resume-run-and-handle-newer-runs.ts';

/**
 * Writes the plan, takes over from earlier runs, and creates the workspaces of everything that can start. This process claims the
 * plan from the beginning, so that no daemon runs it. False, and nothing is written, if another run that started at the same time
 * has one of the issues: prepare again.
 */
export async function startIssueRun(
  engine: EngineContext,
  { plan, tickets, items, refused }: PreparedRun,
  signal?: AbortSignal,
): Promise<boolean> {
  const { store, holder } = engine;
  for (const { pin } of items) await store.pin(pin.hash, pin.text);
  const named = await withRepositoryNames(engine, plan, tickets);
  // Checking who has an issue and taking it are one step for all runs of this state directory.
  const created = await store.alone('runs', async () => {
    if (await isTaken(engine, plan, tickets)) return false;
    await store.create({ ...named, claim: holder.claim(engine.now()) }, tickets);
    return true;
  });
  if (!created) return false;
  try {
    emit(engine, { type: 'plan:status', planId: plan.id, status: 'active', ...decider(engine) });
    for (const { id: ticketId, note: message } of items)
      if (message) engine.listen({ type: 'problem', planId: plan.id, ticketId, message, path: null });
    for (const { reference, item, reason } of refused) {
      const message = `${item ? sayItem(item) : sayReference(reference)} is not run: ${reason}`;
      engine.listen({ type: 'problem', planId: plan.id, ticketId: null, message, path: null });
    }
    for (const ticket of tickets) await supersede(engine, ticket);
    const first = plan.tickets.filter((entry) => entry.blockedBy.length === 0 && entry.group === 0);
    const groups = plan.concurrency === 1 ? first.slice(0, 1) : first;
    // On a fleet, the worker makes it on its own machine.
    if (!store.fleet)
      await Promise.all(groups.map((entry) => makeWorkspace(engine, plan, entry.ticketId, signal)));
  } catch (error) {
    await releasePlanClaim(engine, plan.id);
    throw error;
  }
  return true;
}

/** Whether another engine has taken one of these issues, or the id of a task, since they were compared. */
export async function isTaken(
  engine: EngineContext,
  plan: Plan,
  tickets: readonly Ticket[],
): Promise<boolean> {
  const earlier = new EarlierIssues(engine, 'all');
  for (const ticket of tickets) {
    const mine = await earlier.of(sourceKey(ticket) ?? '', ticket.repo ?? plan.repo ?? '');
    // Tasks are always new work.
    if (mine.length > 0 && sourceKey(ticket) === `task:${ticket.ticketId}`) return true;
    if (mine.some((each) => liveClaim(engine, earlier, each) !== undefined)) return true;
  }
  return false;
}

async function supersede(engine: EngineContext, ticket: Ticket): Promise<void> {
  for (const key of ticket.supersedes ?? []) {
    const [planId = '', ticketId = ''] = key.split('/');
    await engine.store.updateTicket({ planId, ticketId }, (old) => {
      if (old.status === 'failed' && old.source) return { ...old, supersededBy: ticket.planId };
      if (isOver(old)) return old;
      return settle(old, engine.now(), { status: 'paused', hold: supersededHold(ticket.planId) });
    });
    await pauseIfSuperseded(engine, planId);
  }
  await completeEarlierRuns(engine, ticket);
}

/** Creates a workspace. If that fails, its issue fails at its first phase with the reason. */
async function makeWorkspace(
  engine: EngineContext,
  plan: Plan,
  ticketId: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  const ticket = engine.store.ticket({ planId: plan.id, ticketId });
  if (ticket.status === 'complete') return;
  const spec = workspaceFor(ticket, plan, engine.settings, engine.store.glance());
  try {
    const onInstall = reportInstall(engine, ticket);
    const made = await engine.workspaces.ensure({ ...spec, onInstall, ...(signal ? { signal } : {}) });
    const after = await engine.store.updateTicket(ticket, (latest) => ({
      ...latest,
      base: made.base,
      branch: spec.branch,
      worktree: spec.path,
    }));
    reportStatus(engine, ticket, after);
    const { path, branch } = spec;
    emit(engine, { type: 'workspace:ready', planId: plan.id, ticketId, path, branch, reused: made.reused });
    for (const message of made.notes)
      emit(engine, { type: 'problem', message, path: null, planId: plan.id, ticketId });
  } catch (error) {
    if (signal?.aborted) return;
    engine.listen({ type: 'problem', planId: plan.id, ticketId, message: explained(error), path: spec.path });
  }
}
