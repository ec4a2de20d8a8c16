import type { AttemptRef, EngineEvent } from '../model/events.ts';
import { remembered } from '../model/group-and-remember.ts';
import { refKey, refOf } from '../model/ids-and-branch-names.ts';
import { dollars, medianCost, timesMedian } from '../model/limits/usage-cost-and-estimate.ts';
import type { Attempt, Ticket } from '../model/ticket.ts';
import { whyUnchecked } from '../model/verdict-criteria-and-missing-checks.ts';
import { type EngineContext, emit } from './context.ts';

/** Whether status and hold are the same, so that the change is not reported. */
function sameStatus(before: Pick<Ticket, 'status' | 'hold'>, after: Ticket): boolean {
  const [was, is] = [before.hold, after.hold];
  if (before.status !== after.status || was?.kind !== is?.kind) return false;
  // The next check of a worker that lacks something is no news.
  return was?.kind === 'broken' ? was.reason === is?.reason : was?.until === is?.until;
}

/** The event that shows a ticket's status. */
export function statusEvent(ticket: Ticket, hold = ticket.hold): EngineEvent {
  const { status, error, currentPhase: phase } = ticket;
  return { type: 'ticket:status', status, hold, error, phase, ...refOf(ticket) };
}

export function reportStatus(engine: EngineContext, before: Ticket, after: Ticket): void {
  if (!sameStatus(before, after)) emit(engine, statusEvent(after));
}

export function reportEnd(engine: EngineContext, ticket: Ticket, about: AttemptRef): void {
  const closed = ticket.phaseHistory.findLast(
    (entry) => entry.phase === about.phase && entry.visit === about.visit && entry.attempt === about.attempt,
  );
  if (!closed?.completedAt) return;
  const ms = Math.max(0, Date.parse(closed.completedAt) - Date.parse(closed.startedAt));
  const { status, outcome, error, usage, sessionId } = closed;
  const why = whyUnchecked(closed);
  const note = why ? { note: why } : {};
  emit(engine, { type: 'attempt:end', status, outcome, error, ms, usage, sessionId, ...note, ...about });
  reportUnusualCost(engine, closed, about);
}

/** Says that an attempt cost far more than others at its phase. */
function reportUnusualCost(engine: EngineContext, closed: Attempt, about: AttemptRef): void {
  const cost = closed.usage?.costUsd ?? 0;
  if (cost <= 0) return;
  const costs = costsOfPhase(engine, about, cost);
  const times = timesMedian(cost, medianCost(costs));
  if (times === null) return;
  const text = `${about.phase} cost ${dollars(cost)}, ${Math.round(times * 10) / 10} times the median of its ${costs.length} attempts`;
  emit(engine, { type: 'attempt:text', text, notice: true, ...about });
}

const costsByPhase = new WeakMap<EngineContext['store'], Map<string, number[]>>();
/** More are forgotten and read again. */
const MAX_PHASES = 1_000;

/** What attempts at a phase of a plan cost, this one included. The tickets of the plan are read once: there may be thousands. */
function costsOfPhase({ store }: EngineContext, about: AttemptRef, cost: number): readonly number[] {
  const known = remembered(costsByPhase, store, () => new Map<string, number[]>());
  const key = `${about.planId}/${about.phase}`;
  const costs = known.get(key);
  if (costs) {
    costs.push(cost);
    return costs;
  }
  const found = store
    .tickets(about.planId)
    .flatMap(({ phaseHistory }) => phaseHistory)
    .flatMap(({ phase, completedAt, usage }) =>
      phase === about.phase && completedAt !== null ? (usage?.costUsd ?? []) : [],
    );
  if (known.size >= MAX_PHASES) known.clear();
  known.set(key, found);
  return found;
}

type Known = Pick<Ticket, 'rev' | 'status' | 'hold'>;

/**
 * Reports what other processes did to tickets. They have stored the event, but this engine's listeners have not seen it.
 */
export class OutsideChanges {
  readonly #listen: EngineContext['listen'];
  readonly #known = new Map<string, Known>();

  constructor({ listen }: Pick<EngineContext, 'listen'>) {
    this.#listen = listen;
  }

  /** Records a ticket as already reported. */
  record(ticket: Ticket): void {
    this.#known.set(refKey(ticket), ticket);
  }

  forget(key: string): void {
    this.#known.delete(key);
  }

  /** Reports changed tickets. Tickets that this engine drives are reported elsewhere, unless a person has paused one. */
  check(
    tickets: Iterable<Ticket>,
    { isDriven, isMine = () => true }: { isDriven(key: string): boolean; isMine?(ticket: Ticket): boolean },
  ): void {
    for (const ticket of tickets) {
      const key = refKey(ticket);
      const before = this.#known.get(key);
      if (before?.rev === ticket.rev && before.status === ticket.status) continue;
      this.record(ticket);
      if (!before || sameStatus(before, ticket) || !isMine(ticket)) continue;
      if (isDriven(key) && ticket.status !== 'paused') continue;
      this.#listen(statusEvent(ticket));
    }
  }
}
