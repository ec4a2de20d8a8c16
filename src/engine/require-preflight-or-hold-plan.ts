import type { DoctorFinding } from '../config/doctor/check-programs.ts';
import { InputError, messageOf } from '../model/errors.ts';
import type { Plan } from '../model/plan.ts';
import type { Readiness } from '../model/state/eligible.ts';
import { capital } from '../model/text/clean-escape-quote-plural.ts';
import type { Ticket } from '../model/ticket.ts';
import type { EngineContext, StartRequest } from './context.ts';

/** How long a passed preflight is valid in a daemon. A failed one is repeated at the next poll: a person may have fixed it. */
const READY_VALID_MS = 600_000;

/** Refuses to start tickets that would fail after agents were paid. On a fleet, each worker checks whether it is ready. */
export async function requireReady(engine: EngineContext, request: StartRequest): Promise<void> {
  if (!engine.store.fleet) await requireReadyHere(engine, request);
}

/** Other findings are only reported. */
async function requireReadyHere(engine: EngineContext, request: StartRequest): Promise<void> {
  const findings = (await engine.preflight?.(engine, request)) ?? [];
  const bad = findings.filter(({ level }) => level === 'bad');
  if (bad.length === 0) return report(engine, request.plan.id, findings.map(sentence));
  const fixes = bad.flatMap(({ fix }) => fix ?? []);
  throw new InputError('run/preflight', bad.map(sentence).join('\n'), {
    hint: [...new Set(fixes)].join('\n') || undefined,
    details: { findings: bad },
  });
}

function sentence({ what, detail }: DoctorFinding): string {
  return `${capital(what)}: ${detail.replace(/\.$/, '')}.`;
}

function report({ listen }: EngineContext, planId: string, messages: readonly string[]): void {
  for (const message of messages) listen({ type: 'problem', planId, ticketId: null, message, path: null });
}

/** Tickets that may still start an agent. */
export function startableTickets(tickets: readonly Ticket[]): Ticket[] {
  return tickets.filter(({ status }) => status !== 'complete' && status !== 'failed');
}

interface Answer {
  /** Null: nothing keeps its tickets from starting. */
  reason: string | null;
  until: number;
  /** How many tickets the plan had. One that was added since may need other agents. */
  tickets: number;
  /** Replaced when the settings change. */
  agents: EngineContext['settings']['agents'];
}

/** Those of a plan's tickets that this process may drive at all. */
type TakenFrom = (plan: Plan, tickets: readonly Ticket[]) => Promise<readonly Ticket[]>;

/** The preflight of every plan that a daemon is about to start. A plan that fails it is held, the others start. */
export class PlanReadiness {
  readonly #engine: EngineContext;
  readonly #onAnswer: () => void;
  readonly #takenFrom: TakenFrom;
  readonly #stop = new AbortController();
  readonly #answers = new Map<string, Answer>();
  readonly #running = new Map<string, Promise<void>>();
  readonly #reported = new Set<string>();

  constructor(engine: EngineContext, onAnswer: () => void, takenFrom: TakenFrom) {
    this.#engine = engine;
    this.#onAnswer = onAnswer;
    this.#takenFrom = takenFrom;
  }

  /** Whether tickets of a plan may begin. Starts the check where that is not known, and asks again when it is over. */
  of(plan: Plan): Readiness {
    if (!this.#engine.preflight) return 'ready';
    const last = this.#answers.get(plan.id);
    const { agents } = this.#engine.settings;
    const known = last?.agents === agents && last.tickets >= plan.tickets.length ? last : undefined;
    if ((known?.until ?? 0) < Date.now() && !this.#running.has(plan.id) && !this.#stop.signal.aborted)
      this.#running.set(plan.id, this.#check(plan));
    if (!known) return 'unknown';
    if (known.reason === null) return 'ready';
    const hold = { kind: 'broken', reason: known.reason, until: null } as const;
    return { hold, again: new Date(known.until).toISOString() };
  }

  get isChecking(): boolean {
    return this.#running.size > 0;
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#running.values());
  }

  async #check(plan: Plan): Promise<void> {
    const engine = this.#engine;
    const { agents } = engine.settings;
    const all = startableTickets(engine.store.tickets(plan));
    let reason: string | null = null;
    try {
      const tickets = await this.#takenFrom(plan, all);
      await requireReadyHere(
        { ...engine, listen: (event) => this.#once(plan.id, event) },
        { plan, tickets, signal: this.#stop.signal },
      );
    } catch (error) {
      if (error instanceof InputError) reason = [error.message, error.hint].filter(Boolean).join(' ');
      // A preflight that fails with an error holds nothing back.
      else if (!this.#stop.signal.aborted) report(engine, plan.id, [messageOf(error)]);
    }
    const ms = reason === null ? READY_VALID_MS : engine.settings.pollInterval * 1000;
    this.#answers.set(plan.id, { reason, until: Date.now() + ms, tickets: plan.tickets.length, agents });
    this.#running.delete(plan.id);
    this.#onAnswer();
  }

  /** The same warning is not repeated every time. */
  #once(planId: string, event: Parameters<EngineContext['listen']>[0]): void {
    const key = `${planId}: ${JSON.stringify(event)}`;
    if (this.#reported.has(key)) return;
    this.#reported.add(key);
    this.#engine.listen(event);
  }
}
