import { existsSync } from 'node:fs';
import { adapterFor, capabilityProblems } from '../agents/index.ts';
import { lastSign } from '../machine/jobs/job.ts';
import { refKey } from '../model/ids.ts';
import { type Admission, admit } from '../model/limits/admission.ts';
import {
  leftOf,
  noLaunchLeft,
  overdrawn,
  type Pending,
  type Purse,
  pursesOf,
  type Sum,
} from '../model/limits/budget.ts';
import { type AtWork, crowded } from '../model/limits/memory-pressure.ts';
import type { AccountLimit } from '../model/limits/usage-limit.ts';
import type { Plan } from '../model/plan.ts';
import { planOf, ticketOf } from '../model/plans/view.ts';
import { redactAll } from '../model/text/redact.ts';
import { type Hold, openAttempt, type Ticket } from '../model/ticket.ts';
import { firstPhase, type Phase, type PhaseOf, phaseOf } from '../model/workflow.ts';
import type { Allowance } from '../phases/context.ts';
import { type EngineContext, hooksOf } from './context.ts';
import { pastOf } from './deleted-usage.ts';
import { knownPinned } from './pinned-workflow.ts';

/** A scenario's player is no model's client. */
const REHEARSAL_MB = 80;
const REFRESH_MS = 1_000;

/** One look at all tickets, with what was found out about them on the way. */
export interface Look {
  tickets: Ticket[];
  sums: Map<string, Sum>;
  limits: Map<string, AccountLimit | null>;
  /** Tickets with an agent at work. */
  atWork: Ticket[];
}

export function lookAt(tickets: Iterable<Ticket>): Look {
  const all = [...tickets];
  const atWork = all.filter((ticket) => ticket.claim && openAttempt(ticket)?.agent);
  return { tickets: all, sums: new Map(), limits: new Map(), atWork };
}

/** The agent of a phase: the phase's own, then what the plan's kind says, the ticket's, the plan's, the default. */
export function agentOf(parts: EngineContext, phase: Phase | undefined, ticket: Ticket, plan: Plan): string {
  const own = phase?.type === 'agent' ? phase.agent : undefined;
  const ofKind = () => hooksOf(parts, plan).agent?.(plan, ticket);
  return own ?? ofKind() ?? ticket.agent ?? plan.agent ?? parts.settings.defaultAgent;
}

/** Whether an agent may start on a phase now: the one that is named, one that stands in for it, or nobody. */
export function admission(
  parts: EngineContext,
  plan: Plan,
  ticket: Ticket,
  phase: PhaseOf<'agent'>,
  look: Look = lookAt(othersAnd(parts, ticket)),
): Admission {
  const { settings, now } = parts;
  return admit({
    plan,
    ticket,
    phase,
    agent: agentOf(parts, phase, ticket, plan),
    agents: settings.agents,
    suits: (agent) => suits(parts, agent, phase),
    ...look,
    budgets: settings.budgets,
    pending: pendingLaunches(parts),
    crowded: (agent) => roomFor(parts, agent, ticket, look),
    now: now(),
  });
}

/** Of a ticket that is held back by an earlier answer: what the answer is now. Undefined when that cannot be told. */
export function stillHeld(
  parts: EngineContext,
  plan: Plan,
  ticket: Ticket,
  look: Look,
): Hold | null | undefined {
  const workflow = knownPinned(parts, ticket)?.workflow;
  if (!workflow) return undefined;
  const phase = phaseOf(workflow, ticket.currentPhase ?? firstPhase(workflow).id);
  if (phase?.type !== 'agent') return null;
  const answer = admission(parts, plan, ticket, phase, look);
  return 'hold' in answer ? redactAll(answer.hold, parts.redact) : null;
}

/** What an attempt may use, watched while it runs: others draw on the same budgets meanwhile. */
export function allowanceOf(
  parts: EngineContext,
  plan: Plan,
  ticket: Ticket,
  phase: PhaseOf<'agent'>,
): Allowance | null {
  const { settings, store, now } = parts;
  const look = (): Purse[] => {
    const latest = planOf(store.glance(), plan.id) ?? plan;
    const tickets = othersAnd(parts, ticket);
    // A person may raise the budget of a ticket under way.
    const current = ticketOf(store.glance(), ticket)?.budget ?? ticket.budget;
    const asked = { ...ticket, budget: current };
    const pending = pendingLaunches(parts);
    const { budgets } = settings;
    return pursesOf({ plan: latest, ticket: asked, phase, tickets, budgets, pending, now: now() });
  };
  let purses = look();
  if (purses.length === 0) return null;
  let looked = performance.now();
  const key = refKey(ticket);
  const open = openAttempt(ticket);
  const began = Date.parse(open?.startedAt ?? now());
  const jobDir = open ? parts.machine.job(ticket, open) : '';
  return {
    usd: leftOf(purses, 'usd'),
    over: (usage) => {
      if (performance.now() - looked > REFRESH_MS) {
        purses = look();
        looked = performance.now();
      }
      const time = now();
      const seconds = Math.max(0, Date.parse(time) - began) / 1000;
      return overdrawn(purses, { usage, seconds, ago: (performance.now() - looked) / 1000 }, time);
    },
    launch: () => {
      const hold = noLaunchLeft(look(), launchesOf(jobDir), now());
      if (!hold) parts.machine.memory.again(key);
      return hold;
    },
  };
}

/** How often an attempt has started its agent: a turn that mends the result or winds up is a process of its own. */
export function launchesOf(jobDir: string): number {
  return 1 + turnsOf(jobDir).length;
}

/** When all that an attempt had started was over; undefined while something of it runs. */
export function endedBefore(jobDir: string): string | undefined {
  const signs = [jobDir, ...turnsOf(jobDir)].map(lastSign);
  const known = signs.filter((sign) => sign !== undefined);
  return known.length === signs.length ? new Date(Math.max(...known.map(Number))).toISOString() : undefined;
}

function turnsOf(jobDir: string): string[] {
  return ['repair', 'landing'].map((turn) => `${jobDir}.${turn}`).filter((dir) => existsSync(dir));
}

/** What this engine has decided to start, or started again, and no ticket's history tells yet. */
function pendingLaunches({ machine, store }: EngineContext): Pending[] {
  const { tickets } = store.glance();
  return [...machine.memory.agents].flatMap(([key, { attempts, more }]) => {
    const ticket = tickets.get(key);
    if (!ticket) return [];
    const launches = more + (ticket.phaseHistory.length < attempts ? 1 : 0);
    return launches === 0 ? [] : [{ planId: ticket.planId, ticketId: ticket.ticketId, launches }];
  });
}

function othersAnd(parts: EngineContext, ticket: Ticket): Ticket[] {
  const key = refKey(ticket);
  const others = [...parts.store.glance().tickets].flatMap(([each, other]) => (each === key ? [] : [other]));
  return [...others, ...pastOf(parts), ticket];
}

function suits({ settings }: EngineContext, name: string, phase: PhaseOf<'agent'>): boolean {
  const agent = Object.hasOwn(settings.agents, name) ? settings.agents[name] : undefined;
  if (!agent) return false;
  const { model: _, ...asked } = phase;
  return capabilityProblems(adapterFor(agent.adapter), asked).length === 0;
}

function roomFor(parts: EngineContext, agent: string, ticket: Ticket, look: Look): string | null {
  const time = Date.parse(parts.now());
  const others = new Map<string, { agent: string; age: number }>();
  for (const [key, each] of parts.machine.memory.agents) others.set(key, { agent: each.agent, age: 0 });
  for (const each of look.atWork) {
    const open = openAttempt(each);
    if (open?.agent) others.set(refKey(each), { agent: open.agent, age: time - Date.parse(open.startedAt) });
  }
  others.delete(refKey(ticket));
  if (others.size === 0) return null;
  const atWork = [...others].map(([key, each]): AtWork => {
    return { expected: sizeOf(parts, each.agent), now: parts.machine.memory.sizeOf(key), age: each.age };
  });
  return crowded({ agent, need: sizeOf(parts, agent), free: parts.machine.memory.free(), atWork });
}

function sizeOf({ settings, machine }: EngineContext, agent: string): number {
  const guess = settings.memory.agentMegabytes;
  if (guess === 0) return 0;
  const own = Object.hasOwn(settings.agents, agent) ? settings.agents[agent] : undefined;
  return (
    machine.memory.peakOf(agent) ?? (own?.adapter === 'rehearsal' ? Math.min(guess, REHEARSAL_MB) : guess)
  );
}
