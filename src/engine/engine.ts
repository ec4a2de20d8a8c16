import {
  asStorageErrorIn,
  assertWritable,
} from '../machine/files/make-directory-and-handle-storage-errors.ts';
import { messageOf, orError, SignalboxError, shortageOf, triedAgain } from '../model/errors.ts';
import { type Changed, refKey, refOf } from '../model/ids-and-branch-names.ts';
import type { Plan, PlanEntry } from '../model/plan.ts';
import type { PlanProblem } from '../model/plans/dependency-and-branch-problems.ts';
import { KeptProblems } from '../model/plans/keep-first-problem-of-active-plans.ts';
import { entryOf, planOf, ticketsOf } from '../model/plans/plans-view.ts';
import { shortageHold } from '../model/state/attempt-end-types-and-waits.ts';
import { type Decision, eligible } from '../model/state/eligible.ts';
import { settle } from '../model/state/enter-and-leave-phases.ts';
import { heldBy } from '../model/state/explain-ticket.ts';
import { Shortlist } from '../model/state/keep-shortlist-of-movable-tickets.ts';
import { type Hold, isOver, type Ticket } from '../model/ticket.ts';
import { type Delivery, type StoreProblem, type StoreView, sinceLast } from '../store/store-interface.ts';
import { type Overview, overviewOf, stillHeld } from './choose-agent-within-limits.ts';
import { completePlan } from './claim-and-complete-plan.ts';
import { claimedTickets } from './claimed-tickets-and-counted-usage.ts';
import { type EngineContext, hooksOf, isFatal, isOthers, type Notifications } from './context.ts';
import { sweepOutput } from './delete-old-output.ts';
import type { FleetMembership } from './join-fleet-and-renew-lease.ts';
import { recoverOrphans } from './recover-orphans.ts';
import { OutsideChanges, reportStatus, statusEvent } from './report-status-changes.ts';
import { PlanReadiness } from './require-preflight-or-hold-plan.ts';
import { RunningTickets } from './running-tickets.ts';
import type { Scheduler } from './schedule-on-fleet.ts';
import { wakeableSleep } from './wait-until-woken-or-aborted.ts';
import { repositoryKey } from './work-out-workspace-and-repository.ts';

export interface EngineOptions {
  /** `until-idle` ends when nothing can continue without a person; `forever` never; `once` starts what it can, once. */
  mode: 'until-idle' | 'forever' | 'once';
  maxConcurrency: number;
  /** Only these; undefined: everything that no foreground run has claimed. */
  scope?: { planId: string; ticketIds?: readonly string[] };
  /** Interval of checks when nothing wakes the engine. */
  checkEveryMs: number;
  /** On a fleet: what this process does there. */
  fleet?: { scheduler: Scheduler; worker?: FleetMembership; begin?(): Promise<void> } | undefined;
  /** Called before anything is started; may change the limits. Must not reject. */
  refresh?: (() => Promise<EngineLimits | undefined>) | undefined;
}

type EngineLimits = Pick<EngineOptions, 'maxConcurrency' | 'checkEveryMs'>;

const TIDY_EVERY_MS = 3_600_000;
/** Interval of checks of finished plans. */
const FULL_CHECK_MS = 60_000;

/** Starts and stops tickets. All decisions come from the pure model; the engine puts their effects in order. */
export class Engine {
  readonly #engine: EngineContext;
  readonly #options: EngineOptions;
  readonly #running: RunningTickets;
  readonly #reported = new Set<string>();
  readonly #notifier: Notifications | undefined;
  readonly #outside: OutsideChanges;
  readonly #readiness: PlanReadiness;
  /** Kept from pass to pass, so that a pass costs as much as has changed. */
  readonly #shortlist: Shortlist;
  readonly #problems: KeptProblems;
  readonly #toWeigh: () => Changed;
  readonly #toReport: () => Changed;
  #unusable: readonly StoreProblem[] = [];
  readonly #rest = wakeableSleep();
  #woken = false;
  #isFirst = true;
  /** Whether another engine drove tickets at the last decision. It may have ended since, and its tickets are not decided about yet. */
  #areOthersAtWork = false;
  #stopping: 'pause' | 'leave' | undefined;
  #failure: unknown;
  #tidyAfter = 0;
  #nextCheckAt = 0;
  #nextFullCheckAt = 0;
  /** Jobs of the queue that wait for the preflight of their plan. */
  #deliveries: Delivery[] = [];

  constructor(engine: EngineContext, options: EngineOptions) {
    this.#engine = engine;
    this.#options = { ...options };
    const own = this.#options;
    // On a fleet, the daemon and foreground runs notify people.
    this.#notifier = own.fleet?.worker ? undefined : engine.notifications?.(engine);
    this.#outside = new OutsideChanges(engine);
    const takenFrom = async (plan: Plan, tickets: readonly Ticket[]) =>
      own.fleet?.worker?.withItsLabels(plan, tickets) ?? tickets;
    this.#readiness = new PlanReadiness(engine, () => this.wake(), takenFrom);
    const isWanted = (planId: string) => !own.scope || own.scope.planId === planId;
    this.#shortlist = new Shortlist(isWanted);
    this.#problems = new KeptProblems({ isWanted, first: (plan) => this.#kindProblem(plan) });
    this.#toWeigh = sinceLast(engine.store);
    this.#toReport = sinceLast(engine.store);
    this.#running = new RunningTickets(engine, {
      outside: this.#outside,
      get maxConcurrency() {
        return own.maxConcurrency;
      },
      isLeaving: () => own.fleet?.worker?.isLeaving === true,
      onEnd: () => this.wake(),
      onFatal: (error) => this.#giveUp(error),
    });
  }

  /** Runs until done by its mode or stopped. Throws only when nothing can continue, such as with a full disk. */
  async run(): Promise<void> {
    const { store, holder, machine, settings } = this.#engine;
    await holder.start();
    const unwatch = store.watch(() => this.wake());
    const { fleet } = this.#options;
    // What ended is on this machine's disk, and is recorded when the database is there again.
    const waitMs = fleet ? Number.POSITIVE_INFINITY : settings.storage.waitSeconds * 1000;
    machine.storage.begin({ waitMs, onTrouble: (error) => this.#reportStorage(error) });
    try {
      await fleet?.begin?.();
      await this.#passes().catch((error: unknown) => this.#giveUp(error));
      await Promise.all([this.#running.ended(), this.#readiness.close()]);
      if (!this.#failure) this.#tidy();
      await this.#notifier?.settled();
      await fleet?.scheduler.end();
    } finally {
      machine.storage.end();
      unwatch();
      await holder.stop();
    }
    // A worker that has a lease stays in the list.
    await fleet?.worker?.end();
    if (this.#failure) throw this.#failure;
  }

  async #passes(): Promise<void> {
    let shortSince: string | undefined;
    while (!this.#stopping && !this.#failure) {
      try {
        const decision = await this.#pass();
        shortSince = undefined;
        if (!decision) return;
        await this.#sleep(decision.wakeAt);
      } catch (error) {
        const shortage = isFatal(error) ? undefined : shortageOf(error);
        if (!shortage) throw error;
        this.#problem(this.#options.scope?.planId ?? '', null, triedAgain(shortage), null);
        this.#woken = false;
        const now = this.#engine.now();
        shortSince ??= now;
        await this.#sleep(shortageHold(shortage, shortSince, now).until);
      }
    }
  }

  /** Undefined: everything is done. */
  async #pass(): Promise<Decision | undefined> {
    this.#woken = false;
    Object.assign(this.#options, await this.#options.refresh?.());
    this.#readChanges();
    await recoverOrphans(this.#engine);
    const view = this.#engine.store.glance();
    this.#running.applyPauses(view);
    if (this.#options.fleet) return this.#passOnFleet(view, this.#options.fleet);
    const decision = this.#decide(view);
    this.#reportHeld(view);
    this.#reportCrowded(decision);
    const full = this.#options.mode === 'once' && !this.#isFirst;
    // What waits for the preflight of its plan still belongs to the first pass.
    this.#isFirst &&= this.#readiness.isChecking;
    const moved = await this.#carryOut(full ? { ...decision, dispatch: [] } : decision);
    if (this.#isDone(view, decision, { full, moved })) return undefined;
    this.#tidy();
    return decision;
  }

  /** Takes the tickets that came for this worker, then gives out others if this process is the scheduler. */
  async #passOnFleet(
    view: StoreView,
    { scheduler, worker }: NonNullable<EngineOptions['fleet']>,
  ): Promise<Decision | undefined> {
    if (worker) await this.#takeDeliveries(view, worker);
    if (worker?.isLeaving) {
      await scheduler.end();
      return this.#running.size === 0 && this.#deliveries.length === 0 ? undefined : IDLE;
    }
    if (!(await scheduler.isMine())) return this.#idleOnFleet();
    // What has changed meanwhile is weighed with the plans as they are now.
    const decision = this.#decide(this.#engine.store.glance(), scheduler.limits());
    const { dispatch } = decision;
    await this.#carryOut({ ...decision, dispatch: [] });
    await this.#ifPossible({ planId: '', ticketId: null }, () => scheduler.send(dispatch));
    // This process is not notified of its own changes.
    if (worker && dispatch.length > 0) this.wake();
    this.#tidy();
    return { ...decision, wakeAt: earlier(decision.wakeAt, this.#idleOnFleet().wakeAt) };
  }

  /** Leases end without any change in the store. */
  #idleOnFleet(): Decision {
    const leaseMs = this.#engine.store.fleet?.leaseMs ?? 0;
    const wakeAt = new Date(Date.parse(this.#engine.now()) + leaseMs / CHECKS_IN_LEASE).toISOString();
    return { ...IDLE, wakeAt };
  }

  async #takeDeliveries(view: StoreView, worker: FleetMembership): Promise<void> {
    this.#takeBack(view);
    this.#deliveries.push(...(await worker.fetch()));
    const waiting: Delivery[] = [];
    for (const delivery of this.#deliveries.splice(0)) {
      const { planId, ticketId, number } = delivery;
      const ref = { planId, ticketId };
      const ticket = view.tickets.get(refKey(ref));
      const plan = planOf(view, planId);
      const end = () =>
        void worker
          .endJob(delivery)
          .catch((error: unknown) => this.#problem(planId, ticketId, messageOf(error), null));
      const isStale = ticket?.dispatch?.number !== number || ticket.dispatch.at === null;
      if (!plan || !ticket || isStale || this.#running.keys().driven.has(refKey(ref))) {
        end();
        continue;
      }
      const workflowHash = await worker.workflowOfOthers(plan, ticket);
      if (workflowHash !== undefined) {
        await this.#ifPossible(ref, () => this.#giveBack(ticket, (latest) => ({ ...latest, workflowHash })));
        end();
        this.wake();
        continue;
      }
      const readiness = ticket.phaseHistory.length === 0 ? this.#readiness.of(plan) : 'ready';
      if (readiness === 'unknown') waiting.push(delivery);
      else if (readiness !== 'ready') {
        const reason = `Worker ${worker.id}: ${readiness.hold.reason}`;
        const hold = { ...readiness.hold, reason, until: readiness.again };
        await this.#ifPossible(ref, () =>
          this.#giveBack(ticket, (latest) => settle(latest, this.#engine.now(), { status: 'ready', hold })),
        );
        end();
      } else this.#running.launch(ref, ticket.dispatch?.slot !== false, { number, onAnswer: end });
    }
    this.#deliveries.push(...waiting);
  }

  async #giveBack(found: Ticket, change: (latest: Ticket) => Ticket): Promise<void> {
    const { store } = this.#engine;
    const after = await store.updateTicket(found, (latest) => {
      const { dispatch, claim } = latest;
      if (claim || dispatch?.number !== found.dispatch?.number) return latest;
      return { ...change(latest), ...(dispatch ? { dispatch: { ...dispatch, at: null } } : {}) };
    });
    reportStatus(this.#engine, found, after);
  }

  /** Continues what an earlier process of this worker drove, or what this one could not record. */
  #takeBack(view: StoreView): void {
    const { holder, machine } = this.#engine;
    const { driven } = this.#running.keys();
    for (const [key, ticket] of claimedTickets(this.#engine)) {
      const { claim, status } = ticket;
      if (!claim || driven.has(key) || claim.state !== machine.stateDir) continue;
      const isOurs = claim.token === holder.token ? this.#running.isLost(key) : !holder.isLive(claim);
      const plan = planOf(view, ticket.planId);
      if (isOurs && status === 'running' && plan?.status === 'active')
        this.#running.launch(refOf(ticket), ticket.dispatch?.slot !== false);
    }
  }

  /** Reads what changed. The timer finds changes that no watch has reported. */
  #readChanges(): void {
    const { store } = this.#engine;
    const now = performance.now();
    const scope = now < this.#nextCheckAt ? 'noticed' : now < this.#nextFullCheckAt ? 'open' : 'all';
    if (scope !== 'noticed') this.#nextCheckAt = now + this.#options.checkEveryMs;
    if (scope === 'all') this.#nextFullCheckAt = now + FULL_CHECK_MS;
    store.changes(undefined, scope);
    const view = store.glance();
    const changed = this.#toReport();
    this.#reportOutside(view, changed);
    // The holder of a plan may change without a change of the plan.
    const news = scope === 'noticed' ? changed : 'unknown';
    this.#notifier?.queueNewNotices(view, (plan) => this.#isMyPlan(plan), news);
  }

  /** Deletes old output while no ticket runs; a daemon may run for months. */
  #tidy(): void {
    if (this.#running.size > 0 || performance.now() < this.#tidyAfter) return;
    this.#tidyAfter = performance.now() + TIDY_EVERY_MS;
    sweepOutput(this.#engine);
  }

  /** Checks everything again now. */
  wake(): void {
    this.#woken = true;
    this.#rest.wake();
  }

  /**
   * Stops all agents. `pause` leaves the tickets paused, for a person to resume; `leave` leaves them ready. If that cannot be
   * recorded, the agents are left running.
   */
  async stop(how: 'pause' | 'leave', by: string): Promise<void> {
    this.#stopping = how;
    const { storage, stateDir } = this.#engine.machine;
    const error = storage.trouble ?? (await orError(SignalboxError, () => assertWritable(stateDir)));
    if (error) return this.#giveUp(error);
    storage.end();
    const failed = how === 'pause' ? await this.#running.pause(by) : [];
    const unwritten = failed.find(isFatal);
    if (unwritten) return this.#giveUp(unwritten);
    this.#failure ??= failed[0];
    this.#running.abort();
    this.wake();
  }

  /** Ends what runs as lost. */
  endJobs(): Promise<void> {
    return this.#running.endJobs();
  }

  get inFlight(): number {
    return this.#running.size;
  }

  /** `given`: what is under way on a fleet. */
  #decide(view: StoreView, given?: ReturnType<Scheduler['limits']>): Decision {
    const { holder, now } = this.#engine;
    const changed = this.#toWeigh();
    this.#shortlist.update(view, changed);
    this.#problems.update(view, changed);
    this.#reportProblems(view);
    const { driven, busy } = this.#running.keys();
    let areOthersAtWork = false;
    for (const [key, ticket] of claimedTickets(this.#engine)) {
      if (driven.has(key) || !ticket.claim || !holder.isLive(ticket.claim)) continue;
      if (ticket.claim.token === holder.token && this.#running.isLost(key)) continue;
      driven.add(key);
      busy.add(key);
      areOthersAtWork ||= ticket.claim.token !== holder.token;
    }
    this.#areOthersAtWork = areOthersAtWork;
    const { maxConcurrency, scope } = this.#options;
    const mine = this.#whatIsMine();
    // A foreground run has made the preflight of its plan before it started.
    // On a fleet, each worker makes it, with its own programs.
    const readiness = scope || given ? undefined : (plan: Plan) => this.#readiness.of(plan);
    let overview: Overview | undefined;
    const admits = (plan: Plan, ticket: Ticket) => {
      overview ??= { ...overviewOf(this.#engine), ignoresMemory: given !== undefined };
      return stillHeld(this.#engine, plan, ticket, overview);
    };
    const decision = eligible(
      { ...view, broken: this.#problems.problems },
      {
        maxConcurrency,
        maxPerRepository: this.#engine.settings.maxPerRepository,
        repositoryKey: (named) => repositoryKey(this.#engine.settings, named),
        busy,
        driven,
        mine,
        admits,
        ignoresCrowded: !scope,
        ...(readiness ? { readiness } : {}),
        ...given,
      },
      now(),
      this.#shortlist,
    );
    const isMine = (planId: string) => {
      const plan = planOf(view, planId);
      return plan !== undefined && this.#isMyPlan(plan);
    };
    return { ...decision, completed: decision.completed.filter(isMine) };
  }

  #reportProblems(view: StoreView): void {
    for (const { planId, ticketId, message } of this.#problems.problems.values())
      this.#problem(planId, ticketId, message, null);
    if (view.problems === this.#unusable) return;
    this.#unusable = view.problems;
    for (const { planId, ticketId, message, path } of view.problems)
      this.#problem(planId, ticketId, message, path);
  }

  /** A store that was given may have plans of kinds that are not registered here. */
  #kindProblem(plan: Plan): PlanProblem | undefined {
    try {
      hooksOf(this.#engine, plan);
      return undefined;
    } catch (error) {
      return { planId: plan.id, ticketId: null, message: messageOf(error) };
    }
  }

  /** Reports each problem of this engine's plans once. */
  #problem(planId: string, ticketId: string | null, message: string, path: string | null): void {
    const { scope } = this.#options;
    if (scope && scope.planId !== planId) return;
    const key = `${planId}/${ticketId}: ${message}`;
    if (this.#reported.has(key)) return;
    this.#reported.add(key);
    this.#engine.listen({ type: 'problem', planId, ticketId, message, path });
  }

  /** Reports once that a run has to wait for other plans, and again for a ticket when nothing of its plan is running. */
  #reportCrowded({ crowded }: Decision): void {
    const { scope, maxConcurrency } = this.#options;
    const values = { maxConcurrency, maxPerRepository: this.#engine.settings.maxPerRepository };
    for (const { alone, status, phase, limit, ...ref } of scope ? crowded : []) {
      const key = `crowded ${alone ? refKey(ref) : ref.planId}`;
      if (this.#reported.has(key)) continue;
      this.#reported.add(key);
      const reason = `waits for a free slot (${limit} ${values[limit]})`;
      const hold: Hold = { kind: 'blocked', reason, until: null };
      this.#engine.listen({ type: 'ticket:status', status, hold, error: null, phase, ...ref });
    }
  }

  /** Reports once which other process has a ticket that this engine would take. */
  #reportHeld(view: StoreView): void {
    for (const ticket of claimedTickets(this.#engine).values()) {
      const { claim, status } = ticket;
      const plan = planOf(view, ticket.planId);
      if (!plan || isOver(ticket) || !isOthers(this.#engine, claim) || !this.#isMyTicket(view, ticket))
        continue;
      const key = `held ${refKey(ticket)} ${claim.token} ${status}`;
      if (this.#reported.has(key)) continue;
      this.#reported.add(key);
      this.#engine.listen(statusEvent(ticket, heldBy(claim, ticket, plan)));
    }
  }

  /** Whether this engine may drive a ticket. Each plan is checked once: searching for the process of its claim takes time. */
  #whatIsMine(): (plan: Plan, entry: PlanEntry) => boolean {
    const ids = this.#options.scope?.ticketIds;
    const known = new Map<string, boolean>();
    return (plan, entry) => {
      const isMine = known.get(plan.id) ?? this.#isMyPlan(plan);
      known.set(plan.id, isMine);
      return isMine && (!ids || ids.includes(entry.ticketId));
    };
  }

  #isMyTicket(view: StoreView, ticket: Ticket, isMine = this.#whatIsMine()): boolean {
    const plan = planOf(view, ticket.planId);
    const entry = entryOf(plan, ticket);
    return plan !== undefined && entry !== undefined && isMine(plan, entry);
  }

  #isMyPlan(plan: Plan): boolean {
    const { scope } = this.#options;
    if (scope) return plan.id === scope.planId;
    // On a fleet, a foreground run only watches its plan.
    return this.#options.fleet !== undefined || !isOthers(this.#engine, plan.claim);
  }

  /** True: something has changed. */
  async #carryOut(decision: Decision): Promise<boolean> {
    let done = 0;
    for (const changed of decision.changes)
      done += await this.#ifPossible(changed, () => this.#change(changed));
    // A complete ticket is released before its plan ends: dead claims in finished plans are never cleared.
    const ended = decision.completed.filter((planId) => !this.#running.isAtWorkIn(planId));
    for (const planId of ended)
      done += await this.#ifPossible({ planId, ticketId: null }, () => completePlan(this.#engine, planId));
    // Stopped meanwhile: nothing would stop what is started now.
    if (this.#stopping || this.#failure) return done > 0;
    for (const { planId, ticketId, slot } of decision.dispatch)
      this.#running.launch({ planId, ticketId }, slot);
    if (done > 0) this.wake();
    return done > 0 || decision.dispatch.length > 0;
  }

  /** An error of one plan or ticket is reported and does not keep the others from continuing. Returns 1 on success, else 0. */
  async #ifPossible(
    { planId, ticketId }: { planId: string; ticketId: string | null },
    fn: () => Promise<void>,
  ): Promise<number> {
    try {
      await fn();
      return 1;
    } catch (error) {
      if (isFatal(error)) throw error;
      this.#problem(planId, ticketId, messageOf(error), null);
      return 0;
    }
  }

  async #change(changed: Ticket): Promise<void> {
    const { store } = this.#engine;
    const before = store.ticket(changed);
    const after = await store.updateTicket(changed, (latest) =>
      latest.rev === changed.rev ? changed : latest,
    );
    this.#outside.record(after);
    reportStatus(this.#engine, before, after);
  }

  #reportOutside(view: StoreView, changed: Changed): void {
    const { driven } = this.#running.keys();
    const isMine = this.#whatIsMine();
    this.#outside.check(changedIn(view, changed), {
      isDriven: (key) => driven.has(key),
      isMine: (ticket) => this.#isMyTicket(view, ticket, isMine),
    });
    if (changed !== 'unknown')
      for (const { planId, ticketId } of changed) {
        const key = ticketId === null ? undefined : refKey({ planId, ticketId });
        if (key !== undefined && !view.tickets.has(key)) this.#outside.forget(key);
      }
  }

  /** Without storage, jobs are left running: the end of a stopped one could not be recorded. */
  #giveUp(caught: unknown): void {
    if (this.#failure) return;
    const error = asStorageErrorIn(caught, this.#engine.machine.stateDir);
    const storage = isFatal(error) ? error : undefined;
    this.#failure = storage ? withRunningJobs(storage, this.#running.atWork()) : error;
    this.#engine.machine.storage.end();
    this.#running.abort(storage);
    this.wake();
  }

  #reportStorage({ message }: SignalboxError): void {
    const planId = this.#options.scope?.planId ?? '';
    const { waitSeconds } = this.#engine.settings.storage;
    // A worker waits as long as it takes; its watchdogs end what outlives the lease.
    const wait = this.#options.fleet ? '' : ` Waiting up to ${waitSeconds} s.`;
    const what = `${message} Nothing new starts until it can be written; running jobs continue.${wait}`;
    this.#engine.listen({ type: 'problem', planId, ticketId: null, message: what, path: null });
  }

  #isDone(view: StoreView, decision: Decision, { full, moved }: { full: boolean; moved: boolean }): boolean {
    if (this.#options.mode === 'forever' || this.#running.size > 0 || this.#woken) return false;
    if (this.#readiness.isChecking || this.#running.isAnyResting) return false;
    if (full) return decision.completed.length === 0 || !moved;
    if (moved) return false;
    return this.#options.mode === 'once' || (decision.wakeAt === null && !this.#waitsForOthers(view));
  }

  /** Tickets of another engine are left that this one may wait for. */
  #waitsForOthers(view: StoreView): boolean {
    const { scope } = this.#options;
    return this.#areOthersAtWork && scope !== undefined && !ticketsOf(view, scope.planId).every(isOver);
  }

  async #sleep(wakeAt: string | null): Promise<void> {
    if (this.#woken) return;
    const due =
      wakeAt === null ? Number.POSITIVE_INFINITY : Date.parse(wakeAt) - Date.parse(this.#engine.now());
    const ms = Math.max(1, Math.min(due, this.#options.checkEveryMs));
    await this.#rest.sleep(ms);
  }
}

const IDLE: Decision = { dispatch: [], changes: [], completed: [], crowded: [], wakeAt: null };
const CHECKS_IN_LEASE = 4;

function earlier(a: string | null, b: string | null): string | null {
  return a !== null && (b === null || Date.parse(a) < Date.parse(b)) ? a : b;
}

/** The tickets that changed; with a plan, all of its tickets may have. */
function changedIn(view: StoreView, changed: Changed): Iterable<Ticket> {
  if (changed === 'unknown') return view.tickets.values();
  return changed.flatMap(({ planId, ticketId }) => {
    if (ticketId !== null) return view.tickets.get(refKey({ planId, ticketId })) ?? [];
    const plan = planOf({ plans: view.plans }, planId);
    return plan ? ticketsOf(view, plan) : [];
  });
}

/** The error with the jobs that the next engine will find running. */
function withRunningJobs(error: SignalboxError, left: readonly string[]): SignalboxError {
  if (left.length === 0) return error;
  const { code, message, details, cause } = error;
  const hint = `${error.hint}\nStill running, for the next engine to take over: ${left.join(', ')}.`;
  return new SignalboxError(code, message, { hint, details: { ...details, left }, cause });
}
