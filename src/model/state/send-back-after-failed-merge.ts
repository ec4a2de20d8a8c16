import type { Ticket } from '../ticket.ts';
import { edgesOf, phaseOf, positiveEdge, type Workflow } from '../workflow.ts';
import { enterAnew, historyEntry, settle, withEntry } from './enter-and-leave-phases.ts';

/** Maximum number of times that merges send a ticket back; after that a person decides. */
export const MAX_RETURNS = 3;

/** The edge by which a complete ticket goes back to work. */
interface EdgeBack {
  /** The phase whose edge is taken, as if it had ended that way. */
  from: string;
  outcome: string;
  to: string;
}

/** Why work cannot be merged: a sentence, and the log or the files. */
export interface Findings {
  message: string;
  output: string;
}

/**
 * The ticket's latest phase with a failure edge that leads back to an agent that worked on it.
 * In most workflows that is the merge or the checks, and the agent that implements.
 */
export function edgeBackToWork(workflow: Workflow, ticket: Ticket): EdgeBack | undefined {
  const walked = new Set(ticket.phaseHistory.map((entry) => entry.phase));
  for (const { phase: id } of ticket.phaseHistory.toReversed()) {
    const phase = phaseOf(workflow, id);
    if (!phase) continue;
    const good = positiveEdge(phase);
    const failureFirst = ([a]: [string, string], [b]: [string, string]) =>
      Number(b === 'failure') - Number(a === 'failure');
    const edges = Object.entries(edgesOf(phase)).sort(failureFirst);
    for (const [outcome, to] of edges) {
      const target = phaseOf(workflow, to);
      const works = target?.type === 'agent' && target.access !== 'read' && walked.has(to);
      if (works && to !== good && !ticket.skipPhases.includes(to)) return { from: id, outcome, to };
    }
  }
  return undefined;
}

/** Sends a complete ticket back with what was found. Where no way leads back, or too often, a person is asked. */
export function sendBack(workflow: Workflow, ticket: Ticket, findings: Findings, now: string): Ticket {
  if (ticket.status !== 'complete') return ticket;
  const returns = ticket.phaseHistory.filter((entry) => entry.error?.class === 'merge').length;
  const way = returns < MAX_RETURNS ? edgeBackToWork(workflow, ticket) : undefined;
  const noted = note(ticket, way, findings, now);
  if (!way) return settle(noted, now, { status: 'needs_attention', error: `merge: ${findings.message}` });
  // Resets the visits and attempts of the phase, as a person's retry does.
  const { tries: _, ...fresh } = noted;
  return enterAnew(workflow, { ...fresh, visits: { ...fresh.visits, [way.to]: 0 } }, way.to, { now });
}

/** Adds the history entry with the feedback for the next prompt. */
function note(ticket: Ticket, way: EdgeBack | undefined, { message, output }: Findings, now: string): Ticket {
  const phase = way?.from ?? ticket.phaseHistory.at(-1)?.phase ?? ticket.currentPhase ?? 'merge';
  const entry = {
    ...historyEntry(ticket, phase, 'failure', now),
    outcome: way?.outcome ?? 'failure',
    output,
    error: { class: 'merge', message },
  };
  return { ...withEntry(ticket, entry), error: `merge: ${message}` };
}
