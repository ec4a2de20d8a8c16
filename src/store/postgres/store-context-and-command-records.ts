import { ownIdentity } from '../../machine/process-identity-and-signals.ts';
import type { InputError } from '../../model/errors.ts';
import type { StateRef } from '../../model/ids-and-branch-names.ts';
import { keyOf } from '../numbered-changes.ts';
import type { StoreOptions } from '../store-interface.ts';
import type { Query } from './database-connection.ts';
import type { ConnectedMirror } from './keep-mirror-current.ts';
import type { RowReader } from './parse-plan-and-ticket-rows.ts';
import { SCHEMA } from './schema.ts';

/** What the parts of the store work with. */
export interface PgContext {
  connected: ConnectedMirror;
  reader: RowReader;
  persist: NonNullable<StoreOptions['persist']>;
  /** Runs a write while no other caller uses the connection, as `persist` says. */
  write<T>(work: (query: Query) => Promise<T>): Promise<T>;
  /** A new text for a write or an event of this process: one that is sent twice is stored once. */
  writeId(): string;
  /** Whether such a text is this process's. */
  isOwn(writer: string | null): boolean;
  /** The error where there is no such plan or ticket. */
  unknown(ref: StateRef): InputError;
  /** Holders that have made a claim, which must not be written before the holder is known. */
  unregistered: Set<{ register(query: Query): Promise<void> }>;
  leaseMs: number;
  /** The state directory of this process: the jobs of its tickets are there. */
  state: string | undefined;
  /** Who gives the commands, for the record. */
  person: string | null;
  records: ReturnType<typeof commandRecords>;
}

/** Commands in which a person decides again and again. */
const LONG: ReadonlySet<string> = new Set(['web', 'top']);

/** Records who changed what by which command: the database user, the person and the machine. */
export function commandRecords(person: string | null, command: string | undefined) {
  const noted = new Set<string>();
  const add = async (query: Query, name: string, about: string) => {
    const insert = `insert into ${SCHEMA}.commands (person, machine, command, about) values ($1, $2, $3, $4)`;
    await query(insert, [person, ownIdentity().host, name, about]);
  };
  return {
    add,
    /** Workers and the daemon act all the time, and by no command. */
    isByPerson: command !== undefined,
    /** Notes that the command of this process changed a plan or ticket; once for each, however often it writes. */
    async note(query: Query, ref: StateRef): Promise<void> {
      const about = keyOf(ref);
      if (command === undefined || noted.has(about)) return;
      if (!LONG.has(command)) noted.add(about);
      await add(query, command, about);
    },
  };
}
