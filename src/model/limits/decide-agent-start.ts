import { refKey } from '../ids-and-branch-names.ts';
import type { Attempt, Hold, Ticket } from '../ticket.ts';
import type { PhaseOf } from '../workflow.ts';
import { type AppliedBudgetInput, appliedBudgets, usedUp } from './budget.ts';

/** What decides whether an agent may start. */
interface Candidate {
  account?: string | undefined;
  fallback?: string | undefined;
}

export interface AdmissionInput extends AppliedBudgetInput {
  phase: PhaseOf<'agent'>;
  /** The one that the phase, ticket, plan or default names. */
  agent: string;
  agents: Readonly<Record<string, Candidate>>;
  /** Whether an agent can do what the phase asks for. */
  suits(agent: string): boolean;
  /** Why there is no room for one more process of an agent; null when there is. */
  crowded(agent: string): string | null;
  /** False: no ticket has met a limit that is not over yet. */
  hasLimits?: boolean;
  /** Answers that are the same for many tickets, as `sums`. */
  limits?: Map<string, AccountLimit | null>;
}

/** The agent of an attempt, or why it does not start now. */
export type Admission = { agent: string } | { hold: Hold };

/** Decides before every start of an agent: money, then the account's limit, then memory. */
export function admit(input: AdmissionInput): Admission {
  const { budgets, now } = input;
  const broke = usedUp(appliedBudgets(input), budgets.unknown, now);
  if (broke) return { hold: broke };
  const chosen = chooseAgent(input);
  if ('hold' in chosen) return chosen;
  const full = input.crowded(chosen.agent);
  return full === null ? chosen : { hold: { kind: 'memory', reason: full, until: null } };
}

/** The named agent, or the first of its fallbacks that is under no limit. */
function chooseAgent(input: AdmissionInput): Admission {
  const { agent: named, agents, ticket } = input;
  const accountOf = (agent: string) => own(agents, agent)?.account ?? agent;
  const after = typeof ticket.goAhead === 'string' ? ticket.goAhead : null;
  let first: Hold | undefined;
  const seen = new Set<string>();
  for (let agent: string | undefined = named; agent !== undefined && !seen.has(agent); ) {
    seen.add(agent);
    if (agent === named || input.suits(agent)) {
      const limit = limitFor(input, accountOf(agent), after, accountOf);
      if (!limit) return { agent };
      const reason = `${agent}: ${limit.reason}`;
      if (!first?.until || limit.until < first.until) first = { kind: 'limit', reason, until: limit.until };
    }
    agent = mayFallBack(input.phase) ? own(agents, agent)?.fallback : undefined;
  }
  return first ? { hold: first } : { agent: named };
}

function limitFor(
  { tickets, now, limits, hasLimits }: AdmissionInput,
  account: string,
  after: string | null,
  accountOf: (agent: string) => string,
): AccountLimit | null {
  if (hasLimits === false) return null;
  const key = `${account} ${after ?? ''}`;
  const known = limits?.get(key);
  if (known !== undefined) return known;
  const limit = limitOf({ account, tickets, accountOf, after, now });
  limits?.set(key, limit);
  return limit;
}

/** A phase that names its agent or model, or continues a session, has no fallback unless it says so. */
export function mayFallBack(phase: PhaseOf<'agent'>): boolean {
  const particular = phase.agent !== undefined || phase.model !== undefined || phase.session !== 'fresh';
  return phase.fallback ?? !particular;
}

function own<T>(record: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}

/** A running agent process. */
export interface AtWork {
  /** Megabytes that agents of its name used at their peak. */
  expected: number;
  /** Megabytes that it uses now; null when it is not measured. */
  now: number | null;
  /** Milliseconds since it began. */
  age: number;
}

/** A process that is not measured has its full size after this time, so that free memory already accounts for it. */
const FULL_SIZE_AFTER_MS = 60_000;

interface Room {
  agent: string;
  /** Megabytes that one more would need; 0 turns the check off. */
  need: number;
  free: number;
  atWork: readonly AtWork[];
}

/** Why one more agent would not fit into memory, or null. One may always run. Agents that have just started will still grow. */
export function crowded({ agent, need, free, atWork }: Room): string | null {
  if (need <= 0 || atWork.length === 0) return null;
  const promised = atWork.reduce((sum, { expected, now, age }) => {
    if (now === null) return sum + (age < FULL_SIZE_AFTER_MS ? expected : 0);
    return sum + Math.max(0, expected - now);
  }, 0);
  const left = Math.max(0, Math.round(free - promised));
  if (left >= need) return null;
  return `not enough free memory for one more agent: ${agent} needs about ${Math.round(need)} MB, ${left} MB are left`;
}

/** A usage limit that an account has met and that is not over yet. */
export interface AccountLimit {
  until: string;
  reason: string;
  /** refKey of the ticket whose attempt met it. */
  by: string;
}

/** The limits of all accounts, the first to end first. */
export function limitsByAccount(
  question: Omit<LimitQuestion, 'account' | 'after'>,
): ({ account: string } & AccountLimit)[] {
  const { tickets, accountOf, now } = question;
  const limited = [...tickets].filter(({ phaseHistory }) =>
    phaseHistory.some(({ resetAt = '' }) => Date.parse(resetAt) > Date.parse(now)),
  );
  const accounts = new Set(
    limited.flatMap(({ phaseHistory }) =>
      phaseHistory.flatMap(({ agent, account }) => (agent ? (account ?? accountOf(agent)) : [])),
    ),
  );
  return [...accounts]
    .flatMap((account) => {
      const limit = limitOf({ ...question, account, after: null });
      return limit ? [{ account, ...limit }] : [];
    })
    .sort((a, b) => Date.parse(a.until) - Date.parse(b.until));
}

interface LimitQuestion {
  account: string;
  /** All tickets that are known: the limit is derived from their attempts, so nothing can disagree with them. */
  tickets: Iterable<Ticket>;
  accountOf(agent: string): string;
  /** Reports up to this time do not count: a person retried in spite of them. */
  after: string | null;
  now: string;
}

const CLOCK_SLACK_MS = 60_000;

/** The limit that an account is under, by what its attempts reported; null when it may work. The latest reset counts. */
function limitOf({ account, tickets, accountOf, after, now }: LimitQuestion): AccountLimit | null {
  let limit: { entry: Attempt; by: string; until: number } | undefined;
  let worked = Number.NEGATIVE_INFINITY;
  const time = Date.parse(now);
  const from = after === null ? Number.NEGATIVE_INFINITY : Date.parse(after);
  for (const ticket of tickets) {
    for (const entry of ticket.phaseHistory) {
      if (entry.agent === null || (entry.account ?? accountOf(entry.agent)) !== account) continue;
      if (wasAnswered(entry)) worked = Math.max(worked, Date.parse(entry.startedAt));
      const until = Date.parse(entry.resetAt ?? '');
      const met = Date.parse(entry.completedAt ?? '');
      // A limit with a time in the future was met before the clock was set back.
      if (entry.status !== 'limit' || !(until > time) || !(met > from) || met > time + CLOCK_SLACK_MS)
        continue;
      if (!limit || until > limit.until) limit = { entry, by: refKey(ticket), until };
    }
  }
  if (!limit || worked > Date.parse(limit.entry.completedAt ?? '')) return null;
  const until = new Date(limit.until).toISOString();
  return { until, reason: limit.entry.error?.message ?? 'a usage limit was met', by: limit.by };
}

/** Whether a model answered the attempt. */
export function wasAnswered(entry: Attempt): boolean {
  return entry.status === 'success' || (entry.status !== 'limit' && entry.usage !== null);
}
