import { type Stats, statSync } from 'node:fs';
import { InputError, ifUsable, messageOf } from '../model/errors.ts';
import { keepExtra, SCHEMA_VERSION } from '../model/extra-fields.ts';
import { refKey, type TicketRef } from '../model/ids-and-branch-names.ts';
import { PLAN_KINDS, type Plan } from '../model/plan.ts';
import type { PlanSchema, SafeParsed, SchemaError } from '../model/plan-schema.ts';
import { isTooDeep, placeInJson, TOO_DEEP } from '../model/text/parse-json-and-find-places.ts';
import { asRecord } from '../model/text/values-of-unknown-type.ts';
import type { Ticket } from '../model/ticket.ts';
import { quickPlan, quickTicket } from './parse-without-zod.ts';
import { missing, stateText, unreadable } from './state-file-io.ts';

interface Cached {
  stamp: string;
  value?: Plan | Ticket;
  error?: unknown;
}

interface Kinds {
  plan: Plan;
  ticket: Ticket;
}

interface Schemas {
  /** `added`: the schema of the fields that plans of this kind add, if the kind is not one of Signalbox's own. */
  plan(data: unknown, added: PlanSchema | null): SafeParsed<Plan>;
  ticket(data: unknown): SafeParsed<Ticket>;
  /** Explains an issue as a sentence. */
  explain(issue: SchemaError['issues'][number], data: unknown): string;
}

let schemas: Schemas | undefined;

export function useSchemas(given: Schemas): void {
  schemas = given;
}

/** A file is not plain enough to be read without the schemas: call `loadSchemas` and read again. */
export class SchemasNeeded extends Error {}

const QUICK: { [K in keyof Kinds]: (data: unknown) => Kinds[K] | undefined } = {
  plan: quickPlan,
  ticket: quickTicket,
};

export type KnownKinds = ReadonlyMap<string, PlanSchema | null>;

export const OWN_KINDS: KnownKinds = new Map(PLAN_KINDS.map((kind) => [kind, null]));

/** A plan that is kept as a text; the error says where it is, and why it cannot be used. */
export function parsePlan(text: string, path: string, id: string, kinds: KnownKinds): Plan {
  return requireName(parseState('plan', text, path, kinds), path, id);
}

/** The same for a ticket. */
export function parseTicket(text: string, path: string, ref: TicketRef, kinds: KnownKinds): Ticket {
  return requireRef(parseState('ticket', text, path, kinds), path, ref);
}

function requireRef(ticket: Ticket, path: string, { planId, ticketId }: TicketRef): Ticket {
  if (ticket.planId === planId && ticket.ticketId === ticketId) return ticket;
  throw mismatch(
    path,
    `the ticket calls itself "${refKey(ticket)}" but is stored as "${planId}/${ticketId}"`,
    'Correct planId and ticketId, or move the file.',
  );
}

function requireName(plan: Plan, path: string, id: string): Plan {
  if (plan.id === id) return plan;
  throw mismatch(path, `the plan calls itself "${plan.id}" but its directory is "${id}"`);
}

/** Parses a state file; the error says which file, where and why. */
function parseState<K extends keyof Kinds>(what: K, text: string, path: string, kinds: KnownKinds): Kinds[K] {
  const problem = (message: string, at?: { line: number; column: number }) =>
    new InputError('state/malformed', `${path}${at ? `:${at.line}:${at.column}` : ''}: ${message}`, {
      hint: HINT,
      details: { path, ...at },
    });
  const refuseTooDeep = () => {
    if (isTooDeep(text)) throw problem(`the file is ${TOO_DEEP}`);
  };
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch (error) {
    refuseTooDeep();
    if (text.trim() === '') throw problem('the file is empty');
    throw problem(notJson(error), placeInJson(text));
  }
  const { schema: version, kind } = asRecord(data);
  if (typeof version === 'number' && version > SCHEMA_VERSION) {
    throw problem(`written by a newer Signalbox (schema ${version}; this one reads up to ${SCHEMA_VERSION})`);
  }
  const isOfKind = what === 'plan' && typeof kind === 'string' && kind !== '';
  if (isOfKind && !kinds.has(kind))
    throw new InputError('state/kind', `${path}: ${unknownKind(kind)}`, {
      hint: `The plan stays as it is. Run it with the program that created it; known kinds: ${[...kinds.keys()].join(', ')}.`,
      details: { path },
    });
  const plain = QUICK[what](data);
  if (plain) return plain;
  refuseTooDeep();
  if (!schemas) throw new SchemasNeeded(`${path} has to be checked`);
  const added = isOfKind ? (kinds.get(kind) ?? null) : null;
  const parsed = schemas[what](data, added) as SafeParsed<Kinds[K]>;
  if (parsed.success) return keepExtra(data, parsed.data);
  const [issue = { path: [], message: 'does not fit the schema' }] = parsed.error.issues;
  throw problem(schemas.explain(issue, data), placeInJson(text, issue.path));
}

export function unknownKind(kind: string): string {
  return `kind: plans of kind "${kind}" are not known here`;
}

const HINT = 'Fix or delete the file; everything else continues.';

/** The parser's message without the position, which only some messages have. */
export function notJson(error: unknown): string {
  return `not valid JSON (${messageOf(error).replace(/ in JSON at position \d+.*$/, '')})`;
}

/** Reads state files and remembers them until they change on disk. */
export class StateReader {
  readonly #cache = new Map<string, Cached>();
  readonly #written = new Map<string, string>();
  readonly #remembers: boolean;
  readonly #kinds: KnownKinds;

  constructor({ remembers = true, kinds = OWN_KINDS }: { remembers?: boolean; kinds?: KnownKinds } = {}) {
    this.#remembers = remembers;
    this.#kinds = kinds;
  }

  /** `stat`: of a path that is known to be a file's. */
  plan(path: string, id: string, stat?: Stats): Plan {
    return requireName(this.#read('plan', path, stat !== undefined, stat), path, id);
  }

  /** `plain`: the path is known to be a file's. */
  ticket(path: string, planId: string, ticketId: string, { plain = false } = {}): Ticket {
    return requireRef(this.#read('ticket', path, plain), path, { planId, ticketId });
  }

  /** True when no other process has written the file since this one did. Having read it does not count. */
  owns(path: string): boolean {
    const written = this.#written.get(path);
    return written !== undefined && written === ifUsable(() => stampOf(path));
  }

  forget(path: string): void {
    this.#cache.delete(path);
  }

  /** Forgets also that this process wrote it: nothing is kept of files that are no longer used. */
  release(path: string): void {
    this.#cache.delete(path);
    this.#written.delete(path);
  }

  remember(path: string, value: Plan | Ticket): void {
    const stamp = stampOf(path) ?? '';
    this.#cache.set(path, { stamp, value });
    this.#written.set(path, stamp);
  }

  #read<K extends keyof Kinds>(what: K, path: string, plain = false, stat?: Stats): Kinds[K] {
    if (!this.#remembers) return parseState(what, stateText(path, { plain }), path, this.#kinds);
    const stamp = stat ? stampIn(stat) : stampOf(path);
    if (stamp === undefined) throw missing(path);
    const cached = this.#cache.get(path);
    if (cached?.stamp === stamp) {
      if (cached.error) throw cached.error;
      return cached.value as Kinds[K];
    }
    try {
      const value = parseState(what, stateText(path, { plain: stat !== undefined }), path, this.#kinds);
      this.#cache.set(path, { stamp, value });
      return value;
    } catch (error) {
      if (!(error instanceof SchemasNeeded)) this.#cache.set(path, { stamp, error });
      throw error;
    }
  }
}

function mismatch(path: string, what: string, hint = 'Rename one of them.'): InputError {
  return new InputError('state/mismatch', `${path}: ${what}`, { hint, details: { path } });
}

/** Undefined where there is no file. Throws where the file cannot be examined. */
export function stampOf(path: string): string | undefined {
  try {
    const stat = statSync(path, { throwIfNoEntry: false });
    return stat && stampIn(stat);
  } catch (error) {
    throw unreadable(path, error);
  }
}

function stampIn({ ino, size, mtimeMs }: Stats): string {
  return `${ino}:${size}:${mtimeMs}`;
}
