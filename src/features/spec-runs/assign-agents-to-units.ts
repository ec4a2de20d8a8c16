import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Settings } from '../../config/settings-table.ts';
import type { EngineContext } from '../../engine/context.ts';
import type { Unit } from '../../kiro/group-tasks-into-units.ts';
import { Assignment, readAssignments, readStateText } from '../../kiro/state-file-formats.ts';
import { InputError } from '../../model/errors.ts';
import { didYouMean } from '../../model/text/nearest-word.ts';
import { asRecord } from '../../model/text/values-of-unknown-type.ts';
import type { Ticket } from '../../model/ticket.ts';
import { STATE_FILE } from './bring-spec-into-worktree.ts';

/** Applies a person's decision in the state file, also to a unit that has started. */
export function withPersonsAssignment(ticket: Ticket, assignment: Assignment | undefined): Ticket {
  if (!assignment || isSame(assignmentOf(ticket), assignment)) return ticket;
  return { ...ticket, context: { ...ticket.context, ...contextOf(assignment, 'person') } };
}

function isSame(one: Assignment | undefined, other: Assignment): boolean {
  const key = (assignment?: Assignment) =>
    [assignment?.type, assignment?.owner_agent, assignment?.criticality].join('\0');
  return key(one) === key(other);
}

/** The owner of a unit and who decided it; undefined before the decision. */
export function assignmentOf(
  ticket: Pick<Ticket, 'context' | 'phaseHistory' | 'unit'>,
): Assignment | undefined {
  const { hash } = ticket.unit ?? {};
  const { unit_type, owner, criticality, assigned_by, assign_reason } = ticket.context;
  const fallback = ticket.phaseHistory.findLast(({ phase }) => phase === 'fallback');
  if (typeof unit_type === 'string' && typeof owner === 'string') {
    const by = (assigned_by ?? 'agent') as Assignment['by'];
    return {
      type: unit_type as Assignment['type'],
      owner_agent: owner,
      criticality: (criticality ?? 'standard') as Assignment['criticality'],
      by,
      ...(typeof assign_reason === 'string' ? { reason: assign_reason } : {}),
      ...(by === 'agent' && hash ? { of: hash } : {}),
    };
  }
  if (!fallback) return undefined;
  const reason = ticket.phaseHistory.findLast(({ phase, error }) => phase === 'assign' && error)?.error
    ?.message;
  return {
    type: 'code',
    owner_agent: 'default',
    criticality: 'standard',
    by: 'fallback',
    ...(reason ? { reason } : {}),
  };
}

/** The fields of a ticket after its assignment: the phase to start with, and the owner. A checkpoint starts with the checks. */
export function withAssignment(
  ticket: Pick<Ticket, 'context'>,
  unit: { open: readonly { checkpoint: boolean }[] },
  assignment: Assignment | undefined,
): Partial<Pick<Ticket, 'currentPhase' | 'context'>> {
  const context = assignment
    ? { ...ticket.context, ...contextOf(assignment, assignment.by) }
    : ticket.context;
  if (unit.open.length > 0 && unit.open.every(({ checkpoint }) => checkpoint))
    return { currentPhase: 'checks', context };
  if (!assignment) return {};
  return { currentPhase: assignment.type === 'review' ? 'review' : 'implement', context };
}

function contextOf({ type, owner_agent, criticality, reason }: Assignment, by: string) {
  return { unit_type: type, owner: owner_agent, criticality, assign_reason: reason ?? null, assigned_by: by };
}

/** Maximum number of units in one question: with more, agents decide carelessly. */
const MAX_UNITS_AT_ONCE = 50;

/** Ids of undecided units in groups of at least two: the agent of the first unit assigns the others as well. */
export function groupsOf(undecided: readonly Unit[]): [string, ...string[]][] {
  const ids = undecided.filter(({ open }) => open.some(({ checkpoint }) => !checkpoint)).map(({ id }) => id);
  const groups: [string, ...string[]][] = [];
  while (ids.length > 1) {
    const [first = '', ...others] = ids.splice(0, MAX_UNITS_AT_ONCE);
    groups.push([first, ...others]);
  }
  return groups;
}

/** What an agent has decided about the other units of its group, by their ids. */
function decidedWith(ticket: Ticket): Map<string, Assignment> {
  return new Map(
    Object.entries(asRecord(ticket.context.assign_others)).flatMap(([id, value]) => {
      const { type, owner, criticality, reason } = asRecord(value);
      const of = ticket.unit?.asked?.[id];
      const about = { by: 'agent', ...(reason ? { reason } : {}), ...(of ? { of } : {}) };
      const parsed = Assignment.safeParse({ type, owner_agent: owner, criticality, ...about });
      return parsed.success ? [[id, parsed.data] as const] : [];
    }),
  );
}

/**
 * Stores the owners of units that have not begun: a person's decision in the state file, else that of the agent that assigned
 * a group. A unit that has an owner keeps it unless a person decides otherwise.
 */
export async function storeOwners(
  engine: EngineContext,
  tickets: readonly Ticket[],
  byHand: ReadonlyMap<string, Assignment>,
): Promise<Ticket[]> {
  const together = new Map(tickets.flatMap((ticket) => [...decidedWith(ticket)]));
  const wanted = (ticket: Ticket): Assignment | undefined => {
    const id = ticket.unit?.id ?? ticket.ticketId;
    if (ticket.phaseHistory.length > 0 || ticket.status !== 'queued' || ticket.claim) return undefined;
    const own = byHand.get(id);
    const isOpen = ticket.context.unit_type === undefined;
    // The file may still have an agent's decision that the ticket no longer has: that is not a person's.
    if (own && !isSame(assignmentOf(ticket), own) && (!isOpen || own.by === 'person'))
      return { ...own, by: 'person' };
    const decided = together.get(id);
    return isOpen && decided?.of === ticket.unit?.hash ? decided : undefined;
  };
  return Promise.all(
    tickets.map(async (ticket) => {
      if (!wanted(ticket)) return ticket;
      return engine.store.updateTicket(ticket, (latest) => {
        const assignment = wanted(latest);
        const checkpoint = latest.unit?.checkpoint ?? false;
        return assignment
          ? { ...latest, ...withAssignment(latest, { open: [{ checkpoint }] }, assignment) }
          : latest;
      });
    }),
  );
}

/**
 * The owners of units that are decided: by the state file, else by an agent in an earlier run. An agent's decision counts for
 * the text that it was asked about, not for another text under the same id; a fallback is not a decision.
 */
export function knownOwners(
  before: readonly Ticket[],
  units: ReadonlyMap<string, string>,
  stated: ReadonlyMap<string, Assignment>,
): Map<string, Assignment> {
  const decided = before.flatMap((ticket) => {
    const own = assignmentOf(ticket);
    const id = ticket.unit?.id;
    return [...decidedWith(ticket), ...(own && id ? [[id, own] as const] : [])];
  });
  const known = new Map(decided);
  for (const [id, said] of stated) {
    const before = known.get(id);
    // A person who changes a line need not change its `by`.
    if (!before || said.by === 'person') known.set(id, said);
    else if (!isSame(before, said)) known.set(id, { ...said, by: 'person' });
  }
  const stillFits = ([id, { by, of }]: [string, Assignment]) =>
    units.has(id) && (by === 'person' || (by === 'agent' && of === units.get(id)));
  return new Map([...known].filter(stillFits));
}

/** Warns of an owner that the settings do not have, perhaps a typing error: the default agent does its units. */
export function unknownOwner(
  place: string,
  id: string,
  { owner_agent: owner }: Assignment,
  owners: readonly string[],
): string[] {
  if (owners.includes(owner)) return [];
  const who = `${JSON.stringify(owner)}, which is none of the owners (${owners.join(', ')})`;
  const file = join(place, STATE_FILE);
  return [`${file}: ${id} is given to ${who}: the default agent does it.${didYouMean(owner, owners)}`];
}

/** The assignments in the state file. A file that cannot be read is reported, and replaced when the run begins. */
export function ownersInStateFile(
  place: string,
  name: string,
): { assignments: ReadonlyMap<string, Assignment>; notes: string[] } {
  const file = join(place, STATE_FILE);
  if (!existsSync(file)) return { assignments: new Map(), notes: [] };
  try {
    const { assignments, problems, unnamed } = readAssignments(readStateText(file), name, file);
    const notes = problems.map(
      ({ id, message }) => `${file}: the assignment of ${id} is ignored: ${message}`,
    );
    if (!unnamed) return { assignments, notes };
    return {
      assignments: new Map(),
      notes: [...notes, `${file} does not name the spec of its assignments; they are ignored.`],
    };
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    return { assignments: new Map(), notes: [`${error.message} It is moved aside.`] };
  }
}

/** The possible owners of a unit; `default` is the plan's own agent. */
export function ownersOf(settings: Settings): string[] {
  return [...new Set(['default', ...Object.keys(settings.specs.owners)])];
}
