import { isBelowJob } from '../machine/detect-calls-from-jobs.ts';
import { realOf } from '../machine/files/read-and-remove-files.ts';
import { stopJob } from '../machine/jobs/stop-job.ts';
import { HeldError, IllegalMoveError, ifUsable, ignoring, WorkspaceError } from '../model/errors.ts';
import { refKey, refOf, type TicketRef } from '../model/ids-and-branch-names.ts';
import { type Claim, onceLeaseIsOver, unlessItAnswers } from '../model/lease-and-claim-messages.ts';
import type { Worker } from '../model/place-tickets-on-workers.ts';
import { type Plan, sharesWorkspace, stoppedTogether } from '../model/plan.ts';
import { entryOf } from '../model/plans/plans-view.ts';
import { blockedBy } from '../model/state/blockers-and-stop-on-failure.ts';
import { command, type TicketCommand } from '../model/state/commands.ts';
import { isAllComplete } from '../model/state/eligible.ts';
import { asShown, runCommand } from '../model/state/explain-ticket.ts';
import type { Attempt, Json, Ticket } from '../model/ticket.ts';
import { isCancelled, isOver, isSuperseded, openAttempt } from '../model/ticket.ts';
import { phaseOf, type Workflow } from '../model/workflow.ts';
import { completePlan, refuseHeldTicket } from './claim-and-complete-plan.ts';
import { decider, type EngineContext, emit, hooksOf } from './context.ts';
import { recordTip, releaseWorkspace } from './create-release-and-diff-ticket-workspace.ts';
import { pinnedFor } from './pinned-workflow.ts';
import { recoverOrphan } from './recover-orphans.ts';
import { reportStatus } from './report-status-changes.ts';
import { wakeableSleep } from './wait-until-woken-or-aborted.ts';
import { currentWorkspace } from './work-out-workspace-and-repository.ts';

type Wish =
  | { type: 'stop' }
  | { type: 'resume' }
  /** `goesOnBy`: the pause is only a step of another command. */
  | { type: 'pause'; goesOnBy?: string }
  /** `latest`: with the workflow as it is now, instead of the one the ticket started with. */
  | { type: 'retry'; latest?: boolean }
  | { type: 'skip'; phase: string }
  /** `attempt`: the gate that is answered, where the person named it. */
  | { type: 'respond'; decision: string; message: string; attempt?: string }
  | { type: 'cancel' };

/** Who a command is for, unless it is a part of something else. */
const A_PERSON = 'a person';
const STOP_TIMEOUT_MS = 30_000;
/** How long a command waits for a worker of a fleet that does not answer: one that notices a pause renews its lease at once. */
const SILENT_MS = 1_500;
/** How long an answer waits for a check whose process cannot be seen from here: it may be over only when a lease ends. */
const UNSEEN_MS = 5_000;
/** How long a skip or cancel may take after the ticket's processes have ended. */
const NEXT_STEP_MS = 10_000;

/** Pausing, resuming and cancelling need no workflow: its file may be missing or on another machine. */
const UNREAD = { workflow: { name: '', description: '', tags: [], phases: [] }, hash: '' };

/** Carries out a person's command and returns when its effect is complete: after a pause, the ticket's processes have ended. */
export async function carryOutCommand(
  engine: EngineContext,
  ref: TicketRef,
  wish: Wish,
  by: string,
): Promise<Ticket> {
  const { store, now } = engine;
  const began = performance.now();
  if (by === A_PERSON) refuseInsideJob(engine);
  const plan = store.plan(ref.planId);
  const found = store.ticket(ref);
  const orphaned = found.claim !== null && !engine.holder.isLive(found.claim);
  if (orphaned && found.status !== 'running') await recoverOrphan(engine, found, store.glance());
  const before = store.ticket(ref);
  const stops = wish.type === 'pause' || wish.type === 'stop';
  if (stops) refuseInSession(engine, before);
  else if (before.status === 'paused') refuseUnseen(engine, before);
  const latest = wish.type === 'retry' && wish.latest === true;
  const needsWorkflow = wish.type === 'retry' || wish.type === 'skip' || wish.type === 'respond';
  const { workflow, hash } = needsWorkflow
    ? await pinnedFor(engine, latest ? { ...before, workflowHash: null } : before, plan)
    : UNREAD;
  const cmd = commandOf(engine, wish, by, isUnblocked(engine, plan, ref));
  if (wish.type === 'skip' && before.status === 'running') {
    // Checked first, so that an unknown phase does not stop anything.
    command(workflow, { ...before, status: 'ready', phaseHistory: [] }, cmd, now());
    await pauseBriefly(engine, ref, by);
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
  const done = { type: 'command', command: type, detail: detail as Record<string, Json> } as const;
  emit(engine, { ...done, ...decider(engine), ...ref });
  reportStatus(engine, before, after);
  // No engine will drive it again.
  if (after.status === 'complete') {
    const workspace = currentWorkspace(engine, after, plan);
    await recordTip({ engine, ticket: after, workspace });
    await releaseWorkspace({ engine, ticket: after, workspace });
    await completeUnwatched(engine, ref.planId);
  }
  return stops ? waitUntilStopped(engine, ref, began) : after;
}

/** Completes a plan that a command has finished, if no engine is running that would do it. */
async function completeUnwatched(engine: EngineContext, planId: string): Promise<void> {
  const { store, holder } = engine;
  const plan = store.plan(planId);
  const { claim, status } = plan;
  if (status !== 'active' || (claim && holder.isLive(claim)) || holder.daemon()) return;
  const tickets = store.tickets(plan);
  if (!isAllComplete(plan, tickets)) return;
  // Dead claims in finished plans are never cleared.
  const left = tickets.filter((ticket) => ticket.claim && !holder.isLive(ticket.claim));
  for (const ticket of left) await recoverOrphan(engine, ticket, store.glance());
  await completePlan(engine, planId);
}

/** A ticket that was given up comes back, and with it the plan that was given up. */
async function reopen(engine: EngineContext, { id: planId }: Plan): Promise<void> {
  const { status } = await engine.store.updatePlan(planId, (latest) =>
    latest.status === 'archived' ? { ...latest, status: 'active', pausedBy: null } : latest,
  );
  emit(engine, { type: 'plan:status', planId, status, ...decider(engine) });
}

/**
 * Decisions are for people: an agent must not answer its own gate. Its processes carry the mark of their job, or descend from one that
 * does, unless it takes care to get away; a job of another state directory decides here like any program. `what` is what it wanted to do.
 */
export function refuseInsideJob(engine: InsideJob, what = 'decide about tickets and plans'): void {
  if (!isInsideJob(engine)) return;
  throw new IllegalMoveError('job/decides', `A job cannot ${what}.`, {
    hint: 'Decisions are for people: run this in a terminal of your own, or use the page.',
    details: { job: engine.job },
  });
}

export function isInsideJob({ job, machine: { stateDir } }: InsideJob): boolean {
  const isMarked = job !== undefined && (realOf(job) ?? job).startsWith(`${realOf(stateDir) ?? stateDir}/`);
  return isMarked || isBelowJob(stateDir);
}

/** What shows whether this process belongs to a job. */
interface InsideJob {
  job?: string | undefined;
  machine: Pick<EngineContext['machine'], 'stateDir'>;
}

/** Refuses a step of a workflow inside the job of an agent. The script of a phase takes it for the workflow. */
export function refuseInsideAgent(engine: EngineContext): void {
  if (!isScriptJob(engine)) refuseInsideJob(engine);
}

function isScriptJob({ job = '', machine, store }: EngineContext): boolean {
  const [planId = '', ticketId = ''] = job.split('/').slice(-3);
  const ticket = ifUsable(() => store.ticket({ planId, ticketId }));
  const open = ticket && openAttempt(ticket);
  const isOpen = open && realOf(machine.job(ticket, open)) === realOf(job);
  return isOpen === true && open?.agent === null;
}

/** Only the person in a session can end it: a command that waited for that would seem to hang. */
export function refuseInSession(engine: EngineContext, ticket: Ticket): void {
  if (ticket.claim?.by === 'session') refuseHeldTicket(engine, refOf(ticket), ticket.claim, 'held');
}

/** Refuses a ticket whose claim still has a lease: its engine, on another machine, may still be stopping its processes. */
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
  const { holder, machine, settings, store } = engine;
  const began = performance.now();
  for (;;) {
    let checking: Claim | null = null;
    let left: Attempt | undefined;
    // Checked within the write: the next check may begin at any time.
    const after = await store.updateTicket(ref, (ticket) => {
      const { claim, status } = ticket;
      const open = openAttempt(ticket);
      const gate = phaseOf(workflow, open?.phase ?? '')?.type === 'gate';
      const live = claim !== null && holder.isLive(claim);
      checking = gate && live && status === 'running' ? claim : null;
      if (checking) return ticket;
      // After the end of the engine that checked, the question is still open.
      left = gate && status === 'running' ? open : undefined;
      return move(left ? { ...asShown(ticket), claim: null } : ticket);
    });
    if (left) await stopJob(machine.job(ref, left), 'stopped');
    if (!checking) return after;
    const isSeen = holder.leaseLeft(checking) === undefined;
    const patience = isSeen ? settings.timeouts.pollCheckSeconds * 1000 + STOP_TIMEOUT_MS : UNSEEN_MS;
    if (performance.now() - began > patience) refuseHeldTicket(engine, ref, checking, 'held');
    await changed(engine);
  }
}

function commandOf(engine: EngineContext, wish: Wish, by: string, ready: boolean): TicketCommand {
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
      return { ...wish, who: decider(engine) };
  }
}

function isUnblocked(engine: EngineContext, plan: Plan, ref: TicketRef): boolean {
  const entry = entryOf(plan, ref);
  return !entry || blockedBy(engine.store.glance(), plan, entry) === null;
}

/** Pauses a ticket as a step of another command, so that a run waits for that command and does not end. */
export async function pauseBriefly(engine: EngineContext, ref: TicketRef, by: string): Promise<void> {
  const goesOnBy = new Date(Date.parse(engine.now()) + STOP_TIMEOUT_MS + NEXT_STEP_MS).toISOString();
  await carryOutCommand(engine, ref, { type: 'pause', goesOnBy }, by);
}

/** Waits until the engine that drives the ticket has released it; without one, does what that engine would do. */
export async function waitUntilStopped(
  engine: EngineContext,
  ref: TicketRef,
  began: number,
): Promise<Ticket> {
  const { store, holder } = engine;
  for (;;) {
    // On a fleet, this shows whether the lease of its machine is still renewed.
    if (store.fleet) await store.refresh();
    const ticket = store.ticket(ref);
    const live = ticket.claim !== null && holder.isLive(ticket.claim);
    const waits = ticket.hold?.kind === 'gate' || ticket.hold?.kind === 'poll';
    if (!live && (ticket.claim || (openAttempt(ticket) && !waits))) {
      await recoverOrphan(engine, ticket, store.glance());
      return store.ticket(ref);
    }
    if (!live) return ticket;
    const silent = silentWorker(engine, ticket.claim, began);
    if (performance.now() - began > (silent ? SILENT_MS : STOP_TIMEOUT_MS)) {
      const what = ticket.status === 'paused' ? refKey(ref) : `Plan "${ref.planId}"`;
      const why = silent
        ? `worker ${silent.id}, which has the agent of ${ref.ticketId}, has not answered for ${Math.round(silent.silentFor / 1000)} s`
        : `its engine has not stopped the agent of ${ref.ticketId} yet`;
      throw new HeldError('ticket/stopping', `${what} is paused, but ${why}.`, {
        hint: howToGoOn(engine, ticket, silent),
        details: { holder: ticket.claim },
      });
    }
    await changed(engine);
  }
}

/** The worker that has a claim, unless it has renewed its lease since the command began. */
function silentWorker({ store }: EngineContext, claim: Claim | null, began: number): Worker | undefined {
  const worker = store.fleet?.workers().find(({ token }) => token === claim?.token);
  return worker && worker.silentFor > performance.now() - began ? worker : undefined;
}

function howToGoOn({ holder, store }: EngineContext, ticket: Ticket, silent: Worker | undefined): string {
  const { planId, ticketId, status, claim } = ticket;
  const lease = claim ? holder.leaseLeft(claim) : undefined;
  const isAlone = status === 'paused' && store.plan(planId).status !== 'paused';
  const resume = `signalbox resume ${planId}${isAlone ? ` ${ticketId}` : ''}`;
  if (silent) return unlessItAnswers(lease ?? silent.leaseLeft, resume);
  return lease === undefined ? 'Check again with: signalbox status' : onceLeaseIsOver(lease, resume);
}

/** Resolves at the next change in the store, or after a moment. */
function changed(engine: EngineContext): Promise<void> {
  const rest = wakeableSleep();
  const unwatch = engine.store.watch(() => rest.wake());
  return rest.sleep(200).finally(unwatch);
}

/** Stops what runs for a plan and leaves its tickets' status as it is, so that resuming needs no list. */
export async function pausePlan(engine: EngineContext, planId: string, by: string): Promise<Plan> {
  const began = performance.now();
  refuseInsideJob(engine);
  const plan = await engine.store.updatePlan(planId, (latest) => {
    if (latest.status !== 'active') throw illegalPlan(latest, 'pause', 'active');
    return { ...latest, status: 'paused', pausedBy: by, pausedAt: engine.now() };
  });
  emit(engine, { type: 'plan:status', planId, status: plan.status, ...decider(engine) });
  for (const ticket of engine.store.tickets(plan))
    if (ticket.claim && ticket.claim.by !== 'session') await waitUntilStopped(engine, ticket, began);
  return plan;
}

export async function resumePlan(engine: EngineContext, planId: string): Promise<Plan> {
  refuseInsideJob(engine);
  const before = engine.store.plan(planId);
  const plan = await engine.store.updatePlan(planId, (latest) => {
    if (latest.status !== 'paused') throw illegalPlan(latest, 'resume', 'paused');
    return { ...latest, status: 'active', pausedBy: null };
  });
  emit(engine, { type: 'plan:status', planId, status: plan.status, ...decider(engine) });
  // Tickets that were stopped with the plan continue with it; those that a person paused do not.
  const together = stoppedTogether(before);
  for (const ticket of engine.store.tickets(planId)) {
    if (ticket.status !== 'paused' || ticket.hold?.reason !== together) continue;
    await carryOutCommand(engine, { planId, ticketId: ticket.ticketId }, { type: 'resume' }, A_PERSON);
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
    await carryOutCommand(engine, { planId, ticketId }, { type: 'resume' }, A_PERSON);
  return { plan, tickets };
}

/** Tickets that a person or the end of a run has stopped, except those that a newer run has taken over. */
export function stoppedIn(engine: Pick<EngineContext, 'store'>, planId: string): Ticket[] {
  return engine.store.tickets(planId).filter((ticket) => ticket.status === 'paused' && !isSuperseded(ticket));
}

/** The plan that stopped last; inside a repository, the one of this repository. */
export async function latestStopped(engine: EngineContext, cwd: string): Promise<string> {
  const found = engine.store
    .glance()
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
