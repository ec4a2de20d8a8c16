import { ownIdentity } from '../../machine/process-identity-and-signals.ts';
import { InputError } from '../../model/errors.ts';
import type { StoredEvent } from '../../model/events.ts';
import type {
  AwaitedOutput,
  HeldTicket,
  KeptSession,
  OutputEnd,
  OutputLog,
  OutputPiece,
  SessionFiles,
} from '../store-interface.ts';
import { hasCode } from './change-plans-and-tickets.ts';
import { type DatabaseConnection, inTransaction } from './database-connection.ts';
import { APPEND } from './plan-event-and-lease-statements.ts';
import type { BlockingReader } from './query-synchronously.ts';
import { LOCK_CLASSES, SCHEMA } from './schema.ts';
import type { PgContext } from './store-context-and-command-records.ts';

interface Waiting {
  planId: string;
  key: string;
  doc: string;
  /** An event that only the holder of a ticket's claim may store. */
  claim: HeldTicket | undefined;
  resolve(): void;
  reject(error: unknown): void;
}

/** Stores events in their order. Those that come while a statement is under way are stored together by the next one. */
export class EventQueue {
  readonly #context: PgContext;
  #waiting: Waiting[] = [];
  #sending: Promise<void> | undefined;

  constructor(context: PgContext) {
    this.#context = context;
  }

  append(planId: string, event: StoredEvent, claim?: HeldTicket): Promise<void> {
    const doc = JSON.stringify(event);
    return new Promise((resolve, reject) => {
      this.#waiting.push({ planId, key: this.#context.writeId(), doc, claim, resolve, reject });
      this.#sending ??= this.#send();
    });
  }

  async #send(): Promise<void> {
    while (this.#waiting.length > 0) {
      const [first] = this.#waiting;
      const end = this.#waiting.findIndex(({ planId }) => planId !== first?.planId);
      const batch = this.#waiting.splice(0, end < 0 ? this.#waiting.length : end);
      try {
        await this.#store(first?.planId ?? '', batch);
        for (const each of batch) each.resolve();
      } catch (error) {
        for (const each of batch) each.reject(error);
      }
    }
    this.#sending = undefined;
  }

  /** Resolves when all that was appended is stored, or was refused. */
  async settled(): Promise<void> {
    await this.#sending;
  }

  async #store(planId: string, batch: readonly Waiting[]): Promise<void> {
    const values = [
      planId,
      batch.map(({ key }) => key),
      batch.map(({ doc }) => doc),
      this.#context.person,
      ownIdentity().host,
      LOCK_CLASSES.events,
      batch.map(({ claim }) => claim?.ticketId ?? null),
      batch.map(({ claim }) => claim?.token ?? null),
    ];
    try {
      await this.#context.write((query) => query(APPEND, values));
    } catch (error) {
      if (hasCode(error, '23503')) throw new InputError('plan/unknown', `There is no plan "${planId}".`);
      throw error;
    }
  }
}

const IS_HELD = `exists (select 1 from ${SCHEMA}.tickets t where t.plan_id = $1 and t.ticket_id = $2 and t.claim = $3)`;
const BEGIN = `delete from ${SCHEMA}.output where plan_id = $1 and ticket_id = $2 and ${IS_HELD} and attempt = $4`;
/** After a lost connection a row may be sent again: one that was written already stays. */
const ADD = `insert into ${SCHEMA}.output (plan_id, ticket_id, attempt, stream, number, text)
select $1, $2, $4, $5, $6, $7 where ${IS_HELD} on conflict do nothing`;
const STILL_HELD = `select 1 where ${IS_HELD}`;
const READ_OUTPUT = `select stream, number, text from ${SCHEMA}.output
where plan_id = $1 and ticket_id = $2 and attempt = $3 and number > coalesce(($4::jsonb ->> stream)::integer, -1)
order by stream, number`;
const READ_ENDS = `
with wanted as (select * from unnest($1::text[], $2::text[], $3::text[], $4::double precision[]) as w(plan_id, ticket_id, attempt, since)),
last as (
  select plan_id, ticket_id, attempt, stream, max(number) as number, max(at) as at
  from ${SCHEMA}.output join wanted using (plan_id, ticket_id, attempt) group by plan_id, ticket_id, attempt, stream
)
select plan_id, ticket_id, attempt, stream, o.number, text,
  extract(epoch from (select max(at) from last l where (l.plan_id, l.ticket_id, l.attempt) = (o.plan_id, o.ticket_id, o.attempt)))::double precision * 1000 as at
from ${SCHEMA}.output o join last using (plan_id, ticket_id, attempt, stream) join wanted w using (plan_id, ticket_id, attempt)
where o.number >= last.number - 1 and exists (
  select from last l where (l.plan_id, l.ticket_id, l.attempt) = (o.plan_id, o.ticket_id, o.attempt)
  and extract(epoch from l.at) * 1000 > w.since + 1
) order by plan_id, ticket_id, attempt, stream, o.number`;
const DELETE_OUTPUT = `delete from ${SCHEMA}.output o using ${SCHEMA}.plans p where p.id = o.plan_id and p.finished and o.at < $1`;

interface EndRow extends OutputPiece {
  plan_id: string;
  ticket_id: string;
  attempt: string;
  at: number;
}

/** What attempts print, as rows. Only the holder of the ticket's claim can write them. */
export function outputRows(session: DatabaseConnection, blocking: BlockingReader): OutputLog {
  return {
    begin: ({ planId, ticketId }, attempt, token) =>
      session.exclusively(async (query) => {
        const keys = [planId, ticketId, token];
        await query(BEGIN, [...keys, attempt]);
        return (await query(STILL_HELD, keys)).length > 0;
      }),
    add: ({ planId, ticketId }, attempt, token, pieces) =>
      session.exclusively((query) =>
        inTransaction(query, async () => {
          const keys = [planId, ticketId, token];
          for (const { stream, number, text } of pieces)
            await query(ADD, [...keys, attempt, stream, number, text.replaceAll('\0', '\uFFFD')]);
          return (await query(STILL_HELD, keys)).length > 0;
        }),
      ),
    after: ({ planId, ticketId }, attempt, known) =>
      blocking.query<OutputPiece>(READ_OUTPUT, [planId, ticketId, attempt, JSON.stringify(known)]),
    async ends(attempts) {
      const column = <K extends keyof AwaitedOutput>(key: K) => attempts.map((each) => each[key]);
      const values = [column('planId'), column('ticketId'), column('attempt'), column('since')];
      const found = new Map<string, OutputEnd>();
      for (const row of await session.query<EndRow>(READ_ENDS, values)) {
        const { plan_id: planId, ticket_id: ticketId, attempt, at: since, ...piece } = row;
        const key = `${planId}/${ticketId} ${attempt}`;
        const end = found.get(key) ?? { planId, ticketId, attempt, since, pieces: [] };
        end.pieces.push(piece);
        found.set(key, end);
      }
      return [...found.values()];
    },
    deleteBefore: async (time) => void (await session.query(DELETE_OUTPUT, [time])),
  };
}

const HELD = `select 1 from ${SCHEMA}.tickets where plan_id = $1 and ticket_id = $2 and claim = $3 for share`;
const FORGET = `delete from ${SCHEMA}.sessions where plan_id = $1 and ticket_id = $2 and agent = $3`;
const KEEP = `insert into ${SCHEMA}.sessions (plan_id, ticket_id, agent, session, files) values ($1, $2, $3, $4, $5)
on conflict (plan_id, ticket_id, session) do update set agent = excluded.agent, files = excluded.files, at = clock_timestamp()`;
const READ_SESSIONS = `select agent, session, files from ${SCHEMA}.sessions where plan_id = $1 and ticket_id = $2`;

/** Files of sessions as rows, one for each agent of a ticket. Only the holder of the ticket's claim can write them. */
export function sessionRows(session: DatabaseConnection): SessionFiles {
  return {
    keep: ({ planId, ticketId }, token, { agent, session: id, files }) =>
      session.exclusively((query) =>
        inTransaction(query, async () => {
          if ((await query(HELD, [planId, ticketId, token])).length === 0) return false;
          await query(FORGET, [planId, ticketId, agent]);
          await query(KEEP, [planId, ticketId, agent, id, files]);
          return true;
        }),
      ),
    of: ({ planId, ticketId }) => session.query<KeptSession>(READ_SESSIONS, [planId, ticketId]),
  };
}
