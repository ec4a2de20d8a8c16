import { existsSync } from 'node:fs';
import { readJob } from '../jobs/job.ts';
import { stopJob } from '../jobs/stop.ts';
import { explained, HeldError, InputError, messageOf } from '../model/errors.ts';
import { refKey, type TicketRef } from '../model/ids.ts';
import { isDue, next, type Step } from '../model/next.ts';
import type { AttemptEnd } from '../model/outcome.ts';
import type { Plan } from '../model/plan.ts';
import { redactAll } from '../model/redact.ts';
import type { TicketEvent } from '../model/reduce.ts';
import { attemptKey, openAttempt, type Ticket, type Usage } from '../model/ticket.ts';
import { isShared } from '../model/turns.ts';
import { editOpen } from '../model/walk.ts';
import { afterStraying, type PhaseContext, type Place, perform } from '../phases/index.ts';
import type { WorkspaceSpec } from '../workspaces/index.ts';
import { admission, allowanceOf, launchesOf } from './admission.ts';
import { claimInTurn } from './claim-slot.ts';
import { agentOf, workspaceSpec } from './facts.ts';
import { handOver, isStillNeeded, putBack } from './hand-over.ts';
import { Journal } from './journal.ts';
import { neighbours } from './neighbours.ts';
import { emit, isFatal, type Parts } from './parts.ts';
import { type Pinned, pinnedFor } from './pinned.ts';
import { rememberSecrets } from './secrets.ts';
import { sparePerson } from './spare-person.ts';
import { noteLeft } from './spec-left.ts';
import { holdForLock, isLockWait, waitForLock } from './spec-lock-wait.ts';
import { sharedRules, unitVariables } from './spec-unit.ts';
import { readTip } from './tip.ts';
import { Writer } from './writer.ts';

export interface DriveOptions {
  /** False for a poll that only looks again: anything more waits for a slot. */
  slot: boolean;
  /** Tickets with a slot at once, all engines together. */
  maxConcurrency: number;
  /** Aborting stops the attempt under way; the ticket is left so that it can go on. */
  signal: AbortSignal;
  /** Called once the ticket is ours, with the way in which it is written. */
  onClaim?(journal: Journal): void;
}

/** Walks one ticket as far as it goes: to its end, to a hold, or until it is stopped. */
export async function driveTicket(parts: Parts, ref: TicketRef, options: DriveOptions): Promise<void> {
  const found = parts.store.ticket(ref);
  const plan = parts.store.plan(ref.planId);
  let pinned: Pinned;
  try {
    pinned = await pinnedFor(parts, found, plan);
  } catch (error) {
    return holdBroken(parts, ref, explained(error));
  }
  const journal = new Journal(parts, pinned.workflow, found);
  const take = () => journal.claim(pinned.hash, (latest) => mayTake(latest, parts.now()));
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
  } catch (error) {
    // Another engine has it now, and with it everything that is left to do.
    if (error instanceof HeldError) return;
    if (!(error instanceof InputError)) throw error;
    await holdBroken(parts, ref, explained(error));
  } finally {
    parts.memory.end(refKey(ref));
  }
}

function mayTake(ticket: Ticket, now: string): boolean {
  const waiting =
    ticket.status === 'needs_attention' && ticket.hold?.kind === 'gate' && ticket.hold.until !== null;
  const possible =
    waiting || ticket.status === 'queued' || ticket.status === 'ready' || ticket.status === 'running';
  return possible && (ticket.status === 'queued' || isDue(ticket, now));
}

/** A ticket that cannot be driven as it is waits for a person, with the reason. */
export async function holdBroken(parts: Parts, ref: TicketRef, reason: string): Promise<void> {
  const before = parts.store.ticket(ref);
  const now = parts.now();
  const open = openAttempt(before);
  if (open) await stopJob(parts.store.layout.job(ref, attemptKey(open)), 'stopped');
  const after = await parts.store.updateTicket(ref, (latest) => ({
    ...editOpen(latest, (attempt) => ({ ...attempt, status: 'interrupted', completedAt: now })),
    status: 'needs_attention',
    hold: { kind: 'broken', reason, until: null },
    error: reason,
    since: now,
    claim: null,
  }));
  tellStatus(parts, before, after);
}

interface StepInput {
  plan: Plan;
  pinned: Pinned;
  journal: Journal;
  spec: WorkspaceSpec;
  step: Step;
  /** The attempt has only just been begun, or is to be: nothing of it runs yet. */
  fresh: boolean;
  mayBegin(step: Step): boolean;
  signal: AbortSignal;
}

/** Takes one step to its end and gives back the attempt that was begun in the same write, if one was. */
async function takeStep(parts: Parts, input: StepInput): Promise<string | undefined> {
  const { plan, pinned, journal, spec, step, fresh, signal } = input;
  const start = step.do === 'start' ? startOf(parts, plan, journal.ticket, step) : undefined;
  if (start?.type === 'hold') {
    await journal.apply(start);
    return undefined;
  }
  const begin: TicketEvent[] = [];
  let place: Place | undefined;
  let refused: AttemptEnd | undefined;
  if (step.phase.type !== 'gate') {
    try {
      place =
        adoptedPlace(parts, journal.ticket, spec) ??
        (await prepare(parts, plan, journal.ticket, { ...spec, signal }));
      const { ref, commit } = place.base;
      if (journal.ticket.base?.commit !== commit || journal.ticket.worktree !== place.worktree) {
        begin.push({ type: 'base', base: { ref, commit }, branch: place.branch, worktree: place.worktree });
      }
    } catch (error) {
      refused = signal.aborted
        ? { type: 'interrupted', reason: 'stopped', deliberate: true }
        : { type: 'failed', error: { class: 'workspace', message: explained(error) } };
    }
  }
  parts.crash('workspace:ready');
  if (start) begin.push(start);
  if (begin.length > 0) await journal.apply(...begin);
  parts.crash('attempt:recorded');
  const attempt = openAttempt(journal.ticket);
  if (!attempt) return undefined;
  const named = agentOf(step.phase, journal.ticket, plan, parts.settings);
  const agent = step.phase.type === 'agent' ? (attempt.agent ?? named) : null;
  const about = {
    ...refOf(journal.ticket),
    phase: attempt.phase,
    visit: attempt.visit,
    attempt: attempt.attempt,
  };
  if (fresh) emit(parts, { type: 'attempt:start', agent, kind: step.phase.type, ...about });
  else if (step.phase.type === 'agent' || step.phase.type === 'script')
    emit(parts, { type: 'attempt:adopt', ...about });
  const writer = new Writer(parts, journal, about);
  const mayShow = limiter(SHOWN_PER_SECOND);
  const context: PhaseContext = {
    ticket: journal.ticket,
    plan,
    pinned,
    phase: step.phase,
    attempt,
    place: place ?? {
      repo: spec.repo,
      branch: spec.branch,
      worktree: spec.path,
      base: { ref: '', commit: '' },
    },
    agentName: agent ?? named,
    standsIn: agent !== null && agent !== named,
    allowance: step.phase.type === 'agent' ? allowanceOf(parts, plan, journal.ticket, step.phase) : null,
    shared: sharedRules(journal.ticket, plan),
    unit: unitVariables(journal.ticket, plan, parts.settings, parts.store.glance()),
    others: () => neighbours(parts, journal.ticket),
    settings: parts.settings,
    workspaces: parts.workspaces,
    jobDir: parts.store.layout.job(journal.ticket, attemptKey(attempt)),
    resumed: !fresh,
    signal,
    now: parts.now,
    env: parts.env,
    onProcess: () => parts.crash('attempt:running'),
    onSession: (id) => writer.session(id, agent),
    onUsage: (usage: Usage) => writer.usage(usage),
    onText: (text) => {
      if (text.trim() !== '' && mayShow()) emit(parts, { type: 'attempt:text', text, ...about });
    },
    onTool: (name, summary, done) => emit(parts, { type: 'attempt:tool', name, summary, done, ...about }),
  };
  const key = refKey(about);
  if (step.phase.type !== 'gate') rememberSecrets(parts);
  if (agent) parts.memory.begin(key, agent, context.jobDir);
  const ended = refused ?? (await perform(context).finally(() => parts.memory.end(key)));
  const seen = agent && !refused ? await afterStraying(context, ended) : ended;
  const end = {
    ...redactAll(seen, parts.redact),
    ...(agent ? { launches: launchesOf(context.jobDir) } : {}),
  };
  parts.crash('attempt:performed');
  await writer.settled();
  await journal.apply({ type: 'end', end }, (ticket) => {
    const after = next(pinned.workflow, ticket);
    return after?.do === 'start' && input.mayBegin(after) ? startOf(parts, plan, ticket, after) : undefined;
  });
  parts.crash('attempt:closed');
  tellEnd(parts, journal.ticket, about);
  const open = openAttempt(journal.ticket);
  return open && attemptKey(open) !== attemptKey(attempt) ? attemptKey(open) : undefined;
}

/** The beginning of an attempt, or why none begins now. */
function startOf(
  parts: Parts,
  plan: Plan,
  ticket: Ticket,
  step: Extract<Step, { do: 'start' }>,
): Extract<TicketEvent, { type: 'start' | 'hold' }> {
  if (step.phase.type !== 'agent') return { type: 'start', attempt: step.attempt, agent: null };
  const admitted = admission(parts, plan, ticket, step.phase);
  if ('hold' in admitted) return { type: 'hold', hold: redactAll(admitted.hold, parts.redact) };
  parts.memory.reserve(refKey(ticket), admitted.agent, ticket.phaseHistory.length + 1);
  return { type: 'start', attempt: step.attempt, agent: admitted.agent };
}

/**
 * Where a process that an earlier engine started already is, or was. Its tree is looked at when it has ended:
 * in the middle of a rebase, say, it is on no branch, and refusing it now would leave it running unwatched.
 */
function adoptedPlace(parts: Parts, ticket: Ticket, spec: WorkspaceSpec): Place | undefined {
  const open = openAttempt(ticket);
  if (!open || !ticket.base || ticket.worktree !== spec.path) return undefined;
  const { state } = readJob(parts.store.layout.job(ticket, attemptKey(open)));
  if (state !== 'running' && state !== 'ended') return undefined;
  const { repo, branch, path: worktree, inPlace } = spec;
  return { repo, branch, worktree, inPlace, base: ticket.base };
}

/** What an agent says is for eyes: more lines than these per second are left to its output file. */
const SHOWN_PER_SECOND = 100;

function limiter(perSecond: number): () => boolean {
  let began = Number.NEGATIVE_INFINITY;
  let count = 0;
  return () => {
    const now = performance.now();
    if (now - began >= 1000) {
      began = now;
      count = 0;
    }
    return ++count <= perSecond;
  };
}

/** The directory is the expected worktree on the expected branch, or nothing runs. */
async function prepare(parts: Parts, plan: Plan, ticket: Ticket, spec: WorkspaceSpec): Promise<Place> {
  const { repo, branch, path: worktree, inPlace } = spec;
  const place = { repo, branch, worktree, inPlace };
  if (isShared(plan) && parts.workspaces.isReady(spec.path)) await putBack(parts, ticket, spec);
  if (ticket.base && ticket.worktree === spec.path && parts.workspaces.isReady(spec.path)) {
    parts.workspaces.verify(spec);
    return { ...place, base: ticket.base };
  }
  if (inPlace) {
    parts.workspaces.verify(spec);
    return { ...place, base: await handOver(parts, plan, ticket, spec) };
  }
  const made = await parts.workspaces.ensure({ ...spec, recordedBase: ticket.base });
  parts.workspaces.verify(spec);
  const about = { ...refOf(ticket), path: made.path, branch: made.branch };
  if (made.created || made.reused) emit(parts, { type: 'workspace:ready', reused: made.reused, ...about });
  for (const message of made.notes) emit(parts, { type: 'problem', message, path: null, ...refOf(ticket) });
  const base = isShared(plan) ? await handOver(parts, plan, ticket, spec) : made.base;
  return { ...place, base };
}

/** Gives a finished ticket's worktree back; what would be lost with it stays where it is and is named. */
export async function releaseWorkspace(parts: Parts, ticket: Ticket, spec: WorkspaceSpec): Promise<void> {
  if (!existsSync(spec.path) || isStillNeeded(parts, ticket)) return;
  let kept: string | undefined;
  try {
    const released = await parts.workspaces.release(spec);
    kept = released.released ? undefined : released.reason;
  } catch (error) {
    if (isFatal(error)) throw error;
    kept = messageOf(error);
  }
  parts.crash('workspace:released');
  const about = { ...refOf(ticket), path: spec.path };
  if (kept === undefined) emit(parts, { type: 'workspace:release', ...about });
  else emit(parts, { type: 'workspace:keep', reason: kept, ...about });
}

function refOf(ticket: TicketRef): TicketRef {
  return { planId: ticket.planId, ticketId: ticket.ticketId };
}

function tellEnd(
  parts: Parts,
  ticket: Ticket,
  about: TicketRef & { phase: string; visit: number; attempt: number },
): void {
  const closed = ticket.phaseHistory.findLast(
    (entry) => entry.phase === about.phase && entry.visit === about.visit && entry.attempt === about.attempt,
  );
  if (!closed?.completedAt) return;
  const ms = Math.max(0, Date.parse(closed.completedAt) - Date.parse(closed.startedAt));
  const { status, outcome, error, usage, sessionId } = closed;
  emit(parts, { type: 'attempt:end', status, outcome, error, ms, usage, sessionId, ...about });
}

export function tellStatus(parts: Parts, before: Ticket, after: Ticket): void {
  const same =
    before.status === after.status &&
    before.hold?.kind === after.hold?.kind &&
    before.hold?.until === after.hold?.until;
  if (same) return;
  const { status, hold: why, error, currentPhase } = after;
  emit(parts, { type: 'ticket:status', status, hold: why, error, phase: currentPhase, ...refOf(after) });
}
