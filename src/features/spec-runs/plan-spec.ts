import { isDeepStrictEqual } from 'node:util';
import type { Unit } from '../../kiro/group-tasks-into-units.ts';
import type { Spec } from '../../kiro/read-spec.ts';
import type { Assignment } from '../../kiro/state-file-formats.ts';
import { isWork, withDescendants } from '../../kiro/task-and-problem-types.ts';
import { promptParts } from '../../kiro/texts-for-unit-prompt.ts';
import { identityOf, type TaskIdentity } from '../../kiro/tick-and-merge-tasks.ts';
import { parseKeepingExtra } from '../../model/extra-fields.ts';
import { digest, idProblem, slug } from '../../model/ids-and-branch-names.ts';
import type { Plan, PlanSpec } from '../../model/plan.ts';
import { SpecRunPlan } from '../../model/plan-schema.ts';
import { editOpen } from '../../model/state/enter-and-leave-phases.ts';
import { isOver, markedBlocked, openTasksOf, type Ticket } from '../../model/ticket.ts';
import { type TicketUnit, UnitTicket } from '../../model/ticket-schema.ts';
import { withAssignment, withPersonsAssignment } from './assign-agents-to-units.ts';
import { type EarlierRun, type SpecRunRequest, ticksOf } from './run-request-ticks-and-halt.ts';

export const SPEC_WORKFLOW = 'spec-task';

interface SpecPlanInput {
  request: SpecRunRequest;
  planId: string;
  before: EarlierRun | null;
  spec: Spec;
  units: readonly Unit[];
  kept: PlanSpec;
  root: string;
  branch: string;
  /** Null: the default path of the branch. */
  worktree: string | null;
  workflowHash: string;
  /** Tasks that a run whose state is gone has ticked on the branch. */
  ticked: readonly TaskIdentity[];
  assignments: ReadonlyMap<string, Assignment>;
  /** Units whose agent assigns others as well, by their id. */
  together: ReadonlyMap<string, Together>;
  /** Whether an agent works on a ticket, or has ended and no engine has read its result. */
  isAtWork(ticket: Ticket): boolean;
  now: string;
}

/** Other units that a unit's agent assigns, and the workflow in which it is asked. */
export interface Together extends Required<Pick<TicketUnit, 'together' | 'asked'>> {
  workflowHash: string;
}

export interface SpecPlan {
  plan: Plan;
  /** All tickets as they should be. */
  tickets: Ticket[];
  added: Ticket[];
  changed: Ticket[];
  /** Not wanted in this run, and never begun. */
  dropped: Ticket[];
  /** Not wanted in this run, and begun: their work is taken out of the tree. */
  aside: Ticket[];
}

/** A spec as a plan: a ticket for each unit, in order, with what earlier runs made of them. */
export function planSpec(input: SpecPlanInput): SpecPlan {
  const known = byUnit(input.before?.tickets ?? []);
  const setAside = byUnit(input.kept.aside ?? []);
  const [added, changed]: [Ticket[], Ticket[]] = [[], []];
  const own = input.units.map((unit) => {
    const old = known.get(unit.id);
    const earlier = setAside.get(unit.id);
    known.delete(unit.id);
    setAside.delete(unit.id);
    const ticket = old ? updatedTicket(input, unit, old) : restarted(input, unit, earlier);
    if (!old) added.push(ticket);
    else if (ticket !== old) changed.push(ticket);
    return ticket;
  });
  const left = [...known.values()];
  const complete = left.filter(({ status }) => status === 'complete');
  const open = left.filter(({ status }) => status !== 'complete');
  const isBegun = (ticket: Ticket) => ticket.phaseHistory.length > 0 || ticksOf(ticket).length > 0;
  const aside = open.filter(isBegun);
  const ids = new Map(input.units.map(({ id }, index) => [id, own[index]?.ticketId ?? '']));
  const before = new Map(input.before?.plan.tickets.map((entry) => [entry.ticketId, entry]));
  const entries = input.units.map((unit, index) => ({
    ...before.get(ids.get(unit.id) ?? ''),
    ticketId: ids.get(unit.id) ?? '',
    order: index + 1,
    blockedBy: [...new Set(unit.after.flatMap((id) => ids.get(id) ?? []))],
    group: 0,
  }));
  const others = complete.map(({ ticketId }) => ({
    ...before.get(ticketId),
    ticketId,
    order: 0,
    blockedBy: [],
    group: 0,
  }));
  const tickets = [...complete, ...own];
  const kept: PlanSpec = {
    ...input.kept,
    aside: [...setAside.values(), ...aside.flatMap((ticket) => recordOfSetAside(ticket, input.now))],
    gone: [...new Set([...(input.kept.gone ?? []), ...open.map(({ ticketId }) => ticketId)])],
  };
  const done = tickets.every(({ status }) => status === 'complete');
  const plan = planFor({ ...input, kept }, [...others, ...entries], done);
  return { plan, tickets, added, changed, dropped: open.filter((ticket) => !isBegun(ticket)), aside };
}

/** The record that the plan keeps of a ticket that is set aside. */
function recordOfSetAside(ticket: Ticket, now: string): UnitTicket[] {
  const ended = editOpen(ticket, (attempt) => ({ ...attempt, status: 'interrupted', completedAt: now }));
  return ended.unit ? [{ ...ended, base: null, claim: null }] : [];
}

function byUnit<T extends Ticket>(tickets: readonly T[]): Map<string, T> {
  return new Map(tickets.map((ticket) => [ticket.unit?.id ?? ticket.ticketId, ticket]));
}

function planFor(input: SpecPlanInput, tickets: Plan['tickets'], done: boolean): Plan {
  const { before, now, request } = input;
  return parseKeepingExtra(SpecRunPlan, {
    createdAt: now,
    createdBy: 'spec',
    ...before?.plan,
    pausedBy: null,
    id: input.planId,
    name: input.spec.name,
    kind: 'spec',
    repo: input.root,
    workflow: SPEC_WORKFLOW,
    agent: request.backend,
    base: request.base,
    workspace: request.inPlace ? 'checkout' : 'shared',
    concurrency: 1,
    stopOnFailure: request.stopOnFailure,
    delaySeconds: request.delaySeconds,
    starts: { max: request.maxIterations, since: now },
    status: done ? 'complete' : 'active',
    ...(done ? { completedAt: before?.plan.completedAt ?? now } : {}),
    install: !request.inPlace,
    tickets,
    spec: input.kept,
    run: { detached: false },
    windows: null,
  });
}

/** What a ticket says of its unit. */
function fieldsOf({ spec, branch, worktree, together }: SpecPlanInput, unit: Unit) {
  const { workflowHash: _, ...others } = together.get(unit.id) ?? {};
  const described: TicketUnit = { ...describeUnit(spec, unit), ...others };
  return { title: unit.title, description: described.work, branch, worktree, unit: described };
}

/**
 * A known ticket in this run: unchanged if it is done, with the current text if it has started, restarted if its unit asks for
 * something else now. While an agent works, or its result is unread, its text does not change.
 */
function updatedTicket(input: SpecPlanInput, unit: Unit, old: Ticket): Ticket {
  const begun = old.phaseHistory.length > 0;
  const waits = old.status === 'needs_attention';
  if (unit.done && (isOver(old) || !begun || waits))
    return old.status === 'complete'
      ? withOpenTasks(input, unit, old)
      : { ...old, status: 'complete', hold: null, error: null, since: input.now };
  const same = old.unit?.hash === unitHash(unit);
  if (old.status === 'complete' && same) return old;
  if (unit.blocked !== null && !input.isAtWork(old)) return restarted(input, unit, old);
  const asks = waits && old.hold?.kind === 'gate';
  const continues = begun && (same || (!isOver(old) && (!waits || asks)));
  if (!continues) return restarted(input, unit, old);
  const present = same || !input.isAtWork(old) ? withPresentText(input, unit, old) : old;
  return withPersonsAssignment(present, input.assignments.get(unit.id));
}

/** Tasks of a complete unit that were open may have been done since. */
function withOpenTasks(input: SpecPlanInput, unit: Unit, old: Ticket): Ticket {
  if (!old.unit || openTasksOf(old).length === 0) return old;
  const { leftOut: _, unticked: __, ...rest } = old.unit;
  const { ids, leftOut, unticked } = describeUnit(input.spec, unit);
  const left = { ...(leftOut ? { leftOut } : {}), ...(unticked ? { unticked } : {}) };
  return { ...old, unit: { ...rest, ids, ...left } };
}

/** A begun ticket with its unit's present text; `retold` makes its session get the new text. */
function withPresentText(input: SpecPlanInput, unit: Unit, old: Ticket): Ticket {
  if (!old.unit) return restarted(input, unit, old);
  const { title, description, unit: now } = fieldsOf(input, unit);
  const { together, asked, done, ...was } = old.unit;
  const { together: _, asked: __, ...text } = now;
  if (old.title === title && isDeepStrictEqual(was, text)) return old;
  const kept = { ...(together ? { together } : {}), ...(asked ? { asked } : {}), ...(done ? { done } : {}) };
  return { ...old, title, description, unit: { ...text, ...kept }, retold: input.now };
}

/** The ticket of a unit from its beginning. Ticks and history of an earlier one stay. */
function restarted(input: SpecPlanInput, unit: Unit, old: Ticket | undefined): Ticket {
  const fields = fieldsOf(input, unit);
  const start = {
    ...fields,
    status: unit.done ? ('complete' as const) : ('queued' as const),
    hold: null,
    since: input.now,
    workflowHash: input.together.get(unit.id)?.workflowHash ?? input.workflowHash,
    ...(unit.done ? {} : withAssignment({ context: {} }, unit, input.assignments.get(unit.id))),
    ...(unit.done || unit.blocked === null ? {} : markedBlocked(unit.blocked)),
  };
  if (!old?.unit) {
    const done = input.ticked.filter(({ id }) => unit.work.some((task) => task.id === id));
    const ids = { planId: input.planId, ticketId: ticketIdOf(unit.id) };
    return UnitTicket.parse({
      ...ids,
      ...start,
      ...(done.length > 0 ? { unit: { ...fields.unit, done } } : {}),
    });
  }
  const { tries: _, left: __, ...rest } = old;
  return {
    ...rest,
    base: null,
    visits: {},
    retries: {},
    error: null,
    currentPhase: null,
    context: {},
    ...start,
    unit: { ...fields.unit, done: ticksOf(old) },
  };
}

/** A unit as its ticket stores it. */
function describeUnit(spec: Spec, unit: Unit): TicketUnit {
  const { work, context, requirements, design, verify, checkpoint } = promptParts(spec, unit);
  const unticked = unit.work.filter(
    (task) => task.box && task.mark !== 'done' && !task.optional && !unit.open.includes(task),
  );
  return {
    id: unit.id,
    tasks: (unit.open.length > 0 ? unit.open : unit.work).map(identityOf),
    ids: idsOf(unit),
    ...(unit.leftOut.length > 0 ? { leftOut: unit.leftOut.map(({ id }) => id) } : {}),
    ...(unticked.length > 0 ? { unticked: unticked.map(({ id }) => id) } : {}),
    work,
    context,
    requirements,
    design,
    verify,
    checkpoint,
    hash: unitHash(unit),
  };
}

/** Of each parent that is ticked with its last child: its open children. */
export function openParents({ all }: Pick<Spec, 'all'>): Record<string, string[]> {
  const parents = all.filter((task) => task.box !== null && task.children.length > 0 && !isWork(task));
  return Object.fromEntries(
    parents.flatMap(({ id, done, optional, children }) => {
      const left = children.filter((child) => !child.done && (!child.optional || optional));
      return done || left.length > 0 ? [[id, left.map((child) => child.id)]] : [];
    }),
  );
}

/** Identifies the text of a unit's tasks. */
export function unitHash({ work }: Unit): string {
  const identity = work.map(({ id, title, details }) => [id, title, details]);
  return digest(JSON.stringify(identity));
}

/** All ids that are done with a unit. A parent with tasks that are left out is not done with the others. */
function idsOf({ id, root, work, leftOut }: Unit): string[] {
  const own = new Set(work.map((task) => task.id));
  const inside = withDescendants(root).flatMap((task) => (own.has(task.id) ? [task.id] : []));
  return [...new Set(leftOut.length > 0 ? inside : [id, ...inside])];
}

/** An id that may be a file name; other ids get a few digits of their hash. */
function ticketIdOf(id: string): string {
  if (idProblem(id) === undefined) return id;
  return `${slug(id, 60)}-${digest(id, 8)}`;
}
