import { refKey, type TicketRef } from '../ids-and-branch-names.ts';
import type { Plan } from '../plan.ts';
import { plural } from '../text/clean-escape-quote-plural.ts';
import { type Attempt, type Hold, openAttempt, type Ticket, type Usage } from '../ticket.ts';
import type { Budget } from '../ticket-schema.ts';
import { costText, dollars, isUnpriced } from './usage-cost-and-estimate.ts';

const SCOPES = ['phase', 'ticket', 'plan', 'day'] as const;
type Scope = (typeof SCOPES)[number];

/** Budgets of the settings. Those of phases, tickets and plans override them. */
export interface Budgets extends Record<Scope, Budget> {
  /** Whether work continues after an attempt whose cost is unknown. */
  unknown: 'allow' | 'block';
}

/** One budget that counts for an attempt, and what was spent of it before. */
export interface AppliedBudget {
  scope: Scope;
  budget: Budget;
  spent: Required<Budget>;
  /** An attempt whose dollars or tokens are unknown, if the budget limits those. */
  unknown: string | null;
  /** How many other attempts are running: they keep using time. */
  running: number;
}

interface Spending {
  /** All tickets that are known; one that is asked about may be older here. */
  tickets: Iterable<Ticket>;
  budgets: Budgets;
  now: string;
}

export interface AppliedBudgetInput extends Spending {
  plan: Plan;
  ticket: Ticket;
  phase: { id: string; budget?: Budget | undefined };
  /** Tickets with an agent that is about to start and not in their history yet. */
  pending?: readonly TicketRef[];
  /** Keeps the sums of plans and of the day, for callers that ask about many tickets at once. */
  sums?: Map<string, Sum>;
}

type Sum = Pick<AppliedBudget, 'spent' | 'unknown' | 'running'> & { unpriced: number };

/** Every budget that an attempt at a phase draws on. The ticket's open attempt is left out: it is what is asked about. */
export function appliedBudgets(input: AppliedBudgetInput): AppliedBudget[] {
  const { plan, ticket, phase, tickets, budgets, now, sums, pending = [] } = input;
  const wanted: Record<Scope, Budget | undefined> = {
    phase: phase.budget ?? budgets.phase,
    ticket: ticket.budget ?? budgets.ticket,
    plan: plan.budget ?? budgets.plan,
    day: budgets.day,
  };
  const scopes = SCOPES.filter((scope) => isLimiting(wanted[scope]));
  if (scopes.length === 0) return [];
  const open = openAttempt(ticket);
  const own = { ...ticket, phaseHistory: ticket.phaseHistory.filter((entry) => entry !== open) };
  return scopes.map((scope) => {
    const budget = wanted[scope] ?? {};
    const narrow = scope === 'phase' || scope === 'ticket';
    // A ticket without an open attempt has the same sum as all the others.
    const key = narrow || open ? undefined : `${scope} ${scope === 'plan' ? plan.id : ''}`;
    const known = key === undefined ? undefined : sums?.get(key);
    if (known) return { scope, budget, ...known };
    const ofPlan = scope === 'plan' ? plan.id : null;
    const drawing = narrow ? [own] : [own, ...others(tickets, ticket, ofPlan)];
    const counts = (entry: Attempt) =>
      entry.agent !== null && (scope !== 'phase' || entry.phase === phase.id);
    const total = sum(drawing, counts, { day: scope === 'day' ? dayOf(now) : null, budget, now });
    if (!narrow) total.spent.launches += others(pending, ticket, ofPlan).length;
    if (key !== undefined) sums?.set(key, total);
    return { scope, budget, ...total };
  });
}

/** Entries of other tickets, of one plan or (null) of all. */
function others<T extends TicketRef>(all: Iterable<T>, ticket: Ticket, planId: string | null): T[] {
  const key = refKey(ticket);
  return [...all].filter((each) => (planId === null || each.planId === planId) && refKey(each) !== key);
}

export function isLimiting(budget: Budget | undefined): boolean {
  return budget !== undefined && Object.values(budget).some((value) => value !== undefined);
}

function sum(
  tickets: Ticket[],
  counts: (entry: Attempt) => boolean,
  { day, budget, now }: { day: string | null; budget: Budget; now: string },
): Sum {
  const spent = { usd: 0, tokens: 0, seconds: 0, launches: 0 };
  // A person who retried one of them has accepted all costs that were unknown by then.
  const looked = tickets.reduce((last, { lookedAt }) => (lookedAt && lookedAt > last ? lookedAt : last), '');
  let unknown: string | null = null;
  let running = 0;
  let unpriced = 0;
  for (const ticket of tickets) {
    for (const entry of ticket.phaseHistory) {
      if (!counts(entry)) continue;
      // The cost is known at its end, so it counts for that day.
      const end = entry.completedAt ?? now;
      if (day === null || dayOf(entry.startedAt) >= day) spent.launches += entry.launches ?? 1;
      if (day !== null && dayOf(end) < day) continue;
      spent.usd += entry.usage?.costUsd ?? 0;
      spent.tokens += tokensOf(entry.usage);
      spent.seconds += Math.max(0, Date.parse(end) - Date.parse(entry.startedAt)) / 1000 || 0;
      if (unknown === null && end > looked && isUnknown(entry, budget))
        unknown = `phase ${entry.phase} of ${refKey(ticket)}`;
      if (entry.completedAt === null) running++;
      if (isUnpriced(entry)) unpriced++;
    }
  }
  return { spent, unknown, running, unpriced };
}

function isUnknown(entry: Attempt, budget: Budget): boolean {
  const noTokens = (usage: Usage | null) =>
    !usage || (usage.inputTokens === null && usage.outputTokens === null);
  return (
    (budget.usd !== undefined && isUnpriced(entry)) ||
    (budget.tokens !== undefined && isUnpriced(entry, noTokens))
  );
}

/** Input and output tokens. Tokens written to a cache count, tokens read from one do not. */
export function tokensOf(usage: Usage | null): number {
  return (usage?.inputTokens ?? 0) + (usage?.outputTokens ?? 0) + (usage?.cacheWriteTokens ?? 0);
}

/** Why no further attempt may start, or null. */
export function usedUp(
  applied: readonly AppliedBudget[],
  unknown: Budgets['unknown'],
  now: string,
): Hold | null {
  for (const one of applied) {
    const { scope, budget, spent } = one;
    const key = MEASURES.find((each) => spent[each] >= (budget[each] ?? Number.POSITIVE_INFINITY));
    if (key) return holdOf(one, key, spent[key], now);
    if (unknown === 'block' && one.unknown !== null) {
      const reason = `the cost of ${one.unknown} is unknown, and ${NAMES[scope]} is limited (budgets.unknown: block)`;
      return { kind: 'budget', reason, until: scope === 'day' ? nextDay(now) : null, unpriced: true };
    }
  }
  return null;
}

/** What a running attempt has used so far. */
interface UsedNow {
  usage: Usage | null;
  seconds: number;
  /** Seconds since the budgets were counted, during which other attempts continued. */
  ago: number;
}

/** Why the running attempt must end; or null. */
export function overdrawn(applied: readonly AppliedBudget[], now: UsedNow, time: string): Hold | null {
  const used = { usd: now.usage?.costUsd ?? 0, tokens: tokensOf(now.usage), seconds: now.seconds };
  for (const one of applied) {
    for (const key of ['usd', 'tokens', 'seconds'] as const) {
      const most = one.budget[key];
      const total = one.spent[key] + used[key] + (key === 'seconds' ? one.running * now.ago : 0);
      // The message names the limit, not the value at the time of the check.
      if (most !== undefined && total >= most)
        return holdOf(one, key, key === 'seconds' ? most : total, time);
    }
  }
  return null;
}

const WARNED_FROM = 0.8;

/** Budgets of which little is left for the running attempt: a key that stays the same, and what to say. */
export function nearlyUsedUp(
  applied: readonly AppliedBudget[],
  usage: Usage | null,
): { scope: Scope; key: string; text: string }[] {
  const used = { usd: usage?.costUsd ?? 0, tokens: tokensOf(usage) };
  return applied.flatMap(({ scope, budget, spent }) =>
    (['usd', 'tokens'] as const).flatMap((key) => {
      const most = budget[key];
      const total = spent[key] + used[key];
      if (most === undefined || total < most * WARNED_FROM || total >= most) return [];
      const text = `${percent(total, most)} of ${NAMES[scope]} is used: ${amount(key, total)} of ${amount(key, most)}`;
      return [{ scope, key: `${scope} ${key} ${most}`, text }];
    }),
  );
}

function percent(part: number, whole: number): string {
  return `${Math.floor((100 * part) / whole)} %`;
}

/** What was spent of a limited plan, or of a limited day. */
export interface SpentDollars {
  scope: 'plan' | 'day';
  spent: number;
  most: number;
  /** How many attempts have an unknown cost. */
  unpriced: number;
}

/** `plan`: null if only the day is asked about. */
export function spentDollars(input: Spending & { plan: Plan | null }): SpentDollars[] {
  const { plan, budgets, now } = input;
  const limits = { plan: plan ? (plan.budget ?? budgets.plan).usd : undefined, day: budgets.day.usd };
  const tickets = limits.plan === undefined && limits.day === undefined ? [] : [...input.tickets];
  return (['plan', 'day'] as const).flatMap((scope) => {
    const most = limits[scope];
    if (most === undefined) return [];
    const own = scope === 'plan' ? tickets.filter(({ planId }) => planId === plan?.id) : tickets;
    const when = { day: scope === 'day' ? dayOf(now) : null, budget: {}, now };
    const { spent, unpriced } = sum(own, ({ agent }) => agent !== null, when);
    return [{ scope, most, spent: spent.usd, unpriced }];
  });
}

/** What was spent since the day began. An attempt counts for the day on which it ended: its cost is known then. */
export interface SpentToday {
  /** Null where no cost is known. */
  usd: number | null;
  /** How many attempts have an unknown cost. */
  unpriced: number;
  /** Dollars that may be spent; null: no limit. */
  budgetUsd: number | null;
}

export function spentToday(input: Omit<Spending, 'budgets'> & { budgets: Pick<Budgets, 'day'> }): SpentToday {
  const day = dayOf(input.now);
  const spent: SpentToday = { usd: null, unpriced: 0, budgetUsd: input.budgets.day.usd ?? null };
  for (const { phaseHistory } of input.tickets)
    for (const entry of phaseHistory) {
      if (entry.agent === null || dayOf(entry.completedAt ?? input.now) < day) continue;
      const cost = entry.usage?.costUsd ?? null;
      if (cost !== null) spent.usd = (spent.usd ?? 0) + cost;
      if (isUnpriced(entry)) spent.unpriced++;
    }
  return spent;
}

/** `plan $17.26 of $20.00 (86 %)`, `plan at least $17.26 of $20.00 (86 %)`, `plan cost unknown, limit $20.00` */
export function spentText({ scope, spent, most, unpriced }: SpentDollars): string {
  const name = scope === 'plan' ? 'plan' : 'today';
  const cost = `${name} ${costText(spent, unpriced)}`;
  if (spent === 0 && unpriced > 0) return `${cost}, limit ${dollars(most)}`;
  return `${cost} of ${dollars(most)} (${percent(spent, most)})`;
}

/** Why the running attempt, with this many launches, may not start one more process; or null. */
export function noLaunchLeft(applied: readonly AppliedBudget[], launches: number, now: string): Hold | null {
  const one = applied.find(
    ({ budget, spent }) => spent.launches + launches >= (budget.launches ?? Number.POSITIVE_INFINITY),
  );
  return one ? holdOf(one, 'launches', one.spent.launches + launches, now) : null;
}

/** How much of a measure the attempt may use: the least that any budget leaves; null is no limit. */
export function leftOf(applied: readonly AppliedBudget[], key: 'usd'): number | null {
  const left = applied.flatMap(({ budget, spent }) => {
    const most = budget[key];
    return most === undefined ? [] : [Math.max(0, most - spent[key])];
  });
  return left.length > 0 ? Math.min(...left) : null;
}

const MEASURES = ['usd', 'tokens', 'seconds', 'launches'] as const;
const NAMES: Record<Scope, string> = {
  phase: 'the phase’s budget',
  ticket: 'the ticket’s budget',
  plan: 'the plan’s budget',
  day: 'today’s budget',
};

function holdOf(
  { scope, budget }: AppliedBudget,
  key: (typeof MEASURES)[number],
  used: number,
  now: string,
): Hold {
  const reason = `${NAMES[scope]} is used up: ${amount(key, used)} of ${amount(key, budget[key] ?? 0)}`;
  return { kind: 'budget', reason, until: scope === 'day' ? nextDay(now) : null };
}

function amount(key: (typeof MEASURES)[number], value: number): string {
  switch (key) {
    case 'usd':
      return dollars(value);
    case 'tokens':
      return `${value} tokens`;
    case 'seconds':
      return `${Math.round(value)} s`;
    case 'launches':
      return plural(value, 'launch', 'launches');
  }
}

/** Days are those of UTC: engines in different places agree on them. */
function dayOf(time: string): string {
  // A shortcut for times in our own format: parsing thousands of dates is slow.
  if (time.length === 24 && time.endsWith('Z')) return time.slice(0, 10);
  const parsed = Date.parse(time);
  return Number.isNaN(parsed) ? '' : new Date(parsed).toISOString().slice(0, 10);
}

function nextDay(now: string): string {
  return new Date(Date.parse(`${dayOf(now)}T00:00:00.000Z`) + 86_400_000).toISOString();
}
