import {
  closeSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  type Stats,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { statIfVisible } from '../machine/files/read-and-remove-files.ts';
import { ifUsable } from '../model/errors.ts';
import { idProblem, parseRef, refKey, type StateRef, type TicketRef } from '../model/ids-and-branch-names.ts';
import { PLAN_KINDS, type Plan } from '../model/plan.ts';
import { entryOf } from '../model/plans/plans-view.ts';
import type { Ticket } from '../model/ticket.ts';
import { directories, isFinished, type Layout, mayBePlan, viewPlan } from './layout-and-view.ts';
import type { StateReader } from './state-reader.ts';
import type { StoreProblem, StoreView } from './store-interface.ts';

/** A plan as it was last read; undefined where it cannot be. */
interface PlanInMemory {
  plan: Plan | undefined;
  problems: StoreProblem[];
}

interface ViewOptions {
  layout: Layout;
  reader: StateReader;
  /** Called when a plan or ticket has changed. */
  onChange(ref: StateRef): void;
  /** Called when a plan is opened, opened again or finished. */
  onOpen(planId: string, isOpen: boolean): void;
  /** For a command that only shows plans: finished ones that were all checked a moment ago are not checked again. */
  trustsRecentCheck?: boolean;
}

/** The plans that are not finished, in memory. Only what changed is read again; of finished plans only the names are kept. */
export class ViewInMemory {
  readonly #options: ViewOptions;
  readonly #plansDir: string;
  readonly #plans = new Map<string, PlanInMemory>();
  readonly #tickets = new Map<string, Ticket>();
  readonly #finished: FinishedPlans;
  /** Plans of kinds that other processes may not know: each has to find that out for itself. */
  readonly #ofOtherKinds = new Set<string>();
  /** Tickets of finished plans that something has asked for, by refKey. */
  readonly #asked = new Map<string, Ticket | undefined>();
  #lists: Pick<StoreView, 'plans' | 'problems'> | undefined;

  constructor(options: ViewOptions) {
    this.#options = options;
    this.#plansDir = options.layout.plans;
    this.#finished = new FinishedPlans(options.layout.finishedIndex);
    const dir = this.#plansDir;
    const began = Date.now();
    const isTrusted = options.trustsRecentCheck === true && this.#finished.wasChecked(began);
    const stat = isTrusted ? undefined : (id: string) => this.#stat(id);
    // Most of them are finished: that they are directories is asked only of the others.
    for (const id of existsSync(dir) ? readdirSync(dir) : [])
      if (!this.#finished.confirm(id, stat) && !this.#isSeenFinished(id)) this.readPlan(id);
    if (!isTrusted) this.#noteFinished(began);
  }

  /** The live view: it changes with the plans. */
  get view(): StoreView {
    this.#lists ??= this.#listed();
    return { ...this.#lists, tickets: this.#tickets, finished: this.#finishedPlans };
  }

  openPlans(): Iterable<string> {
    return this.#plans.keys();
  }

  /** Compares what is kept with the files, of open plans or of all. */
  check(which: 'open' | 'all'): void {
    const began = Date.now();
    const names = new Set(directories(this.#options.layout.plans));
    for (const id of [...this.#plans.keys(), ...this.#finished.ids()]) if (!names.has(id)) this.#remove(id);
    for (const id of names) {
      if (!this.#finished.has(id)) {
        this.readPlan(id);
        // Watching it may have failed before.
        if (this.#plans.has(id)) this.#options.onOpen(id, true);
      } else if (which === 'all' && !this.#finished.isSame(id, this.#stat(id))) this.readPlan(id);
    }
    if (which === 'open') return;
    this.#noteFinished(began);
    for (const [key, before] of [...this.#asked]) {
      const ref = parseRef(key, '');
      if (!this.#finished.has(ref.planId)) this.#asked.delete(key);
      else if (this.#finishedTicket(ref) !== before) this.#options.onChange(ref);
    }
  }

  /** Reads a plan and its tickets again, as far as their files have changed. */
  readPlan(id: string): void {
    const { layout, reader, onChange } = this.#options;
    if (!mayBePlan(layout.plans, id)) return void this.#remove(id);
    const read: StoreView = { plans: [], tickets: new Map(), problems: [] };
    const stat = this.#stat(id);
    viewPlan(id, read, { layout, reader, openOnly: true });
    const [plan] = read.plans;
    if (plan && isFinished(plan)) return void this.#finish(plan, stat);
    const before = this.#plans.get(id);
    this.#forgetTickets(before?.plan, read.tickets);
    for (const ticket of read.tickets.values()) this.#setTicket(ticket);
    if (this.#finished.delete(id)) distrustFinishedIndex(layout);
    this.#plans.set(id, { plan, problems: read.problems });
    if (before && before.plan === plan && sameProblems(before.problems, read.problems)) return;
    this.#lists = undefined;
    onChange({ planId: id, ticketId: null });
    this.#options.onOpen(id, true);
  }

  readTicket(ref: TicketRef): void {
    const kept = this.#plans.get(ref.planId);
    if (this.#finished.has(ref.planId)) return;
    const { layout, reader } = this.#options;
    // Problems of tickets are reported beside those of their plan, so both are read.
    const isPlain = kept?.problems.length === 0 && entryOf(kept.plan, ref) !== undefined;
    const read = () => reader.ticket(layout.ticketFile(ref), ref.planId, ref.ticketId);
    const ticket = isPlain ? ifUsable(read) : undefined;
    if (ticket) this.#setTicket(ticket);
    else this.readPlan(ref.planId);
  }

  /** Updates the view with what this process has written. */
  wrote(value: Plan | Ticket): void {
    if ('ticketId' in value) {
      const kept = this.#plans.get(value.planId);
      if (kept?.problems.length === 0 && entryOf(kept.plan, value)) this.#setTicket(value);
      else this.readTicket(value);
      return;
    }
    const kept = this.#plans.get(value.id);
    if (!kept?.plan || isFinished(value) || !sameTickets(kept.plan, value))
      return void this.readPlan(value.id);
    kept.plan = value;
    this.#lists = undefined;
    this.#options.onChange({ planId: value.id, ticketId: null });
  }

  #listed(): Pick<StoreView, 'plans' | 'problems'> {
    const kept = [...this.#plans].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, each]) => each);
    return {
      plans: kept.flatMap(({ plan }) => plan ?? []),
      problems: kept.flatMap(({ problems }) => problems),
    };
  }

  #setTicket(ticket: Ticket): void {
    const key = refKey(ticket);
    if (this.#tickets.get(key) === ticket) return;
    this.#tickets.set(key, ticket);
    this.#options.onChange(ticket);
  }

  /** Nothing of a finished plan stays in memory but its name. */
  #finish(plan: Plan, stat: Stats | undefined): void {
    const { layout, reader, onChange, onOpen } = this.#options;
    const { id } = plan;
    const before = this.#plans.get(id);
    const isNews = before !== undefined || !this.#finished.isSame(id, stat);
    this.#finished.set(id, stat);
    if (plan.kind && !PLAN_KINDS.some((kind) => kind === plan.kind)) this.#ofOtherKinds.add(id);
    for (const { ticketId } of before?.plan?.tickets ?? [])
      reader.release(layout.ticketFile({ planId: id, ticketId }));
    reader.release(layout.planFile(id));
    if (before) this.#close(id);
    if (isNews) onChange({ planId: id, ticketId: null });
    if (before) onOpen(id, false);
  }

  #remove(id: string): void {
    const wasOpen = this.#plans.has(id);
    if (!this.#finished.delete(id) && !wasOpen) return;
    this.#close(id);
    this.#options.onChange({ planId: id, ticketId: null });
    if (wasOpen) this.#options.onOpen(id, false);
  }

  #close(id: string): void {
    this.#forgetTickets(this.#plans.get(id)?.plan, new Map());
    this.#plans.delete(id);
    this.#lists = undefined;
  }

  #forgetTickets(plan: Plan | undefined, except: ReadonlyMap<string, Ticket>): void {
    for (const { ticketId } of plan?.tickets ?? []) {
      const ref = { planId: plan?.id ?? '', ticketId };
      if (!except.has(refKey(ref)) && this.#tickets.delete(refKey(ref))) this.#options.onChange(ref);
    }
  }

  #stat(id: string): Stats | undefined {
    return statIfVisible(`${this.#plansDir}/${id}/plan.json`);
  }

  /** Reads a plan that is probably finished, with few questions to the system: there may be thousands. */
  #isSeenFinished(id: string): boolean {
    const stat = idProblem(id) ? undefined : this.#stat(id);
    if (!stat?.isFile() || stat.size > MAX_QUICK_READ_BYTES) return false;
    const file = `${this.#plansDir}/${id}/plan.json`;
    const plan = ifUsable(() => this.#options.reader.plan(file, id, stat));
    if (!plan || !isFinished(plan)) return false;
    this.#finish(plan, stat);
    return true;
  }

  /** `began`: when the check of all finished plans began. */
  #noteFinished(began: number): void {
    this.#finished.note(began, (id) => !this.#ofOtherKinds.has(id));
  }

  readonly #finishedPlans: NonNullable<StoreView['finished']> = {
    ids: () => this.#finished.ids(),
    since: (time, most) => this.#finished.since(time, most),
    plan: (id) => {
      const { layout, reader } = this.#options;
      return this.#finished.has(id) ? ifUsable(() => reader.plan(layout.planFile(id), id)) : undefined;
    },
    ticket: (ref) => (this.#finished.has(ref.planId) ? this.#finishedTicket(ref) : undefined),
  };

  #finishedTicket(ref: TicketRef): Ticket | undefined {
    const { layout, reader } = this.#options;
    const ticket = ifUsable(() => reader.ticket(layout.ticketFile(ref), ref.planId, ref.ticketId));
    this.#asked.set(refKey(ref), ticket);
    return ticket;
  }
}

function sameTickets({ tickets: a }: Plan, { tickets: b }: Plan): boolean {
  return a.length === b.length && a.every(({ ticketId }, index) => ticketId === b[index]?.ticketId);
}

function sameProblems(a: readonly StoreProblem[], b: readonly StoreProblem[]): boolean {
  const isSame = (one: StoreProblem, other: StoreProblem | undefined) =>
    one.message === other?.message && one.path === other.path;
  return a.length === b.length && a.every((one, index) => isSame(one, b[index]));
}

/** A larger file is left to `readPlan`, so that it is not read twice where the plan is open. */
const MAX_QUICK_READ_BYTES = 20_000;

const HEAD = 'signalbox finished plans, version 2: ';
const HEAD_BYTES = 96;
/** Where the head says when all plans in the file were last checked. What is before it (count, pid, time of writing) tells one file from another. */
const CHECKED_AT = 80;
const CHECKED_BYTES = HEAD_BYTES - CHECKED_AT - 1;
/** A change of a finished plan is noticed within this time. */
const TRUSTED_MS = 60_000;
/** Numbers per stamp: inode, size, mtime, ctime. */
const STAMP_NUMBERS = 4;
/** A file that was written so recently may be written again with the same times; longer ago where times are whole seconds. */
const UNSETTLED_MS = 100;
const UNSETTLED_SECONDS_MS = 2_500;
/** Reading fewer plans again is faster than writing the file. */
const MANY_UNNOTED = 50;

/**
 * The names of finished plans, and the stamps that their plan.json had when they were last read. They are noted in a file, so that
 * the next process reads only plans whose stamp differs. Nothing else depends on that file: it may be missing, torn or old, and two
 * processes may write it in turn.
 */
class FinishedPlans {
  readonly #path: string;
  /** By id, its place among the stamps. */
  readonly #places = new Map<string, number>();
  /** The same of plans that the file names. */
  #noted = new Map<string, number>();
  /** One array: thousands of small objects would slow down short commands. */
  #stamps = new Float64Array();
  #used = 0;
  #checked = Number.NaN;
  /** The head of the file that `#noted` is about, without the time of the check. */
  #head: string | undefined;

  constructor(path: string) {
    this.#path = path;
    this.#load();
  }

  /** Whether some process has checked all plans in the file a moment ago, and has not found or made a change since. */
  wasChecked(now: number): boolean {
    return this.#checked <= now && now - this.#checked < TRUSTED_MS;
  }

  /** Whether the file says that a plan is finished, and it has not changed since. Without `stat` the file is trusted. */
  confirm(id: string, stat: ((id: string) => Stats | undefined) | undefined): boolean {
    const place = this.#noted.get(id);
    const isKnown = place !== undefined && (!stat || this.#isAt(place, stat(id)));
    if (isKnown) this.#places.set(id, place);
    return isKnown;
  }

  has(id: string): boolean {
    return this.#places.has(id);
  }

  ids(): Iterable<string> {
    return this.#places.keys();
  }

  isSame(id: string, stat: Stats | undefined): boolean {
    const place = this.#places.get(id);
    return place !== undefined && this.#isAt(place, stat);
  }

  set(id: string, stat: Stats | undefined): void {
    if (this.isSame(id, stat)) return;
    const at = this.#used * STAMP_NUMBERS;
    if (at >= this.#stamps.length) {
      const larger = new Float64Array(Math.max(64, 2 * at));
      larger.set(this.#stamps);
      this.#stamps = larger;
    }
    this.#stamps.set(stat ? [stat.ino, stat.size, stat.mtimeMs, stat.ctimeMs] : NO_STAMP, at);
    this.#places.set(id, this.#used);
    this.#used += 1;
  }

  delete(id: string): boolean {
    return this.#places.delete(id);
  }

  since(time: number, most = Number.POSITIVE_INFINITY): string[] {
    const latest: { id: string; at: number }[] = [];
    let from = time;
    for (const [id, place] of this.#places) {
      const at = this.#stamps[place * STAMP_NUMBERS + 2] ?? Number.NaN;
      if (!(at >= from)) continue;
      latest.push({ id, at });
      if (latest.length <= 10 * most) continue;
      keepLatest(latest, most);
      from = latest.at(-1)?.at ?? from;
    }
    keepLatest(latest, most);
    return latest.map(({ id }) => id);
  }

  /**
   * Notes a check of all plans. The file is written anew once many were found to be finished that it does not name, and where
   * it names others or another process wrote it.
   */
  note(began: number, isMeant: (id: string) => boolean): void {
    const now = Date.now();
    const isOld = (ms: number) => now - ms > (ms % 1000 === 0 ? UNSETTLED_SECONDS_MS : UNSETTLED_MS);
    const isSettled = (place: number) =>
      isOld(this.#stamps[place * STAMP_NUMBERS + 2] ?? now) &&
      isOld(this.#stamps[place * STAMP_NUMBERS + 3] ?? now);
    const isNew = (id: string, place: number) =>
      place !== this.#noted.get(id) && isSettled(place) && isMeant(id);
    let fresh = 0;
    for (const [id, place] of this.#places) if (isNew(id, place)) fresh += 1;
    if (fresh < MANY_UNNOTED && !this.#head) return;
    const isStale = [...this.#noted.keys()].some((id) => !this.#places.has(id));
    if (fresh < MANY_UNNOTED && !isStale && writeChecked(this.#path, began, this.#head)) return;
    const known = [...this.#places].filter(([id, place]) => isSettled(place) && isMeant(id));
    const stamps = new Float64Array(known.length * STAMP_NUMBERS);
    for (const [at, [, place]] of known.entries())
      stamps.set(
        this.#stamps.subarray(place * STAMP_NUMBERS, (place + 1) * STAMP_NUMBERS),
        at * STAMP_NUMBERS,
      );
    const head = `${HEAD}${known.length} ${process.pid} ${now}`.padEnd(CHECKED_AT);
    const names = known.map(([id]) => id).join('\n');
    const temporary = `${this.#path}.${process.pid}.tmp`;
    try {
      const parts = [
        Buffer.from(`${head}${checkedText(began)}\n`),
        new Uint8Array(stamps.buffer),
        Buffer.from(names),
      ];
      writeFileSync(temporary, Buffer.concat(parts), { mode: 0o600 });
      renameSync(temporary, this.#path);
      this.#noted = new Map(known);
      this.#head = head;
    } catch {
      // A full or read-only disk: the next process has to read them, too.
      rmSync(temporary, { force: true });
    }
  }

  #isAt(place: number, stat: Stats | undefined): boolean {
    const at = place * STAMP_NUMBERS;
    return (
      stat !== undefined &&
      this.#stamps[at] === stat.ino &&
      this.#stamps[at + 1] === stat.size &&
      this.#stamps[at + 2] === stat.mtimeMs &&
      this.#stamps[at + 3] === stat.ctimeMs
    );
  }

  #load(): void {
    let bytes: Buffer;
    try {
      bytes = readFileSync(this.#path);
    } catch {
      return;
    }
    const head = bytes.toString('latin1', 0, HEAD_BYTES);
    const count = head.startsWith(HEAD) ? Number.parseInt(head.slice(HEAD.length), 10) : Number.NaN;
    const end = HEAD_BYTES + count * STAMP_NUMBERS * Float64Array.BYTES_PER_ELEMENT;
    const names = count > 0 && end < bytes.length ? bytes.toString('utf8', end).split('\n') : [];
    if (names.length !== count) return;
    this.#head = head.slice(0, CHECKED_AT);
    this.#checked = Number.parseInt(head.slice(CHECKED_AT), 10);
    this.#stamps = new Float64Array(count * STAMP_NUMBERS);
    new Uint8Array(this.#stamps.buffer).set(bytes.subarray(HEAD_BYTES, end));
    this.#used = count;
    for (let at = 0; at < count; at += 1) this.#noted.set(names[at] as string, at);
  }
}

/** Called before a finished plan is changed, so that the next command checks them all. */
export function distrustFinishedIndex({ finishedIndex }: Layout): void {
  writeChecked(finishedIndex, undefined);
}

/** Writes the time of a check into the file; with `head` only if the file still begins with it. */
function writeChecked(path: string, at: number | undefined, head?: string): boolean {
  let file: number | undefined;
  try {
    file = openSync(path, 'r+');
    const found = Buffer.alloc(CHECKED_AT);
    readSync(file, found, 0, CHECKED_AT, 0);
    const isMeant = head === undefined || found.toString('latin1') === head;
    if (isMeant) writeSync(file, checkedText(at), CHECKED_AT);
    return isMeant;
  } catch {
    // There is no such file, or the disk is read-only: the next process checks the plans, too.
    return false;
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

function checkedText(at: number | undefined): string {
  return `${at ?? '-'}`.padEnd(CHECKED_BYTES);
}

const NO_STAMP = [Number.NaN, Number.NaN, Number.NaN, Number.NaN];

function keepLatest(plans: { id: string; at: number }[], most: number): void {
  plans.sort((a, b) => b.at - a.at).splice(most);
}
