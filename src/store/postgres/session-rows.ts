import type { TicketRef } from '../../model/ids-and-branch-names.ts';
import type { KeptSession, SessionFiles } from '../store-interface.ts';
import { SCHEMA } from './schema.ts';
import { inTransaction, type Session } from './session.ts';

const HELD = `select 1 from ${SCHEMA}.tickets where plan_id = $1 and ticket_id = $2 and claim = $3 for share`;
const FORGET = `delete from ${SCHEMA}.sessions where plan_id = $1 and ticket_id = $2 and agent = $3`;
const KEEP = `insert into ${SCHEMA}.sessions (plan_id, ticket_id, agent, session, files) values ($1, $2, $3, $4, $5)
on conflict (plan_id, ticket_id, session) do update set agent = excluded.agent, files = excluded.files, at = clock_timestamp()`;
const READ = `select agent, session, files from ${SCHEMA}.sessions where plan_id = $1 and ticket_id = $2`;

/** Files of sessions as rows, one for each agent of a ticket. Only the holder of the ticket's claim can write them. */
export class SessionRows implements SessionFiles {
  readonly #session: Session;

  constructor(session: Session) {
    this.#session = session;
  }

  keep({ planId, ticketId }: TicketRef, token: string, kept: KeptSession): Promise<boolean> {
    const { agent, session, files } = kept;
    return this.#session.exclusively((query) =>
      inTransaction(query, async () => {
        if ((await query(HELD, [planId, ticketId, token])).length === 0) return false;
        await query(FORGET, [planId, ticketId, agent]);
        await query(KEEP, [planId, ticketId, agent, session, files]);
        return true;
      }),
    );
  }

  of({ planId, ticketId }: TicketRef): Promise<KeptSession[]> {
    return this.#session.query<KeptSession>(READ, [planId, ticketId]);
  }
}
