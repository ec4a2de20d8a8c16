import { adapterFor, capabilityProblems } from '../agents/adapters-and-agent-problems.ts';
import { ownIdentity } from '../machine/process-identity-and-signals.ts';
import { remembered } from '../model/group-and-remember.ts';
import { refKey, refOf, type TicketRef } from '../model/ids-and-branch-names.ts';
import type { AppliedBudget } from '../model/limits/budget.ts';
import { appliedBudgets, leftOf, nearlyUsedUp, noLaunchLeft, overdrawn } from '../model/limits/budget.ts';
import type { Admission, AdmissionInput, AtWork } from '../model/limits/decide-agent-start.ts';
import { admit, crowded } from '../model/limits/decide-agent-start.ts';
import type { Plan } from '../model/plan.ts';
import { planOf, ticketOf } from '../model/plans/plans-view.ts';
import { redactAll } from '../model/text/find-and-redact-secrets.ts';
import { type Attempt, type Hold, openAttempt, type Ticket } from '../model/ticket.ts';
import { firstPhase, type Phase, type PhaseOf, phaseOf } from '../model/workflow.ts';
import type { Allowance } from '../phases/phase-context.ts';
import { knownTickets, workIndex } from './claimed-tickets-and-counted-usage.ts';
import { type EngineContext, emit, hooksOf } from './context.ts';
import { launchesOf } from './jobs-of-ticket.ts';
import { knownPinned } from './pinned-workflow.ts';
import type { recordAttempt } from './write-tickets-and-reports-of-attempts.ts';

/** The rehearsal agent needs far less memory than a client of a model. */
const REHEARSAL_MB = 80;
const REFRESH_MS = 1_000;

/** All tickets at one moment, with sums and limits that are computed once. */
export interface Overview
  extends Required<Pick<AdmissionInput, 'tickets' | 'sums' | 'limits' | 'hasLimits'>> {
  /** Tickets with an agent at work. */
  atWork: Ticket[];
  /** On a fleet, the machine that starts an agent checks its own memory. */
  ignoresMemory?: boolean;
}

/** `own`: the current version of the ticket that is asked about. It replaces the stored one. */
export function overviewOf(engine: EngineContext, own?: Ticket): Overview {
  const index = workIndex(engine);
  const claimed = [...index.claimed.values()].filter((each) => !own || refKey(each) !== refKey(own));
  const atWork = [...claimed, ...(own ? [own] : [])].filter(
    (ticket) => ticket.claim && openAttempt(ticket)?.agent,
  );
  const hasLimits = index.hasLimits(Date.parse(engine.now()));
  return { tickets: knownTickets(engine, own), sums: new Map(), limits: new Map(), hasLimits, atWork };
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
    crowded: (agent) => (overview.ignoresMemory ? null : memoryShortage(engine, agent, ticket, overview)),
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
  recorder: Pick<ReturnType<typeof recordAttempt>, 'launch'>,
): Allowance | null {
  const { settings, store, now } = engine;
  const currentBudgets = (): AppliedBudget[] => {
    const latest = planOf(store.glance(), plan.id) ?? plan;
    const tickets = knownTickets(engine, ticket);
    // A person may raise the budget of a running ticket.
    const current = ticketOf(store.glance(), ticket)?.budget ?? ticket.budget;
    const asked = { ...ticket, budget: current };
    const pending = pendingLaunches(engine);
    const { budgets } = settings;
    return appliedBudgets({ plan: latest, ticket: asked, phase, tickets, budgets, pending, now: now() });
  };
  let applied = currentBudgets();
  if (applied.length === 0) return null;
  let readAt = performance.now();
  const open = openAttempt(ticket);
  const began = Date.parse(open?.startedAt ?? now());
  const jobDir = open ? engine.machine.job(ticket, open) : '';
  if (open) warnOfBudgets(engine, ticket, open, nearlyUsedUp(applied, open.usage));
  return {
    usd: leftOf(applied, 'usd'),
    over: (usage) => {
      if (open) warnOfBudgets(engine, ticket, open, nearlyUsedUp(applied, usage));
      if (performance.now() - readAt > REFRESH_MS) {
        applied = currentBudgets();
        readAt = performance.now();
      }
      const time = now();
      const seconds = Math.max(0, Date.parse(time) - began) / 1000;
      return overdrawn(applied, { usage, seconds, ago: (performance.now() - readAt) / 1000 }, time);
    },
    launch: () => {
      const launches = launchesOf(jobDir);
      return recorder.launch(launches + 1, () => noLaunchLeft(currentBudgets(), launches, now()));
    },
  };
}

const warned = new WeakMap<EngineContext['store'], Set<string>>();

/** Reports each budget once in this process, as long as its limit stays the same. */
function warnOfBudgets(
  engine: EngineContext,
  ticket: Ticket,
  { phase, visit, attempt }: Attempt,
  budgets: ReturnType<typeof nearlyUsedUp>,
): void {
  if (budgets.length === 0) return;
  const known = remembered(warned, engine.store, () => new Set());
  const { planId, ticketId } = ticket;
  const owners = {
    phase: `${refKey(ticket)} ${phase}`,
    ticket: refKey(ticket),
    plan: planId,
    day: engine.now().slice(0, 10),
  };
  for (const { scope, key, text } of budgets) {
    const own = `${key} ${owners[scope]}`;
    if (known.has(own)) continue;
    known.add(own);
    emit(engine, { type: 'attempt:text', text, notice: true, planId, ticketId, phase, visit, attempt });
  }
}

/** Starts of agents that are decided and not in any ticket's history yet. */
function pendingLaunches({ machine, store }: EngineContext): TicketRef[] {
  const { tickets } = store.glance();
  return [...machine.memory.agents].flatMap(([key, { attempts }]) => {
    const ticket = tickets.get(key);
    return ticket && ticket.phaseHistory.length < attempts ? refOf(ticket) : [];
  });
}

function suits({ settings }: EngineContext, name: string, phase: PhaseOf<'agent'>): boolean {
  const agent = Object.hasOwn(settings.agents, name) ? settings.agents[name] : undefined;
  if (!agent) return false;
  const { model: _, ...asked } = phase;
  return capabilityProblems(adapterFor(agent.adapter), asked).length === 0;
}

function memoryShortage(
  engine: EngineContext,
  agent: string,
  ticket: Ticket,
  overview: Overview,
): string | null {
  const time = Date.parse(engine.now());
  const others = new Map<string, { agent: string; age: number }>();
  for (const [key, each] of engine.machine.memory.agents) others.set(key, { agent: each.agent, age: 0 });
  const { machine: here } = ownIdentity();
  for (const each of overview.atWork) {
    // Agents on other machines of a fleet need no memory of this one.
    if (engine.store.fleet && each.claim?.machine !== here) continue;
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
