import type { TicketRef } from '../../model/ids-and-branch-names.ts';
import type { OutputLog, OutputPiece } from '../store-interface.ts';
import type { BlockingReader } from './read-and-wait.ts';
import { SCHEMA } from './schema.ts';
import { inTransaction, type Session } from './session.ts';

const HELD = `exists (select 1 from ${SCHEMA}.tickets t where t.plan_id = $1 and t.ticket_id = $2 and t.claim = $3)`;
const BEGIN = `delete from ${SCHEMA}.output where plan_id = $1 and ticket_id = $2 and ${HELD} and attempt = $4`;
/** A row that was written although its answer was lost is the same again. */
const ADD = `insert into ${SCHEMA}.output (plan_id, ticket_id, attempt, stream, number, text)
select $1, $2, $4, $5, $6, $7 where ${HELD} on conflict do nothing`;
const STILL_HELD = `select 1 where ${HELD}`;
const READ = `select stream, number, text from ${SCHEMA}.output
where plan_id = $1 and ticket_id = $2 and attempt = $3 and number > coalesce(($4::jsonb ->> stream)::integer, -1)
order by stream, number`;

/** What attempts print, as rows. Only the holder of the ticket's claim can write them. */
export class OutputRows implements OutputLog {
  readonly #session: Session;
  readonly #blocking: BlockingReader;

  constructor(session: Session, blocking: BlockingReader) {
    this.#session = session;
    this.#blocking = blocking;
  }

  begin({ planId, ticketId }: TicketRef, attempt: string, token: string): Promise<boolean> {
    const keys = [planId, ticketId, token];
    return this.#session.exclusively(async (query) => {
      await query(BEGIN, [...keys, attempt]);
      return (await query(STILL_HELD, keys)).length > 0;
    });
  }

  add(
    { planId, ticketId }: TicketRef,
    attempt: string,
    token: string,
    pieces: readonly OutputPiece[],
  ): Promise<boolean> {
    const keys = [planId, ticketId, token];
    return this.#session.exclusively((query) =>
      inTransaction(query, async () => {
        for (const { stream, number, text } of pieces)
          await query(ADD, [...keys, attempt, stream, number, text.replaceAll('\0', '\uFFFD')]);
        return (await query(STILL_HELD, keys)).length > 0;
      }),
    );
  }

  after(
    { planId, ticketId }: TicketRef,
    attempt: string,
    known: Readonly<Record<string, number>>,
  ): OutputPiece[] {
    return this.#blocking.query<OutputPiece>(READ, [planId, ticketId, attempt, JSON.stringify(known)]);
  }

  async deleteBefore(time: string): Promise<void> {
    await this.#session.query(
      `delete from ${SCHEMA}.output o using ${SCHEMA}.plans p where p.id = o.plan_id and p.finished and o.at < $1`,
      [time],
    );
  }
}
