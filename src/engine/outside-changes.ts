import { refKey } from '../model/ids.ts';
import type { Ticket } from '../model/ticket.ts';
import type { EngineContext } from './context.ts';
import { refOf, sameStatus } from './status-events.ts';

type Known = Pick<Ticket, 'rev' | 'status' | 'hold'>;

/** Shows what somebody else did to a ticket: they have kept the event, but whoever watches this engine saw nothing of it. */
export class Outsiders {
  readonly #listen: EngineContext['listen'];
  readonly #known = new Map<string, Known>();

  constructor({ listen }: Pick<EngineContext, 'listen'>) {
    this.#listen = listen;
  }

  /** Takes a ticket as it is now, without telling anybody. */
  know(ticket: Ticket): void {
    const { rev, status, hold } = ticket;
    this.#known.set(refKey(ticket), { rev, status, hold });
  }

  forget(key: string): void {
    this.#known.delete(key);
  }

  /** What this engine drives it tells itself, except that a person has paused it. */
  look(tickets: Iterable<Ticket>, isOurs: (key: string) => boolean): void {
    for (const ticket of tickets) {
      const key = refKey(ticket);
      const before = this.#known.get(key);
      if (before?.rev === ticket.rev && before.status === ticket.status) continue;
      this.know(ticket);
      if (!before || sameStatus(before, ticket)) continue;
      if (isOurs(key) && ticket.status !== 'paused') continue;
      const { status, hold, error, currentPhase: phase } = ticket;
      this.#listen({ type: 'ticket:status', status, hold, error, phase, ...refOf(ticket) });
    }
  }
}
