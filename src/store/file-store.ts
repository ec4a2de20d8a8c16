import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { withStateLock } from '../machine/file-lock.ts';
import {
  asStorageError,
  isForbidden,
  isStorageError,
  makeDirectory,
} from '../machine/files/make-directory-and-handle-storage-errors.ts';
import { removeStray, writeAtomic } from '../machine/files/write-atomic-and-note-facts.ts';
import { isAlive, ownIdentity, type ProcessIdentity } from '../machine/process-identity-and-signals.ts';
import { InputError, ifUsable, SignalboxError } from '../model/errors.ts';
import type { StoredEvent } from '../model/events.ts';
import { jsonText, keepNumberKeys } from '../model/extra-fields.ts';
import { type Changed, idProblem, type StateRef, type TicketRef } from '../model/ids-and-branch-names.ts';
import type { Plan } from '../model/plan.ts';
import {
  isFinished,
  unknownPlan,
  unknownTicket,
} from '../model/plans/latest-plans-and-unknown-name-errors.ts';
import type { Ticket } from '../model/ticket.ts';
import { claimLines, type NoticeLine } from './claim-notifications.ts';
import { FileHolder } from './file-holder.ts';
import { distrustFinishedIndex } from './finished-index.ts';
import { ChangeLog } from './numbered-changes.ts';
import { StateReader, stampOf } from './parse-and-cache-state-files.ts';
import { parseUsage, serializeUsage } from './parse-without-zod.ts';
import { appendLines, linesAfter, readLines, stateBytes, stateText, unwritable } from './state-file-io.ts';
import type { Layout } from './state-paths-and-read-plans.ts';
import { DELETED, directories, entryExists, layoutOf, NEW, readView } from './state-paths-and-read-plans.ts';
import type {
  CheckScope,
  Holder,
  NoticeWish,
  Store,
  StoreOptions,
  StoreView,
  Wanted,
} from './store-interface.ts';
import { ViewInMemory } from './unfinished-plans-in-memory.ts';
import { PlanWatch } from './watch-plans.ts';

/** One JSON file per plan and per ticket, as planners write them. */
export class FileStore implements Store {
  readonly #layout: Layout;
  readonly #reader: StateReader;
  readonly #listeners = new Set<(changed: Changed) => void>();
  readonly #changes = new ChangeLog();
  readonly #persist: NonNullable<StoreOptions['persist']>;
  readonly #once: boolean;
  /** Events that wait for room on the disk, in their order. */
  #unwritten: Promise<void> | undefined;
  #watch: PlanWatch | undefined;
  /** Created at first use. */
  #kept: ViewInMemory | undefined;
  #checkedAt = 0;
  #wasThere = false;
  #deletedUsage: { stamp: string; tickets: Ticket[] } | undefined;

  constructor(stateDir: string, { once = false, kinds, persist }: StoreOptions = {}) {
    this.#layout = layoutOf(stateDir);
    this.#persist = persist ?? (async (write) => write());
    this.#once = once;
    this.#reader = new StateReader({ remembers: !once, ...(kinds ? { kinds } : {}) });
  }

  /** Everything but a glance reads the files anyway. */
  async refresh(): Promise<void> {
    if (this.#kept) this.#check('open');
  }

  async close(): Promise<void> {
    // Files are open only while they are read or written.
  }

  view(planId?: string): StoreView {
    const view = readView(this.#layout, this.#reader, planId);
    // Keeps memory small.
    if (this.#kept) for (const plan of view.plans) if (isFinished(plan)) this.#release(plan);
    return view;
  }

  #release({ id, tickets }: Plan): void {
    this.#reader.release(this.#layout.planFile(id));
    for (const { ticketId } of tickets)
      this.#reader.release(this.#layout.ticketFile({ planId: id, ticketId }));
  }

  glance(): StoreView {
    const age = uptimeMs() - this.#checkedAt;
    if (!this.#kept || age > (this.#watch ? WATCHED_MS : GLANCE_MS)) this.#check('open');
    return this.#keep().view;
  }

  hasPlan(id: string): boolean {
    return idProblem(id) === undefined && existsSync(this.#layout.planFile(id));
  }

  exists({ planId, ticketId }: StateRef): boolean {
    return existsSync(
      ticketId === null ? this.#layout.planDir(planId) : this.#layout.ticketFile({ planId, ticketId }),
    );
  }

  text(ref: StateRef): string {
    return stateText(this.location(ref));
  }

  location(ref?: StateRef): string {
    if (!ref) return this.#layout.plans;
    const { planId, ticketId } = ref;
    return ticketId === null ? this.#layout.planFile(planId) : this.#layout.ticketFile({ planId, ticketId });
  }

  isAt(location: string): boolean {
    return location === this.location();
  }

  refuseIfGone(): void {
    const dir = this.#layout.plans;
    // A new one has no directory until something is written.
    if (existsSync(dir)) this.#wasThere = true;
    else if (this.#wasThere) throw new SignalboxError('state/storage', `The directory ${dir} is missing.`);
  }

  plan(id: string): Plan {
    const file = this.#layout.planFile(id);
    if (!entryExists(file)) throw unknownPlan(id, directories(this.#layout.plans).sort(), { path: file });
    return this.#reader.plan(file, id);
  }

  ticket(ref: TicketRef): Ticket {
    const file = this.#layout.ticketFile(ref);
    if (!entryExists(file)) {
      const known = this.plan(ref.planId).tickets.map((entry) => entry.ticketId);
      throw unknownTicket(ref, known, { path: file });
    }
    return this.#reader.ticket(file, ref.planId, ref.ticketId);
  }

  tickets(of: string | Plan): Ticket[] {
    const plan = typeof of === 'string' ? ifUsable(() => this.plan(of)) : of;
    if (!plan) return [];
    return plan.tickets.flatMap(({ ticketId }) => this.#readable({ planId: plan.id, ticketId }) ?? []);
  }

  async updateTicket(ref: TicketRef, change: (ticket: Ticket) => Ticket): Promise<Ticket> {
    const read = () => this.ticket(ref);
    return this.#locked(`${ref.planId}+${ref.ticketId}`, () => this.#change(ref, read, change));
  }

  async updatePlan(id: string, change: (plan: Plan) => Plan, added: readonly Ticket[] = []): Promise<Plan> {
    const ref = { planId: id, ticketId: null };
    const withAdded = (plan: Plan) => {
      const after = change(plan);
      for (const ticket of added) this.#write(this.#layout.ticketFile(ticket), ticket);
      return after;
    };
    return this.#locked(id, () => this.#change(ref, () => this.plan(id), withAdded));
  }

  #change<T extends Plan | Ticket>(ref: StateRef, read: () => T, change: (value: T) => T): T {
    const file = this.location(ref);
    const foreign = !this.#reader.owns(file);
    this.#reader.forget(file);
    const before = read();
    const after = change(before);
    if (after === before) {
      // What another process wrote may have been the reason to change nothing.
      if (foreign && ref.ticketId === null) this.#kept?.readPlan(ref.planId);
      return before;
    }
    if ('tickets' in before && isFinished(before)) distrustFinishedIndex(this.#layout);
    const written = this.#write(file, { ...after, rev: Math.max(before.rev, after.rev) + 1 });
    // Watchers must get another process's change even though this write has just replaced the file.
    if (foreign) this.#watch?.report(ref);
    return written;
  }

  async create(plan: Plan, tickets: readonly Ticket[]): Promise<void> {
    await this.#locked(plan.id, () => {
      if (existsSync(this.#layout.planDir(plan.id))) {
        throw new InputError('plan/exists', `A plan "${plan.id}" already exists.`, {
          hint: 'Choose another id.',
        });
      }
      // Written to another directory first: an incomplete plan would be reported as broken.
      const dir = this.#layout.planDir(plan.id);
      const made = `${dir}${NEW}`;
      const placeOf = (file: string) => `${made}${file.slice(dir.length)}`;
      try {
        rmSync(made, { recursive: true, force: true });
        makeDirectory(placeOf(this.#layout.ticketDir(plan.id)));
        for (const ticket of tickets) this.#writeFile(placeOf(this.#layout.ticketFile(ticket)), ticket);
        this.#writeFile(placeOf(this.#layout.planFile(plan.id)), plan);
        // A plan that had this id may be in it.
        distrustFinishedIndex(this.#layout);
        renameSync(made, dir);
        for (const ticket of tickets) this.#reader.remember(this.#layout.ticketFile(ticket), ticket);
        this.#reader.remember(this.#layout.planFile(plan.id), plan);
        this.#kept?.readPlan(plan.id);
      } catch (error) {
        rmSync(made, { recursive: true, force: true });
        throw error;
      }
    });
  }

  async removeTicket(ref: TicketRef): Promise<void> {
    const file = this.#layout.ticketFile(ref);
    await this.#locked(`${ref.planId}+${ref.ticketId}`, () => {
      this.#reader.release(file);
      rmSync(file, { force: true });
      this.#kept?.readTicket(ref);
    });
  }

  async deletePlan(id: string): Promise<void> {
    await this.#locked(id, () => {
      const gone = `${this.#layout.planDir(id)}${DELETED}${process.pid}`;
      rmSync(gone, { recursive: true, force: true });
      renameSync(this.#layout.planDir(id), gone);
      rmSync(gone, { recursive: true, force: true });
      this.#kept?.readPlan(id);
    });
  }

  alone<T>(name: 'slots' | 'runs', fn: () => Promise<T>): Promise<T> {
    return this.#locked(name === 'runs' ? name : `engines.${name}`, fn);
  }

  holder(by: string): Holder {
    return new FileHolder(by, this.#layout);
  }

  /** Written before it returns, so that events stay in order and survive an exit of the process. */
  async append(planId: string, event: StoredEvent): Promise<void> {
    const file = this.#layout.events(planId);
    const write = () => {
      try {
        appendLines(file, [event]);
      } catch (error) {
        const storage = asStorageError(error, this.#layout.root);
        throw storage === error ? (unwritable(file, error) ?? error) : storage;
      }
    };
    try {
      if (!this.#unwritten) return write();
    } catch (error) {
      // Missing permission concerns only this file.
      if (!isStorageError(error) || isForbidden(error.cause)) throw error;
    }
    const waiting = (this.#unwritten ?? Promise.resolve())
      .then(() => this.#persist(write))
      .finally(() => {
        if (this.#unwritten === waiting) this.#unwritten = undefined;
      });
    this.#unwritten = waiting;
    return waiting;
  }

  events(planId: string): StoredEvent[] {
    return readLines(this.#layout.events(planId));
  }

  eventsAfter(planId: string, cursor?: string): { events: StoredEvent[]; cursor: string } {
    return linesAfter(this.#layout.events(planId), cursor);
  }

  watch(onChange: (changed: Changed) => void): () => void {
    this.#guard(() => makeDirectory(this.#layout.plans));
    this.#watch ??= new PlanWatch(this.#layout.plans, {
      own: (path) => this.#reader.owns(path),
      onChange: (changed) => this.#noticed(changed),
    });
    this.#check('open');
    // The same function may be given twice.
    const listener = (changed: Changed) => onChange(changed);
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size > 0) return;
      this.#watch?.close();
      this.#watch = undefined;
    };
  }

  #noticed(changed: Changed): void {
    try {
      if (changed === 'unknown') this.#check('open');
      else
        for (const { planId, ticketId } of changed) {
          if (ticketId === null) this.#keep().readPlan(planId);
          else this.#keep().readTicket({ planId, ticketId });
        }
    } catch {
      // The next glance reads again, and its caller gets the error. Here it would end the process.
      this.#checkedAt = Number.NEGATIVE_INFINITY;
    }
    for (const listener of this.#listeners) listener(changed);
  }

  #keep(): ViewInMemory {
    this.#kept ??= new ViewInMemory({
      layout: this.#layout,
      reader: this.#reader,
      trustsRecentCheck: this.#once,
      onChange: (ref) => this.#changes.note(ref),
      onOpen: (planId, isOpen) => (isOpen ? this.#watch?.follow(planId) : this.#watch?.leave(planId)),
    });
    return this.#kept;
  }

  #check(which: 'open' | 'all'): void {
    if (this.#kept) this.#kept.check(which);
    else this.#keep();
    this.#checkedAt = uptimeMs();
  }

  changes(since?: string, scope: CheckScope = 'all'): { changed: Changed; cursor: string } {
    if (scope === 'noticed') this.#keep();
    else this.#check(scope);
    return this.#changes.since(since);
  }

  async claimNotices(planId: string, wish: NoticeWish): Promise<Wanted[]> {
    return this.#locked(`${planId}+notified`, () => {
      const file = this.#layout.notified(planId);
      const lines = readLines<NoticeLine<ProcessIdentity>>(file);
      const { mine, fresh } = claimLines(lines, wish, { by: ownIdentity(), isAlive });
      appendLines(file, fresh);
      return mine;
    });
  }

  async endNotice(
    planId: string,
    { key, place }: Wanted,
    { state, now }: { state: 'sent' | 'failed'; now: string },
  ): Promise<void> {
    await this.#locked(`${planId}+notified`, () =>
      appendLines(this.#layout.notified(planId), [{ place, key, state, at: now }]),
    );
  }

  sweep(before: number): void {
    const { root, pins, engines, plans } = this.#layout;
    const ofPlans = directories(plans).flatMap((id) => [join(plans, id), join(plans, id, 'tickets')]);
    for (const dir of [root, pins, engines, plans, ...ofPlans]) removeStray(dir, before);
  }

  deletedUsage(): readonly Ticket[] {
    const file = this.#layout.deletedUsage;
    const stamp = stampOf(file);
    if (stamp === undefined) return [];
    if (this.#deletedUsage?.stamp !== stamp) this.#deletedUsage = { stamp, tickets: readUsage(file) };
    return this.#deletedUsage.tickets;
  }

  async updateDeletedUsage(change: (kept: readonly Ticket[]) => readonly object[]): Promise<void> {
    const file = this.#layout.deletedUsage;
    await this.#locked('engines.past', () => writeAtomic(file, serializeUsage(change(readUsage(file)))));
  }

  async pin(hash: string, text: string): Promise<void> {
    const file = join(this.#layout.pins, `${hash}.json`);
    if (existsSync(file)) return;
    const write = () =>
      this.#guard(() => {
        makeDirectory(this.#layout.pins);
        writeAtomic(file, text);
      });
    try {
      // Recorded at once, so that two tickets keep their order.
      write();
    } catch (error) {
      if (!isStorageError(error)) throw error;
      await this.#persist(write);
    }
  }

  pinned(hash: string): string | undefined {
    const file = join(this.#layout.pins, `${hash}.json`);
    return /^[0-9a-f]{16,64}$/.test(hash) && existsSync(file) ? readFileSync(file, 'utf8') : undefined;
  }

  /** The file that cannot be read is kept beside it. */
  async restoreTicket(ticket: Ticket): Promise<void> {
    const file = this.#layout.ticketFile(ticket);
    await this.#locked(`${ticket.planId}+${ticket.ticketId}`, () => {
      this.#reader.forget(file);
      if (this.#readable(ticket)) return;
      if (entryExists(file)) writeFileSync(`${file}.broken`, stateBytes(file), { mode: 0o600 });
      this.#write(file, { ...ticket, rev: ticket.rev + 1 });
    });
  }

  #readable(ref: TicketRef): Ticket | undefined {
    return ifUsable(() => this.#reader.ticket(this.#layout.ticketFile(ref), ref.planId, ref.ticketId));
  }

  #write<T extends Plan | Ticket>(file: string, value: T): T {
    this.#writeFile(file, value);
    this.#reader.remember(file, value);
    this.#kept?.wrote(value);
    return value;
  }

  #writeFile(file: string, value: Plan | Ticket): void {
    try {
      const before = () => (existsSync(file) ? stateText(file) : '');
      writeAtomic(file, `${keepNumberKeys(jsonText(value, 2), before)}\n`);
    } catch (error) {
      // Taking the lock has shown that the state directory can be written: only this plan is affected.
      throw unwritable(file, error) ?? asStorageError(error, this.#layout.root);
    }
  }

  #locked<T>(name: string, fn: () => T | Promise<T>): Promise<T> {
    return this.#persist(() => withStateLock(this.#layout.root, name, fn));
  }

  /** Explains a full or read-only disk. The previous state is intact because every write is a rename. */
  #guard<T>(fn: () => T): T {
    try {
      return fn();
    } catch (error) {
      throw asStorageError(error, this.#layout.root);
    }
  }
}

function readUsage(file: string): Ticket[] {
  try {
    return parseUsage(readFileSync(file, 'utf8'));
  } catch (error) {
    // Plans can be deleted even if this file is missing or damaged.
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/** A clock that never goes back. Loading `performance` for one would cost a short command a millisecond or two. */
const uptimeMs = () => process.uptime() * 1000;

/** Maximum delay until a glance shows another process's change; own changes show at once. */
const GLANCE_MS = 50;
/** The same while changes are watched. A watch may be missing, or have missed something. */
const WATCHED_MS = 10_000;
