import type { z } from 'zod';
import { issueSentence } from '../../config/describe-schema-problems.ts';
import type { EngineContext } from '../../engine/context.ts';
import { refuseInsideJob } from '../../engine/control-tickets-and-plans.ts';
import { IllegalMoveError, InputError } from '../../model/errors.ts';
import { keepExtra, withExtra } from '../../model/extra-fields.ts';
import { refOf, type TicketRef } from '../../model/ids-and-branch-names.ts';
import type { Plan, PlanEntry } from '../../model/plan.ts';
import { PlanBase } from '../../model/plan-schema.ts';
import { dependencyProblems } from '../../model/plans/dependency-and-branch-problems.ts';
import type { EntryEdit, TicketEdit } from '../../model/plans/edit-rules.ts';
import { checkEdit, checkEditable, dependents, hasBegun } from '../../model/plans/edit-rules.ts';
import { entryOf } from '../../model/plans/plans-view.ts';
import { cleanLine, firstOf } from '../../model/text/clean-escape-quote-plural.ts';
import type { Ticket } from '../../model/ticket.ts';
import { TicketBase, ticketSchemaFor } from '../../model/ticket-schema.ts';
import { openAndOnePlan } from '../../store/store-interface.ts';
import { findWorkflows } from '../../workflows/find-and-check-workflow.ts';

export type PlanEdit = Partial<
  Pick<
    Plan,
    | 'name'
    | 'repo'
    | 'workflow'
    | 'agent'
    | 'base'
    | 'worktreeRoot'
    | 'concurrency'
    | 'stopOnFailure'
    | 'workerLabels'
  >
>;

/** Adds a ticket to a plan. Writes nothing if a value or a dependency is wrong. */
export async function addTicket(
  engine: EngineContext,
  ref: TicketRef,
  edit: TicketEdit & { title: string },
  entry: EntryEdit = {},
): Promise<Ticket> {
  const { store } = engine;
  const plan = store.plan(ref.planId);
  requireEditable(engine, plan);
  const ticket = parsed(TicketBase, { ...ref, ...edit }, 'add');
  await requireWorkflow(engine, edit);
  if (plan.tickets.some(({ ticketId }) => ticketId === ref.ticketId)) throw taken(ref);
  const order = entry.order ?? Math.max(0, ...plan.tickets.map((each) => each.order)) + 1;
  const listed = withEntry({ ticketId: ref.ticketId, blockedBy: [], group: 0, ...entry, order });
  checkWaits(plan, listed(plan), engine);
  const add = (latest: Plan): Plan => {
    if (latest.tickets.some(({ ticketId }) => ticketId === ref.ticketId)) throw taken(ref);
    return listed(latest);
  };
  await store.updatePlan(ref.planId, add, [ticket]);
  return ticket;
}

/** Changes fields of a ticket and of its entry in the plan. */
export async function editTicket(
  engine: EngineContext,
  ref: TicketRef,
  edit: TicketEdit,
  entry: EntryEdit = {},
): Promise<Ticket> {
  const { store } = engine;
  const plan = store.plan(ref.planId);
  requireEditable(engine, plan);
  const fields = [...Object.keys(edit), ...Object.keys(entry)];
  if (fields.length === 0)
    throw new InputError('usage', 'Nothing to change was named.', {
      hint: cleanLine(`For example: signalbox plan edit ${ref.planId} ${ref.ticketId} --title "…"`),
    });
  checkTitle(edit);
  const before = store.ticket(ref);
  checkEdit(before, fields);
  await requireWorkflow(engine, edit);
  const old = entryOf(plan, ref);
  const changed = (latest: Plan): Plan => ({
    ...latest,
    tickets: latest.tickets.map((each) => (each.ticketId === ref.ticketId ? { ...each, ...entry } : each)),
  });
  if (old && entry.blockedBy) checkWaits(plan, changed(plan), engine);
  const ticket = await store.updateTicket(ref, (latest) => {
    checkEdit(latest, fields);
    const chosen = 'workflow' in edit ? { workflowHash: null } : {};
    return parsed(ticketSchemaFor(latest), { ...latest, ...edit, ...chosen }, 'edit');
  });
  if (Object.keys(entry).length > 0) await store.updatePlan(ref.planId, changed);
  return ticket;
}

export async function editPlan(engine: EngineContext, planId: string, edit: PlanEdit): Promise<Plan> {
  if (Object.keys(edit).length === 0)
    throw new InputError('usage', 'Nothing to change was named.', {
      hint: `For example: signalbox plan edit ${planId} --workflow local`,
    });
  requireEditable(engine, engine.store.plan(planId));
  await requireWorkflow(engine, edit);
  const moves = ['repo', 'base', 'worktreeRoot', 'workflow'].filter((field) => field in edit);
  const begun = engine.store.tickets(planId).filter(hasBegun);
  if (moves.length > 0 && begun.length > 0)
    throw new IllegalMoveError(
      'plan/begun',
      `${begun[0]?.ticketId} of plan "${planId}" has begun, so ${moves.join(', ')} of the plan cannot be changed.`,
      { hint: 'Set it on the tickets that have not begun: signalbox plan edit <plan> <ticket> …' },
    );
  const after = await engine.store.updatePlan(planId, (latest) =>
    parsed<Plan>(PlanBase, { ...latest, ...edit }, 'edit'),
  );
  // A worker may have read the workflow before, to learn the labels of its phases.
  const read = engine.store.tickets(planId).filter(({ workflow, workflowHash }) => !workflow && workflowHash);
  for (const ticket of 'workflow' in edit ? read : [])
    await engine.store.updateTicket(refOf(ticket), (latest) =>
      hasBegun(latest) ? latest : { ...latest, workflowHash: null },
    );
  return after;
}

/** Removes a ticket that has not begun from its plan. */
export async function removeTicket(engine: EngineContext, ref: TicketRef): Promise<void> {
  const { store } = engine;
  const plan = store.plan(ref.planId);
  requireEditable(engine, plan);
  if (!plan.tickets.some(({ ticketId }) => ticketId === ref.ticketId)) store.ticket(ref);
  const { plans, problems } = openAndOnePlan(store, ref.planId);
  const unreadable = problems.some(
    ({ planId, ticketId }) => planId === ref.planId && ticketId === ref.ticketId,
  );
  if (!unreadable) checkUnbegun(store.ticket(ref));
  const waiting = dependents(plans, ref);
  if (waiting.length > 0)
    throw new IllegalMoveError('ticket/needed', `${firstOf(waiting, 1)} waits for ${ref.ticketId}.`, {
      hint: 'Change that first: signalbox plan edit <plan> <ticket> --blocked-by …',
    });
  let entry: PlanEntry | undefined;
  await store.updatePlan(ref.planId, (latest) => {
    entry = entryOf(latest, ref);
    return { ...latest, tickets: latest.tickets.filter(({ ticketId }) => ticketId !== ref.ticketId) };
  });
  try {
    // An engine may have started it before the plan was changed.
    if (!unreadable) checkUnbegun(store.ticket(ref));
  } catch (error) {
    if (entry) await store.updatePlan(ref.planId, withEntry(entry));
    throw error;
  }
  await store.removeTicket(ref);
}

/** A job may prepare a draft, which a person approves. */
function requireEditable(engine: EngineContext, plan: Plan): void {
  if (plan.status !== 'draft') refuseInsideJob(engine);
  checkEditable(plan);
}

/** Refuses the name of a workflow that does not exist. */
export async function requireWorkflow(
  { settings }: EngineContext,
  { workflow }: { workflow?: string | null | undefined },
): Promise<void> {
  if (workflow) await findWorkflows(workflow, settings.searchPath.workflows);
}

/** Refuses an empty title: branches, commits and pull requests are named after it. */
function checkTitle({ title }: TicketEdit): void {
  if (title === undefined || title.trim() !== '') return;
  throw new InputError('plan/value', 'title: must not be empty.', {
    hint: 'Say in one line what is to be done.',
  });
}

function checkUnbegun(ticket: Ticket): void {
  if (!hasBegun(ticket) && ticket.status !== 'complete') return;
  throw new IllegalMoveError(
    'ticket/begun',
    `${ticket.ticketId} has started and cannot be removed from its plan.`,
    {
      hint: `Pause it (signalbox pause ${ticket.planId} ${ticket.ticketId}), or put the plan away: signalbox plan archive ${ticket.planId}`,
    },
  );
}

function withEntry(entry: PlanEntry): (plan: Plan) => Plan {
  return (plan) => ({ ...plan, tickets: [...plan.tickets, entry] });
}

function taken({ planId, ticketId }: TicketRef): InputError {
  return new InputError('ticket/exists', `Plan "${planId}" already has a ticket "${ticketId}".`, {
    hint: `Choose another id, or change it: signalbox plan edit ${planId} ${ticketId} …`,
  });
}

/** Refuses new dependency problems; `plan check` reports the old ones. */
function checkWaits(before: Plan, after: Plan, engine: EngineContext): void {
  const view = engine.store.glance();
  const known = new Set(dependencyProblems(before, view).map(({ message }) => message));
  const [problem] = dependencyProblems(after, view).filter(({ message }) => !known.has(message));
  if (problem)
    throw new InputError('plan/dependencies', problem.message, {
      hint: 'Name tickets of this plan, or plan/ticket for one of another.',
    });
}

/** Parses what a person typed for `plan new`, `plan add` or `plan edit`. */
export function parsed<T>(
  schema: Pick<z.ZodType<T>, 'safeParse'>,
  value: unknown,
  by: 'new' | 'add' | 'edit',
): T {
  const raw = withExtra(value);
  const result = schema.safeParse(raw);
  if (result.success) return keepExtra(raw, result.data);
  const [issue] = result.error.issues;
  const message = issue ? issueSentence(issue, raw) : 'The value is not valid.';
  throw new InputError('plan/value', message, { hint: `signalbox plan ${by} --help lists what is allowed.` });
}
