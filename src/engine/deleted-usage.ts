import type { Attempt, Ticket } from '../model/ticket.ts';
import type { EngineContext } from './context.ts';

/** Longer than a daily budget needs, and than most usage limits last. */
const KEPT_MS = 7 * 86_400_000;

/** Called before tickets are deleted: what their agents used still counts for daily budgets and usage limits. */
export async function keepUsage(parts: EngineContext, tickets: readonly Ticket[]): Promise<void> {
  const { store, now } = parts;
  const time = now();
  if (!tickets.some((ticket) => essence(ticket, time))) return;
  await store.updateDeletedUsage((kept) =>
    [...kept, ...tickets].flatMap((ticket) => essence(ticket, time) ?? []),
  );
}

const renamed = new WeakMap<readonly Ticket[], Ticket[]>();

/** Deleted tickets whose usage still counts. Their plans' names are no valid ids, so they never match a plan. */
export function deletedUsage({ store }: EngineContext): Ticket[] {
  const kept = store.deletedUsage();
  const known = renamed.get(kept);
  if (known) return known;
  const tickets = kept.map((ticket) => ({ ...ticket, planId: `${ticket.planId} (deleted)` }));
  renamed.set(kept, tickets);
  return tickets;
}

/** The usage of a ticket, without any of its texts. */
function essence(ticket: Ticket, now: string): object | undefined {
  const { planId, ticketId, lookedAt } = ticket;
  const phaseHistory = ticket.phaseHistory
    .filter((entry) => entry.agent !== null && counts(entry, Date.parse(now)))
    .map((entry) => attemptOf(entry, now));
  return phaseHistory.length === 0 ? undefined : { planId, ticketId, title: '', lookedAt, phaseHistory };
}

function counts({ completedAt, resetAt }: Attempt, now: number): boolean {
  return completedAt === null || Date.parse(completedAt) > now - KEPT_MS || Date.parse(resetAt ?? '') > now;
}

/** An attempt without an end ends now. */
function attemptOf(entry: Attempt, now: string): object {
  const { phase, visit, attempt, status, startedAt, agent, usage, error, launches, resetAt } = entry;
  const completedAt = entry.completedAt ?? now;
  return { phase, visit, attempt, status, startedAt, completedAt, agent, usage, error, launches, resetAt };
}
