import type { Settings } from '../../config/table.ts';
import { refKey } from '../../model/ids.ts';
import type { Plan } from '../../model/plan.ts';
import { ticketsOf } from '../../model/plans/view.ts';
import { plural } from '../../model/text/plural.ts';
import { type Attempt, attemptKey, openAttempt, type Ticket } from '../../model/ticket.ts';
import type { StoreView } from '../../store/port.ts';

type Occasion = Settings['notify']['on'][number];

/** What a person is told: the JSON that hooks get. */
export interface Notice {
  event: Occasion | 'test';
  /** All of it in one line. */
  text: string;
  plan: string;
  ticket: string | null;
  title: string;
  phase: string | null;
  reason: string | null;
  at: string;
}

/** A notice with the name under which it is remembered. */
export interface Keyed {
  key: string;
  since: string;
  notice: Notice;
}

const MAX_REASON_CHARS = 500;

/** Everything in these plans that a person should know, as things are now. */
export function noticesIn(view: StoreView, mine: (plan: Plan) => boolean, on: readonly Occasion[]): Keyed[] {
  const plans = view.plans.filter(
    (plan) => plan.status !== 'draft' && plan.status !== 'archived' && mine(plan),
  );
  return plans.flatMap((plan) => [
    ...ticketsOf(view, plan).flatMap((ticket) => ticketNotice(ticket, on) ?? []),
    ...(on.includes('complete') ? (planNotice(plan) ?? []) : []),
  ]);
}

function ticketNotice(ticket: Ticket, on: readonly Occasion[]): Keyed[] | undefined {
  const { status, since, hold, error, planId, ticketId, title, currentPhase: phase } = ticket;
  if (hold?.person && on.includes('needs_attention')) return waitNotice(ticket);
  if ((status !== 'needs_attention' && status !== 'failed') || !on.includes(status) || since === null)
    return undefined;
  const open = openAttempt(ticket);
  // A gate that looks around now and then is the same gate, however often its status changes on the way.
  const gate = hold?.kind === 'gate' && open ? open : undefined;
  const said = oneLine(hold?.reason ?? error);
  const what = status === 'failed' ? 'has failed' : 'needs attention';
  const text = `${refKey(ticket)} ${what}${said ? `: ${said}` : '.'}`;
  const at = gate?.startedAt ?? since;
  const key = gate ? `${ticketId} ${status} ${attemptKey(gate)}` : `${ticketId} ${status} ${since}`;
  const notice = { event: status, text, plan: planId, ticket: ticketId, title, phase, reason: said, at };
  return [{ key, since: at, notice }];
}

/** A wait for what a person has to do, told when it begins. */
function waitNotice(ticket: Ticket): Keyed[] | undefined {
  const { hold, planId, ticketId, title, currentPhase: phase } = ticket;
  const open = openAttempt(ticket);
  if (!open) return undefined;
  const began = firstOf(ticket, open);
  const said = oneLine(hold?.reason);
  const text = `${refKey(ticket)} needs attention: ${said}`;
  const about = { plan: planId, ticket: ticketId, title, phase, reason: said };
  const notice = { event: 'needs_attention' as const, text, ...about, at: began.startedAt };
  return [{ key: `${ticketId} waits ${attemptKey(began)}`, since: began.startedAt, notice }];
}

/** The attempt with which a wait began: looks that fail or are cut off make new ones of the same wait. */
function firstOf({ phaseHistory, retries }: Ticket, open: Attempt): Attempt {
  let failures = retries[open.phase] ?? 0;
  let first = open;
  for (const entry of phaseHistory.slice(0, -1).reverse()) {
    if (entry.phase !== open.phase || entry.visit !== open.visit) break;
    if (entry.status !== 'interrupted' && failures-- <= 0) break;
    first = entry;
  }
  return first;
}

function planNotice(plan: Plan): Keyed[] | undefined {
  const { completedAt } = plan;
  if (plan.status !== 'complete' || !completedAt) return undefined;
  const count = plan.tickets.length;
  const text = `${plan.id} is complete: ${plural(count, 'ticket')}.`;
  const about = { plan: plan.id, ticket: null, title: plan.name || plan.id, phase: null, reason: null };
  const notice = { event: 'complete' as const, text, ...about, at: completedAt };
  return [{ key: `complete ${completedAt}`, since: completedAt, notice }];
}

function oneLine(text: string | null | undefined): string | null {
  if (!text) return null;
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length > MAX_REASON_CHARS ? `${line.slice(0, MAX_REASON_CHARS)}…` : line;
}
