import { type Claim, sayOther } from '../claim.ts';
import type { Plan } from '../plan.ts';
import type { Hold, Ticket } from '../ticket.ts';
import { explain } from './explain.ts';

const DRIVEN = 'is driven by ';
const INSIDE = /(?:^|; )a person is in its session \(/;

/** What a ticket waits for while this claim of somebody else is on it, in the place of its own hold. */
export function heldBy(claim: Claim, ticket: Ticket, plan: Plan): Hold {
  const hold: Hold = { kind: 'blocked', reason: `${DRIVEN}${sayOther(claim)}`, until: null };
  if (claim.by !== 'session') return hold;
  const { why: reason } = explain(ticket, plan, { driven: true, engine: true });
  const isAsked = ticket.status === 'needs_attention' || ticket.status === 'paused';
  return { ...((isAsked && ticket.hold) || hold), reason };
}

/** Whether a reason is one of these: they are told, and never written down. */
export function saysHolder(reason: string): boolean {
  return reason.startsWith(DRIVEN) || INSIDE.test(reason);
}

/** Whether a reason goes on from the name of its ticket, as in "a waits for b". */
export function isVerbal(reason: string): boolean {
  return reason.startsWith('waits for ') || reason.startsWith(DRIVEN);
}
