import type { EngineContext } from '../../engine/context.ts';
import { knownPinned } from '../../engine/pinned-workflow.ts';
import { stoppedTogether } from '../../engine/stopped-tickets.ts';
import type { Ticket } from '../../model/ticket.ts';

/** Complete, or approved and waiting for the merge of its pull request where those are merged. */
export function isReady(parts: EngineContext, ticket: Ticket): boolean {
  return ticket.status === 'complete' || (parts.settings.merge.pr && awaitsMerge(parts, ticket));
}

function awaitsMerge(parts: EngineContext, ticket: Ticket): boolean {
  if (ticket.status !== 'running' && ticket.status !== 'ready' && !stoppedWithRun(parts, ticket))
    return false;
  const workflow = knownPinned(parts, ticket)?.workflow;
  const phase = workflow?.phases.find(({ id }) => id === ticket.currentPhase);
  return phase?.type === 'poll' && phase.command === 'pull-request-poll.sh' && phase.args?.[0] === 'merge';
}

/** Whoever stops a run may meet a look at the pull request; that changes nothing about the work. A pause is meant. */
function stoppedWithRun(parts: EngineContext, { planId, status, hold }: Ticket): boolean {
  return status === 'paused' && hold?.reason === stoppedTogether(parts.store.plan(planId));
}
