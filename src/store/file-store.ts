import {
  appendFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { writeAtomic } from '../machine/files/atomic.ts';
import { asStorageError, makeDirectory } from '../machine/files/directory.ts';
import { withLock } from '../machine/lock.ts';
import { isAlive, ownIdentity, type ProcessIdentity } from '../machine/process-identity.ts';
import { InputError, messageOf } from '../model/errors.ts';
import type { StoredEvent } from '../model/events.ts';
import { idProblem, refKey, type TicketRef } from '../model/ids.ts';
import type { Plan } from '../model/plan.ts';
import type { Ticket } from '../model/ticket.ts';
import { ChangeLog, keyOf } from './changes.ts';
import { FileHolder } from './claims.ts';
import { appendEvent, readEvents } from './events.ts';
import { DELETED, directories, isDirectory, isThere, Layout } from './layout.ts';
import { claimLines, type NoticeLine } from './notified.ts';
import type {
  Changed,
  Holder,
  NoticeWish,
  StateRef,
  Store,
  StoreOptions,
  StoreProblem,
  StoreView,
  Wanted,
} from './port.ts';
import { quickTicket } from './quick.ts';
import { SchemasNeeded, StateReader, stampOf } from './read.ts';
import { stateBytes, stateText, unreadable, unwritable } from './state-text.ts';
import { type PlanWatch, watchPlans } from './watch.ts';

/** One JSON file per plan and per ticket, as planners write them. */
export class FileStore implements Store {
  readonly #layout: Layout;
  readonly #reader: StateReader;
  readonly #watches = new Set<PlanWatch>();
  readonly #changes = new ChangeLog();
  /** What `changes` found last time: by plan or ticket, the stamp of its file. */
  #stamps = new Map<string, { ref: StateRef; stamp: string | undefined }>();
  #glanced: { view: StoreView; at: number } | undefined;
  #deletedUsage: { stamp: string; tickets: Ticket[] } | undefined;

  constructor(stateDir: string, { once = false, kinds }: StoreOptions = {}) {
    this.#layout = new Layout(stateDir);
    this.#reader = new StateReader({ remembers: !once, ...(kinds ? { kinds } : {}) });
  }

  view(): StoreView {
    const view: StoreView = { plans: [], tickets: new Map(), problems: [] };
    for (const id of directories(this.#layout.plans)) this.#viewPlan(id, view);
    return view;
  }

  glance(): StoreView {
    const now = performance.now();
    if (!this.#glanced || now - this.#glanced.at > GLANCE_MS) this.#glanced = { view: this.view(), at: now };
    return this.#glanced.view;
  }

  #viewPlan(id: string, view: StoreView): void {
    const note = (ticketId: string | null, path: string, message: string) =>
      view.problems.push({ planId: id, ticketId, path, message } satisfies StoreProblem);
    const dir = join(this.#layout.plans, id);
    const illegal = idProblem(id);
    if (illegal) return void note(null, dir, `the plan directory's name ${illegal}`);
    if (!isDirectory(dir)) return void note(null, dir, `${dir} ${NO_DIRECTORY}`);
    const file = this.#layout.planFile(id);
    let plan: Plan;
    try {
      plan = this.#reader.plan(file, id);
    } catch (error) {
      if (error instanceof SchemasNeeded) throw error;
      return void note(null, file, messageOf(error));
    }
    view.plans.push(plan);
    const listed = new Set(plan.tickets.map((entry) => entry.ticketId));
    const tickets = this.#layout.ticketDir(id);
    const found = this.#ticketFiles(tickets);
    if (found instanceof InputError) note(null, tickets, messageOf(found));
    const files = found instanceof InputError ? new Map<string, boolean>() : found;
    for (const ticketId of listed) {
      // Both ids are checked by now: joining them by hand counts when there are a thousand.
      const path = `${tickets}/${ticketId}.json`;
      try {
        const plain = listed.size > MANY && files.get(`${ticketId}.json`) === true;
        view.tickets.set(`${id}/${ticketId}`, this.#reader.ticket(path, id, ticketId, { plain }));
      } catch (error) {
        if (error instanceof SchemasNeeded) throw error;
        // Where none of them can be reached, saying so once is enough.
        if (files === found) note(ticketId, path, messageOf(error));
      }
    }
    for (const name of files.keys()) {
      if (!name.endsWith('.json') || listed.has(name.slice(0, -5))) continue;
      note(name.slice(0, -5), join(tickets, name), 'the ticket is not listed in plan.json, so it is not run');
    }
  }

  /** Names in a plan's tickets/, and of each whether it is plainly a file; or why they cannot be listed. */
  #ticketFiles(path: string): Map<string, boolean> | InputError {
    try {
      return new Map(readdirSync(path, { withFileTypes: true }).map((entry) => [entry.name, entry.isFile()]));
    } catch (error) {
      return (error as NodeJS.ErrnoException).code === 'ENOENT' ? new Map() : unreadable(path, error);
    }
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

  plan(id: string): Plan {
    const file = this.#layout.planFile(id);
    if (!isThere(file)) {
      const known = directories(this.#layout.plans);
      throw new InputError('plan/unknown', `There is no plan "${id}".`, {
        hint: known.length > 0 ? `Plans: ${known.slice(0, 20).join(', ')}.` : 'There are no plans yet.',
        details: { path: file },
      });
    }
    return this.#reader.plan(file, id);
  }

  ticket(ref: TicketRef): Ticket {
    const file = this.#layout.ticketFile(ref);
    if (!isThere(file)) {
      const known = this.plan(ref.planId).tickets.map((entry) => entry.ticketId);
      throw new InputError('ticket/unknown', `Plan "${ref.planId}" has no ticket "${ref.ticketId}".`, {
        hint: `Its tickets: ${known.slice(0, 20).join(', ')}.`,
        details: { path: file },
      });
    }
    return this.#reader.ticket(file, ref.planId, ref.ticketId);
  }

  async updateTicket(ref: TicketRef, change: (ticket: Ticket) => Ticket): Promise<Ticket> {
    const after = await this.#locked(`${ref.planId}+${ref.ticketId}`, () =>
      this.#change(ref, () => this.ticket(ref), change),
    );
    this.#glanced?.view.tickets.set(refKey(ref), after);
    return after;
  }

  async updatePlan(id: string, change: (plan: Plan) => Plan): Promise<Plan> {
    const ref = { planId: id, ticketId: null };
    return this.#lockedAnew(id, () => this.#change(ref, () => this.plan(id), change));
  }

  #change<T extends Plan | Ticket>(ref: StateRef, read: () => T, change: (value: T) => T): T {
    const file = this.location(ref);
    const foreign = !this.#reader.owns(file);
    this.#reader.forget(file);
    const before = read();
    const after = change(before);
    if (after === before) return before;
    const written = this.#write(file, { ...after, rev: Math.max(before.rev, after.rev) + 1 });
    // The watchers must learn of another process's change even though this write has just covered it.
    if (foreign) for (const watch of this.#watches) watch.report(ref);
    return written;
  }

  async create(plan: Plan, tickets: readonly Ticket[]): Promise<void> {
    await this.#lockedAnew(plan.id, () => {
      if (existsSync(this.#layout.planDir(plan.id))) {
        throw new InputError('plan/exists', `A plan "${plan.id}" already exists.`, {
          hint: 'Choose another id.',
        });
      }
      try {
        makeDirectory(this.#layout.ticketDir(plan.id));
        for (const ticket of tickets) this.#write(this.#layout.ticketFile(ticket), ticket);
        this.#write(this.#layout.planFile(plan.id), plan);
      } catch (error) {
        rmSync(this.#layout.planDir(plan.id), { recursive: true, force: true });
        throw error;
      }
    });
  }

  async addTicket(ticket: Ticket): Promise<void> {
    await this.#lockedAnew(`${ticket.planId}+${ticket.ticketId}`, () => {
      this.#write(this.#layout.ticketFile(ticket), ticket);
    });
  }

  async removeTicket(ref: TicketRef): Promise<void> {
    const file = this.#layout.ticketFile(ref);
    await this.#lockedAnew(`${ref.planId}+${ref.ticketId}`, () => {
      this.#reader.forget(file);
      rmSync(file, { force: true });
    });
  }

  async deletePlan(id: string): Promise<void> {
    await this.#lockedAnew(id, () => {
      const gone = `${this.#layout.planDir(id)}${DELETED}${process.pid}`;
      rmSync(gone, { recursive: true, force: true });
      renameSync(this.#layout.planDir(id), gone);
      rmSync(gone, { recursive: true, force: true });
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
    try {
      appendEvent(file, event);
    } catch (error) {
      throw asStorageError(error, this.#layout.root) === error
        ? (unwritable(file, error) ?? error)
        : asStorageError(error, this.#layout.root);
    }
  }

  events(planId: string): StoredEvent[] {
    return readEvents(this.#layout.events(planId));
  }

  watch(onChange: (changed: Changed) => void): () => void {
    this.#guard(() => makeDirectory(this.#layout.plans));
    const watch = watchPlans(this.#layout.plans, (path) => this.#reader.owns(path), onChange);
    this.#watches.add(watch);
    return () => {
      this.#watches.delete(watch);
      watch.close();
    };
  }

  changes(since?: string): { changed: Changed; cursor: string } {
    const before = this.#stamps;
    this.#stamps = this.#scan();
    for (const [key, { ref, stamp }] of this.#stamps)
      if (before.get(key)?.stamp !== stamp) this.#changes.note(ref);
    for (const [key, { ref }] of before) if (!this.#stamps.has(key)) this.#changes.note(ref);
    return this.#changes.since(since);
  }

  #scan(): Map<string, { ref: StateRef; stamp: string | undefined }> {
    const found = new Map<string, { ref: StateRef; stamp: string | undefined }>();
    for (const planId of directories(this.#layout.plans)) {
      const dir = join(this.#layout.plans, planId);
      const add = (ref: StateRef, file: string) => {
        let stamp: string | undefined;
        try {
          stamp = stampOf(file);
        } catch (error) {
          stamp = messageOf(error);
        }
        found.set(keyOf(ref), { ref, stamp });
      };
      add({ planId, ticketId: null }, join(dir, 'plan.json'));
      const files = this.#ticketFiles(join(dir, 'tickets'));
      for (const name of files instanceof InputError ? [] : files.keys())
        if (name.endsWith('.json'))
          add({ planId, ticketId: name.slice(0, -'.json'.length) }, join(dir, 'tickets', name));
    }
    return found;
  }

  async claimNotices(planId: string, wish: NoticeWish): Promise<Wanted[]> {
    return this.#locked(`${planId}+notified`, () => {
      const file = this.#layout.notified(planId);
      const text = existsSync(file) ? stateText(file) : '';
      const lines = text.split('\n').flatMap((line) => parseLine<NoticeLine<ProcessIdentity>>(line) ?? []);
      const { mine, fresh } = claimLines(lines, wish, { by: ownIdentity(), isAlive });
      this.#noteNotices(planId, fresh);
      return mine;
    });
  }

  async endNotice(
    planId: string,
    { key, place }: Wanted,
    { state, now }: { state: 'sent' | 'failed'; now: string },
  ): Promise<void> {
    await this.#locked(`${planId}+notified`, () =>
      this.#noteNotices(planId, [{ place, key, state, at: now }]),
    );
  }

  /** A line break first: half a line that a crash left must not swallow the next one. */
  #noteNotices(planId: string, lines: readonly NoticeLine<ProcessIdentity>[]): void {
    if (lines.length === 0) return;
    const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
    appendFileSync(this.#layout.notified(planId), `\n${text}`, { mode: 0o600 });
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
    await this.#locked('engines.past', () => {
      const lines = new Set(change(readUsage(file)).map((each) => JSON.stringify(each)));
      writeAtomic(file, `[\n${[...lines].join(',\n')}\n]\n`);
    });
  }

  async pin(hash: string, text: string): Promise<void> {
    const file = join(this.#layout.pins, `${hash}.json`);
    if (existsSync(file)) return;
    this.#guard(() => {
      makeDirectory(this.#layout.pins);
      writeAtomic(file, text);
    });
  }

  pinned(hash: string): string | undefined {
    const file = join(this.#layout.pins, `${hash}.json`);
    return /^[0-9a-f]{16,64}$/.test(hash) && existsSync(file) ? readFileSync(file, 'utf8') : undefined;
  }

  /** The file that cannot be read is kept beside it. */
  async restoreTicket(ticket: Ticket): Promise<void> {
    const file = this.#layout.ticketFile(ticket);
    await this.#lockedAnew(`${ticket.planId}+${ticket.ticketId}`, () => {
      this.#reader.forget(file);
      if (this.#isReadable(ticket)) return;
      if (isThere(file)) writeFileSync(`${file}.broken`, stateBytes(file), { mode: 0o600 });
      this.#write(file, { ...ticket, rev: ticket.rev + 1 });
    });
  }

  #isReadable(ref: TicketRef): boolean {
    try {
      this.ticket(ref);
      return true;
    } catch (error) {
      if (error instanceof InputError) return false;
      throw error;
    }
  }

  #write<T extends Plan | Ticket>(file: string, value: T): T {
    try {
      writeAtomic(file, `${JSON.stringify(value, null, 2)}\n`);
    } catch (error) {
      // We hold a lock, so the state directory can be written: this plan alone is in trouble.
      throw unwritable(file, error) ?? asStorageError(error, this.#layout.root);
    }
    this.#reader.remember(file, value);
    return value;
  }

  /** For what changes more than one ticket: the next glance looks anew. */
  async #lockedAnew<T>(name: string, fn: () => T): Promise<T> {
    const result = await this.#locked(name, fn);
    this.#glanced = undefined;
    return result;
  }

  async #locked<T>(name: string, fn: () => T | Promise<T>): Promise<T> {
    const lock = this.#layout.lock(name);
    try {
      makeDirectory(this.#layout.locks);
      return await withLock(lock, fn);
    } catch (error) {
      throw asStorageError(error, this.#layout.root);
    }
  }

  /** A full or read-only disk is told as such; the previous state is intact because every write is a rename. */
  #guard<T>(fn: () => T): T {
    try {
      return fn();
    } catch (error) {
      throw asStorageError(error, this.#layout.root);
    }
  }
}

/** A line that a crash cut short is left out. */
function parseLine<T>(line: string): T | undefined {
  try {
    return line === '' ? undefined : (JSON.parse(line) as T);
  } catch {
    return undefined;
  }
}

function readUsage(file: string): Ticket[] {
  try {
    const all: unknown = JSON.parse(readFileSync(file, 'utf8'));
    return Array.isArray(all) ? all.flatMap((each) => quickTicket(each) ?? []) : [];
  } catch (error) {
    // A file that is missing or spoilt must not keep plans from being deleted.
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/** How late another process's change may show in a glance; our own show at once. */
const GLANCE_MS = 50;

/** Of so many tickets it is enough that the directory calls them files; of fewer, their sizes are looked at, too. */
const MANY = 100;

const NO_DIRECTORY = 'is no directory of a plan that can be reached. Put the plan there, or move it away.';
