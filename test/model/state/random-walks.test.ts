import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { IllegalMoveError } from '../../../src/model/errors.ts';
import {
  type AttemptEnd,
  isOverload,
  MAX_INTERRUPTIONS,
} from '../../../src/model/state/attempt-end-types-and-waits.ts';
import { command, type TicketCommand } from '../../../src/model/state/commands.ts';
import { isDue, next } from '../../../src/model/state/next-step-or-rest.ts';
import { reduce, type TicketEvent } from '../../../src/model/state/reduce.ts';
import { ERROR_CLASSES, legalCommands, openAttempt, type Ticket } from '../../../src/model/ticket.ts';
import { type Phase, retryOf, type Workflow } from '../../../src/model/workflow.ts';
import { CLAIM, NOW, ticket } from '../build.ts';
import { always, checkEngine, checkHistory, checkStored, checkTicket, same } from '../invariants.ts';
import { mostAttempts, outcomesFor, workflows } from '../random-workflows.ts';

const CLAIM_EVENT: TicketEvent = { type: 'claim', claim: CLAIM, workflowHash: 'hash' };

/** A shortage is waited for without end. */
const FAILURES = ERROR_CLASSES.filter((each) => each !== 'shortage');

/** How an attempt may end; the number picks among the outcomes that its phase has. */
type Ending =
  | { how: 'done' | 'failed'; pick: number }
  | { how: 'interrupted' | 'stopped' | 'parked' | 'short' | 'waiting' };

const endings: fc.Arbitrary<Ending> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ how: fc.constantFrom('done' as const), pick: fc.nat(20) }) },
  { weight: 4, arbitrary: fc.record({ how: fc.constantFrom('failed' as const), pick: fc.nat(40) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      how: fc.constantFrom('interrupted', 'stopped', 'parked', 'short', 'waiting'),
    }) as fc.Arbitrary<Ending>,
  },
);

function endOf(phase: Phase, ending: Ending, now: string): AttemptEnd {
  const later = new Date(Date.parse(now) + 5000).toISOString();
  switch (ending.how) {
    case 'done': {
      const outcomes = outcomesFor(phase);
      return {
        type: 'done',
        outcome: outcomes[ending.pick % outcomes.length] ?? 'success',
        captured: { last: ending.pick },
      };
    }
    case 'failed': {
      const error = {
        class: FAILURES[ending.pick % FAILURES.length] ?? 'exit',
        message: 'it broke',
      };
      return ending.pick % 3 === 0
        ? { type: 'failed', error, outcome: 'timeout' }
        : { type: 'failed', error };
    }
    case 'parked':
      return { type: 'parked', kind: 'limit', until: later, reason: 'limit' };
    case 'short':
      return { type: 'failed', error: { class: 'shortage', message: 'the disk is full' } };
    case 'waiting':
      return {
        type: 'waiting',
        gate: phase.type === 'gate',
        until: phase.type === 'gate' ? null : later,
        reason: 'not yet',
      };
    default:
      return { type: 'interrupted', reason: ending.how, deliberate: ending.how === 'stopped' };
  }
}

/** An interruption and each of its repetitions may meet an overload nine times before that is a failure. */
const FREE_REPEATS = (MAX_INTERRUPTIONS + 1) * 10 - 1;

/** What the engine itself would do before it drives a ticket. */
function mayTake(of: Ticket, now: string): boolean {
  if (of.status === 'queued') return true;
  const gate = of.status === 'needs_attention' && of.hold?.kind === 'gate' && of.hold.until !== null;
  return (gate || of.status === 'ready' || of.status === 'running') && isDue(of, now);
}

/** A ticket and all that happens to it; everything that must be true is checked after each change. */
class Walk {
  readonly flow: Workflow;
  ticket: Ticket;
  now = NOW;
  #commands = 0;

  constructor(flow: Workflow, skipPhases: string[] = []) {
    this.flow = flow;
    this.ticket = ticket({ skipPhases });
  }

  engine(event: TicketEvent): void {
    const before = this.ticket;
    const after = reduce(this.flow, before, event, this.now);
    checkTicket(this.flow, after, this.#commands);
    checkHistory(before, after);
    checkEngine(before, after);
    if (event.type === 'end') checkCost(before, after, event.end);
    this.ticket = after;
  }

  /** A valid ticket, or a refusal that names what is legal and changes nothing. */
  person(cmd: TicketCommand): void {
    const before = this.ticket;
    const copy = structuredClone(before);
    this.#commands++;
    try {
      const after = command(this.flow, before, cmd, this.now);
      always(legalCommands(before).includes(cmd.type), 'only legal commands are obeyed', before, cmd);
      checkTicket(this.flow, after, this.#commands);
      checkHistory(before, after);
      this.ticket = after;
    } catch (error) {
      if (!(error instanceof IllegalMoveError)) throw error;
      checkRefusal(before, error);
    }
    always(same(before, copy), 'the given ticket is not changed', copy, before);
  }

  /** Takes what the engine would take, and says whether there is a step to make. */
  claim(): boolean {
    if (!mayTake(this.ticket, this.now)) return false;
    if (this.ticket.status !== 'running') this.engine(CLAIM_EVENT);
    return next(this.flow, this.ticket) !== null;
  }

  start(): void {
    const step = next(this.flow, this.ticket);
    this.engine({ type: 'start', attempt: step?.do === 'start' ? step.attempt : 1, agent: 'x' });
  }

  end(ending: Ending): void {
    const id = openAttempt(this.ticket)?.phase ?? this.ticket.currentPhase;
    const phase = this.flow.phases.find((each) => each.id === id);
    if (phase) this.engine({ type: 'end', end: endOf(phase, ending, this.now) });
  }

  /** Drives the ticket as an engine does, through holds that end by themselves, until it is over or waits for a person. */
  drive(ends: Iterator<Ending>, beforeEach: () => void = () => undefined): void {
    for (let left = mostAttempts(this.flow, FREE_REPEATS) + 200; left > 0; left--) {
      beforeEach();
      const { hold, status } = this.ticket;
      if (hold?.until && (status === 'ready' || status === 'needs_attention')) this.now = hold.until;
      if (!this.claim()) {
        this.engine({ type: 'release' });
        always(
          this.ticket.status !== 'ready' || this.ticket.hold !== null,
          'no turn is in vain',
          this.ticket,
        );
        return;
      }
      this.start();
      this.end(ends.next().value as Ending);
      if (this.ticket.status !== 'running') this.engine({ type: 'release' });
    }
    throw new Error(`still going: ${JSON.stringify(this.ticket.visits)}`);
  }
}

/** Limits and interruptions consume nothing, unless crashing is all that happens. */
function checkCost(before: Ticket, after: Ticket, end: AttemptEnd): void {
  const free =
    end.type === 'parked' ||
    end.type === 'waiting' ||
    after.phaseHistory.slice(-1).some(isOverload) ||
    (end.type === 'interrupted' && end.deliberate);
  let crashes = 1;
  for (const entry of before.phaseHistory.slice(0, -1).reverse()) {
    if (entry.status !== 'interrupted' || entry.outcome !== null) break;
    if (entry.error?.class === 'interrupted') crashes++;
  }
  if (!free && !(end.type === 'interrupted' && crashes <= MAX_INTERRUPTIONS)) return;
  const cost = ({ retries, visits, currentPhase, error }: Ticket) => ({
    retries,
    visits,
    currentPhase,
    error,
  });
  always(same(cost(before), cost(after)), 'limits and interruptions are free', before, after);
}

function checkRefusal(before: Ticket, error: IllegalMoveError): void {
  const legal = error.details.legal as TicketCommand['type'][];
  always(Array.isArray(legal) && error.hint !== undefined, 'a refusal names what is legal', error.details);
  if (error.code === 'ticket/illegal')
    always(same(legal, legalCommands(before)), 'and means it', before, legal);
  if (error.code !== 'ticket/busy') return;
  always(openAttempt(before) !== undefined, 'busy means an open attempt', before);
  always(
    legal.every((name) => legalCommands(before).includes(name)),
    'the way out is legal',
    before,
    legal,
  );
}

const working = fc.oneof(
  { weight: 4, arbitrary: fc.record({ how: fc.constant('done' as const), pick: fc.nat(20) }) },
  { weight: 4, arbitrary: fc.record({ how: fc.constant('failed' as const), pick: fc.nat(40) }) },
  { weight: 1, arbitrary: fc.record({ how: fc.constant('interrupted' as const) }) },
) as fc.Arbitrary<Ending>;

function forever(ending: Ending): Iterator<Ending> {
  return { next: () => ({ done: false, value: ending }) };
}

/** Phases that were not asked for; mostly none. */
const skipped = fc.oneof(fc.constant<string[]>([]), fc.subarray(['p0', 'p1', 'p2', 'p3']));

type Move =
  | { move: 'claim' | 'start' | 'release' | 'broken' | 'session' }
  | { move: 'end'; ending: Ending }
  | { move: 'person'; cmd: TicketCommand }
  | { move: 'time'; seconds: number };

const ready = fc.boolean();
const commands: fc.Arbitrary<TicketCommand> = fc.oneof(
  fc.record({ type: fc.constantFrom('pause' as const, 'stop' as const), by: fc.constant('me') }),
  fc.record({ type: fc.constantFrom('resume' as const, 'retry' as const), ready }),
  fc.record({
    type: fc.constant('skip' as const),
    phase: fc.constantFrom('p0', 'p1', 'p2', 'end', 'help', 'nowhere'),
    ready,
  }),
  fc.record({
    type: fc.constant('respond' as const),
    decision: fc.constantFrom('yes', 'no', 'constructor'),
    message: fc.constant('m'),
  }),
);
const moves: fc.Arbitrary<Move> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      move: fc.constantFrom('claim', 'start', 'release', 'broken', 'session'),
    }) as fc.Arbitrary<Move>,
  },
  { weight: 3, arbitrary: fc.record({ move: fc.constant('end'), ending: endings }) as fc.Arbitrary<Move> },
  { weight: 3, arbitrary: fc.record({ move: fc.constant('person'), cmd: commands }) as fc.Arbitrary<Move> },
  {
    weight: 1,
    arbitrary: fc.record({
      move: fc.constant('time'),
      seconds: fc.integer({ min: -90, max: 90 }),
    }) as fc.Arbitrary<Move>,
  },
);

describe('any sequence of engine events and commands', () => {
  it('keeps every invariant, in whatever order they come', () => {
    fc.assert(
      fc.property(workflows, skipped, fc.array(moves, { maxLength: 80 }), (flow, skips, sequence) => {
        const walk = new Walk(flow, skips);
        for (const each of sequence) {
          if (each.move === 'time')
            walk.now = new Date(Date.parse(walk.now) + each.seconds * 1000).toISOString();
          else if (each.move === 'person') walk.person(each.cmd);
          else if (each.move === 'claim') walk.engine(CLAIM_EVENT);
          else if (each.move === 'release') walk.engine({ type: 'release' });
          else if (each.move === 'broken') walk.engine({ type: 'broken', reason: 'no repo' });
          else if (each.move === 'start') walk.start();
          else if (each.move === 'end') walk.end(each.ending);
          else walk.engine({ type: 'session', sessionId: 's' });
        }
        checkStored(walk.ticket);
      }),
      { numRuns: 300 },
    );
  });
});

describe('a walk that nobody holds', () => {
  const over = (walk: Walk) => {
    expect(['complete', 'failed', 'needs_attention']).toContain(walk.ticket.status);
    expect(walk.ticket).toMatchObject({ claim: null, hold: null });
    expect(walk.ticket.phaseHistory.length).toBeLessThanOrEqual(mostAttempts(walk.flow, FREE_REPEATS));
    checkStored(walk.ticket);
  };

  it('ends within a bounded number of attempts, whatever the outcomes', () => {
    fc.assert(
      fc.property(workflows, skipped, fc.infiniteStream(working), (flow, skips, ends) => {
        const walk = new Walk(flow, skips);
        walk.drive(ends);
        over(walk);
      }),
      { numRuns: 240 },
    );
  });

  it.each(['interrupted', 'failed', 'done'] as const)('ends even when every attempt is %s', (how) => {
    fc.assert(
      fc.property(workflows, fc.nat(40), (flow, pick) => {
        const walk = new Walk(flow);
        walk.drive(forever({ how, pick } as Ending));
        over(walk);
      }),
      { numRuns: 120 },
    );
  });

  it('makes one attempt more than its retries before it gives up a visit', () => {
    fc.assert(
      fc.property(workflows, (flow) => {
        const walk = new Walk(flow);
        walk.drive(forever({ how: 'failed', pick: FAILURES.indexOf('exit') }));
        const visits = new Map<string, Ticket['phaseHistory']>();
        for (const entry of walk.ticket.phaseHistory) {
          if (entry.error?.class === 'visits') continue;
          const key = `${entry.phase}#${entry.visit}`;
          visits.set(key, [...(visits.get(key) ?? []), entry]);
        }
        for (const entries of visits.values()) {
          const phase = flow.phases.find((each) => each.id === entries[0]?.phase) as Phase;
          expect(entries).toHaveLength(retryOf(phase).max + 1);
          expect(entries.map((entry) => entry.outcome !== null)).toEqual(
            entries.map((_, i) => i === retryOf(phase).max),
          );
        }
      }),
      { numRuns: 120 },
    );
  });
});

describe('a walk with limits, polls, gates and a person in it', () => {
  it('keeps every invariant, and what is left can be moved on by a person or is complete', () => {
    const wishes = fc.infiniteStream(fc.option(commands, { freq: 2 }));
    fc.assert(
      fc.property(workflows, fc.infiniteStream(endings), wishes, fc.nat(40), (flow, ends, person, most) => {
        const walk = new Walk(flow);
        let left = most;
        const disturb = () => {
          const wish = left-- > 0 ? person.next().value : null;
          if (wish) walk.person(wish);
        };
        for (let rounds = 0; rounds < 4; rounds++) {
          const bounded = { next: () => (left > 0 ? ends.next() : { value: { how: 'failed', pick: 0 } }) };
          walk.drive(bounded as Iterator<Ending>, disturb);
          if (walk.ticket.status === 'paused') walk.person({ type: 'resume', ready: true });
        }
        checkStored(walk.ticket);
        expect(walk.ticket.status === 'complete' || legalCommands(walk.ticket).length > 0).toBe(true);
      }),
      { numRuns: 150 },
    );
  });
});
