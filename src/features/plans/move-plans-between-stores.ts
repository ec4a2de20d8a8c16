import type { EngineContext } from '../../engine/context.ts';
import {
  thisMachine,
  withRepositoryNames,
  workspaceFor,
} from '../../engine/work-out-workspace-and-repository.ts';
import { HeldError, InputError, ignoring, WorkspaceError } from '../../model/errors.ts';
import { refKey } from '../../model/ids-and-branch-names.ts';
import type { Plan } from '../../model/plan.ts';
import { isMadeAt, type Ticket } from '../../model/ticket.ts';
import type { Store } from '../../store/store-interface.ts';

interface Moved {
  plan: Plan;
  tickets: Ticket[];
}

/**
 * Moves plans with their tickets, pinned workflows and events into another store. They stay archived where they were, so that nothing
 * runs them twice. If some process works on one of them, none is moved.
 */
export async function movePlans(
  from: Store,
  to: Store,
  ids: readonly string[],
  carry: (plan: Plan, tickets: readonly Ticket[]) => Promise<Moved>,
): Promise<void> {
  for (const id of ids) refuseUnfit(from, to, id);
  for (const id of ids) await movePlan(from, to, id, carry);
}

/**
 * Names the repositories as other machines know them, and hands over what was begun on this machine, so that others can continue it;
 * where that is not possible, only this one can.
 */
export async function handOverBegun(
  engine: EngineContext,
  found: Plan,
  given: readonly Ticket[],
): Promise<Moved> {
  const { handOver, settings, store } = engine;
  const plan = await withRepositoryNames(engine, found, given);
  const none = { commits: null, wip: null, onlyHere: 'its plan was moved into the store after it had begun' };
  const tickets: Ticket[] = [];
  // One after the other: tickets that share a worktree have one hand-over.
  for (const ticket of given) {
    if (ticket.base === null || !handOver) {
      tickets.push(ticket);
      continue;
    }
    const workspace = workspaceFor(ticket, plan, settings, store.glance());
    const handed = await ignoring(WorkspaceError, () =>
      handOver.publishImported(plan, { engine, ticket, workspace }),
    );
    tickets.push({ ...ticket, machine: handOver.machine, handOver: handed ?? none });
  }
  return { plan, tickets };
}

/** Work that is under way can only be taken along by its own machine. */
export function refuseElsewhere({ settings, store }: EngineContext, plan: Plan): void {
  const here = thisMachine(settings);
  const left = store
    .tickets(plan)
    .find(
      (each) => each.base !== null && each.status !== 'complete' && each.machine && !isMadeAt(each, here),
    );
  if (left)
    throw new HeldError('ticket/elsewhere', `The work of ${refKey(left)} is on ${left.machine?.host}.`, {
      hint: `Export the plan there: signalbox fleet export ${plan.id}`,
    });
}

/** Fetches what other machines have finished. */
export async function fetchFinished(
  engine: EngineContext,
  plan: Plan,
  tickets: readonly Ticket[],
): Promise<Moved> {
  const { settings, store } = engine;
  refuseElsewhere(engine, plan);
  for (const ticket of tickets.filter(({ base, status }) => base !== null && status === 'complete'))
    await engine.handOver?.bringBranch(plan, {
      engine,
      ticket,
      workspace: workspaceFor(ticket, plan, settings, store.glance()),
    });
  return { plan, tickets: tickets.map(({ dispatch: _, machine: __, handOver: ___, ...ticket }) => ticket) };
}

function refuseUnfit(from: Store, to: Store, id: string): void {
  const plan = from.plan(id);
  if (to.hasPlan(id) && !isLeftBy(from, to, id)) {
    const { status, movedTo } = to.plan(id);
    const is = movedTo ? `${status}, and was moved to ${movedTo}` : status;
    throw new InputError('plan/exists', `A plan "${id}" already exists in ${to.location()}. It is ${is}.`, {
      hint:
        plan.movedTo !== undefined && to.isAt(plan.movedTo)
          ? 'It was moved there before, and what is left here is archived.'
          : `Plans keep their ids when they move. Delete one of the two: signalbox plan delete ${id}`,
    });
  }
  const tickets = from.tickets(plan);
  const busy = tickets.filter(({ claim, status }) => claim !== null || status === 'running');
  if (plan.claim !== null || busy.length > 0)
    throw new HeldError('plan/running', `Plan "${id}" is being worked on.`, {
      hint: `Pause it first: signalbox pause ${id}`,
    });
  if (tickets.length < plan.tickets.length)
    throw new InputError('plan/unreadable', `Plan "${id}" has tickets that cannot be read.`, {
      hint: `See: signalbox plan check ${id}`,
    });
}

async function movePlan(
  from: Store,
  to: Store,
  id: string,
  carry: Parameters<typeof movePlans>[3],
): Promise<void> {
  const found = from.plan(id);
  const { plan, tickets } = await carry(found, from.tickets(found));
  for (const hash of new Set(tickets.flatMap(({ workflowHash }) => workflowHash ?? []))) {
    const text = from.pinned(hash);
    if (text !== undefined) await to.pin(hash, text);
  }
  // What is left where a plan was moved away from, and now comes back to.
  if (to.hasPlan(id) && isLeftBy(from, to, id)) await to.deletePlan(id);
  const { movedTo: _, ...moved } = plan;
  // Archived until it is archived where it was: if this is interrupted, no two of it can run.
  await to.create({ ...moved, status: 'archived', movedTo: from.location() }, tickets);
  for (const event of from.events(id)) await to.append(id, event);
  await from.updatePlan(id, (latest) => ({ ...latest, status: 'archived', movedTo: to.location() }));
  await to.updatePlan(id, ({ movedTo: _from, ...latest }) => ({ ...latest, status: plan.status }));
}

function isLeftBy(from: Store, to: Store, id: string): boolean {
  const { status, movedTo } = to.plan(id);
  return status === 'archived' && movedTo !== undefined && from.isAt(movedTo);
}
