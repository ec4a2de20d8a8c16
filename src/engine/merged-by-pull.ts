import type { Ticket } from '../model/ticket.ts';
import { endedMerged } from './ended-merged.ts';
import { forgeJournal } from './forge-work.ts';
import type { Parts } from './parts.ts';
import { tipOf } from './tip.ts';

/**
 * Whether a pull request brought a branch's commits into the base, as far as that is known here. Squashed, rebased or
 * merged with somebody's commits on top, its history does not show it.
 */
export function mergedByPull(parts: Parts, ticket: Ticket, tip: string | undefined): boolean {
  if (tip === undefined) return false;
  if (endedMerged(ticket) && (tipOf(ticket) ?? tip) === tip) return true;
  return forgeJournal(parts, ticket).merged().includes(tip);
}
