import { createHash } from 'node:crypto';
import { idProblem, slug } from '../model/ids.ts';
import type { Plan } from '../model/plan.ts';
import { Plan as PlanSchema } from '../model/plan-schema.ts';
import { isOver, type Ticket } from '../model/ticket.ts';
import { Ticket as TicketSchema } from '../model/ticket-schema.ts';
import {
  type Assignment,
  promptParts,
  type Spec,
  type Unit,
  withDescendants,
} from '../sources/kiro/index.ts';
import { assignmentOf } from './spec-picture.ts';
import { type PlanSpec, type TicketUnit, unitOf } from './spec-unit.ts';

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
  together: ReadonlyMap<string, { ids: readonly string[]; workflowHash: string }>;
  now: string;
}

export interface SpecPlan {
  plan: Plan;
  /** All tickets as they should be. */
  tickets: Ticket[];
  added: Ticket[];
  changed: Ticket[];
  /** No longer wanted, and never begun. */
  dropped: Ticket[];
}

/** A spec as a plan: a ticket for each unit, in order, with what earlier runs made of them. */
export function planSpec(input: SpecPlanInput): SpecPlan {
  const known = new Map(
    input.before?.tickets.map((ticket) => [unitOf(ticket)?.id ?? ticket.ticketId, ticket]),
  );
  const result: SpecPlan = {
    plan: input.before?.plan as Plan,
    tickets: [],
    added: [],
    changed: [],
    dropped: [],
  };
  const ids = new Map<string, string>();
  for (const unit of input.units) {
    const old = known.get(unit.id);
    known.delete(unit.id);
    const ticket = old ? renewed(input, unit, old) : ticketFor(input, unit);
    ids.set(unit.id, ticket.ticketId);
    result.tickets.push(ticket);
    if (!old) result.added.push(ticket);
    else if (ticket !== old) result.changed.push(ticket);
  }
  const left = [...known.values()];
  const kept = left.filter((ticket) => ticket.phaseHistory.length > 0 || ticket.status === 'complete');
  result.dropped = left.filter((ticket) => !kept.includes(ticket));
  const entries = input.units.map((unit, index) => ({
    ticketId: ids.get(unit.id) ?? '',
    order: index + 1,
    blockedBy: unit.after.flatMap((id) => ids.get(id) ?? []),
    group: 0,
  }));
  const others = kept.map(({ ticketId }) => ({ ticketId, order: 0, blockedBy: [], group: 0 }));
  result.tickets = [...kept, ...result.tickets];
  const done = result.tickets.every((ticket) => ticket.status === 'complete');
  result.plan = planFor(input, [...others, ...entries], done);
  return result;
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
  const together = input.together.get(unit.id)?.ids ?? [];
  const described = { ...describeUnit(input.spec, unit), ...(together.length > 0 ? { together } : {}) };
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
  const { tries: _, ...rest } = old;
  const fresh = {
    ...rest,
    ...fields,
    worktree: fields.worktree,
    base: null,
    visits: {},
    retries: {},
    status: 'queued' as const,
    hold: null,
    error: null,
    since: input.now,
    workflowHash: hashFor(input, unit),
    currentPhase: null,
    context: {},
  };
  return { ...fresh, ...assigned(fresh, unit, input.assignments.get(unit.id)) };
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
  const identity = unit.work.map(({ id, title, details }) => [id, title, details]);
  const work = unit.open.length > 0 ? unit.open : unit.work;
  return {
    id: unit.id,
    tasks: work.map(({ id, title, numbered }) => ({ id, title, numbered })),
    ids: [...new Set([unit.id, ...withDescendants(unit.root).flatMap(({ id }) => inUnit(unit, id))])],
    work: parts.work,
    context: parts.context,
    requirements: parts.requirements,
    design: parts.design,
    verify: parts.verify,
    checkpoint: parts.checkpoint,
    hash: createHash('sha256').update(JSON.stringify(identity)).digest('hex').slice(0, 16),
  };
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
