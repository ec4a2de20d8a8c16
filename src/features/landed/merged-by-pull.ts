import type { EngineContext } from '../../engine/context.ts';
import { endedMerged } from '../../engine/ended-merged.ts';
import type { Ticket } from '../../model/ticket.ts';
import { tipOf } from '../../model/ticket.ts';
import { forgeJournal } from '../pull-requests/context.ts';

/**
 * Whether a pull request brought a branch's commits into the base, as far as that is known here. Squashed, rebased or
 * merged with somebody's commits on top, its history does not show it.
 */
export function mergedByPull(parts: EngineContext, ticket: Ticket, tip: string | undefined): boolean {
  if (tip === undefined) return false;
  if (endedMerged(ticket) && (tipOf(ticket) ?? tip) === tip) return true;
  return forgeJournal(parts, ticket).merged().includes(tip);
}
