import { ownIdentity } from '../../machine/process-identity-and-signals.ts';
import type { StateRef } from '../../model/ids-and-branch-names.ts';
import { keyOf } from '../watch-plans.ts';
import { SCHEMA } from './schema.ts';
import type { Query } from './session.ts';

/** Commands in which a person decides again and again. */
const LONG: ReadonlySet<string> = new Set(['web', 'top']);

/** Who changed what by which command: the database user, the person and the machine. */
export class CommandRecords {
  readonly #person: string | null;
  readonly #command: string | undefined;
  readonly #noted = new Set<string>();

  constructor({ person, command }: { person: string | null; command: string | undefined }) {
    this.#person = person;
    this.#command = command;
  }

  /** Notes that the command of this process changed a plan or ticket; once for each, however often it writes. */
  async note(query: Query, ref: StateRef): Promise<void> {
    const about = keyOf(ref);
    if (this.#command === undefined || this.#noted.has(about)) return;
    if (!LONG.has(this.#command)) this.#noted.add(about);
    await this.add(query, this.#command, about);
  }

  async add(query: Query, command: string, about: string): Promise<void> {
    const insert = `insert into ${SCHEMA}.commands (person, machine, command, about) values ($1, $2, $3, $4)`;
    await query(insert, [this.#person, ownIdentity().host, command, about]);
  }
}
