import { existsSync } from 'node:fs';
import { adapterFor, capabilityProblems } from '../agents/adapters.ts';
import { lastSign } from '../machine/jobs/start-and-read-job.ts';
import { type Changed, refKey } from '../model/ids-and-branch-names.ts';
import {
  type AccountLimit,
  type Admission,
  type AtWork,
  admit,
  crowded,
  wasAnswered,
} from '../model/limits/admission.ts';
import {
  isLimiting,
  leftOf,
  noLaunchLeft,
  overdrawn,
  type Pending,
  type Purse,
  pursesOf,
  type Sum,
} from '../model/limits/budget.ts';
import type { Plan } from '../model/plan.ts';
import { type PlansView, planOf, ticketOf } from '../model/plans/plans-view.ts';
import { redactAll } from '../model/text/redact.ts';
import { type Attempt, type Hold, openAttempt, type Ticket } from '../model/ticket.ts';
import { firstPhase, type Phase, type PhaseOf, phaseOf } from '../model/workflow.ts';
import type { Allowance } from '../phases/phase-context.ts';
import { type Store, sinceLast } from '../store/store-interface.ts';
import { type EngineContext, hooksOf } from './context.ts';
import { knownPinned } from './pinned-workflow.ts';

/** The rehearsal agent needs far less memory than a client of a model. */
const REHEARSAL_MB = 80;
const REFRESH_MS = 1_000;

/** All tickets at one moment, with sums and limits that are computed once. */
export interface Overview {
  tickets: Iterable<Ticket>;
  sums: Map<string, Sum>;
  limits: Map<string, AccountLimit | null>;
  hasLimits: boolean;
  /** Tickets with an agent at work. */
  atWork: Ticket[];
}

/** `own` is what the ticket in question is by now. */
export function overviewOf(engine: EngineContext, own?: Ticket): Overview {
  const index = workIndex(engine);
  const claimed = [...index.claimed.values()].filter((each) => !own || refKey(each) !== refKey(own));
  const atWork = [...claimed, ...(own ? [own] : [])].filter(
    (ticket) => ticket.claim && openAttempt(ticket)?.agent,
  );
  const hasLimits = index.hasLimits(Date.parse(engine.now()));
  return { tickets: knownTickets(engine, own), sums: new Map(), limits: new Map(), hasLimits, atWork };
}

/** Tickets that affect others, updated while tickets change. Searching all tickets each time would get slower with each one. */
class WorkIndex {
  readonly #store: Store;
  readonly #changed: () => Changed;
  /** Tickets that an engine or a person has claimed, by refKey. */
  readonly claimed = new Map<string, Ticket>();
  /** Those that have met a usage limit. They are kept after their plan is finished, because the limit still applies. */
  readonly limited = new Map<string, Ticket>();
  /** By agent, the ticket that got the latest answer of a model. It ends earlier limits. */
  readonly #answered = new Map<string, { at: string; ticket: Ticket }>();

  constructor(store: Store) {
    this.#store = store;
    this.#changed = sinceLast(store);
  }

  update(): void {
    const { tickets, finished } = this.#store.glance();
    const changed = this.#changed();
    if (changed === 'unknown') {
      this.claimed.clear();
      for (const ticket of recentlyFinished(this.#store, finished)) this.#remember(refKey(ticket), ticket);
      for (const [key, ticket] of tickets) this.#note(key, ticket);
    } else
      for (const { planId, ticketId } of changed)
        if (ticketId !== null)
          this.#note(refKey({ planId, ticketId }), tickets.get(refKey({ planId, ticketId })));
  }

  hasLimits(now: number): boolean {
    const isLimited = ({ phaseHistory }: Ticket) =>
      phaseHistory.some(({ resetAt }) => Date.parse(resetAt ?? '') > now);
    for (const [key, ticket] of this.limited) if (!isLimited(ticket)) this.limited.delete(key);
    return this.limited.size > 0 || this.#store.deletedUsage().some(isLimited);
  }

  /** Tickets of finished plans that limits of agents depend on. */
  *left(): Iterable<Ticket> {
    const { tickets } = this.#store.glance();
    const answered = [...this.#answered.values()].map(({ ticket }) => [refKey(ticket), ticket] as const);
    for (const [key, ticket] of new Map([...this.limited, ...answered])) if (!tickets.has(key)) yield ticket;
  }

  #note(key: string, ticket: Ticket | undefined): void {
    if (ticket?.claim) this.claimed.set(key, ticket);
    else this.claimed.delete(key);
    if (ticket) this.#remember(key, ticket);
  }

  #remember(key: string, ticket: Ticket): void {
    this.limited.delete(key);
    for (const entry of ticket.phaseHistory) {
      const { agent, startedAt: at } = entry;
      if (entry.status === 'limit') this.limited.set(key, ticket);
      else if (agent !== null && wasAnswered(entry) && !(at < (this.#answered.get(agent)?.at ?? '')))
        this.#answered.set(agent, { at, ticket });
    }
  }
}

/** Older plans are not read for limits: one of these plans has met the same limit, or ended it. */
const RECENT_PLANS = 100;

function* recentlyFinished(store: Store, finished: PlansView['finished']): Iterable<Ticket> {
  const ids = finished?.since(Date.now() - USAGE_KEPT_MS, RECENT_PLANS) ?? [];
  for (const id of ids) yield* store.view(id).tickets.values();
}

const indexes = new WeakMap<Store, WorkIndex>();

function workIndex({ store }: Pick<EngineContext, 'store'>): WorkIndex {
  const index = indexes.get(store) ?? new WorkIndex(store);
  indexes.set(store, index);
  index.update();
  return index;
}

/** Tickets of open plans that an engine or a person has claimed, by refKey. */
export function claimedTickets(engine: Pick<EngineContext, 'store'>): ReadonlyMap<string, Ticket> {
  return workIndex(engine).claimed;
}

/** Tickets whose usage counts: all current ones, deleted ones, and those of finished plans if usage per day is limited. */
function knownTickets(engine: EngineContext, own?: Ticket): Iterable<Ticket> {
  const key = own && refKey(own);
  return {
    *[Symbol.iterator]() {
      const { tickets } = engine.store.glance();
      for (const [each, ticket] of tickets) if (each !== key) yield ticket;
      const left = new Map([...workIndex(engine).left()].map((ticket) => [refKey(ticket), ticket]));
      if (isLimiting(engine.settings.budgets.day))
        for (const ticket of usageOfFinished(engine)) left.set(refKey(ticket), ticket);
      for (const [each, ticket] of left) if (each !== key) yield ticket;
      yield* deletedUsage(engine);
      if (own) yield own;
    },
  };
}

/** The agent of a phase: the phase's own, then what the plan's kind says, the ticket's, the plan's, the default. */
export function agentOf(engine: EngineContext, phase: Phase | undefined, ticket: Ticket, plan: Plan): string {
  const own = phase?.type === 'agent' ? phase.agent : undefined;
  const ofKind = () => hooksOf(engine, plan).agent?.(plan, ticket);
  return own ?? ofKind() ?? ticket.agent ?? plan.agent ?? engine.settings.defaultAgent;
}

/** Whether an agent may start on a phase now: the named one, a substitute, or none. */
export function admission(
  engine: EngineContext,
  plan: Plan,
  ticket: Ticket,
  phase: PhaseOf<'agent'>,
  overview: Overview = overviewOf(engine, ticket),
): Admission {
  const { settings, now } = engine;
  return admit({
    plan,
    ticket,
    phase,
    agent: agentOf(engine, phase, ticket, plan),
    agents: settings.agents,
    suits: (agent) => suits(engine, agent, phase),
    ...overview,
    budgets: settings.budgets,
    pending: pendingLaunches(engine),
    crowded: (agent) => roomFor(engine, agent, ticket, overview),
    now: now(),
  });
}

/** The current answer for a ticket that an earlier answer holds back. Undefined if it is unknown. */
export function stillHeld(
  engine: EngineContext,
  plan: Plan,
  ticket: Ticket,
  overview: Overview,
): Hold | null | undefined {
  const workflow = knownPinned(engine, ticket)?.workflow;
  if (!workflow) return undefined;
  const phase = phaseOf(workflow, ticket.currentPhase ?? firstPhase(workflow).id);
  if (phase?.type !== 'agent') return null;
  const answer = admission(engine, plan, ticket, phase, overview);
  return 'hold' in answer ? redactAll(answer.hold, engine.redact) : null;
}

/** What an attempt may use. Checked while it runs, because other tickets use the same budgets. */
export function allowanceOf(
  engine: EngineContext,
  plan: Plan,
  ticket: Ticket,
  phase: PhaseOf<'agent'>,
): Allowance | null {
  const { settings, store, now } = engine;
  const pursesNow = (): Purse[] => {
    const latest = planOf(store.glance(), plan.id) ?? plan;
    const tickets = knownTickets(engine, ticket);
    // A person may raise the budget of a running ticket.
    const current = ticketOf(store.glance(), ticket)?.budget ?? ticket.budget;
    const asked = { ...ticket, budget: current };
    const pending = pendingLaunches(engine);
    const { budgets } = settings;
    return pursesOf({ plan: latest, ticket: asked, phase, tickets, budgets, pending, now: now() });
  };
  let purses = pursesNow();
  if (purses.length === 0) return null;
  let readAt = performance.now();
  const key = refKey(ticket);
  const open = openAttempt(ticket);
  const began = Date.parse(open?.startedAt ?? now());
  const jobDir = open ? engine.machine.job(ticket, open) : '';
  return {
    usd: leftOf(purses, 'usd'),
    over: (usage) => {
      if (performance.now() - readAt > REFRESH_MS) {
        purses = pursesNow();
        readAt = performance.now();
      }
      const time = now();
      const seconds = Math.max(0, Date.parse(time) - began) / 1000;
      return overdrawn(purses, { usage, seconds, ago: (performance.now() - readAt) / 1000 }, time);
    },
    launch: () => {
      const hold = noLaunchLeft(pursesNow(), launchesOf(jobDir), now());
      if (!hold) engine.machine.memory.again(key);
      return hold;
    },
  };
}

/** How often an attempt has started its agent: a turn that repairs the result or commits at the end is another process. */
export function launchesOf(jobDir: string): number {
  return 1 + turnsOf(jobDir).length;
}

/** When the last process of an attempt ended; undefined while one runs. */
export function endedBefore(jobDir: string): string | undefined {
  const signs = [jobDir, ...turnsOf(jobDir)].map(lastSign);
  const known = signs.filter((sign) => sign !== undefined);
  return known.length === signs.length ? new Date(Math.max(...known.map(Number))).toISOString() : undefined;
}

function turnsOf(jobDir: string): string[] {
  return ['repair', 'landing'].map((turn) => `${jobDir}.${turn}`).filter((dir) => existsSync(dir));
}

/** Starts of agents that are decided and not in any ticket's history yet. */
function pendingLaunches({ machine, store }: EngineContext): Pending[] {
  const { tickets } = store.glance();
  return [...machine.memory.agents].flatMap(([key, { attempts, more }]) => {
    const ticket = tickets.get(key);
    if (!ticket) return [];
    const launches = more + (ticket.phaseHistory.length < attempts ? 1 : 0);
    return launches === 0 ? [] : [{ planId: ticket.planId, ticketId: ticket.ticketId, launches }];
  });
}

function suits({ settings }: EngineContext, name: string, phase: PhaseOf<'agent'>): boolean {
  const agent = Object.hasOwn(settings.agents, name) ? settings.agents[name] : undefined;
  if (!agent) return false;
  const { model: _, ...asked } = phase;
  return capabilityProblems(adapterFor(agent.adapter), asked).length === 0;
}

function roomFor(engine: EngineContext, agent: string, ticket: Ticket, overview: Overview): string | null {
  const time = Date.parse(engine.now());
  const others = new Map<string, { agent: string; age: number }>();
  for (const [key, each] of engine.machine.memory.agents) others.set(key, { agent: each.agent, age: 0 });
  for (const each of overview.atWork) {
    const open = openAttempt(each);
    if (open?.agent) others.set(refKey(each), { agent: open.agent, age: time - Date.parse(open.startedAt) });
  }
  others.delete(refKey(ticket));
  if (others.size === 0) return null;
  const atWork = [...others].map(([key, each]): AtWork => {
    return { expected: sizeOf(engine, each.agent), now: engine.machine.memory.sizeOf(key), age: each.age };
  });
  return crowded({ agent, need: sizeOf(engine, agent), free: engine.machine.memory.free(), atWork });
}

function sizeOf({ settings, machine }: EngineContext, agent: string): number {
  const guess = settings.memory.agentMegabytes;
  if (guess === 0) return 0;
  const own = Object.hasOwn(settings.agents, agent) ? settings.agents[agent] : undefined;
  return (
    machine.memory.peakOf(agent) ?? (own?.adapter === 'rehearsal' ? Math.min(guess, REHEARSAL_MB) : guess)
  );
}

/** Longer than a daily budget needs, and than most usage limits last. */
const USAGE_KEPT_MS = 7 * 86_400_000;

/** Called before tickets are deleted: what their agents used still counts for daily budgets and usage limits. */
export async function keepUsage(engine: EngineContext, tickets: readonly Ticket[]): Promise<void> {
  const { store, now } = engine;
  const time = now();
  if (!tickets.some((ticket) => usageRecordOf(ticket, time))) return;
  await store.updateDeletedUsage((kept) =>
    [...kept, ...tickets].flatMap((ticket) => usageRecordOf(ticket, time) ?? []),
  );
}

const ofFinished = new WeakMap<Store, Map<string, Ticket[]>>();

/** Tickets of finished plans whose usage still counts. Each plan is read once. */
function* usageOfFinished({ store, now }: EngineContext): Iterable<Ticket> {
  const { plans, finished } = store.glance();
  const known = ofFinished.get(store) ?? new Map<string, Ticket[]>();
  ofFinished.set(store, known);
  for (const { id } of plans) known.delete(id);
  const time = now();
  // A plan is finished after the last attempt of its tickets.
  for (const id of finished?.since(Date.parse(time.slice(0, 10))) ?? []) {
    const tickets =
      known.get(id) ?? [...store.view(id).tickets.values()].filter((each) => usageRecordOf(each, time));
    known.set(id, tickets);
    yield* tickets;
  }
}

const renamed = new WeakMap<readonly Ticket[], Ticket[]>();

/** Deleted tickets whose usage still counts. Their plans' names are no valid ids, so they never match a plan. */
function deletedUsage({ store }: EngineContext): Ticket[] {
  const kept = store.deletedUsage();
  const known = renamed.get(kept);
  if (known) return known;
  const tickets = kept.map((ticket) => ({ ...ticket, planId: `${ticket.planId} (deleted)` }));
  renamed.set(kept, tickets);
  return tickets;
}

/** The usage of a ticket, without any of its texts. */
function usageRecordOf(ticket: Ticket, now: string): object | undefined {
  const { planId, ticketId, lookedAt } = ticket;
  const phaseHistory = ticket.phaseHistory
    .filter((entry) => entry.agent !== null && counts(entry, Date.parse(now)))
    .map((entry) => attemptOf(entry, now));
  return phaseHistory.length === 0 ? undefined : { planId, ticketId, title: '', lookedAt, phaseHistory };
}

function counts({ completedAt, resetAt }: Attempt, now: number): boolean {
  return (
    completedAt === null || Date.parse(completedAt) > now - USAGE_KEPT_MS || Date.parse(resetAt ?? '') > now
  );
}

/** An attempt without an end ends now. */
function attemptOf(entry: Attempt, now: string): object {
  const { phase, visit, attempt, status, startedAt, agent, usage, error, launches, resetAt } = entry;
  const completedAt = entry.completedAt ?? now;
  return { phase, visit, attempt, status, startedAt, completedAt, agent, usage, error, launches, resetAt };
}
