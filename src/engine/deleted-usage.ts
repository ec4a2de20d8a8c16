import { readFileSync, statSync } from 'node:fs';
import { writeAtomic } from '../machine/files/atomic.ts';
import type { Attempt, Ticket } from '../model/ticket.ts';
import { quickTicket } from '../store/quick.ts';
import type { EngineContext } from './context.ts';

/** Longer than a day's budget asks, and than it takes most accounts to be under no limit any more. */
const KEPT_MS = 7 * 86_400_000;

/** Before tickets are deleted: what their agents used and met still counts for the day and for their accounts. */
export async function keepPast(parts: EngineContext, tickets: readonly Ticket[]): Promise<void> {
  const { store, now } = parts;
  const time = now();
  if (!tickets.some((ticket) => essence(ticket, time))) return;
  const file = store.layout.past;
  await store.alone('past', async () => {
    const kept = [...read(file), ...tickets].flatMap((ticket) => essence(ticket, time) ?? []);
    const lines = new Set(kept.map((each) => JSON.stringify(each)));
    writeAtomic(file, `[\n${[...lines].join(',\n')}\n]\n`);
  });
}

const known = new WeakMap<EngineContext, { stamp: string; tickets: Ticket[] }>();

/** Tickets that are no more, as far as their agents' work still counts. Their plans have names that no other plan has. */
export function pastOf(parts: EngineContext): Ticket[] {
  const file = parts.store.layout.past;
  const stat = statSync(file, { throwIfNoEntry: false });
  if (!stat) return [];
  const stamp = `${stat.ino} ${stat.mtimeMs} ${stat.size}`;
  const before = known.get(parts);
  if (before?.stamp === stamp) return before.tickets;
  const tickets = read(file).map((ticket) => ({ ...ticket, planId: `${ticket.planId} (deleted)` }));
  known.set(parts, { stamp, tickets });
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

function read(file: string): Ticket[] {
  try {
    const all: unknown = JSON.parse(readFileSync(file, 'utf8'));
    return Array.isArray(all) ? all.flatMap((each) => quickTicket(each) ?? []) : [];
  } catch (error) {
    // Not there yet, or not ours: plans must be deleted all the same.
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
