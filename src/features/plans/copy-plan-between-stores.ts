import { HeldError, InputError } from '../../model/errors.ts';
import type { Store } from '../../store/store-interface.ts';

/**
 * Moves plans with their tickets, pinned workflows and events into another store. They stay archived where they were, so that nothing
 * runs them twice. If some process works on one of them, none is moved.
 */
export async function movePlans(from: Store, to: Store, ids: readonly string[]): Promise<void> {
  for (const id of ids) refuseUnfit(from, id);
  for (const id of ids) await movePlan(from, to, id);
}

function refuseUnfit(from: Store, id: string): void {
  const plan = from.plan(id);
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

async function movePlan(from: Store, to: Store, id: string): Promise<void> {
  const plan = from.plan(id);
  const tickets = from.tickets(plan);
  for (const hash of new Set(tickets.flatMap(({ workflowHash }) => workflowHash ?? []))) {
    const text = from.pinned(hash);
    if (text !== undefined) await to.pin(hash, text);
  }
  await to.create(plan, tickets);
  for (const event of from.events(id)) await to.append(id, event);
  await from.updatePlan(id, (latest) => ({ ...latest, status: 'archived' }));
}
