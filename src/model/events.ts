import type { TicketRef } from './ids-and-branch-names.ts';
import type { Hold, Json, TicketStatus, Usage } from './ticket.ts';

/** Names one attempt. */
export interface AttemptRef extends TicketRef {
  phase: string;
  visit: number;
  attempt: number;
}

/** Ways in which a person reaches tickets and plans. */
export type Door = 'cli' | 'web' | 'top' | 'library';

/** Who decided something, where that is known. */
export interface Decided {
  /** The account of the person on this machine, or the name that they gave on the web page. */
  by?: string;
  door?: Door;
}

/** Everything a view may show, named noun:verb. Stored ones go to the plan's events.jsonl with a time. */
export type EngineEvent =
  | ({
      type: 'ticket:status';
      status: TicketStatus;
      hold: Hold | null;
      error: string | null;
      phase: string | null;
    } & TicketRef)
  | ({ type: 'attempt:start'; agent: string | null; kind: string } & AttemptRef)
  | ({ type: 'attempt:session'; agent: string | null; sessionId: string } & AttemptRef)
  | ({ type: 'attempt:text'; text: string; notice?: boolean } & AttemptRef)
  | ({ type: 'attempt:tool'; name: string; summary: string; done: boolean } & AttemptRef)
  | ({ type: 'attempt:usage'; usage: Usage } & AttemptRef)
  | ({ type: 'attempt:adopt' } & AttemptRef)
  | ({
      type: 'attempt:end';
      status: string;
      outcome: string | null;
      error: { class: string; message: string } | null;
      ms: number;
      usage: Usage | null;
      sessionId: string | null;
      /** Why its success says nothing: there was nothing to check. */
      note?: string;
    } & AttemptRef)
  | ({ type: 'workspace:ready'; path: string; branch: string; reused: boolean } & TicketRef)
  | ({ type: 'workspace:release'; path: string } & TicketRef)
  | ({ type: 'workspace:keep'; path: string; reason: string } & TicketRef)
  | ({ type: 'command'; command: string; detail: Record<string, Json> } & Decided & TicketRef)
  | ({ type: 'plan:status'; planId: string; status: string } & Decided)
  /** What is done before work starts, or when it is merged. */
  | { type: 'preflight'; planId: string; message: string }
  | { type: 'problem'; planId: string; ticketId: string | null; message: string; path: string | null };

/** The two that stream too fast to keep: the attempt's own output file has them. */
export const TRANSIENT: ReadonlySet<EngineEvent['type']> = new Set(['attempt:text', 'attempt:tool']);

export type StoredEvent = EngineEvent & { v: 1; at: string };
