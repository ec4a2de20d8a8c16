import { type PinnedWorkflow, readPinned, resolveWorkflow } from '../content/index.ts';
import type { Plan } from '../model/plan.ts';
import type { Ticket } from '../model/ticket.ts';
import { workflowNameOf } from './facts.ts';
import type { Parts } from './parts.ts';

export interface Pinned extends PinnedWorkflow {
  hash: string;
}

const byHash = new WeakMap<Parts, Map<string, Pinned>>();

/** The workflow a ticket started with; one that has not started yet gets the present one, stored by its hash. */
export async function pinnedFor(parts: Parts, ticket: Ticket, plan: Plan): Promise<Pinned> {
  const { store, settings } = parts;
  const cache = byHash.get(parts) ?? new Map<string, Pinned>();
  byHash.set(parts, cache);
  if (ticket.workflowHash) {
    const known = cache.get(ticket.workflowHash);
    if (known) return known;
    const text = store.pinned(ticket.workflowHash);
    if (text) {
      const pinned = { ...readPinned(text), hash: ticket.workflowHash };
      cache.set(pinned.hash, pinned);
      return pinned;
    }
  }
  const resolved = await resolveWorkflow(workflowNameOf(ticket, plan, settings), settings.searchPath);
  const { hash, text } = resolved;
  if (!cache.has(hash)) store.pin(hash, text);
  const pinned = cache.get(hash) ?? { ...resolved, hash };
  cache.set(hash, pinned);
  return pinned;
}
