import { createHash } from 'node:crypto';
import { idProblem, slug } from '../model/ids.ts';
import type { Plan } from '../model/plan.ts';
import { Plan as PlanSchema } from '../model/plan-schema.ts';
import { isOver, type Ticket } from '../model/ticket.ts';
import { Ticket as TicketSchema } from '../model/ticket-schema.ts';
import { editOpen } from '../model/walk.ts';
import {
  type Assignment,
  identityOf,
  promptParts,
  type Spec,
  type Unit,
  withDescendants,
} from '../sources/kiro/index.ts';
import { assignmentOf } from './spec-picture.ts';
import { type PlanSpec, type TicketUnit, ticksOf, unitOf } from './spec-unit.ts';

export interface SpecPlanInput {
  planId: string;
  /** What there is of it from earlier runs. */
  before: { plan: Plan; tickets: readonly Ticket[] } | null;
  spec: Spec;
  units: readonly Unit[];
  kept: PlanSpec;
  repo: string;
  branch: string;
  /** Set where the work happens in the checkout itself. */
  inPlace: boolean;
  agent: string | null;
  base: string | null;
  workflow: string;
  workflowHash: string;
  stopOnFailure: boolean;
  delaySeconds: number;
  maxIterations: number;
  assignments: ReadonlyMap<string, Assignment>;
  /** Units that ask for others too, with the workflow in which they do. */
  together: ReadonlyMap<
    string,
    { ids: readonly string[]; asked: Readonly<Record<string, string>>; workflowHash: string }
  >;
  now: string;
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
  const aside = byUnit(input.kept.aside ?? []);
  const result: SpecPlan = {
    plan: input.before?.plan as Plan,
    tickets: [],
    added: [],
    changed: [],
    dropped: [],
    aside: [],
  };
  const ids = new Map<string, string>();
  for (const unit of input.units) {
    const old = known.get(unit.id);
    const again = aside.get(unit.id);
    known.delete(unit.id);
    aside.delete(unit.id);
    const ticket = old
      ? renewed(input, unit, old)
      : again
        ? anew(input, unit, again)
        : ticketFor(input, unit);
    ids.set(unit.id, ticket.ticketId);
    result.tickets.push(ticket);
    if (!old) result.added.push(ticket);
    else if (ticket !== old) result.changed.push(ticket);
  }
  const left = [...known.values()];
  const kept = left.filter((ticket) => ticket.status === 'complete');
  const open = left.filter((ticket) => ticket.status !== 'complete');
  const isBegun = (ticket: Ticket) => ticket.phaseHistory.length > 0 || ticksOf(ticket).length > 0;
  result.aside = open.filter(isBegun);
  result.dropped = open.filter((ticket) => !isBegun(ticket));
  const entries = input.units.map((unit, index) => ({
    ticketId: ids.get(unit.id) ?? '',
    order: index + 1,
    blockedBy: unit.after.flatMap((id) => ids.get(id) ?? []),
    group: 0,
  }));
  const others = kept.map(({ ticketId }) => ({ ticketId, order: 0, blockedBy: [], group: 0 }));
  result.tickets = [...kept, ...result.tickets];
  const done = result.tickets.every((ticket) => ticket.status === 'complete');
  const away = [...aside.values(), ...result.aside.map((ticket) => putAway(ticket, input.now))];
  const removed = [...result.dropped, ...result.aside].map(({ ticketId }) => ticketId);
  const gone = [...new Set([...(input.kept.gone ?? []), ...removed])];
  const spec: PlanSpec = { ...input.kept, aside: away, gone };
  result.plan = planFor({ ...input, kept: spec }, [...others, ...entries], done);
  return result;
}

/** What is kept of a ticket that nobody goes on with. */
function putAway(ticket: Ticket, now: string): Ticket {
  const closed = editOpen(ticket, (attempt) => ({ ...attempt, status: 'interrupted', completedAt: now }));
  return { ...closed, base: null, claim: null };
}

function byUnit(tickets: readonly Ticket[]): Map<string, Ticket> {
  return new Map(tickets.map((ticket) => [unitOf(ticket)?.id ?? ticket.ticketId, ticket]));
}

function planFor(input: SpecPlanInput, tickets: Plan['tickets'], done: boolean): Plan {
  const { before, now } = input;
  return PlanSchema.parse({
    createdAt: now,
    createdBy: 'spec',
    ...before?.plan,
    pausedBy: null,
    id: input.planId,
    name: input.spec.name,
    kind: 'spec',
    repo: input.repo,
    workflow: input.workflow,
    agent: input.agent,
    base: input.base,
    workspace: input.inPlace ? 'checkout' : 'shared',
    concurrency: 1,
    stopOnFailure: input.stopOnFailure,
    delaySeconds: input.delaySeconds,
    starts: { max: input.maxIterations, since: now },
    status: done ? 'complete' : 'active',
    ...(done ? { completedAt: before?.plan.completedAt ?? now } : {}),
    install: !input.inPlace,
    tickets,
    spec: input.kept,
    run: { detached: false },
    windows: null,
  });
}

function ticketFor(input: SpecPlanInput, unit: Unit): Ticket {
  const fields = fieldsOf(input, unit);
  return TicketSchema.parse({
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
  const worktree = input.inPlace ? input.repo : null;
  const { ids: together = [], asked = {} } = input.together.get(unit.id) ?? {};
  const others = together.length > 0 ? { together, asked } : {};
  const described: TicketUnit = { ...describeUnit(input.spec, unit), ...others };
  return { title: unit.title, description: described.work, branch: input.branch, worktree, unit: described };
}

function hashFor(input: SpecPlanInput, unit: Unit): string {
  return input.together.get(unit.id)?.workflowHash ?? input.workflowHash;
}

/** What a known ticket becomes: as it was where it is done or under way, anew where something else is wanted now. */
function renewed(input: SpecPlanInput, unit: Unit, old: Ticket): Ticket {
  const fields = fieldsOf(input, unit);
  const begun = old.phaseHistory.length > 0;
  const waits = old.status === 'needs_attention';
  if (unit.done && (isOver(old) || !begun || waits))
    return old.status === 'complete'
      ? old
      : { ...old, status: 'complete', hold: null, error: null, since: input.now };
  const same = unitOf(old)?.hash === fields.unit.hash;
  if (old.status === 'complete' && same) return old;
  const asks = waits && old.hold?.kind === 'gate';
  if (begun && !isOver(old) && (same || !waits || asks))
    return overridden(old, input.assignments.get(unit.id));
  if (begun && same) return overridden(old, input.assignments.get(unit.id));
  return anew(input, unit, old);
}

/** A known ticket from the beginning; what it has done and what became of its attempts is kept. */
function anew(input: SpecPlanInput, unit: Unit, old: Ticket): Ticket {
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

/** What a person wrote into the state file counts also for a unit that is under way. */
function overridden(ticket: Ticket, assignment: Assignment | undefined): Ticket {
  if (!assignment || !isNews(ticket, assignment)) return ticket;
  return { ...ticket, context: { ...ticket.context, ...contextOf(assignment, 'person') } };
}

export function isNews(
  ticket: Pick<Ticket, 'context' | 'phaseHistory'>,
  { type, owner_agent, criticality }: Assignment,
): boolean {
  const known = assignmentOf(ticket);
  return known?.type !== type || known.owner_agent !== owner_agent || known.criticality !== criticality;
}

/** A unit whose owner is known already is not assigned again; a checkpoint needs nothing but the checks. */
export function assigned(
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

function describeUnit(spec: Spec, unit: Unit): TicketUnit {
  const parts = promptParts(spec, unit);
  const work = unit.open.length > 0 ? unit.open : unit.work;
  return {
    id: unit.id,
    tasks: work.map(identityOf),
    ids: [...new Set([unit.id, ...withDescendants(unit.root).flatMap(({ id }) => inUnit(unit, id))])],
    work: parts.work,
    context: parts.context,
    requirements: parts.requirements,
    design: parts.design,
    verify: parts.verify,
    checkpoint: parts.checkpoint,
    hash: unitHash(unit),
  };
}

/** What a unit is known by besides its id: the text of its tasks. */
export function unitHash({ work }: Unit): string {
  const identity = work.map(({ id, title, details }) => [id, title, details]);
  return createHash('sha256').update(JSON.stringify(identity)).digest('hex').slice(0, 16);
}

function inUnit(unit: Unit, id: string): string[] {
  return unit.work.some((task) => task.id === id) ? [id] : [];
}

/** An id that may be a file name; units whose ids cannot be one are told apart by a few digits. */
export function ticketIdOf(id: string): string {
  if (idProblem(id) === undefined) return id;
  const digits = createHash('sha256').update(id).digest('hex').slice(0, 8);
  return `${slug(id, 60)}-${digits}`;
}
