import { parseKeepingExtra } from '../../model/extra-fields.ts';
import type { Plan, PlanSpec } from '../../model/plan.ts';
import { SpecRunPlan } from '../../model/plan-schema.ts';
import { editOpen } from '../../model/state/walk.ts';
import type { Ticket, UnitTicket } from '../../model/ticket.ts';
import { anew, renewed, type SpecPlanInput, ticketFor } from './ticket.ts';
import { ticksOf } from './unit.ts';

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
    blockedBy: [...new Set(unit.after.flatMap((id) => ids.get(id) ?? []))],
    group: 0,
  }));
  const others = kept.map(({ ticketId }) => ({ ticketId, order: 0, blockedBy: [], group: 0 }));
  result.tickets = [...kept, ...result.tickets];
  const done = result.tickets.every((ticket) => ticket.status === 'complete');
  const away = [...aside.values(), ...result.aside.flatMap((ticket) => putAway(ticket, input.now))];
  const removed = [...result.dropped, ...result.aside].map(({ ticketId }) => ticketId);
  const gone = [...new Set([...(input.kept.gone ?? []), ...removed])];
  const spec: PlanSpec = { ...input.kept, aside: away, gone };
  result.plan = planFor({ ...input, kept: spec }, [...others, ...entries], done);
  return result;
}

/** What is kept of a ticket that nobody goes on with. */
function putAway(ticket: Ticket, now: string): UnitTicket[] {
  const closed = editOpen(ticket, (attempt) => ({ ...attempt, status: 'interrupted', completedAt: now }));
  return closed.unit ? [{ ...closed, base: null, claim: null }] : [];
}

function byUnit<T extends Ticket>(tickets: readonly T[]): Map<string, T> {
  return new Map(tickets.map((ticket) => [ticket.unit?.id ?? ticket.ticketId, ticket]));
}

function planFor(input: SpecPlanInput, tickets: Plan['tickets'], done: boolean): Plan {
  const { before, now } = input;
  return parseKeepingExtra(SpecRunPlan, {
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
