import { IllegalMoveError, InputError, ifUsable, messageOf } from '../model/errors.ts';
import { type Plan, stopperOf } from '../model/plan.ts';
import { planProblems } from '../model/plans/dependency-and-branch-problems.ts';
import { ticketsOf } from '../model/plans/plans-view.ts';
import { isAllComplete } from '../model/state/eligible.ts';
import { heldBy } from '../model/state/explain-ticket.ts';
import type { Ticket } from '../model/ticket.ts';
import { claimPlan, completePlan, releasePlanClaim } from './claim-and-complete-plan.ts';
import { decider, type EngineContext, emit, hooksOf, isFatal, isOthers } from './context.ts';
import { isInsideJob } from './control-tickets-and-plans.ts';
import { Engine, type EngineOptions } from './engine.ts';
import { statusEvent } from './report-status-changes.ts';
import { requireReady, startableTickets } from './require-preflight-or-hold-plan.ts';
import { onAborted } from './wait-until-woken-or-aborted.ts';
import { FleetRun } from './watch-run-on-fleet.ts';
import { workspaceFor } from './work-out-workspace-and-repository.ts';

export interface RunResult {
  plan: Plan;
  tickets: Ticket[];
  /** How many tickets were asked for, unreadable ones included. */
  wanted: number;
  /** Files that could not be read; their tickets were not run. */
  problems: string[];
  /** By ticket id: which other process had it at the end. */
  held: ReadonlyMap<string, string>;
  ok: boolean;
}

export interface RunOptions {
  planId: string;
  ticketIds?: readonly string[];
  maxConcurrency: number;
  /** Aborting stops the agents and leaves the plan paused, for `resume`; inside a job only this run ends. */
  signal: AbortSignal;
  /** Interval of checks when nothing wakes the engine; default: the setting `pollInterval`. */
  checkEveryMs?: number | undefined;
  /** The name of `checkEveryMs` in version 0.1. */
  lookEveryMs?: number | undefined;
  /** The caller has made the preflight already, before it stored the plan. */
  isReady?: boolean;
}

/** Runs a plan, or some of its tickets, until nothing can continue without a person. Claims the plan for that time. */
export async function runPlan(engine: EngineContext, options: RunOptions): Promise<RunResult> {
  const fetching = new AbortController();
  try {
    checkRunnable(engine, options.planId, options.ticketIds);
    // The preflight takes about as long as fetching, so both begin now.
    if (!engine.store.fleet) fetchRepositories(engine, { ...options, signal: fetching.signal });
    return await checkAndRun(engine, options);
  } finally {
    fetching.abort();
  }
}

async function checkAndRun(engine: EngineContext, options: RunOptions): Promise<RunResult> {
  const { planId, ticketIds } = options;
  const { fleet } = engine.store;
  if (!options.isReady) {
    const plan = engine.store.plan(planId);
    const wanted = engine.store
      .tickets(plan)
      .filter(({ ticketId }) => ticketIds?.includes(ticketId) !== false);
    await requireReady(engine, { plan, tickets: startableTickets(wanted), signal: options.signal });
  }
  await claimPlan(engine, planId);
  reportHolds(engine, planId, ticketIds);
  const scope: EngineOptions['scope'] = ticketIds ? { planId, ticketIds } : { planId };
  const { maxConcurrency, checkEveryMs = options.lookEveryMs ?? engine.settings.pollInterval * 1000 } =
    options;
  const loop = fleet
    ? new FleetRun(engine, fleet, { planId, ticketIds, signal: options.signal })
    : new Engine(engine, { mode: 'until-idle', maxConcurrency, checkEveryMs, scope });
  const by = () => stopperOf(options.signal.reason);
  let pausing: Promise<void> | undefined;
  const interrupt = () => {
    // A job cannot pause a plan, which would also stop agents of other engines: only what this run has started ends.
    if (isInsideJob(engine)) return loop instanceof FleetRun ? undefined : void loop.stop('leave', by());
    const stopping = loop instanceof FleetRun ? loop.stop(by()) : void loop.stop('pause', by());
    // At once, so that no daemon continues the plan if this process is killed while agents end.
    pausing = Promise.resolve(stopping)
      .then(() => pausePlan(engine, planId, by()))
      .catch((error: unknown) => {
        if (isFatal(error)) return;
        engine.listen({ type: 'problem', planId, ticketId: null, message: messageOf(error), path: null });
      });
  };
  const unlisten = onAborted(options.signal, interrupt);
  const release = async () => {
    await pausing;
    if (options.signal.aborted) await endStopped(engine, planId, by());
    await releasePlanClaim(engine, planId);
  };
  try {
    await loop.run();
  } catch (error) {
    // Without storage nothing can be released; others see that this process is gone.
    if (!isFatal(error)) await release();
    throw error;
  } finally {
    unlisten();
  }
  await release();
  return resultOf(engine, planId, ticketIds);
}

const MAX_PROBLEMS = 20;

/** Refuses a plan that cannot be run as it is. */
export function checkRunnable(
  engine: EngineContext,
  planId: string,
  ticketIds: readonly string[] | undefined,
): void {
  const plan = engine.store.plan(planId);
  hooksOf(engine, plan);
  for (const ticketId of ticketIds ?? []) engine.store.ticket({ planId, ticketId });
  const problems = planProblems(plan, engine.store.glance());
  if (problems.length > 0) {
    const messages = [...new Set(problems.map((problem) => problem.message))];
    const shown = messages.slice(0, MAX_PROBLEMS);
    const more = messages.length - shown.length;
    if (more > 0) shown.push(`And ${more} more.`);
    throw new InputError('plan/dependencies', shown.join(' '), {
      hint: `Correct the plan's files; see all problems with: signalbox plan check ${planId}`,
      details: { problems },
    });
  }
  if (plan.tickets.length === 0) {
    throw new InputError('plan/empty', `Plan "${planId}" has no tickets.`, {
      hint: `List them under "tickets" in ${engine.store.location({ planId, ticketId: null })}.`,
    });
  }
  const fix: Partial<Record<Plan['status'], string>> = {
    draft: `Review it, then: signalbox plan approve ${planId}`,
    paused: `Continue with: signalbox resume ${planId}`,
    archived: plan.movedTo ? `It was moved to ${plan.movedTo}.` : 'An archived plan cannot be run.',
  };
  const hint = fix[plan.status];
  if (hint) throw new IllegalMoveError('plan/status', `Plan "${planId}" is ${plan.status}.`, { hint });
}

/** Reports tickets that already wait. Later checks report only changes. */
function reportHolds(
  { store, listen, now, holder }: EngineContext,
  planId: string,
  ticketIds?: readonly string[],
): void {
  const time = Date.parse(now());
  for (const ticket of store.tickets(planId)) {
    const { hold, status } = ticket;
    if (ticketIds?.includes(ticket.ticketId) === false || !hold) continue;
    const polls = hold.kind === 'poll' || hold.kind === 'gate';
    const waits = status === 'needs_attention' || status === 'ready';
    const driven = ticket.claim !== null && holder.isLive(ticket.claim);
    if (!waits || driven || !(polls || Date.parse(hold.until ?? '') > time)) continue;
    listen(statusEvent(ticket));
  }
}

/** Fetches the repositories, because new worktrees start from origin's present state. */
function fetchRepositories(
  engine: EngineContext,
  { planId, ticketIds, signal }: Pick<RunOptions, 'planId' | 'ticketIds' | 'signal'>,
): void {
  const view = engine.store.glance();
  const plan = engine.store.plan(planId);
  const repos = new Set<string>();
  const seen = new Set<string | null>();
  for (const ticket of ticketsOf(view, plan)) {
    if (ticket.status !== 'queued' || ticketIds?.includes(ticket.ticketId) === false) continue;
    if (seen.has(ticket.repo)) continue;
    const workspace = ifUsable(() => workspaceFor(ticket, plan, engine.settings, view));
    if (workspace?.inPlace) return;
    if (!workspace) continue;
    seen.add(ticket.repo);
    if (repos.has(workspace.repo)) continue;
    repos.add(workspace.repo);
    engine.workspaces.patient({ signal, graceMs: 0 }).warm({ repo: workspace.repo, base: workspace.base });
    if (workspace.shared) return;
  }
}

/** Pauses a stopped plan, unless its last ticket was complete by then. */
async function endStopped(engine: EngineContext, planId: string, by: string): Promise<void> {
  const { store, holder } = engine;
  if (!isAllComplete(store.plan(planId), store.tickets(planId))) return pausePlan(engine, planId, by);
  await store.updatePlan(planId, (latest) => {
    const own = latest.claim?.token === holder.token && latest.pausedBy === by;
    return own && latest.status === 'paused' ? { ...latest, status: 'active', pausedBy: null } : latest;
  });
  await completePlan(engine, planId);
}

/** Pauses an active plan. */
async function pausePlan(engine: EngineContext, planId: string, by: string): Promise<void> {
  if (isInsideJob(engine)) return;
  const { store, holder, now } = engine;
  let paused = false;
  await store.updatePlan(planId, (latest) => {
    paused = latest.claim?.token === holder.token && latest.status === 'active';
    return paused ? { ...latest, status: 'paused', pausedBy: by, pausedAt: now() } : latest;
  });
  if (paused) emit(engine, { type: 'plan:status', planId, status: 'paused', ...decider(engine) });
}

function resultOf(
  engine: EngineContext,
  planId: string,
  ticketIds: readonly string[] | undefined,
): RunResult {
  const view = engine.store.view(planId);
  const plan = engine.store.plan(planId);
  const wanted = plan.tickets.filter((entry) => !ticketIds || ticketIds.includes(entry.ticketId));
  const tickets = ticketsOf(view, { ...plan, tickets: wanted });
  const problems = view.problems.map((problem) => problem.message);
  const ok = tickets.length === wanted.length && tickets.every((ticket) => ticket.status === 'complete');
  const held = tickets.flatMap((ticket): [string, string][] =>
    isOthers(engine, ticket.claim) ? [[ticket.ticketId, heldBy(ticket.claim, ticket, plan).reason]] : [],
  );
  return { plan, tickets, wanted: wanted.length, problems, held: new Map(held), ok };
}
