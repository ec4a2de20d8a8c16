import { noteLeft } from '../features/spec-runs/checkout-state.ts';
import { holdForLock, isLockWait, waitForLock } from '../features/spec-runs/lock-wait.ts';
import { sparePerson } from '../features/spec-runs/persons-changes.ts';
import { giveUpTree } from '../features/spec-runs/shared-tree.ts';
import { stopJob } from '../machine/jobs/stop.ts';
import { explained, HeldError, InputError } from '../model/errors.ts';
import { refKey, type TicketRef } from '../model/ids.ts';
import { isDue, next, type Step } from '../model/state/next.ts';
import { broken } from '../model/state/reduce.ts';
import { attemptKey, openAttempt, type Ticket } from '../model/ticket.ts';
import { readTip } from './branch-head.ts';
import { claimInTurn } from './claim-slot.ts';
import type { EngineContext } from './context.ts';
import { type Pinned, pinnedFor } from './pinned-workflow.ts';
import { releaseWorkspace } from './prepare-workspace.ts';
import { takeStep } from './run-attempt.ts';
import { refOf, tellStatus } from './status-events.ts';
import { workspaceSpec } from './ticket-defaults.ts';
import { Journal } from './ticket-writer.ts';

export interface DriveOptions {
  /** False for a poll that only looks again: anything more waits for a slot. */
  slot: boolean;
  /** Tickets with a slot at once, all engines together. */
  maxConcurrency: number;
  /** Aborting stops the attempt under way; the ticket is left so that it can go on. */
  signal: AbortSignal;
  /** Our claim may still be on it, with nothing running for it. */
  lost?: boolean;
  /** Called once the ticket is ours, with the way in which it is written. */
  onClaim?(journal: Journal): void;
}

/** Walks one ticket as far as it goes: to its end, to a hold, or until it is stopped. */
export async function driveTicket(
  parts: EngineContext,
  ref: TicketRef,
  options: DriveOptions,
): Promise<void> {
  const found = parts.store.ticket(ref);
  const plan = parts.store.plan(ref.planId);
  let pinned: Pinned;
  try {
    pinned = await pinnedFor(parts, found, plan);
  } catch (error) {
    return holdBroken(parts, ref, explained(error));
  }
  const journal = new Journal(parts, pinned.workflow, found);
  const take = () =>
    journal.claim(pinned.hash, { lost: options.lost, mayTake: (latest) => mayTake(latest, parts.now()) });
  if (!(await (options.slot ? claimInTurn(parts, ref, options.maxConcurrency, take) : take()))) return;
  parts.crash('ticket:claimed');
  options.onClaim?.(journal);
  // A poll or gate that only looks again is no news until it finds something.
  const looks = found.hold?.kind === 'poll' || found.hold?.kind === 'gate';
  let look = looks || isLockWait(found) ? found.hold?.reason : undefined;
  const tell = () => {
    const { before, ticket } = journal;
    const same = look !== undefined && (ticket.status === 'running' || ticket.hold?.reason === look);
    if (!same) tellStatus(parts, before, ticket);
  };
  tell();
  try {
    const spec = workspaceSpec(journal.ticket, plan, parts.settings, parts.store.glance());
    const busy = await waitForLock(parts, plan, spec.branch);
    if (busy) {
      await holdForLock(journal, busy);
      return tell();
    }
    if (!looks) look = undefined;
    if (plan.workspace === 'checkout') await sparePerson(parts, plan, { found, journal, spec });
    const mayBegin = ({ phase }: Step) =>
      !options.signal.aborted && (options.slot || phase.type === 'poll' || phase.type === 'gate');
    const input = { plan, pinned, journal, spec, mayBegin, signal: options.signal };
    let begun: string | undefined;
    for (
      let step = next(pinned.workflow, journal.ticket);
      step;
      step = next(pinned.workflow, journal.ticket)
    ) {
      const ours = step.do === 'continue' && attemptKey(step.attempt) === begun;
      if (!ours && !mayBegin(step)) break;
      begun = await takeStep(parts, { ...input, step, fresh: ours || step.do === 'start' });
      tell();
    }
    const isComplete = journal.ticket.status === 'complete';
    const tip = isComplete ? await readTip(parts, spec) : undefined;
    if (isComplete) await releaseWorkspace(parts, journal.ticket, spec);
    await journal.apply({ type: 'release', tip });
    tell();
    await noteLeft(parts, plan, journal.ticket, spec);
    await giveUpTree(parts, plan, refOf(ref), spec);
  } catch (error) {
    // Another engine has it now, and with it everything that is left to do.
    if (error instanceof HeldError) return;
    if (!(error instanceof InputError)) throw error;
    await journal.giveUp(error);
    tell();
  } finally {
    parts.machine.memory.end(refKey(ref));
  }
}

function mayTake(ticket: Ticket, now: string): boolean {
  const waiting =
    ticket.status === 'needs_attention' && ticket.hold?.kind === 'gate' && ticket.hold.until !== null;
  const possible =
    waiting || ticket.status === 'queued' || ticket.status === 'ready' || ticket.status === 'running';
  return possible && (ticket.status === 'queued' || isDue(ticket, now));
}

/** A ticket that cannot even be claimed waits for a person, with the reason; one that another engine drives is left to it. */
export async function holdBroken(parts: EngineContext, ref: TicketRef, reason: string): Promise<void> {
  const { store, holder } = parts;
  const isTheirs = ({ claim }: Ticket) =>
    claim !== null && claim.token !== holder.token && holder.isLive(claim);
  let before = store.ticket(ref);
  if (isTheirs(before)) return;
  const open = openAttempt(before);
  if (open) await stopJob(parts.machine.job(ref, open), 'stopped');
  const now = parts.now();
  const after = await store.updateTicket(ref, (latest) => {
    before = latest;
    return isTheirs(latest) ? latest : broken(latest, reason, now);
  });
  tellStatus(parts, before, after);
}
