import type { EngineContext } from '../../engine/context.ts';
import { Assignment } from '../../kiro/state-files.ts';
import type { Unit } from '../../kiro/units.ts';
import type { Ticket } from '../../model/ticket.ts';
import { assigned, isNews } from './assignments.ts';

/** Most units that one agent is asked about at once: more would be answered carelessly. */
const MOST = 50;

/** Units that are assigned with another one, by the one that asks for them: open ones that nobody has decided about. */
export function groupsOf(
  units: readonly Unit[],
  isDecided: (unit: Unit) => boolean,
): Map<string, readonly string[]> {
  const ids = units
    .filter((unit) => !unit.done && !unit.open.every(({ checkpoint }) => checkpoint) && !isDecided(unit))
    .map(({ id }) => id);
  const groups = new Map<string, readonly string[]>();
  for (let from = 0; from < ids.length; from += MOST) {
    const [first, ...others] = ids.slice(from, from + MOST);
    if (first !== undefined && others.length > 0) groups.set(first, others);
  }
  return groups;
}

/** What an agent has decided about other units than the one that it was asked for first, by their ids. */
export function decidedWith(ticket: Ticket): Map<string, Assignment> {
  const { assign_others: said } = ticket.context;
  if (typeof said !== 'object' || said === null || Array.isArray(said)) return new Map();
  return new Map(
    Object.entries(said).flatMap(([id, value]) => {
      const { type, owner, criticality, reason } = (value ?? {}) as Record<string, unknown>;
      const of = ticket.unit?.asked?.[id];
      const about = { by: 'agent', ...(reason ? { reason } : {}), ...(of ? { of } : {}) };
      const form = { type, owner_agent: owner, criticality, ...about };
      const parsed = Assignment.safeParse(form);
      return parsed.success ? [[id, parsed.data] as const] : [];
    }),
  );
}

/**
 * Gives units that have not begun what was decided about them: by a person in the state file, else by the agent that
 * was asked for several at once. One that has an owner already keeps it unless a person says otherwise.
 */
export async function giveOwners(
  parts: EngineContext,
  tickets: readonly Ticket[],
  byHand: ReadonlyMap<string, Assignment>,
): Promise<Ticket[]> {
  const together = new Map(tickets.flatMap((ticket) => [...decidedWith(ticket)]));
  const wanted = (ticket: Ticket): Assignment | undefined => {
    const id = ticket.unit?.id ?? ticket.ticketId;
    if (ticket.phaseHistory.length > 0 || ticket.status !== 'queued' || ticket.claim) return undefined;
    const own = byHand.get(id);
    const isOpen = ticket.context.unit_type === undefined;
    // What stands in the file of an agent's earlier decision is no person's word where there is none any more.
    if (own && isNews(ticket, own) && (!isOpen || own.by === 'person')) return { ...own, by: 'person' };
    const decided = together.get(id);
    return isOpen && decided?.of === ticket.unit?.hash ? decided : undefined;
  };
  return Promise.all(
    tickets.map(async (ticket) => {
      if (!wanted(ticket)) return ticket;
      return parts.store.updateTicket(ticket, (latest) => {
        const assignment = wanted(latest);
        const checkpoint = latest.unit?.checkpoint ?? false;
        return assignment
          ? { ...latest, ...assigned(latest, { open: [{ checkpoint }] }, assignment) }
          : latest;
      });
    }),
  );
}
