import { attemptKey, type Hold, isOver, openAttempt, type TicketStatus } from '../../src/model/ticket.ts';
import { Ticket } from '../../src/model/ticket-schema.ts';
import { phaseOf, type Workflow } from '../../src/model/workflow.ts';
import { capOf } from './random-workflows.ts';

/** Which holds a status may have; `null` is none. */
const LEGAL_HOLDS: Record<TicketStatus, readonly (Hold['kind'] | null)[]> = {
  queued: [null, 'blocked'],
  ready: [null, 'poll', 'limit', 'overload', 'backoff', 'budget', 'memory', 'shortage'],
  running: [null],
  paused: ['stopped'],
  complete: [null],
  failed: [null],
  needs_attention: [null, 'gate', 'broken'],
};

/** Cheaper than `expect` where it is said a hundred thousand times. */
export function always(holds: boolean, rule: string, ...facts: unknown[]): void {
  if (!holds) throw new Error(`${rule}: ${JSON.stringify(facts, null, 1)}`);
}

/** What is true of every ticket at every moment. Each command of a person may lead to one visit more. */
export function checkTicket(flow: Workflow, ticket: Ticket, commands: number): void {
  const { status, hold, currentPhase, phaseHistory } = ticket;
  always(LEGAL_HOLDS[status].includes(hold?.kind ?? null), 'status and hold fit', status, hold);
  always(
    currentPhase === null || phaseOf(flow, currentPhase) !== undefined,
    'the phase exists',
    currentPhase,
  );
  const open = openAttempt(ticket);
  const keys = new Set<string>();
  for (const entry of phaseHistory) {
    always(
      entry === open || entry.status !== 'running',
      'one attempt is open at most, the last',
      phaseHistory,
    );
    always((entry.completedAt === null) === (entry === open), 'what is closed has an end', entry);
    keys.add(attemptKey(entry));
  }
  always(keys.size === phaseHistory.length, 'no key repeats', [...keys], phaseHistory.length);
  for (const phase of flow.phases) {
    const visits = ticket.visits[phase.id] ?? 0;
    always(visits <= capOf(phase) + 2 + commands, 'visits are bounded', phase, visits);
  }
  always(!isOver(ticket) || !open, 'nothing is open when it is over', ticket);
  always(status !== 'failed' || ticket.error !== null, 'a failure has a reason', ticket);
  always(status !== 'needs_attention' || (ticket.error ?? hold) !== null, 'a person is told why', ticket);
  always(status !== 'complete' || ticket.error === null, 'what is complete has no error', ticket);
}

/** What is written can be read again, and means the same. */
export function checkStored(ticket: Ticket): void {
  const text = JSON.stringify(ticket);
  const read = Ticket.parse(JSON.parse(text));
  always(same(read, ticket), 'writing and reading changes nothing', ticket, read);
}

/** What is true of every change, whoever makes it. */
export function checkHistory(before: Ticket, after: Ticket): void {
  const open = openAttempt(before);
  for (const [i, entry] of before.phaseHistory.entries()) {
    const now = after.phaseHistory[i];
    if (entry === open)
      always(now !== undefined && attemptKey(now) === attemptKey(open), 'attempts stay', entry, now);
    else
      always(
        now !== undefined && (now === entry || same(now, entry)),
        'closed attempts never change',
        entry,
        now,
      );
  }
  always(before.status === after.status || after.since !== null, 'a change has a time', after);
}

/** What is true of every change that an engine makes. */
export function checkEngine(before: Ticket, after: Ticket): void {
  const unclaimed = (ticket: Ticket) => ({ ...ticket, claim: null });
  always(
    !isOver(before) || same(unclaimed(before), unclaimed(after)),
    'what is over changes no more',
    before,
    after,
  );
  const moved = after.status === 'running' || after.status === 'ready' || after.status === 'queued';
  always(before.status !== 'paused' || !moved, 'what is paused is not set going', before, after);
}

/** Equal as JSON, whatever the order of keys. */
export function same(a: unknown, b: unknown): boolean {
  return a === b || canonical(a) === canonical(b);
}

function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    inner && typeof inner === 'object' && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}
