import type { EngineContext } from '../../engine/context.ts';
import type { Journal } from '../../engine/ticket-writer.ts';
import { HeldError } from '../../model/errors.ts';
import type { Plan } from '../../model/plan.ts';
import { type Hold, openAttempt, type Ticket } from '../../model/ticket.ts';
import { lockSpec, placeOf } from './lock.ts';

/** Nobody says here when another state directory's run ends. */
const LOOK_MS = 10_000;

/** Takes the spec of a plan for this process; or says for whom it waits, where another run has it. */
export async function waitForLock(
  parts: EngineContext,
  plan: Plan,
  branch: string,
): Promise<Hold | undefined> {
  const place = placeOf(plan, branch);
  if (!place) return undefined;
  try {
    await lockSpec(parts, plan.id, place);
    return undefined;
  } catch (error) {
    if (!(error instanceof HeldError)) throw error;
    const until = new Date(Date.parse(parts.now()) + LOOK_MS).toISOString();
    return { kind: 'blocked', reason: error.message.replace(/\.$/, ''), until, lock: true };
  }
}

/** Lets go of a ticket until its spec is free. What a dead engine began in a tree that is another run's by now begins anew. */
export async function holdForLock(journal: Journal, hold: Hold): Promise<void> {
  const end = { type: 'interrupted', reason: hold.reason, deliberate: true } as const;
  if (openAttempt(journal.ticket)) await journal.apply({ type: 'end', end });
  await journal.apply({ type: 'hold', hold }, { type: 'release' });
}

export function isLockWait({ hold }: Ticket): boolean {
  return hold?.lock === true;
}
