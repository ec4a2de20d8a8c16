import type { EngineContext } from '../engine/context.ts';
import { refKey } from '../model/ids-and-branch-names.ts';
import { isAtWork } from '../model/place-tickets-on-workers.ts';
import { runCommand } from '../model/state/explain-ticket.ts';
import type { Ticket } from '../model/ticket.ts';

type Context = Pick<EngineContext, 'store' | 'holder'>;

/** Where a ticket is after a command, and what continues it. */
export function sayTicketMoved(engine: Context, ticket: Ticket): string {
  const { planId, status, currentPhase } = ticket;
  const at = currentPhase && currentPhase !== status ? ` at ${currentPhase}` : '';
  const isOver = status === 'complete';
  const moves = isOver ? hasMore(engine, ticket) : ['ready', 'queued', 'running'].includes(status);
  const next = moves ? nextStep(engine, planId, isOver ? 'the plan' : 'it') : '';
  return `${refKey(ticket)} is ${status.replace('_', ' ')}${at}.${next}`;
}

/** Whether other tickets of its plan can continue now. */
function hasMore({ store }: Context, { planId }: Ticket): boolean {
  return store.tickets(planId).some(({ status }) => status === 'ready' || status === 'queued');
}

/** What continues a plan: the run that has it, the daemon or a worker, or a command. `it`: what is called so. */
export function nextStep(engine: Context, planId: string, it = 'it'): string {
  const plan = engine.store.plan(planId);
  const { claim, status } = plan;
  if (status === 'paused') return ` Its plan is paused. Continue with: signalbox resume ${planId}`;
  const workers = engine.store.fleet?.workers();
  if (workers?.some(isAtWork)) return ` A worker of the fleet continues ${it}.`;
  if (claim && engine.holder.isLive(claim)) return ` Its run (pid ${claim.pid}) continues ${it}.`;
  // On a fleet it drives no tickets.
  const daemon = workers ? undefined : engine.holder.daemon();
  if (daemon) return ` Daemon ${daemon.pid} continues ${it}.`;
  return ` ${plan.kind === undefined ? `Run ${it}` : 'Continue'} with: ${runCommand(plan)}`;
}
