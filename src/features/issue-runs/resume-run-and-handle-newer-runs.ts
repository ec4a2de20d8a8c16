import { claimToResume, completePlan, releasePlanClaim } from '../../engine/claim-and-complete-plan.ts';
import { decider, type EngineContext, emit } from '../../engine/context.ts';
import { carryOutCommand, refuseInsideJob, stoppedIn } from '../../engine/control-tickets-and-plans.ts';
import { explained, InputError, SignalboxError } from '../../model/errors.ts';
import { parseRef } from '../../model/ids-and-branch-names.ts';
import type { Plan } from '../../model/plan.ts';
import { ticketsOf } from '../../model/plans/plans-view.ts';
import { isAllComplete } from '../../model/state/eligible.ts';
import { settle } from '../../model/state/enter-and-leave-phases.ts';
import { newerRunOf, type Ticket, tipOf } from '../../model/ticket.ts';
import { resolveWorkflow } from '../../workflows/find-and-check-workflow.ts';
import { EarlierIssues, finishedWork, sourceKey } from './earlier-work-on-issues.ts';

/** Claims an issue run that was stopped, or whose process is gone, and resumes its stopped tickets. */
export async function claimAndResumeRun(engine: EngineContext, planId: string): Promise<Plan> {
  refuseInsideJob(engine);
  if (engine.store.plan(planId).kind !== 'run')
    throw new InputError('run/plan', `"${planId}" is a plan, not a run of issues.`, {
      hint: `Run it with: signalbox run ${planId}`,
    });
  const plan = await claimToResume(engine, planId, { called: ({ id }) => `run "${id}"` });
  try {
    await adoptFinished(engine, planId);
    emit(engine, { type: 'plan:status', planId, status: plan.status, ...decider(engine) });
    for (const ticket of stoppedIn(engine, planId))
      await carryOutCommand(engine, { planId, ticketId: ticket.ticketId }, { type: 'resume' }, 'a person');
  } catch (error) {
    await releasePlanClaim(engine, planId);
    throw error;
  }
  return plan;
}

/** Completes issues that newer runs have taken over and finished, so that dependent issues start from that work. */
export async function adoptFinished(engine: EngineContext, planId: string): Promise<void> {
  const { store, settings, now } = engine;
  const plan = store.plan(planId);
  const taken = store.tickets(plan).filter((ticket) => newerRunOf(ticket) !== undefined);
  if (taken.length === 0) return;
  const earlier = new EarlierIssues(engine, 'all');
  const { workflow } = await resolveWorkflow(plan.workflow ?? settings.defaultWorkflow, settings.searchPath);
  for (const ticket of taken) {
    const tickets = await earlier.of(sourceKey(ticket) ?? '', earlier.repoOf(ticket) ?? '');
    if (latestOf(ticket, tickets)?.status !== 'complete') continue;
    const work = await finishedWork(engine, { tickets, earlier, workflow });
    if (!work) continue;
    const { pr_url } = work.context;
    await store.updateTicket(ticket, (latest) => {
      const done = settle(latest, now(), { status: 'complete', error: null });
      if (!done.source) return done;
      return {
        ...done,
        currentPhase: null,
        branch: work.branch,
        worktree: null,
        tip: tipOf(work),
        context: { ...done.context, ...(pr_url === undefined ? {} : { pr_url }) },
        source: { ...done.source, already: true },
      };
    });
  }
}

/** Completes what earlier runs have of a finished issue, and those runs of which nothing else is left. */
export async function completeEarlierRuns(engine: EngineContext, ticket: Ticket): Promise<void> {
  if (ticket.status !== 'complete') return;
  const { store, holder } = engine;
  for (const planId of new Set((ticket.supersedes ?? []).map((key) => parseRef(key, '').planId)))
    try {
      const [plan] = store.view(planId).plans;
      if (plan?.kind !== 'run' || (plan.status !== 'active' && plan.status !== 'paused')) continue;
      if (plan.claim && holder.isLive(plan.claim)) continue;
      await adoptFinished(engine, planId);
      if (!isAllComplete(plan, store.tickets(plan))) continue;
      await store.updatePlan(planId, (latest) =>
        latest.status === 'paused' ? { ...latest, status: 'active', pausedBy: null } : latest,
      );
      await completePlan(engine, planId);
    } catch (error) {
      // The finished issue stays finished whatever is wrong with the earlier run.
      if (!(error instanceof SignalboxError)) throw error;
      engine.listen({ type: 'problem', planId, ticketId: null, message: explained(error), path: null });
    }
}

/** The ticket that has an issue now: the newer run may have been superseded as well. */
function latestOf(ticket: Ticket, tickets: readonly Ticket[]): Ticket | undefined {
  let latest: Ticket | undefined = ticket;
  for (const _ of tickets) {
    const newer: string | undefined = latest && newerRunOf(latest);
    if (newer === undefined) return latest;
    latest = tickets.find(({ planId }) => planId === newer);
  }
  return latest;
}

/** Pauses a run when newer runs have taken over all of its unfinished issues. */
export async function pauseIfSuperseded(engine: EngineContext, planId: string): Promise<void> {
  const { store, holder, now } = engine;
  const view = store.view(planId);
  const [before] = view.plans;
  if (before?.kind !== 'run' || before.status !== 'active') return;
  const left = ticketsOf(view, before).filter(({ status }) => status !== 'complete');
  if (left.length === 0 || !left.every((each) => newerRunOf(each) !== undefined)) return;
  const plan = await store.updatePlan(planId, (latest) =>
    latest.status === 'active' && !(latest.claim && holder.isLive(latest.claim))
      ? { ...latest, status: 'paused', pausedBy: 'a newer run', pausedAt: now() }
      : latest,
  );
  if (plan.status === 'paused') emit(engine, { type: 'plan:status', planId, status: 'paused' });
}
