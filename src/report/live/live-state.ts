import type { EngineEvent } from '../../model/events.ts';
import { refKey, type TicketRef } from '../../model/ids-and-branch-names.ts';
import { countUnpriced, isUnpriced, totalUsage } from '../../model/limits/usage-cost-and-estimate.ts';
import { type PlansView, planOf, ticketsOf } from '../../model/plans/plans-view.ts';
import { howToAnswer, saysHolder } from '../../model/state/explain-ticket.ts';
import {
  type Hold,
  inStateSince,
  openAttempt,
  type Ticket,
  type TicketStatus,
  type Usage,
} from '../../model/ticket.ts';
import {
  type Answer,
  type AnswerBox,
  emptyBox,
  pressInBox,
  type Question,
  questionOf,
  questionsIn,
} from './answer-box.ts';

/** A ticket in the live view. */
export interface LiveTicket extends TicketRef {
  status: TicketStatus;
  hold: Hold | null;
  /** A unit of a spec: units run one after the other. */
  inTurn?: boolean;
  /** Since when it is in this phase, or waits; without earlier waits. */
  since: number;
  phase: string | null;
  visit: number;
  attempt: number;
  /** The last thing its agent said or did. */
  activity: string;
  /** Usage of attempts that have ended. */
  used: Usage | null;
  /** Usage of the open attempt so far. */
  using: Usage | null;
  /** How many attempts that have ended have an unknown cost. */
  unpriced: number;
  /** The agent of the open attempt. */
  agent: string | null;
  /** Of a gate: how to answer it, a line each. */
  answer: readonly string[];
  /** Of a gate: what can be answered here. */
  decisions: readonly string[];
}

export interface LiveState {
  startedAt: number;
  /** By refKey, in display order. */
  tickets: Map<string, LiveTicket>;
  box: AnswerBox | null;
  /** Nothing runs any more, and the open questions keep the run from its end. */
  isAsking: boolean;
}

export function liveState(startedAt: number): LiveState {
  return { startedAt, tickets: new Map(), box: null, isAsking: false };
}

/** Takes over the tickets of the store, in their order. A ticket that runs here stays: events know more about it. */
export function refresh(state: LiveState, tickets: Iterable<Ticket>, now: number): void {
  const before = new Map(state.tickets);
  state.tickets.clear();
  for (const ticket of tickets) {
    const key = refKey(ticket);
    const known = before.get(key);
    before.delete(key);
    const stored = fromStore(ticket, known?.since ?? now);
    const stays = known && (known.status === 'running' || ticket.status === 'running');
    if (known?.hold && isHeld(known, ticket)) state.tickets.set(key, { ...stored, hold: known.hold });
    else state.tickets.set(key, stays ? known : stored);
  }
  for (const [key, gone] of before) if (gone.status === 'running') state.tickets.set(key, gone);
}

/** Another engine still holds it: that is known from an event, not from the store. */
function isHeld({ status, hold }: LiveTicket, ticket: Ticket): boolean {
  return hold !== null && saysHolder(hold.reason) && ticket.claim !== null && ticket.status === status;
}

/** The tickets in the scope of an engine, in order; without a scope those of all active plans. */
export function ticketsIn(
  view: PlansView,
  scope: { planId: string; ticketIds?: readonly string[] } | null,
): Ticket[] {
  const active = view.plans.filter(({ status }) => status === 'active');
  return (scope ? [planOf(view, scope.planId)] : active).flatMap((plan) => {
    if (!plan) return [];
    const wanted = plan.tickets
      .filter(({ ticketId }) => !scope?.ticketIds || scope.ticketIds.includes(ticketId))
      .sort((a, b) => a.order - b.order);
    return ticketsOf(view, { ...plan, tickets: wanted });
  });
}

function fromStore(ticket: Ticket, seen: number): LiveTicket {
  const open = openAttempt(ticket);
  const since = inStateSince(ticket);
  const gate = ticket.hold?.kind === 'gate';
  return {
    ...UNKNOWN,
    planId: ticket.planId,
    ticketId: ticket.ticketId,
    status: ticket.status,
    hold: ticket.hold,
    ...(ticket.unit === undefined ? {} : { inTurn: true }),
    since: since === null ? seen : Date.parse(since),
    phase: ticket.currentPhase,
    ...(open ? { visit: open.visit, attempt: open.attempt } : {}),
    unpriced: countUnpriced(ticket.phaseHistory),
    agent: open?.agent ?? null,
    decisions: gate ? (open?.decisions ?? []) : [],
    answer: gate ? howToAnswer(ticket, ticket.unit === undefined ? {} : { kind: 'spec' }) : [],
    used: totalUsage(ticket.phaseHistory.filter((each) => each !== open).map((each) => each.usage)),
    using: open?.usage ?? null,
  };
}

/** Gates that can be answered in the live view. */
export function openGates(state: LiveState): LiveTicket[] {
  return [...state.tickets.values()].filter(
    ({ status, hold, decisions }) =>
      status === 'needs_attention' && hold?.kind === 'gate' && decisions.length > 0,
  );
}

/** Whether the question that is being answered is open. If not, it was answered elsewhere. */
export function isAnswering(state: LiveState): boolean {
  const { box } = state;
  if (!box) return false;
  const isOpen = questionOf(box, questionsOf(state)) !== undefined;
  if (!isOpen && !box.isSending) box.closed ||= box.problem || `${box.key} no longer asks.`;
  return isOpen;
}

/** Gates as questions. */
export function questionsOf(state: LiveState): Question[] {
  return questionsIn(openGates(state));
}

/** Applies keys: `a` opens the answer to the first gate, `q` leaves all for later. Returns what is to be sent. */
export function pressKeys(state: LiveState, keys: string): Answer | undefined {
  const questions = questionsOf(state);
  const [first] = questions;
  isAnswering(state);
  if (!state.box) {
    if (keys === 'a' && first) state.box = emptyBox(first);
    if (keys === 'q') state.isAsking = false;
    return undefined;
  }
  const { box, send } = pressInBox(state.box, keys, questions);
  state.box = box;
  return send;
}

/** Applies an event. */
export function observe(state: LiveState, event: EngineEvent, now: number): void {
  if (!('phase' in event)) return;
  const ticket = find(state, event, now);
  switch (event.type) {
    case 'ticket:status':
      // The same wait that is reported again keeps its start.
      if (
        ticket.status !== event.status ||
        ticket.phase !== event.phase ||
        ticket.hold?.kind !== event.hold?.kind
      )
        ticket.since = now;
      ticket.status = event.status;
      ticket.hold = event.hold;
      ticket.phase = event.phase;
      ticket.activity = '';
      break;
    case 'attempt:start':
    case 'attempt:adopt': {
      const { phase, visit, attempt } = event;
      // Attempts that follow each other without a wait are one stay in the phase.
      if (event.type === 'attempt:start' && (attempt === 1 || ticket.status !== 'running'))
        ticket.since = now;
      Object.assign(ticket, { status: 'running', hold: null, phase, visit, attempt, activity: '' });
      if (event.type === 'attempt:start') ticket.agent = event.agent;
      break;
    }
    case 'attempt:session':
      ticket.activity ||= 'the agent has started';
      break;
    case 'attempt:text':
      if (event.text.trim()) ticket.activity = event.text;
      break;
    case 'attempt:tool':
      if (!event.done) ticket.activity = `${event.name} ${event.summary}`;
      break;
    case 'attempt:usage':
      ticket.using = event.usage;
      break;
    case 'attempt:end':
      ticket.used = totalUsage([ticket.used, event.usage ?? ticket.using]);
      if (isUnpriced({ ...event, agent: ticket.agent, completedAt: '' })) ticket.unpriced++;
      ticket.using = null;
      ticket.activity = '';
      break;
  }
}

/** A ticket that the store did not list. */
const UNKNOWN = {
  status: 'queued',
  hold: null,
  phase: null,
  visit: 1,
  attempt: 1,
  activity: '',
  used: null,
  using: null,
  unpriced: 0,
  agent: null,
  answer: [],
  decisions: [],
} as const;

function find(state: LiveState, { planId, ticketId }: TicketRef, now: number): LiveTicket {
  const key = refKey({ planId, ticketId });
  const found = state.tickets.get(key);
  if (found) return found;
  const ticket: LiveTicket = { ...UNKNOWN, planId, ticketId, since: now };
  state.tickets.set(key, ticket);
  return ticket;
}
