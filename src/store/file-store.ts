import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { InputError, messageOf, SignalboxError } from '../model/errors.ts';
import type { StoredEvent } from '../model/events.ts';
import { idProblem, refKey, type TicketRef } from '../model/ids.ts';
import type { Plan } from '../model/plan.ts';
import type { Ticket } from '../model/ticket.ts';
import { writeAtomic } from './atomic.ts';
import { Layout } from './layout.ts';
import { withLock } from './lock.ts';
import type { Store, StoreProblem, StoreView } from './port.ts';
import { StateReader } from './read.ts';
import { watchPlans } from './watch.ts';

/** One JSON file per plan and per ticket, as planners write them. */
export class FileStore implements Store {
  readonly layout: Layout;
  readonly #reader = new StateReader();

  constructor(stateDir: string) {
    this.layout = new Layout(stateDir);
  }

  view(): StoreView {
    const view: StoreView = { plans: [], tickets: new Map(), problems: [] };
    for (const id of directories(this.layout.plans)) this.#viewPlan(id, view);
    return view;
  }

  #viewPlan(id: string, view: StoreView): void {
    const note = (ticketId: string | null, path: string, message: string) =>
      view.problems.push({ planId: id, ticketId, path, message } satisfies StoreProblem);
    const dir = join(this.layout.plans, id);
    const illegal = idProblem(id);
    if (illegal) return void note(null, dir, `the plan directory's name ${illegal}`);
    const file = this.layout.planFile(id);
    let plan: Plan;
    try {
      plan = this.#reader.plan(file, id);
    } catch (error) {
      return void note(null, file, messageOf(error));
    }
    view.plans.push(plan);
    const listed = new Set(plan.tickets.map((entry) => entry.ticketId));
    for (const ticketId of listed) {
      const path = this.layout.ticketFile({ planId: id, ticketId });
      try {
        view.tickets.set(refKey({ planId: id, ticketId }), this.#reader.ticket(path, id, ticketId));
      } catch (error) {
        note(ticketId, path, messageOf(error));
      }
    }
    for (const name of fileNames(this.layout.ticketDir(id))) {
      if (!name.endsWith('.json') || listed.has(name.slice(0, -5))) continue;
      note(
        name.slice(0, -5),
        join(this.layout.ticketDir(id), name),
        'the ticket is not listed in plan.json, so it is not run',
      );
    }
  }

  plan(id: string): Plan {
    const file = this.layout.planFile(id);
    if (!existsSync(file)) {
      const known = directories(this.layout.plans);
      throw new InputError('plan/unknown', `There is no plan "${id}".`, {
        hint: known.length > 0 ? `Plans: ${known.slice(0, 20).join(', ')}.` : 'There are no plans yet.',
        details: { path: file },
      });
    }
    return this.#reader.plan(file, id);
  }

  ticket(ref: TicketRef): Ticket {
    const file = this.layout.ticketFile(ref);
    if (!existsSync(file)) {
      const known = this.plan(ref.planId).tickets.map((entry) => entry.ticketId);
      throw new InputError('ticket/unknown', `Plan "${ref.planId}" has no ticket "${ref.ticketId}".`, {
        hint: `Its tickets: ${known.slice(0, 20).join(', ')}.`,
        details: { path: file },
      });
    }
    return this.#reader.ticket(file, ref.planId, ref.ticketId);
  }

  async updateTicket(ref: TicketRef, change: (ticket: Ticket) => Ticket): Promise<Ticket> {
    const file = this.layout.ticketFile(ref);
    return this.#locked(`${ref.planId}+${ref.ticketId}`, () => {
      this.#reader.forget(file);
      const before = this.ticket(ref);
      const after = change(before);
      return after === before ? before : this.#write(file, { ...after, rev: before.rev + 1 });
    });
  }

  async updatePlan(id: string, change: (plan: Plan) => Plan): Promise<Plan> {
    const file = this.layout.planFile(id);
    return this.#locked(id, () => {
      this.#reader.forget(file);
      const before = this.plan(id);
      const after = change(before);
      return after === before ? before : this.#write(file, { ...after, rev: before.rev + 1 });
    });
  }

  async create(plan: Plan, tickets: readonly Ticket[]): Promise<void> {
    await this.#locked(plan.id, () => {
      if (existsSync(this.layout.planDir(plan.id))) {
        throw new InputError('plan/exists', `A plan "${plan.id}" already exists.`, {
          hint: 'Choose another id.',
        });
      }
      this.#guard(() => mkdirSync(this.layout.ticketDir(plan.id), { recursive: true, mode: 0o700 }));
      for (const ticket of tickets) this.#write(this.layout.ticketFile(ticket), ticket);
      this.#write(this.layout.planFile(plan.id), plan);
    });
  }

  async deletePlan(id: string): Promise<void> {
    await this.#locked(id, () => {
      const gone = `${this.layout.planDir(id)}.deleted.${process.pid}`;
      renameSync(this.layout.planDir(id), gone);
      rmSync(gone, { recursive: true, force: true });
      rmSync(join(this.layout.root, 'jobs', id), { recursive: true, force: true });
    });
  }

  append(planId: string, event: StoredEvent): void {
    this.#guard(() =>
      appendFileSync(this.layout.events(planId), `${JSON.stringify(event)}\n`, { mode: 0o600 }),
    );
  }

  events(planId: string): StoredEvent[] {
    const file = this.layout.events(planId);
    if (!existsSync(file)) return [];
    const lines = readFileSync(file, 'utf8').split('\n');
    // A crash may leave half a last line; it was never an event.
    return lines.flatMap((line) => (line.endsWith('}') ? [JSON.parse(line) as StoredEvent] : []));
  }

  watch(onChange: () => void): () => void {
    mkdirSync(this.layout.plans, { recursive: true, mode: 0o700 });
    return watchPlans(this.layout.plans, (path) => this.#reader.knows(path), onChange);
  }

  pin(hash: string, text: string): void {
    const file = join(this.layout.pins, `${hash}.json`);
    if (existsSync(file)) return;
    this.#guard(() => {
      mkdirSync(this.layout.pins, { recursive: true, mode: 0o700 });
      writeAtomic(file, text);
    });
  }

  pinned(hash: string): string | undefined {
    const file = join(this.layout.pins, `${hash}.json`);
    return /^[0-9a-f]{16,64}$/.test(hash) && existsSync(file) ? readFileSync(file, 'utf8') : undefined;
  }

  /** Sets aside a file that cannot be read and puts the last good state in its place. */
  async restoreTicket(ticket: Ticket): Promise<void> {
    const file = this.layout.ticketFile(ticket);
    await this.#locked(`${ticket.planId}+${ticket.ticketId}`, () => {
      if (existsSync(file)) writeFileSync(`${file}.broken`, readFileSync(file), { mode: 0o600 });
      this.#write(file, { ...ticket, rev: ticket.rev + 1 });
    });
  }

  #write<T extends Plan | Ticket>(file: string, value: T): T {
    this.#guard(() => writeAtomic(file, `${JSON.stringify(value, null, 2)}\n`));
    this.#reader.remember(file, value);
    return value;
  }

  async #locked<T>(name: string, fn: () => T): Promise<T> {
    this.#guard(() => mkdirSync(this.layout.locks, { recursive: true, mode: 0o700 }));
    return withLock(this.layout.lock(name), fn);
  }

  /** A full or read-only disk is told as such; the previous state is intact because every write is a rename. */
  #guard<T>(fn: () => T): T {
    try {
      return fn();
    } catch (error) {
      throw asStorageError(error, this.layout.root);
    }
  }
}

const STORAGE: Record<string, string> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EROFS: 'it is on a read-only file system',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
};

function asStorageError(error: unknown, root: string): unknown {
  const reason = STORAGE[(error as NodeJS.ErrnoException).code ?? ''];
  if (!reason) return error;
  return new SignalboxError('state/storage', `Cannot write the state directory ${root}: ${reason}.`, {
    hint: 'The previous state is intact. Make room or choose another stateDir, then start again.',
    details: { path: root },
    cause: error,
  });
}

function directories(path: string): string[] {
  if (!existsSync(path)) return [];
  return readdirSync(path, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !entry.name.includes('.deleted.'))
    .map((entry) => entry.name)
    .sort();
}

function fileNames(path: string): string[] {
  return existsSync(path) ? readdirSync(path) : [];
}
