import { InputError, ifUsable } from '../model/errors.ts';
import type { StoredEvent } from '../model/events.ts';
import type { Changed, StateRef, TicketRef } from '../model/ids-and-branch-names.ts';
import type { Claim } from '../model/lease-and-claim-messages.ts';
import type { Worker } from '../model/place-tickets-on-workers.ts';
import type { Plan } from '../model/plan.ts';
import type { PlanSchema } from '../model/plan-schema.ts';
import type { PlansView } from '../model/plans/plans-view.ts';
import type { Ticket } from '../model/ticket.ts';
import type { Exact } from '../model/ticket-schema.ts';

export interface StoreOptions {
  /** For commands that read everything about once: nothing is cached. */
  once?: boolean;
  /**
   * Kinds of plans that this process knows, with the schemas of their own fields where they have one. A plan of another kind is
   * a problem like a file that cannot be read: it is not in any view, and nothing changes it. Default: those of Signalbox.
   */
  kinds?: ReadonlyMap<string, PlanSchema | null>;
  /** Runs a write, and may repeat it after a storage error. Default: runs it once and throws the error. */
  persist?: <T>(write: () => T | Promise<T>) => Promise<T>;
}

/** A plan or ticket that cannot be used. Only that one is held back. */
export interface StoreProblem extends StateRef {
  /** Where it is, as a text for people; only the store itself may open it. */
  path: string;
  message: string;
}

export interface StoreView extends PlansView {
  plans: Plan[];
  tickets: Map<string, Ticket>;
  problems: StoreProblem[];
}

/**
 * How thoroughly changes of other processes are searched for: those that the store was notified of; all of unfinished plans;
 * all. Tickets of finished plans are not followed, except those that a glance has returned.
 */
export type CheckScope = 'noticed' | 'open' | 'all';

/** Undefined where the ticket does not exist, or cannot be read. */
export function readableTicket(store: Pick<Store, 'ticket'>, ref: TicketRef): Ticket | undefined {
  return ifUsable(() => store.ticket(ref));
}

/** Plans that are not finished, and the given one. */
export function openAndOnePlan(store: Pick<Store, 'glance' | 'view'>, planId: string | undefined): StoreView {
  const open = store.glance();
  const all = withPlans(open, planId === undefined ? [] : [planId], (id) => store.view(id));
  return all === open ? open : { ...all, plans: all.plans.sort((a, b) => (a.id < b.id ? -1 : 1)) };
}

/** A view with more plans behind its own. */
export function withPlans(
  view: StoreView,
  planIds: Iterable<string>,
  read: (planId: string) => StoreView,
): StoreView {
  const known = new Set(view.plans.map(({ id }) => id));
  const added = new Set([...planIds].filter((id) => !known.has(id)));
  if (added.size === 0) return view;
  // What is wrong with a plan that cannot be read is found again.
  const ofOthers = view.problems.filter(({ planId }) => !planId || !added.has(planId));
  const views = [{ ...view, problems: ofOthers }, ...[...added].map(read)];
  return {
    ...view,
    plans: views.flatMap(({ plans }) => plans),
    tickets: new Map(views.flatMap(({ tickets }) => [...tickets])),
    problems: views.flatMap(({ problems }) => problems),
  };
}

/** Each call returns what was noticed to have changed since the last one; the first: `unknown`. */
export function sinceLast(store: Pick<Store, 'changes'>): () => Changed {
  let last: string | undefined;
  return () => {
    const { changed, cursor } = store.changes(last, 'noticed');
    last = cursor;
    return changed;
  };
}

/** Whether an error says that a plan or ticket could not be read or written. A later successful write there ends that state. */
export function wasOutOfReach(error: unknown, location: string): boolean {
  const codes = ['state/missing', 'state/unreadable', 'state/unwritable'];
  return error instanceof InputError && codes.includes(error.code) && error.details.path === location;
}

/** A notification that was not sent yet. */
export interface Wanted {
  /** A unique name of what happened. */
  key: string;
  /** Where it is to be sent. */
  place: string;
  /** When it happened. */
  since: string;
}

export interface NoticeWish {
  places: readonly string[];
  wanted: readonly Wanted[];
  /** At a place that is new, only what happened after this time is sent. */
  start: string;
  now: string;
}

/** One process that claims tickets and plans. Its heartbeat lets other hosts see that it is alive. */
export interface Holder {
  readonly by: string;
  /** Fences writes: a process that finds another token in a ticket's claim must not write it any more. */
  readonly token: string;
  claim(now: string): Claim;
  /** Starts the heartbeat. */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Whether other engines may be running on the same state. */
  hasOthers(): boolean;
  /**
   * The refKeys of tickets that engines had claimed when one of them last took a slot; undefined where that is not known, such as
   * after the start of an engine. It only says where to look: whether a ticket is claimed is written in the ticket.
   */
  lastClaimed(): string[] | undefined;
  /** Only while no other engine takes a slot. */
  noteClaimed(keys: readonly string[]): void;
  isLive(claim: Claim): boolean;
  /** Milliseconds until a claim whose process cannot be seen from here is over, if that does not renew it. */
  leaseLeft(claim: Claim): number | undefined;
  /** The claim of the daemon, if it is alive. */
  daemon(): Claim | undefined;
  /** Becomes the only daemon; throws a HeldError that names the one that is already running. */
  claimDaemon(now: string): Promise<Claim>;
  releaseDaemon(): Promise<void>;
}

/** The role of the one process that gives tickets to workers. */
export const SCHEDULER = 'scheduler';

/** A ticket that the scheduler gives to a worker. */
export interface Order extends TicketRef {
  worker: string;
  slot: boolean;
}

/** A job of the queue: an order that a worker has fetched. */
export interface Delivery extends TicketRef {
  /** Of the dispatch. Where the ticket has another one, the job is dropped. */
  number: number;
  job: string;
}

/** What a worker says of itself. */
type WorkerFacts = Pick<Worker, 'id' | 'host' | 'version' | 'slots' | 'labels' | 'repos'>;

/** A ticket that a worker is about to claim. */
export interface FleetClaim {
  /** Whether one more may run, beside those that are claimed; `others` are read in the same transaction. */
  hasRoom(others: readonly Ticket[]): boolean;
  change(ticket: Ticket): Ticket;
}

/** What a store has for many machines that work on the same plans. */
export interface Fleet {
  readonly leaseMs: number;
  /** What no output may have in it. A function, so that it is in no printed object. */
  password(): string;
  /** As they were when the database was last asked. */
  workers(): readonly Worker[];
  /** Makes this process a worker, with a queue of its own. Throws a HeldError where another live one has the id. */
  join(holder: Holder, facts: WorkerFacts): Promise<void>;
  /** It takes no more tickets. */
  drain(id: string): Promise<boolean>;
  /** Forgets a worker, and ends the lease of its process. */
  remove(id: string): Promise<boolean>;
  /** Whether this process is the only one that does something, until its lease is over. */
  takeRole(holder: Holder, name: string): Promise<boolean>;
  releaseRole(holder: Holder, name: string): Promise<void>;
  /**
   * Gives tickets to workers: number in the ticket and job in the queue are written in one transaction, in which the scheduler's lease
   * is checked. A ticket that another process changed meanwhile is left out.
   */
  dispatch(holder: Holder, orders: readonly Order[], now: string): Promise<void>;
  /** The next jobs for a worker. Each is delivered again unless it is ended. */
  fetch(worker: string, most: number): Promise<Delivery[]>;
  endJob(worker: string, job: string): Promise<void>;
  /** Deletes old jobs. */
  tidyQueue(): Promise<void>;
  /** Claims a ticket in one transaction that counts what is claimed, of all machines together. */
  claim(ref: TicketRef, claim: FleetClaim): Promise<Ticket>;
  /** Changes a ticket while no other process writes: what the change reads of this store is all that was written before. */
  updateAlone(ref: TicketRef, change: (ticket: Ticket) => Ticket): Promise<Ticket>;
  /** Begins the holder's lease anew, and says whether a ticket's claim is still its own: then no other process takes the ticket meanwhile. */
  keepsClaim(holder: Holder, ref: TicketRef): Promise<boolean>;
  /** Events of a plan that other processes stored, behind the number of the last one that is known; without one, none, and the last number. */
  eventsOfOthers(planId: string, after?: number): Promise<{ events: StoredEvent[]; last: number }>;
  /** Called after each renewal of the holder's lease, with the time at which it was sent, in seconds by the clock of the watchdogs. */
  onRenewed(holder: Holder, listener: (sentAt: number) => void): void;
}

/** The files of a job that readers on other machines see. */
export const OUTPUT_STREAMS = ['stdout', 'stderr'] as const;

/** A part of what an attempt printed, redacted. `adapter` has how an agent's output is to be read. */
export interface OutputPiece {
  stream: (typeof OUTPUT_STREAMS)[number] | 'adapter';
  /** Counts the pieces of a stream. */
  number: number;
  /** At most 64 KB. */
  text: string;
}

/** An attempt, and the time in milliseconds at which it had last printed something. */
export interface AwaitedOutput extends TicketRef {
  attempt: string;
  since: number;
}

export interface OutputEnd extends AwaitedOutput {
  pieces: OutputPiece[];
}

/** What attempts print, for readers on other machines. Writes resolve to false where the ticket has another claim. */
export interface OutputLog {
  /** Forgets what an earlier engine stored of the attempt. */
  begin(ref: TicketRef, attempt: string, token: string): Promise<boolean>;
  add(ref: TicketRef, attempt: string, token: string, pieces: readonly OutputPiece[]): Promise<boolean>;
  /** The pieces behind the last known number of each stream. */
  after(ref: TicketRef, attempt: string, known: Readonly<Record<string, number>>): OutputPiece[];
  /** The last pieces of each stream of those attempts that have printed something since. */
  ends(attempts: readonly AwaitedOutput[]): Promise<OutputEnd[]>;
  /** Deletes what attempts of finished plans printed before that time. */
  deleteBefore(time: string): Promise<void>;
}

/** What an agent keeps of a ticket in its own home, packed. */
export interface KeptSession {
  agent: string;
  session: string;
  files: Buffer;
}

/** Sessions of agents, for another machine that continues a ticket. */
export interface SessionFiles {
  /** Replaces what was kept of the same agent. False: the ticket has another claim. */
  keep(ref: TicketRef, token: string, kept: KeptSession): Promise<boolean>;
  of(ref: TicketRef): Promise<KeptSession[]>;
}

/** A ticket and the token of the claim that its writer believes to have. */
export interface HeldTicket {
  ticketId: string;
  token: string;
}

/**
 * The shared truth: plans, tickets, events, pinned workflows, claims, and what was sent and spent. A database on another host can
 * implement it: no caller sees a path, reads may come from memory, and writes are asynchronous. Every change goes through a
 * function that gets the latest state; the store may call it again when another process was faster, so it must be pure.
 */
export interface Store {
  /** Undefined where all readers of the store see the files of its jobs. */
  readonly output?: OutputLog;
  /** Undefined where tickets stay on one machine. */
  readonly sessions?: SessionFiles;
  /**
   * Resolves when reads show everything that any process had written before the call. What this process wrote shows at once; what
   * others wrote may show later where the store is on another computer.
   */
  refresh(): Promise<void>;
  /** What many machines need to work on the same plans; undefined where the store is for one machine. */
  readonly fleet?: Fleet | undefined;
  /** Ends what connects this process to the store. Nothing can be read or written afterwards. */
  close(): Promise<void>;
  /** Everything, as it is now; with an id, that plan alone. */
  view(planId?: string): StoreView;
  /**
   * Plans that are not finished, as they are kept in memory: for what is asked several times per attempt. Changes of other
   * processes may show a moment later. `finished` reads the others.
   */
  glance(): StoreView;
  /** The tickets of a plan that can be read, as they are now, in the order in which the plan lists them; none where the plan cannot be. */
  tickets(of: string | Plan): Ticket[];
  hasPlan(id: string): boolean;
  /** Whether something is stored there, readable or not. */
  exists(ref: StateRef): boolean;
  plan(id: string): Plan;
  ticket(ref: TicketRef): Ticket;
  /** The stored JSON, also where it fits no schema. */
  text(ref: StateRef): string;
  /** Where a plan or ticket is stored, or all plans, as a text for people. */
  location(ref?: StateRef): string;
  /** Whether that is the location of this store, also as another person of a team has it. */
  isAt(location: string): boolean;
  /** Throws where the store was there before and is gone: a directory that was moved away must not look like one without plans. */
  refuseIfGone(): void;

  create<P extends Plan, T extends Ticket>(
    plan: Exact<P, Plan>,
    tickets: readonly Exact<T, Ticket>[],
  ): Promise<void>;
  /** Applies `change` to the latest state, alone. Returning the same object writes nothing. */
  updatePlan<R extends Plan, T extends Ticket>(
    id: string,
    change: (plan: Plan) => Exact<R, Plan>,
    /** Tickets that the change lists and that do not exist yet. No reader sees one of them without its entry in the plan. */
    added?: readonly Exact<T, Ticket>[],
  ): Promise<Plan>;
  updateTicket<R extends Ticket>(
    ref: TicketRef,
    change: (ticket: Ticket) => Exact<R, Ticket>,
  ): Promise<Ticket>;
  /** Deletes a ticket that its plan no longer lists. */
  removeTicket(ref: TicketRef): Promise<void>;
  /** Replaces a ticket that cannot be read by its last good state. */
  restoreTicket<T extends Ticket>(ticket: Exact<T, Ticket>): Promise<void>;
  deletePlan(id: string): Promise<void>;

  /**
   * Calls of one process are kept in their order, also when it does not await them. With a claim, the event is stored only while the ticket has
   * that one, where other machines could have taken it.
   */
  append(planId: string, event: StoredEvent, claim?: HeldTicket): Promise<void>;
  events(planId: string): StoredEvent[];
  /**
   * The next events behind a cursor, in pieces: a piece may be a part of them, and the last one is empty. Without a cursor, or
   * with one that the store does not know, there are none, and the cursor is the end of what is stored now.
   */
  eventsAfter(planId: string, cursor?: string): { events: StoredEvent[]; cursor: string };

  /** Calls back soon after another process changed something. Returns the function that ends it. */
  watch(onChange: (changed: Changed) => void): () => void;
  /** What any process changed since the cursor. Without a cursor, or with one that the store does not know: `unknown`. */
  changes(since?: string, scope?: CheckScope): { changed: Changed; cursor: string };

  /** Keeps a text by its content hash, for ever. */
  pin(hash: string, text: string): Promise<void>;
  pinned(hash: string): string | undefined;

  holder(by: string): Holder;
  /** Runs `fn` while no other engine runs one of the same name. */
  alone<T>(name: 'slots' | 'runs', fn: () => Promise<T>): Promise<T>;

  /** Those of the wanted notifications that no other process has sent or is sending. This one has to send them now. */
  claimNotices(planId: string, wish: NoticeWish): Promise<Wanted[]>;
  endNotice(planId: string, notice: Wanted, end: { state: 'sent' | 'failed'; now: string }): Promise<void>;

  /** Deletes what killed processes left half written before that time, in milliseconds. */
  sweep(before: number): void;

  /** What agents of deleted tickets used, as tickets without their texts. */
  deletedUsage(): readonly Ticket[];
  updateDeletedUsage(change: (kept: readonly Ticket[]) => readonly object[]): Promise<void>;
}
