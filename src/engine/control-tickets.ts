import { onceLeaseIsOver } from '../model/claim.ts';
import { HeldError, IllegalMoveError, ignoring, WorkspaceError } from '../model/errors.ts';
import { refKey, refOf, type TicketRef } from '../model/ids-and-branch-names.ts';
import { type Plan, sharesWorkspace, stoppedTogether } from '../model/plan.ts';
import { entryOf } from '../model/plans/plans-view.ts';
import { command, type TicketCommand } from '../model/state/commands.ts';
import { blockedBy } from '../model/state/eligible.ts';
import { runCommand } from '../model/state/explain-ticket.ts';
import { isCancelled, isOver, isSuperseded, type Json, openAttempt, type Ticket } from '../model/ticket.ts';
import { phaseOf, type Workflow } from '../model/workflow.ts';
import { completeUnwatched, refuseHeldTicket } from './claim-and-complete-plan.ts';
import { type EngineContext, emit, hooksOf } from './context.ts';
import { pinnedFor } from './pinned-workflow.ts';
import { recordTip, releaseWorkspace } from './prepare-release-diff-workspace.ts';
import { recoverOrphan } from './recover-orphans.ts';
import { reportStatus } from './report-status-changes.ts';
import { workspaceFor } from './ticket-workspace.ts';

type Wish =
  | { type: 'stop' }
  | { type: 'resume' }
  /** `goesOnBy`: the pause is only a step of another command. */
  | { type: 'pause'; goesOnBy?: string }
  /** `latest`: with the workflow as it is now, instead of the one the ticket started with. */
  | { type: 'retry'; latest?: boolean }
  | { type: 'skip'; phase: string }
  | { type: 'respond'; decision: string; message: string }
  | { type: 'cancel' };

const STOP_TIMEOUT_MS = 30_000;
/** How long a skip may take after the ticket's processes have ended. */
const SKIP_MARGIN_MS = 10_000;

/** Carries out a person's command and returns when it is true: the processes of a paused ticket have ended. */
export async function carryOutCommand(
  engine: EngineContext,
  ref: TicketRef,
  wish: Wish,
  by: string,
): Promise<Ticket> {
  const { store, now } = engine;
  const plan = store.plan(ref.planId);
  const found = store.ticket(ref);
  const orphaned = found.claim !== null && !engine.holder.isLive(found.claim);
  if (orphaned && found.status !== 'running') await recoverOrphan(engine, found, store.glance());
  const before = store.ticket(ref);
  const stops = wish.type === 'pause' || wish.type === 'stop';
  if (stops) refuseInSession(engine, before);
  else if (before.status === 'paused') refuseUnseen(engine, before);
  const latest = wish.type === 'retry' && wish.latest === true;
  const { workflow, hash } = await pinnedFor(
    engine,
    latest ? { ...before, workflowHash: null } : before,
    plan,
  );
  const cmd = commandOf(wish, by, isUnblocked(engine, plan, ref));
  if (wish.type === 'skip' && before.status === 'running') {
    // Checked first, so that an unknown phase does not stop anything.
    command(workflow, { ...before, status: 'ready', phaseHistory: [] }, cmd, now());
    const goesOnBy = new Date(Date.parse(now()) + STOP_TIMEOUT_MS + SKIP_MARGIN_MS).toISOString();
    await carryOutCommand(engine, ref, { type: 'pause', goesOnBy }, by);
  }
  const restart = wish.type === 'retry' && hasPrerequisites(plan, ref);
  const move = (ticket: Ticket) => {
    const done = command(workflow, ticket, cmd, now());
    // Its prerequisites may have changed, so its branch is prepared as at the start.
    const moved = restart ? { ...done, base: null } : done;
    return latest ? { ...moved, workflowHash: hash } : moved;
  };
  if (isCancelled(before) && wish.type !== 'cancel') await reopen(engine, plan);
  const after =
    wish.type === 'respond'
      ? await afterGateCheck(engine, ref, workflow, move)
      : await store.updateTicket(ref, move);
  const { type, ...detail } = wish;
  // A program inside a job is not the person.
  const who = engine.job === undefined ? engine.env.USER : undefined;
  const done = { type: 'command', command: type, detail: detail as Record<string, Json> } as const;
  emit(engine, { ...done, ...(who ? { by: who } : {}), ...ref });
  reportStatus(engine, before, after);
  // No engine will drive it again.
  if (after.status === 'complete') {
    const workspace = workspaceFor(after, plan, engine.settings, store.glance());
    await recordTip({ engine, ticket: after, workspace });
    await releaseWorkspace({ engine, ticket: after, workspace });
    await completeUnwatched(engine, ref.planId);
  }
  return stops ? untilStopped(engine, ref) : after;
}

/** A ticket that was given up comes back, and with it the plan that was given up. */
async function reopen(engine: EngineContext, { id: planId }: Plan): Promise<void> {
  const { status } = await engine.store.updatePlan(planId, (latest) =>
    latest.status === 'archived' ? { ...latest, status: 'active', pausedBy: null } : latest,
  );
  emit(engine, { type: 'plan:status', planId, status });
}

/** Only the person in a session can end it: a command that waited for that would seem to hang. */
export function refuseInSession(engine: EngineContext, ticket: Ticket): void {
  if (ticket.claim?.by === 'session') refuseHeldTicket(engine, refOf(ticket), ticket.claim, 'held');
}

/** Whether the engine of a paused ticket still stops it cannot be seen before its lease is over. */
function refuseUnseen(engine: EngineContext, { claim, ...ref }: Ticket): void {
  if (claim && engine.holder.leaseLeft(claim)) refuseHeldTicket(engine, ref, claim, 'held');
}

function hasPrerequisites(plan: Plan, { ticketId }: TicketRef): boolean {
  const entry = entryOf(plan, { ticketId });
  return !sharesWorkspace(plan) && entry !== undefined && entry.blockedBy.length > 0;
}

/** A gate with a command checks for answers from time to time; a person's answer waits until such a check has ended. */
async function afterGateCheck(
  engine: EngineContext,
  ref: TicketRef,
  workflow: Workflow,
  move: (ticket: Ticket) => Ticket,
): Promise<Ticket> {
  const checkMs = engine.settings.timeouts.pollCheckSeconds * 1000;
  const deadline = performance.now() + checkMs + STOP_TIMEOUT_MS;
  for (;;) {
    let isChecking = false;
    // Checked within the write: the next check may begin at any time.
    const after = await engine.store.updateTicket(ref, (ticket) => {
      const gate = phaseOf(workflow, openAttempt(ticket)?.phase ?? '')?.type === 'gate';
      const live = ticket.claim !== null && engine.holder.isLive(ticket.claim);
      isChecking = gate && live && ticket.status === 'running' && performance.now() < deadline;
      return isChecking ? ticket : move(ticket);
    });
    if (!isChecking) return after;
    await changed(engine);
  }
}

function commandOf(wish: Wish, by: string, ready: boolean): TicketCommand {
  switch (wish.type) {
    case 'pause':
    case 'stop':
    case 'cancel':
      return { ...wish, by };
    case 'resume':
    case 'retry':
      return { type: wish.type, ready };
    case 'skip':
      return { ...wish, ready };
    case 'respond':
      return wish;
  }
}

function isUnblocked(engine: EngineContext, plan: Plan, ref: TicketRef): boolean {
  const entry = entryOf(plan, ref);
  return !entry || blockedBy(engine.store.glance(), plan, entry) === null;
}

/** Waits until the engine that drives the ticket has released it; without one, does what that engine would do. */
async function untilStopped(engine: EngineContext, ref: TicketRef): Promise<Ticket> {
  const { store, holder } = engine;
  const deadline = performance.now() + STOP_TIMEOUT_MS;
  for (;;) {
    const ticket = store.ticket(ref);
    const live = ticket.claim !== null && holder.isLive(ticket.claim);
    const waits = ticket.hold?.kind === 'gate' || ticket.hold?.kind === 'poll';
    if (!live && (ticket.claim || (openAttempt(ticket) && !waits))) {
      await recoverOrphan(engine, ticket, store.glance());
      return store.ticket(ref);
    }
    if (!live) return ticket;
    if (performance.now() > deadline) {
      throw new HeldError(
        'ticket/stopping',
        `${ticket.status === 'paused' ? refKey(ref) : `Plan "${ref.planId}"`} is paused, but its engine has not stopped the agent of ${ref.ticketId} yet.`,
        { hint: howToGoOn(engine, ticket), details: { holder: ticket.claim } },
      );
    }
    await changed(engine);
  }
}

function howToGoOn({ holder }: EngineContext, { planId, ticketId, status, claim }: Ticket): string {
  const lease = claim ? holder.leaseLeft(claim) : undefined;
  if (lease === undefined) return 'Check again with: signalbox status';
  return onceLeaseIsOver(lease, `signalbox resume ${planId}${status === 'paused' ? ` ${ticketId}` : ''}`);
}

/** Resolves at the next change in the store, or after a moment. */
function changed(engine: EngineContext): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      unwatch();
      resolve();
    };
    const timer = setTimeout(end, 200);
    const unwatch = engine.store.watch(end);
  });
}

/** Stops what runs for a plan and leaves its tickets' status as it is, so that resuming needs no list. */
export async function pausePlan(engine: EngineContext, planId: string, by: string): Promise<Plan> {
  const plan = await engine.store.updatePlan(planId, (latest) => {
    if (latest.status !== 'active') throw illegalPlan(latest, 'pause', 'active');
    return { ...latest, status: 'paused', pausedBy: by, pausedAt: engine.now() };
  });
  emit(engine, { type: 'plan:status', planId, status: plan.status });
  for (const ticket of engine.store.tickets(plan))
    if (ticket.claim && ticket.claim.by !== 'session') await untilStopped(engine, ticket);
  return plan;
}

export async function resumePlan(engine: EngineContext, planId: string): Promise<Plan> {
  const before = engine.store.plan(planId);
  const plan = await engine.store.updatePlan(planId, (latest) => {
    if (latest.status !== 'paused') throw illegalPlan(latest, 'resume', 'paused');
    return { ...latest, status: 'active', pausedBy: null };
  });
  emit(engine, { type: 'plan:status', planId, status: plan.status });
  // Tickets that were stopped with the plan continue with it; those that a person paused do not.
  const together = stoppedTogether(before);
  for (const ticket of engine.store.tickets(planId)) {
    if (ticket.status !== 'paused' || ticket.hold?.reason !== together) continue;
    await carryOutCommand(engine, { planId, ticketId: ticket.ticketId }, { type: 'resume' }, 'a person');
  }
  return plan;
}

function illegalPlan(plan: Plan, verb: string, from: string): IllegalMoveError {
  const hints: Partial<Record<Plan['status'], string>> = {
    draft: `Approve it with: signalbox plan approve ${plan.id}`,
    active: `Run it with: ${runCommand(plan)}`,
  };
  return new IllegalMoveError(
    'plan/illegal',
    `Cannot ${verb} plan "${plan.id}": it is ${plan.status}, not ${from}.`,
    { hint: hints[plan.status], details: { status: plan.status, legal: [from] } },
  );
}

/** Continues a plan and every ticket in it that was paused or stopped. */
export async function resumeAll(
  engine: EngineContext,
  planId: string,
): Promise<{ plan: Plan; tickets: string[] }> {
  const paused = () => stoppedIn(engine, planId);
  const tickets = paused().map((ticket) => ticket.ticketId);
  const found = engine.store.plan(planId);
  const plan = found.status === 'active' && tickets.length > 0 ? found : await resumePlan(engine, planId);
  for (const { ticketId } of paused())
    await carryOutCommand(engine, { planId, ticketId }, { type: 'resume' }, 'a person');
  return { plan, tickets };
}

/** Tickets that a person or the end of a run has stopped, except those that a newer run has taken over. */
export function stoppedIn(engine: Pick<EngineContext, 'store'>, planId: string): Ticket[] {
  return engine.store.tickets(planId).filter((ticket) => ticket.status === 'paused' && !isSuperseded(ticket));
}

/** The plan that stopped last; inside a repository, the one of this repository. */
export async function latestStopped(engine: EngineContext, cwd: string): Promise<string> {
  const found = engine.store
    .view()
    .plans.flatMap((plan) => {
      const at = stoppedAt(engine, plan);
      return at === null ? [] : [{ plan, at }];
    })
    .sort((a, b) => b.at.localeCompare(a.at));
  const here = await commonDirOf(engine, cwd);
  for (const { plan } of found)
    if (here === undefined || (await reposOf(engine, plan)).has(here)) return plan.id;
  const [other] = found;
  if (!other)
    throw new IllegalMoveError('plan/none', 'Nothing is paused or stopped.', {
      hint: 'See: signalbox status',
    });
  const { id, repo } = other.plan;
  throw new IllegalMoveError(
    'plan/elsewhere',
    `Nothing of this repository is paused or stopped; ${id} of ${repo ?? 'other repositories'} is.`,
    { hint: `Continue that one: signalbox resume ${id}`, details: { planId: id, repo } },
  );
}

/** The repositories that tickets of a plan work in. */
async function reposOf(engine: EngineContext, plan: Plan): Promise<Set<string | undefined>> {
  const tickets = engine.store.tickets(plan);
  const paths = new Set(tickets.flatMap((ticket) => ticket.repo ?? plan.repo ?? []));
  return new Set(await Promise.all([...paths].map((path) => commonDirOf(engine, path))));
}

async function commonDirOf({ workspaces, settings }: EngineContext, path: string) {
  const full = path.replace(/^~(?=\/)/, settings.userHome);
  return (await ignoring(WorkspaceError, () => workspaces.checkRepo(full)))?.commonDir;
}

/** When an unfinished plan stopped; null: it did not. */
function stoppedAt(engine: EngineContext, plan: Plan): string | null {
  const tickets = engine.store.tickets(plan);
  if (tickets.every((ticket) => isOver(ticket) || isSuperseded(ticket))) return null;
  const times = stoppedIn(engine, plan.id).map((ticket) => ticket.since ?? '');
  if (plan.status === 'paused') times.push(String(plan.pausedAt ?? plan.createdAt ?? ''));
  const left = plan.status === 'active' && plan.claim !== null && !engine.holder.isLive(plan.claim);
  if (left && plan.claim) times.push(plan.claim.renewedAt);
  times.push(...(hooksOf(engine, plan).stoppedAt?.(plan, tickets) ?? []));
  return times.sort().at(-1) ?? null;
}
