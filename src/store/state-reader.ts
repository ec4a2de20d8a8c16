import { statSync } from 'node:fs';
import type { z } from 'zod';
import { InputError } from '../model/errors.ts';
import { PLAN_KINDS, type Plan } from '../model/plan.ts';
import type { Ticket } from '../model/ticket.ts';
import { SCHEMA_VERSION } from '../model/version.ts';
import type { PlanSchema } from './port.ts';
import { quickPlan, quickTicket } from './quick.ts';
import { missing, stateText, unreadable } from './state-text.ts';

interface Cached {
  stamp: string;
  value?: Plan | Ticket;
  error?: unknown;
}

interface Schemas {
  plan: z.ZodType<Plan>;
  ticket: z.ZodType<Ticket>;
}

let schemas: Schemas | undefined;

export function useSchemas(given: Schemas): void {
  schemas = given;
}

/** A file is not plain enough to be read without the schemas: import ./schemas.ts and read again. */
export class SchemasNeeded extends Error {}

const KINDS = {
  plan: { quick: quickPlan, schema: () => schemas?.plan },
  ticket: { quick: quickTicket, schema: () => schemas?.ticket },
} as const;

/** Parses a state file; the error says which file, where and why. */
function parseState<K extends keyof Schemas>(kind: K, text: string, path: string): z.infer<Schemas[K]> {
  const problem = (message: string) =>
    new InputError('state/malformed', `${path}: ${message}`, {
      hint: HINT,
      details: { path },
    });
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch (error) {
    if (text.trim() === '') throw problem('the file is empty');
    throw problem(`not valid JSON (${(error as Error).message})`);
  }
  const version = (data as { schema?: unknown } | null)?.schema;
  if (typeof version === 'number' && version > SCHEMA_VERSION) {
    throw problem(`written by a newer Signalbox (schema ${version}; this one reads up to ${SCHEMA_VERSION})`);
  }
  const plain = KINDS[kind].quick(data);
  if (plain) return plain as z.infer<Schemas[K]>;
  const schema = KINDS[kind].schema();
  if (!schema) throw new SchemasNeeded(`${path} has to be checked`);
  const parsed = schema.safeParse(data);
  if (parsed.success) return parsed.data as z.infer<Schemas[K]>;
  throw problem(firstIssue(parsed.error));
}

type KnownKinds = ReadonlyMap<string, PlanSchema | null>;

const OWN_KINDS: KnownKinds = new Map(PLAN_KINDS.map((kind) => [kind, null]));

/** Throws for a plan of a kind that this process does not know, and for one that does not fit the schema of its kind. */
function checkKind(plan: Plan, path: string, kinds: KnownKinds): void {
  const { kind } = plan;
  if (typeof kind !== 'string') return;
  const details = { path };
  if (!kinds.has(kind))
    throw new InputError('state/kind', `${path}: kind: plans of kind "${kind}" are not known here`, {
      hint: `Nothing changes the plan here. Use the program that it was made with; known kinds: ${[...kinds.keys()].join(', ')}.`,
      details,
    });
  const parsed = kinds.get(kind)?.safeParse(plan);
  if (parsed?.success === false)
    throw new InputError('state/malformed', `${path}: ${firstIssue(parsed.error)}`, { hint: HINT, details });
}

const HINT = 'Fix or delete the file; everything else continues.';

function firstIssue({
  issues: [issue],
}: {
  issues: readonly { path: readonly PropertyKey[]; message: string }[];
}): string {
  const where = issue?.path.length ? `${issue.path.join('.')}: ` : '';
  return `${where}${issue?.message ?? 'does not fit the schema'}`;
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

  plan(path: string, id: string): Plan {
    const plan = this.#read('plan', path);
    if (plan.id !== id) {
      throw new InputError(
        'state/mismatch',
        `${path}: the plan calls itself "${plan.id}" but its directory is "${id}"`,
        {
          hint: 'Rename one of them.',
          details: { path },
        },
      );
    }
    return plan;
  }

  /** `plain`: the path is known to be a file's. */
  ticket(path: string, planId: string, ticketId: string, { plain = false } = {}): Ticket {
    const ticket = this.#read('ticket', path, plain);
    if (ticket.planId !== planId || ticket.ticketId !== ticketId) {
      const own = `${ticket.planId}/${ticket.ticketId}`;
      throw new InputError(
        'state/mismatch',
        `${path}: the ticket calls itself "${own}" but is stored as "${planId}/${ticketId}"`,
        {
          hint: 'Correct planId and ticketId, or move the file.',
          details: { path },
        },
      );
    }
    return ticket;
  }

  /** True when no other process has written the file since this one did. Having read it does not count. */
  owns(path: string): boolean {
    const written = this.#written.get(path);
    if (written === undefined) return false;
    try {
      return written === stampOf(path);
    } catch (error) {
      if (error instanceof InputError) return false;
      throw error;
    }
  }

  forget(path: string): void {
    this.#cache.delete(path);
  }

  remember(path: string, value: Plan | Ticket): void {
    const stamp = stampOf(path) ?? '';
    this.#cache.set(path, { stamp, value });
    this.#written.set(path, stamp);
  }

  #read<K extends keyof Schemas>(kind: K, path: string, plain = false): z.infer<Schemas[K]> {
    if (!this.#remembers) return this.#parse(kind, stateText(path, { plain }), path);
    const stamp = stampOf(path);
    if (stamp === undefined) throw missing(path);
    const cached = this.#cache.get(path);
    if (cached?.stamp === stamp) {
      if (cached.error) throw cached.error;
      return cached.value as z.infer<Schemas[K]>;
    }
    try {
      const value = this.#parse(kind, stateText(path), path);
      this.#cache.set(path, { stamp, value });
      return value;
    } catch (error) {
      if (!(error instanceof SchemasNeeded)) this.#cache.set(path, { stamp, error });
      throw error;
    }
  }

  #parse<K extends keyof Schemas>(kind: K, text: string, path: string): z.infer<Schemas[K]> {
    const value = parseState(kind, text, path);
    if (kind === 'plan') checkKind(value as Plan, path, this.#kinds);
    return value;
  }
}

/** Undefined where nothing is; what cannot even be looked at is trouble of that file. */
export function stampOf(path: string): string | undefined {
  try {
    const stat = statSync(path, { throwIfNoEntry: false });
    return stat ? `${stat.ino}:${stat.size}:${stat.mtimeMs}` : undefined;
  } catch (error) {
    throw unreadable(path, error);
  }
}
