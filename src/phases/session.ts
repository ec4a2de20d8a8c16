import type { AgentAdapter } from '../model/agent.ts';
import { totalUsage } from '../model/limits/usage.ts';
import type { Attempt, Ticket, Usage } from '../model/ticket.ts';
import type { PhaseOf } from '../model/workflow.ts';

interface SessionChoice {
  /** Session to go on in, or null for a fresh one. */
  resume: string | null;
  /** The last attempt was cut off, and its session knows what is wanted. */
  cutOff: boolean;
  usageBefore: Usage | null;
}

/** Which session an attempt goes on in: one that was cut off always, else what the phase asks for. */
export function chooseSession(
  adapter: AgentAdapter,
  phase: PhaseOf<'agent'>,
  agent: string,
  ticket: Ticket,
  attempt: Attempt,
): SessionChoice {
  const fresh = { resume: null, cutOff: false, usageBefore: null };
  if (!adapter.capabilities.resume) return fresh;
  const before = ticket.phaseHistory.filter((entry) => entry !== attempt && entry.completedAt !== null);
  const usable = before.filter(
    (entry) => entry.sessionId !== null && entry.agent === agent && isOfThisTree(ticket, entry),
  );
  const last = before.at(-1);
  if (
    last &&
    last.phase === phase.id &&
    last.visit === attempt.visit &&
    wasCutOff(last) &&
    usable.includes(last)
  ) {
    const cutOff = !isOutdated(ticket, last);
    return { resume: last.sessionId, cutOff, usageBefore: usageOf(usable, last.sessionId) };
  }
  if (phase.session === 'fresh') return fresh;
  const same = usable.findLast((entry) => entry.phase === phase.id);
  const own = phase.session === 'keep' ? roomIn(same) : (same ?? usable.at(-1));
  return own ? { resume: own.sessionId, cutOff: false, usageBefore: usageOf(usable, own.sessionId) } : fresh;
}

/** A session that knows a tree which was taken back since is of no use. */
function isOfThisTree(ticket: Ticket, entry: Attempt): boolean {
  return !ticket.rewound || Date.parse(entry.startedAt) >= Date.parse(ticket.rewound.at);
}

/** What is wanted has been put in other words since, so that the session has to be told again. */
function isOutdated(ticket: Ticket, entry: Attempt): boolean {
  return ticket.retold !== undefined && Date.parse(ticket.retold) >= Date.parse(entry.startedAt);
}

/** One that ran out of context would only do so again. */
function roomIn(entry: Attempt | undefined): Attempt | undefined {
  return entry?.error?.class === 'context' ? undefined : entry;
}

function wasCutOff(entry: Attempt): boolean {
  return entry.status === 'interrupted' || entry.status === 'limit';
}

/** What the session had used before, for CLIs that report totals. */
function usageOf(entries: Attempt[], sessionId: string | null): Usage | null {
  const known = entries.flatMap((entry) =>
    entry.sessionId === sessionId && entry.usage ? [entry.usage] : [],
  );
  return totalUsage(known);
}
