import { stopJob } from '../machine/jobs/stop-job.ts';
import { explained, HeldError, InputError, ifUsable, shortageOf } from '../model/errors.ts';
import { parseRef, refKey, refOf, type TicketRef } from '../model/ids-and-branch-names.ts';
import { onceEnded } from '../model/lease-and-claim-messages.ts';
import type { Plan } from '../model/plan.ts';
import { planOf } from '../model/plans/plans-view.ts';
import { repositoryOf } from '../model/state/eligible.ts';
import { isDue, next, type Step } from '../model/state/next-step-or-rest.ts';
import { broken, closeUnseenAttempt as leftUnseen } from '../model/state/reduce.ts';
import { attemptKey, type Hold, openAttempt, type Ticket } from '../model/ticket.ts';
import { type Fleet, readableTicket } from '../store/store-interface.ts';
import { claimedTickets } from './claimed-tickets-and-counted-usage.ts';
import { type EngineContext, hooksOf, isOthers } from './context.ts';
import { readTip, releaseWorkspace } from './create-release-and-diff-ticket-workspace.ts';
import { lastJob } from './jobs-of-ticket.ts';
import { workerId } from './join-fleet-and-renew-lease.ts';
import { type Pinned, pinnedFor } from './pinned-workflow.ts';
import { isElsewhere, unseenJob } from './recover-orphans.ts';
import { reportStatus } from './report-status-changes.ts';
import { takeStep } from './run-attempt.ts';
import { checkCheckout, recordCheckoutState } from './users-changes-in-checkout.ts';
import type { TicketWorkspace } from './work-out-workspace-and-repository.ts';
import { currentWorkspace, repositoryKey } from './work-out-workspace-and-repository.ts';
import { TicketWriter } from './write-tickets-and-reports-of-attempts.ts';

/** An older drive ends before the next phase, and another one begins: what has gone wrong in a process does not stay for ever. */
const LONGEST_DRIVE_MS = 12 * 3_600_000;

interface DriveOptions {
  /** False for a poll that only checks again: anything more waits for a slot. */
  slot: boolean;
  /** Tickets with a slot at once, all engines together. */
  maxConcurrency: number;
  /** Aborting stops the current attempt; the ticket is left so that it can continue. */
  signal: AbortSignal;
  /** The ticket may still have this engine's claim although nothing runs for it. */
  lost?: boolean;
  /** On a fleet: the number of the dispatch; undefined where a worker takes its own ticket back after a restart. */
  number?: number | undefined;
  /** Whether no further phase may begin: another process continues the ticket. */
  isLeaving?: (() => boolean) | undefined;
  /** Called once the ticket is claimed, with its writer. */
  onClaim?(writer: TicketWriter): void;
}

/** A claimed ticket while it is driven. */
interface Drive {
  plan: Plan;
  pinned: Pinned;
  writer: TicketWriter;
  /** The ticket before it was claimed. */
  found: Ticket;
  options: DriveOptions;
  reporter: ReturnType<typeof statusReporter>;
}

/** Drives one ticket as far as possible: to its end, to a hold, or until it is stopped. */
export async function driveTicket(
  engine: EngineContext,
  ref: TicketRef,
  options: DriveOptions,
): Promise<void> {
  const found = engine.store.ticket(ref);
  const plan = engine.store.plan(ref.planId);
  let pinned: Pinned;
  try {
    pinned = await pinnedFor(engine, found, plan);
  } catch (error) {
    if (shortageOf(error)) throw error;
    // The person who reads this may have the file on another machine.
    const where = engine.store.fleet ? `Worker ${workerId(engine.settings)}: ` : '';
    return holdBroken(engine, ref, `${where}${explained(error)}`);
  }
  const writer = new TicketWriter(engine, pinned.workflow, found);
  const { fleet } = engine.store;
  const isClaimed = fleet
    ? await claimOnFleet(engine, fleet, writer, pinned, options)
    : await claim(engine, writer, pinned, options);
  if (!isClaimed) return;
  engine.crash('ticket:claimed');
  options.onClaim?.(writer);
  const reporter = statusReporter(engine, writer, found);
  reporter.status();
  try {
    await driveClaimed(engine, { plan, pinned, writer, found, options, reporter });
  } catch (error) {
    // Another engine has the ticket now and does the rest.
    if (error instanceof HeldError) return;
    if (!(error instanceof InputError)) throw error;
    await writer.giveUp(error);
    reporter.status();
  } finally {
    engine.machine.memory.end(refKey(ref));
  }
}

async function driveClaimed(engine: EngineContext, drive: Drive): Promise<void> {
  const { plan, writer, found, reporter } = drive;
  if (isOfGoneWorker(engine, found)) await writer.apply({ type: 'end', end: GONE });
  await closeUnseenAttempt(engine, plan, writer);
  const workspace = currentWorkspace(engine, writer.ticket, plan);
  const hooks = hooksOf(engine, plan);
  const hold = await hooks.mayDrive?.(plan, writer.ticket, workspace);
  if (hold) {
    await releaseUntil(writer, hold);
    return reporter.status();
  }
  reporter.begin();
  if (workspace.inPlace) await checkCheckout(engine, plan, { found, writer, workspace });
  await takeSteps(engine, drive, workspace);
  const isComplete = writer.ticket.status === 'complete';
  const tip = isComplete ? await readTip(engine, workspace) : undefined;
  if (isComplete) await releaseWorkspace({ engine, ticket: writer.ticket, workspace });
  await hooks.left?.(plan, writer.ticket, workspace);
  await writer.apply({ type: 'release', tip });
  reporter.status();
  await recordCheckoutState({ engine, ticket: writer.ticket, workspace });
}

/** The end of an attempt whose worker let its lease run out. The watchdog of that worker has ended the job. */
const GONE = { type: 'interrupted', reason: 'its worker was gone', deliberate: true } as const;

/** Whether a worker of another machine had the ticket until now, in the middle of an attempt. */
function isOfGoneWorker(engine: EngineContext, ticket: Ticket): boolean {
  const waits = ticket.hold?.kind === 'poll' || ticket.hold?.kind === 'gate';
  return isElsewhere(engine, ticket) && openAttempt(ticket) !== undefined && !waits;
}

/**
 * Leaves the job of a dead engine that cannot be seen from here. While such a job may write in a tree that others use, too, the
 * ticket waits for a person.
 */
async function closeUnseenAttempt(engine: EngineContext, plan: Plan, writer: TicketWriter): Promise<void> {
  const unseen = await unseenJob(engine, plan, writer.ticket);
  if (unseen) await writer.apply({ type: 'unseen', ...unseen });
  const { ticket } = writer;
  if (ticket.unseen && lastJob(engine, ticket)?.state === 'unknown')
    throw new InputError('job/unseen', ticket.unseen, { hint: onceEnded(ticket) });
}

async function takeSteps(engine: EngineContext, drive: Drive, workspace: TicketWorkspace): Promise<void> {
  const { plan, pinned, writer, options, reporter } = drive;
  const { signal, slot } = options;
  let { hold: held } = drive.found;
  const began = performance.now();
  const isLeaving = () => options.isLeaving?.() || performance.now() - began > LONGEST_DRIVE_MS;
  const mayBegin = ({ phase }: Step) =>
    !signal.aborted && !isLeaving() && (slot || phase.type === 'poll' || phase.type === 'gate');
  let begun: string | undefined;
  for (;;) {
    const step = next(pinned.workflow, writer.ticket);
    if (!step) return;
    const ours = step.do === 'continue' && attemptKey(step.attempt) === begun;
    if (!ours && !mayBegin(step)) return;
    const fresh = ours || step.do === 'start';
    begun = await takeStep(engine, { plan, pinned, writer, workspace, mayBegin, signal, step, fresh, held });
    held = null;
    reporter.status();
  }
}

/** Releases a ticket until its hold ends. An attempt that a dead engine began in a worktree of another run starts again. */
async function releaseUntil(writer: TicketWriter, hold: Hold): Promise<void> {
  const end = { type: 'interrupted', reason: hold.reason, deliberate: true } as const;
  if (openAttempt(writer.ticket)) await writer.apply({ type: 'end', end });
  await writer.apply({ type: 'hold', hold }, { type: 'release' });
}

/** Reports each change of a ticket's status. A check that finds nothing new is not reported. */
function statusReporter(engine: EngineContext, writer: TicketWriter, { hold }: Ticket) {
  const polls = hold?.kind === 'poll' || hold?.kind === 'gate';
  let known = polls || hold?.lock ? hold?.reason : undefined;
  return {
    /** The ticket no longer waits for another run. */
    begin() {
      if (!polls) known = undefined;
    },
    status() {
      const { before, ticket } = writer;
      const same = ticket.status === 'running' || ticket.hold?.reason === known;
      if (known === undefined || !same) reportStatus(engine, before, ticket);
    },
  };
}

/**
 * Claims a ticket. Where it needs a slot, counting and claiming are one step for all engines of a state directory:
 * otherwise two engines could both take the last slot.
 */
function claim(
  engine: EngineContext,
  writer: TicketWriter,
  { hash }: Pinned,
  { slot, maxConcurrency, lost }: DriveOptions,
): Promise<boolean> {
  const { store, holder, now } = engine;
  const take = () => writer.claim(hash, { lost, mayTake: (latest) => mayTake(latest, now()) });
  if (!slot) return take();
  return store.alone('slots', async () => {
    if (!holder.hasOthers()) return take();
    const listed = holder.lastClaimed();
    if (!listed) store.changes(undefined, 'open');
    const keys = new Set([...claimedTickets(engine).keys(), ...(listed ?? [])]);
    const own = refKey(writer.ticket);
    keys.delete(own);
    const busy = [...keys].filter((key) => {
      const other = readableTicket(store, parseRef(key, ''))?.claim;
      return other && holder.isLive(other);
    });
    const others = busy.flatMap((each) => readableTicket(store, parseRef(each, '')) ?? []);
    const hasSlot = busy.length < maxConcurrency && hasSlotInRepository(engine, writer.ticket, others);
    const isTaken = hasSlot && (await take());
    holder.noteClaimed(isTaken ? [...busy, own] : busy);
    return isTaken;
  });
}

/**
 * Claims a ticket that the scheduler gave to this worker. All limits are counted in the same transaction. Where there is no room, or the
 * ticket cannot be taken any more, the scheduler decides again.
 */
async function claimOnFleet(
  engine: EngineContext,
  fleet: Fleet,
  writer: TicketWriter,
  { hash }: Pinned,
  { slot, number, lost }: DriveOptions,
): Promise<boolean> {
  const { settings, store, now } = engine;
  const mostOfAll = settings.fleet.maxConcurrency ?? Number.POSITIVE_INFINITY;
  const isWanted = ({ dispatch }: Ticket) =>
    number === undefined || (dispatch?.number === number && dispatch.at !== null);
  const hasRoom = (others: readonly Ticket[]) => {
    const busy = others.filter(({ dispatch }) => dispatch?.slot !== false);
    return !slot || (busy.length < mostOfAll && hasSlotInRepository(engine, writer.ticket, busy));
  };
  const taken = await writer.claim(hash, {
    lost,
    // The scheduler has decided that it is due: the clock of this machine may be behind.
    mayTake: (latest) => isWanted(latest) && (number === undefined ? mayTake(latest, now()) : isOpen(latest)),
    update: (ref, change) => fleet.claim(ref, { hasRoom, change }),
  });
  if (!taken && number !== undefined)
    await store.updateTicket(refOf(writer.ticket), (latest) =>
      latest.dispatch && isWanted(latest)
        ? { ...latest, dispatch: { ...latest.dispatch, at: null } }
        : latest,
    );
  return taken;
}

/** Whether one more ticket may run in its repository, beside these. */
function hasSlotInRepository(
  { store, settings }: EngineContext,
  ticket: Ticket,
  busy: readonly Ticket[],
): boolean {
  const { maxPerRepository } = settings;
  if (maxPerRepository === null) return true;
  const nameOf = (of: Ticket) => {
    const plan = ifUsable(() => store.plan(of.planId));
    const named = plan && repositoryOf(plan, of);
    return named && repositoryKey(settings, named);
  };
  const own = nameOf(ticket);
  return !own || busy.filter((other) => nameOf(other) === own).length < maxPerRepository;
}

function mayTake(ticket: Ticket, now: string): boolean {
  return isOpen(ticket) && (ticket.status === 'queued' || isDue(ticket, now));
}

function isOpen({ status, hold }: Ticket): boolean {
  const isWaiting = status === 'needs_attention' && hold?.kind === 'gate' && hold.until !== null;
  return isWaiting || status === 'queued' || status === 'ready' || status === 'running';
}

/** A ticket that cannot be claimed waits for a person, with the reason. One that another engine drives stays as it is. */
export async function holdBroken(engine: EngineContext, ref: TicketRef, reason: string): Promise<void> {
  const { store } = engine;
  let before = store.ticket(ref);
  if (isOthers(engine, before.claim)) return;
  const open = openAttempt(before);
  if (open) await stopJob(engine.machine.job(ref, open), 'stopped');
  const plan = planOf(store.glance(), ref.planId);
  const unseen = plan && (await unseenJob(engine, plan, before));
  const now = engine.now();
  const after = await store.updateTicket(ref, (latest) => {
    before = latest;
    if (isOthers(engine, latest.claim)) return latest;
    return broken(unseen ? leftUnseen(latest, unseen, now) : latest, reason, now);
  });
  reportStatus(engine, before, after);
}
