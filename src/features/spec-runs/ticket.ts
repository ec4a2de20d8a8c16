import { isDeepStrictEqual } from 'node:util';
import type { Spec } from '../../kiro/read-spec.ts';
import type { Assignment } from '../../kiro/state-files.ts';
import type { Unit } from '../../kiro/units.ts';
import type { PlanSpec } from '../../model/plan.ts';
import { isOver, type Ticket } from '../../model/ticket.ts';
import type { TicketUnit } from '../../model/ticket-schema.ts';
import { UnitTicket } from '../../model/ticket-schema.ts';
import { assigned, overridden } from './assignments.ts';
import type { EarlierRun } from './places.ts';
import { describeUnit, ticketIdOf, ticksOf, unitHash } from './unit.ts';

export interface SpecPlanInput {
  planId: string;
  before: EarlierRun | null;
  spec: Spec;
  units: readonly Unit[];
  kept: PlanSpec;
  repo: string;
  branch: string;
  /** Null: the default path of the branch. */
  worktree: string | null;
  /** The units work in the checkout itself. */
  inPlace: boolean;
  agent: string | null;
  base: string | null;
  workflow: string;
  workflowHash: string;
  stopOnFailure: boolean;
  delaySeconds: number;
  maxIterations: number;
  assignments: ReadonlyMap<string, Assignment>;
  /** Units whose agent assigns others as well, by their id. */
  together: ReadonlyMap<string, Together>;
  /** Whether an agent works on a ticket, or has ended and no engine has read its result. */
  isAtWork(ticket: Ticket): boolean;
  now: string;
}

/** Other units that a unit's agent assigns. */
export interface Together {
  ids: readonly string[];
  /** The hashes of their texts when the agent is asked. */
  asked: Readonly<Record<string, string>>;
  /** The workflow in which the agent is asked. */
  workflowHash: string;
}

/** The ticket of a new unit. */
export function ticketFor(input: SpecPlanInput, unit: Unit): Ticket {
  const fields = fieldsOf(input, unit);
  return UnitTicket.parse({
    planId: input.planId,
    ticketId: ticketIdOf(unit.id),
    status: unit.done ? 'complete' : 'queued',
    since: input.now,
    workflowHash: hashFor(input, unit),
    ...fields,
    ...(unit.done ? {} : assigned({ context: {} }, unit, input.assignments.get(unit.id))),
  });
}

function fieldsOf(input: SpecPlanInput, unit: Unit) {
  const { worktree } = input;
  const { ids: together = [], asked = {} } = input.together.get(unit.id) ?? {};
  const others = together.length > 0 ? { together: [...together], asked: { ...asked } } : {};
  const described: TicketUnit = { ...describeUnit(input.spec, unit), ...others };
  return { title: unit.title, description: described.work, branch: input.branch, worktree, unit: described };
}

function hashFor(input: SpecPlanInput, unit: Unit): string {
  return input.together.get(unit.id)?.workflowHash ?? input.workflowHash;
}

/**
 * A known ticket in this run: unchanged where it is done, with the present text where it has begun, from the beginning where
 * its unit wants something else now. While an agent works, or its result is unread, its text stays.
 */
export function renewed(input: SpecPlanInput, unit: Unit, old: Ticket): Ticket {
  const begun = old.phaseHistory.length > 0;
  const waits = old.status === 'needs_attention';
  if (unit.done && (isOver(old) || !begun || waits))
    return old.status === 'complete'
      ? whole(input, unit, old)
      : { ...old, status: 'complete', hold: null, error: null, since: input.now };
  const same = old.unit?.hash === unitHash(unit);
  if (old.status === 'complete' && same) return old;
  const asks = waits && old.hold?.kind === 'gate';
  const goesOn = begun && (same || (!isOver(old) && (!waits || asks)));
  if (!goesOn) return anew(input, unit, old);
  const told = same || !input.isAtWork(old) ? retold(input, unit, old) : old;
  return overridden(told, input.assignments.get(unit.id));
}

/** Tasks that were left out of a complete unit may have been done since. */
function whole(input: SpecPlanInput, unit: Unit, old: Ticket): Ticket {
  if (!old.unit?.leftOut) return old;
  const { leftOut: _, ...rest } = old.unit;
  const { ids, leftOut } = describeUnit(input.spec, unit);
  return { ...old, unit: { ...rest, ids, ...(leftOut ? { leftOut } : {}) } };
}

/** A begun ticket with its unit's present text; `retold` makes its session get the new text. */
function retold(input: SpecPlanInput, unit: Unit, old: Ticket): Ticket {
  const { title, description, unit: now } = fieldsOf(input, unit);
  if (!old.unit) return anew(input, unit, old);
  const { together, asked, done, ...was } = old.unit;
  const kept = { ...(together ? { together } : {}), ...(asked ? { asked } : {}), ...(done ? { done } : {}) };
  const { together: _, asked: __, ...words } = now;
  if (old.title === title && isDeepStrictEqual(was, words)) return old;
  return { ...old, title, description, unit: { ...words, ...kept }, retold: input.now };
}

/** A known ticket from the beginning; its ticks and its history stay. */
export function anew(input: SpecPlanInput, unit: Unit, old: Ticket): Ticket {
  if (!old.unit) return ticketFor(input, unit);
  const fields = fieldsOf(input, unit);
  const { tries: _, left: __, ...rest } = old;
  const fresh = {
    ...rest,
    ...fields,
    unit: { ...fields.unit, done: ticksOf(old) },
    worktree: fields.worktree,
    base: null,
    visits: {},
    retries: {},
    status: unit.done ? ('complete' as const) : ('queued' as const),
    hold: null,
    error: null,
    since: input.now,
    workflowHash: hashFor(input, unit),
    currentPhase: null,
    context: {},
  };
  return unit.done ? fresh : { ...fresh, ...assigned(fresh, unit, input.assignments.get(unit.id)) };
}
