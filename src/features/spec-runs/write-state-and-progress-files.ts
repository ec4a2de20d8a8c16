import { existsSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { EngineContext } from '../../engine/context.ts';
import {
  type Progress,
  type ProgressEntry,
  readStateText,
  renderProgress,
  type SpecState,
  withProgress,
  withSpecState,
} from '../../kiro/state-file-formats.ts';
import { writeAtomic } from '../../machine/files/write-atomic-and-note-facts.ts';
import { InputError, messageOf } from '../../model/errors.ts';
import type { EngineEvent } from '../../model/events.ts';
import { digest } from '../../model/ids-and-branch-names.ts';
import type { Plan, PlanSpec } from '../../model/plan.ts';
import { isPlanAtRest } from '../../model/state/next-step-or-rest.ts';
import { type Attempt, openAttempt, type Ticket } from '../../model/ticket.ts';
import {
  assignmentOf,
  ownersInStateFile,
  ownersOf,
  storeOwners,
  unknownOwner,
} from './assign-agents-to-units.ts';
import { PROGRESS_FILE, STATE_FILE } from './bring-spec-into-worktree.ts';
import { haltedTicket, haltReason, WORK_PHASES } from './run-request-ticks-and-halt.ts';
import { unlockSpec } from './spec-lock.ts';

const WRITTEN_ON: ReadonlySet<EngineEvent['type']> = new Set([
  'attempt:start',
  'attempt:end',
  'ticket:status',
  'plan:status',
  'command',
]);

const DRIVERS: ReadonlySet<string> = new Set(['worker', 'daemon']);

/**
 * Keeps the two files beside a spec up to date while anything happens to its plan. A file that was deleted or broken is
 * written again with the next event.
 */
export class SpecFiles {
  readonly #engine: EngineContext;
  readonly #waiting = new Set<string>();
  /** Plans that are no specs; they never become one. */
  readonly #others = new Set<string>();
  #work: Promise<void> = Promise.resolve();
  #reported = false;

  constructor(engine: EngineContext) {
    this.#engine = engine;
  }

  listen(event: EngineEvent): void {
    const { type, planId } = event;
    if (!WRITTEN_ON.has(type) || this.#waiting.has(planId) || this.#others.has(planId)) return;
    this.#waiting.add(planId);
    this.#work = this.#work.then(() => this.#write(planId));
  }

  /** Resolves when everything that has happened so far is written. */
  async flush(planId?: string): Promise<void> {
    if (planId !== undefined) this.listen({ type: 'plan:status', planId, status: '' });
    await this.#work;
  }

  async #write(planId: string): Promise<void> {
    this.#waiting.delete(planId);
    try {
      const { store, holder } = this.#engine;
      // On a fleet, the spec is on the machine of the person who runs it.
      if (!store.hasPlan(planId) || (store.fleet && DRIVERS.has(holder.by))) return;
      const plan = store.plan(planId);
      if (!plan.spec) this.#others.add(planId);
      if (!plan.spec || plan.status === 'archived') return;
      const tickets = store.tickets(plan);
      await writeSpecFiles(this.#engine, plan, plan.spec, tickets);
      if (plan.claim === null && isPlanAtRest(plan, tickets)) unlockSpec(this.#engine, planId);
    } catch (error) {
      // The files only show the run: the work continues without them.
      if (this.#reported) return;
      this.#reported = true;
      const message = `${STATE_FILE} and ${PROGRESS_FILE} cannot be written: ${messageOf(error)}`;
      this.#engine.listen({ type: 'problem', planId, ticketId: null, message, path: null });
    }
  }
}

async function writeSpecFiles(
  engine: EngineContext,
  plan: Plan,
  kept: PlanSpec,
  found: readonly Ticket[],
): Promise<void> {
  const place = stateFilesDir(kept);
  if (!existsSync(place)) return;
  await engine.machine.lock(`spec-files-${digest(place)}`, async () => {
    const tickets = await storeOwners(engine, found, ownersInStateFile(place, kept.name).assignments);
    for (const ticket of tickets) {
      const own = found.includes(ticket) ? undefined : assignmentOf(ticket);
      const { planId, ticketId } = ticket;
      for (const message of own ? unknownOwner(place, ticketId, own, ownersOf(engine.settings)) : [])
        engine.listen({ type: 'problem', planId, ticketId, message, path: null });
    }
    const state = stateOf(plan, kept, tickets, engine.now());
    replace(join(place, STATE_FILE), (text) => withSpecState(text, kept.name, state));
    const part = renderProgress(progressOf(plan, kept, tickets));
    replace(join(place, PROGRESS_FILE), (text) => withProgress(text, kept.name, part));
  });
}

/** Changes a file. One that cannot be read is moved aside first. */
function replace(file: string, change: (text: string | null) => string): void {
  try {
    const before = existsSync(file) ? readStateText(file) : null;
    const next = change(before);
    if (next !== before) writeAtomic(file, next, 0o644);
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    let number = 1;
    while (existsSync(`${file}.broken-${number}`)) number += 1;
    renameSync(file, `${file}.broken-${number}`);
    writeAtomic(file, change(null), 0o644);
  }
}
/** Whether the whole spec is complete: a plan of selected units is complete before it. */
function isComplete({ status }: Plan, { unselected = 0 }: PlanSpec): boolean {
  return status === 'complete' && unselected === 0;
}

/** A spec's part of the state file. */
function stateOf(plan: Plan, kept: PlanSpec, tickets: readonly Ticket[], now: string): SpecState {
  const halted = haltedTicket(tickets);
  const idsOf = (status: Ticket['status']) =>
    tickets.filter((ticket) => ticket.status === status).flatMap((ticket) => ticket.unit?.ids ?? []);
  return {
    spec: kept.dir,
    plan: plan.id,
    completed: withParents(idsOf('complete'), kept),
    failed: tickets.flatMap((ticket) => (ticket.status === 'failed' ? (ticket.unit?.id ?? []) : [])),
    halted: halted !== undefined,
    halted_at: halted?.since ?? null,
    halted_task: halted ? (halted.unit?.id ?? halted.ticketId) : null,
    halt_reason: halted ? haltReason(halted) : null,
    started_at: kept.startedAt,
    completed_at: isComplete(plan, kept) ? (plan.completedAt ?? now) : null,
    updated_at: now,
    assignments: Object.fromEntries(
      tickets.flatMap((ticket) => {
        const assignment = assignmentOf(ticket);
        return assignment ? [[ticket.unit?.id ?? ticket.ticketId, assignment]] : [];
      }),
    ),
  };
}

/** Ids of what is done, with the parents of which nothing is left. */
function withParents(ids: readonly string[], { parents = {} }: PlanSpec): string[] {
  const done = new Set(ids);
  const isDone = (id: string): boolean =>
    done.has(id) || (Object.hasOwn(parents, id) && (parents[id]?.every(isDone) ?? false));
  return [...done, ...Object.keys(parents).filter((id) => !done.has(id) && isDone(id))];
}

/** A spec's part of the progress file: each attempt at a unit is an iteration. */
function progressOf(plan: Plan, kept: PlanSpec, tickets: readonly Ticket[]): Progress {
  const attempts = tickets.flatMap((ticket) => iterationsOf(ticket).map((attempt) => ({ ticket, attempt })));
  attempts.sort((a, b) => a.attempt.startedAt.localeCompare(b.attempt.startedAt));
  const { at, lines = [] } = plan.ended ?? {};
  return {
    spec: kept.name,
    path: kept.dir,
    startedAt: kept.startedAt,
    entries: attempts.map(({ ticket, attempt }, index) => entryOf(ticket, attempt, index + 1)),
    completedAt: isComplete(plan, kept) ? (plan.completedAt ?? at ?? '') : null,
    summary: lines,
  };
}

/** The attempts of agents; of a checkpoint that needed none, its last checks. */
function iterationsOf({ phaseHistory }: Ticket): Attempt[] {
  const work = phaseHistory.filter(({ phase }) => WORK_PHASES.includes(phase));
  const checks = phaseHistory.findLast(({ phase }) => phase === 'checks');
  return work.length === 0 && checks ? [checks] : work;
}

function entryOf(ticket: Ticket, attempt: Attempt, iteration: number): ProgressEntry {
  return {
    iteration,
    id: ticket.unit?.id ?? ticket.ticketId,
    title: ticket.title,
    at: attempt.completedAt ?? attempt.startedAt,
    ...progressStatus(ticket, attempt, iterationsOf(ticket).at(-1) === attempt),
  };
}

function progressStatus(
  ticket: Ticket,
  attempt: Attempt,
  isLast: boolean,
): Pick<ProgressEntry, 'status' | 'message'> {
  if (attempt.status === 'running') return { status: 'Running', message: '' };
  if (attempt.outcome === 'halt') return { status: 'Halted', message: attempt.output ?? '' };
  // An interrupted attempt with an outcome has used up its attempts.
  const isFree = attempt.status === 'interrupted' && attempt.outcome === null;
  if (attempt.status === 'limit' || isFree)
    return { status: 'Waiting', message: attempt.error?.message ?? '' };
  if (attempt.status === 'failure' || attempt.status === 'interrupted')
    return { status: 'Failed', message: attempt.error?.message ?? '' };
  if (!isLast || ticket.status === 'failed')
    return { status: 'Failed', message: laterFailure(ticket, attempt) };
  if (ticket.status === 'complete') return { status: 'Completed', message: '' };
  const open = openAttempt(ticket)?.phase;
  return { status: open ? 'Running' : 'Waiting', message: open ?? ticket.hold?.reason ?? ticket.error ?? '' };
}

/** Why work that the agent called done failed later. */
function laterFailure(ticket: Ticket, attempt: Attempt): string {
  const later = ticket.phaseHistory.slice(ticket.phaseHistory.indexOf(attempt) + 1);
  const next = later.find(({ status }) => status === 'failure');
  return next ? `${next.phase}: ${next.error?.message ?? 'failed'}` : '';
}

/** The directory of the two files that show a spec's runs. */
export function stateFilesDir({ dir, beside }: PlanSpec): string {
  return beside ?? dirname(dir);
}
