import { refKey, type TicketRef } from '../model/ids.ts';
import type { EngineContext } from './context.ts';

/**
 * Takes a ticket that needs a slot. Counting and taking are one step for all engines of a state directory, or two that
 * look at the same moment would both take the last one.
 */
export function claimInTurn(
  parts: EngineContext,
  ref: TicketRef,
  most: number,
  take: () => Promise<boolean>,
): Promise<boolean> {
  const { store, holder } = parts;
  return store.alone('slots', async () => {
    if (!holder.hasOthers()) return take();
    const busy = [...store.view().tickets.values()].filter(
      (ticket) => ticket.claim && holder.isLive(ticket.claim) && refKey(ticket) !== refKey(ref),
    );
    return busy.length < most && take();
  });
}
