import type { Hold, Json, TicketStatus, Usage } from './ticket.ts';

interface About {
  planId: string;
  ticketId: string;
}
interface AboutAttempt extends About {
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
    } & About)
  | ({ type: 'attempt:start'; agent: string | null; kind: string } & AboutAttempt)
  | ({ type: 'attempt:session'; agent: string | null; sessionId: string } & AboutAttempt)
  | ({ type: 'attempt:text'; text: string; notice?: boolean } & AboutAttempt)
  | ({ type: 'attempt:tool'; name: string; summary: string; done: boolean } & AboutAttempt)
  | ({ type: 'attempt:usage'; usage: Usage } & AboutAttempt)
  | ({ type: 'attempt:adopt' } & AboutAttempt)
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
    } & AboutAttempt)
  | ({ type: 'workspace:ready'; path: string; branch: string; reused: boolean } & About)
  | ({ type: 'workspace:release'; path: string } & About)
  | ({ type: 'workspace:keep'; path: string; reason: string } & About)
  | ({ type: 'command'; command: string; detail: Record<string, Json> } & Decided & About)
  | ({ type: 'plan:status'; planId: string; status: string } & Decided)
  /** What is done before work starts. */
  | { type: 'preflight'; planId: string; message: string }
  | { type: 'problem'; planId: string; ticketId: string | null; message: string; path: string | null };

/** The two that stream too fast to keep: the attempt's own output file has them. */
export const TRANSIENT: ReadonlySet<EngineEvent['type']> = new Set(['attempt:text', 'attempt:tool']);

export type StoredEvent = EngineEvent & { v: 1; at: string };
