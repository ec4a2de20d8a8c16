import type { Attempt, Ticket } from '../model/ticket.ts';
import type { EngineContext } from './context.ts';

/** Longer than a day's budget asks, and than it takes most accounts to be under no limit any more. */
const KEPT_MS = 7 * 86_400_000;

/** Before tickets are deleted: what their agents used and met still counts for the day and for their accounts. */
export async function keepPast(parts: EngineContext, tickets: readonly Ticket[]): Promise<void> {
  const { store, now } = parts;
  const time = now();
  if (!tickets.some((ticket) => essence(ticket, time))) return;
  await store.updateDeletedUsage((kept) =>
    [...kept, ...tickets].flatMap((ticket) => essence(ticket, time) ?? []),
  );
}

const renamed = new WeakMap<readonly Ticket[], Ticket[]>();

/** Tickets that are no more, as far as their agents' work still counts. Their plans have names that no other plan has. */
export function pastOf({ store }: EngineContext): Ticket[] {
  const kept = store.deletedUsage();
  const known = renamed.get(kept);
  if (known) return known;
  const tickets = kept.map((ticket) => ({ ...ticket, planId: `${ticket.planId} (deleted)` }));
  renamed.set(kept, tickets);
  return tickets;
}

/** Of a ticket, nothing that anybody wrote in it. */
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

/** One that nobody saw the end of ends here. */
function attemptOf(entry: Attempt, now: string): object {
  const { phase, visit, attempt, status, startedAt, agent, usage, error, launches, resetAt } = entry;
  const completedAt = entry.completedAt ?? now;
  return { phase, visit, attempt, status, startedAt, completedAt, agent, usage, error, launches, resetAt };
}
