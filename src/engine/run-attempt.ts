import { explained } from '../model/errors.ts';
import { refKey } from '../model/ids.ts';
import type { Plan } from '../model/plan.ts';
import { next, type Step } from '../model/state/next.ts';
import type { AttemptEnd } from '../model/state/outcome.ts';
import type { TicketEvent } from '../model/state/reduce.ts';
import { redactAll } from '../model/text/redact.ts';
import { type Attempt, attemptKey, openAttempt, type Ticket, type Usage } from '../model/ticket.ts';
import { afterStraying, type PhaseContext, type Place, perform } from '../phases/index.ts';
import { runAction } from './actions.ts';
import { admission, agentOf, allowanceOf, endedBefore, launchesOf } from './admission.ts';
import { type EngineContext, emit, hooksOf } from './context.ts';
import { neighbours } from './hidden-paths.ts';
import type { Pinned } from './pinned-workflow.ts';
import { adoptedPlace, preparePlace } from './prepare-workspace.ts';
import { type AttemptRef, refOf, tellEnd } from './status-events.ts';
import type { TicketWorkspace } from './ticket-defaults.ts';
import type { Journal } from './ticket-writer.ts';

interface StepInput {
  plan: Plan;
  pinned: Pinned;
  journal: Journal;
  workspace: TicketWorkspace;
  step: Step;
  /** Nothing of the attempt runs yet: it has just been recorded, or is recorded here. */
  fresh: boolean;
  mayBegin(step: Step): boolean;
  signal: AbortSignal;
}

/** Takes one step to its end. Returns the key of the next attempt where that was recorded in the same write. */
export async function takeStep(parts: EngineContext, input: StepInput): Promise<string | undefined> {
  const { plan, journal, step } = input;
  const start = step.do === 'start' ? startOf(parts, plan, journal.ticket, step) : undefined;
  if (start?.type === 'hold') {
    await journal.apply(start);
    return undefined;
  }
  const placed = await placeFor(parts, input);
  parts.crash('workspace:ready');
  const begin = [...placed.events, ...(start ? [start] : [])];
  if (begin.length > 0) await journal.apply(...begin);
  parts.crash('attempt:recorded');
  const attempt = openAttempt(journal.ticket);
  if (!attempt) return undefined;
  return runAttempt(parts, input, attempt, placed);
}

interface Placed {
  place?: Place;
  /** Why nothing can run. */
  refused?: AttemptEnd;
  /** What the ticket has to record before its attempt. */
  events: TicketEvent[];
}

/** The worktree that an attempt runs in. A gate needs none. */
async function placeFor(parts: EngineContext, input: StepInput): Promise<Placed> {
  const { plan, journal, workspace, step, fresh, signal } = input;
  const { ticket } = journal;
  if (step.phase.type === 'gate') return { events: [] };
  try {
    const place =
      (fresh ? undefined : adoptedPlace(parts, ticket, workspace)) ??
      (await preparePlace(parts, plan, ticket, { ...workspace, signal }));
    const { branch, worktree, base } = place;
    const isKnown = ticket.base?.commit === base.commit && ticket.worktree === worktree;
    const { ref, commit } = base;
    return { place, events: isKnown ? [] : [{ type: 'base', base: { ref, commit }, branch, worktree }] };
  } catch (error) {
    const refused: AttemptEnd = signal.aborted
      ? { type: 'interrupted', reason: 'stopped', deliberate: true }
      : { type: 'failed', error: { class: 'workspace', message: explained(error) } };
    return { refused, events: [] };
  }
}

async function runAttempt(
  parts: EngineContext,
  input: StepInput,
  attempt: Attempt,
  { place, refused }: Placed,
): Promise<string | undefined> {
  const { plan, pinned, journal, step, fresh } = input;
  const about = attemptRef(journal.ticket, attempt);
  const recorder = new AttemptRecorder(parts, journal, about);
  const context = phaseContext(parts, input, { attempt, place, recorder });
  const agent = step.phase.type === 'agent' ? context.agentName : null;
  if (fresh) emit(parts, { type: 'attempt:start', agent, kind: step.phase.type, ...about });
  else if (step.phase.type !== 'poll' && step.phase.type !== 'gate')
    emit(parts, { type: 'attempt:adopt', ...about });
  const end = await endOf(parts, context, { agent, refused });
  parts.crash('attempt:performed');
  await recorder.settled();
  await journal.apply({ type: 'end', end }, (ticket) => {
    const after = next(pinned.workflow, ticket);
    return after?.do === 'start' && input.mayBegin(after) ? startOf(parts, plan, ticket, after) : undefined;
  });
  parts.crash('attempt:closed');
  tellEnd(parts, journal.ticket, about);
  const open = openAttempt(journal.ticket);
  return open && attemptKey(open) !== attemptKey(attempt) ? attemptKey(open) : undefined;
}

/** Performs the attempt, or reads how it ended, and adds what the engine knows about it. */
async function endOf(
  parts: EngineContext,
  context: PhaseContext,
  { agent, refused }: { agent: string | null; refused: AttemptEnd | undefined },
): Promise<AttemptEnd> {
  const { ticket, phase, jobDir, resumed } = context;
  const key = refKey(ticket);
  const before = resumed ? endedBefore(jobDir) : undefined;
  const launched = launchesOf(jobDir);
  if (phase.type !== 'gate') parts.rememberSecrets();
  if (agent) parts.machine.memory.begin(key, agent, jobDir);
  const ended = refused ?? (await perform(context).finally(() => parts.machine.memory.end(key)));
  const seen = agent && !refused ? await afterStraying(context, ended) : ended;
  return {
    ...redactAll(seen, parts.redact),
    ...(agent ? { launches: launchesOf(jobDir) } : {}),
    ...(before && launchesOf(jobDir) === launched ? { endedAt: before } : {}),
  };
}

function phaseContext(
  parts: EngineContext,
  { plan, pinned, journal, workspace, step, fresh, signal }: StepInput,
  given: { attempt: Attempt; place: Place | undefined; recorder: AttemptRecorder },
): PhaseContext {
  const { attempt, recorder } = given;
  const { ticket } = journal;
  const { phase } = step;
  const hooks = hooksOf(parts, plan);
  const named = agentOf(parts, phase, ticket, plan);
  const agent = phase.type === 'agent' ? (attempt.agent ?? named) : null;
  const { repo, branch, path: worktree } = workspace;
  return {
    ticket,
    plan,
    pinned,
    phase,
    attempt,
    place: given.place ?? { repo, branch, worktree, base: { ref: '', commit: '' } },
    agentName: agent ?? named,
    standsIn: agent !== null && agent !== named,
    allowance: phase.type === 'agent' ? allowanceOf(parts, plan, ticket, phase) : null,
    rules: hooks.evidence?.(plan, ticket) ?? null,
    variables: hooks.variables?.(plan, ticket) ?? {},
    others: () => neighbours(parts, journal.ticket),
    settings: parts.settings,
    workspaces: parts.workspaces,
    act: (request) => runAction(parts, { ref: refOf(ticket), phase: phase.id, request }),
    jobDir: parts.machine.job(ticket, attempt),
    resumed: !fresh,
    signal,
    now: parts.now,
    env: parts.env,
    onProcess: () => parts.crash('attempt:running'),
    onSession: (id) => recorder.session(id, agent),
    onUsage: (usage) => recorder.usage(usage),
    onNote: (note) => recorder.note(note),
    onText: (text) => recorder.text(text),
    onTool: (name, summary, done) => recorder.tool(name, summary, done),
  };
}

function attemptRef(ticket: Ticket, { phase, visit, attempt }: Attempt): AttemptRef {
  return { ...refOf(ticket), phase, visit, attempt };
}

/** The beginning of an attempt, or why none begins now. */
function startOf(
  parts: EngineContext,
  plan: Plan,
  ticket: Ticket,
  step: Extract<Step, { do: 'start' }>,
): Extract<TicketEvent, { type: 'start' | 'hold' }> {
  if (step.phase.type !== 'agent') return { type: 'start', attempt: step.attempt, agent: null };
  const admitted = admission(parts, plan, ticket, step.phase);
  if ('hold' in admitted) return { type: 'hold', hold: redactAll(admitted.hold, parts.redact) };
  parts.machine.memory.reserve(refKey(ticket), admitted.agent, ticket.phaseHistory.length + 1);
  return { type: 'start', attempt: step.attempt, agent: admitted.agent };
}

/** Some CLIs report usage with every message; each report would be a write. */
const USAGE_EVERY_MS = 2_000;
/** More lines than these are only in the output file. */
const SHOWN_PER_SECOND = 100;

/** Records and shows what an attempt reports while it runs. Writes happen one after the other, in the background. */
class AttemptRecorder {
  readonly #parts: EngineContext;
  readonly #journal: Journal;
  readonly #about: AttemptRef;
  readonly #mayShow = limiter(SHOWN_PER_SECOND);
  #tail: Promise<unknown> = Promise.resolve();
  #error: unknown;
  #session: string | null = null;
  #usageAt = Number.NEGATIVE_INFINITY;

  constructor(parts: EngineContext, journal: Journal, about: AttemptRef) {
    this.#parts = parts;
    this.#journal = journal;
    this.#about = about;
  }

  session(sessionId: string, agent: string | null): void {
    if (sessionId === this.#session) return;
    this.#session = sessionId;
    this.#later({ type: 'session', sessionId });
    emit(this.#parts, { type: 'attempt:session', agent, sessionId, ...this.#about });
  }

  usage(usage: Usage): void {
    if (performance.now() - this.#usageAt < USAGE_EVERY_MS) return;
    this.#usageAt = performance.now();
    this.#later({ type: 'usage', usage });
    emit(this.#parts, { type: 'attempt:usage', usage, ...this.#about });
  }

  /** Said by the engine, not by the agent. */
  note(note: string): void {
    this.#later({ type: 'note', note });
    emit(this.#parts, { type: 'attempt:text', text: note, notice: true, ...this.#about });
  }

  text(text: string): void {
    if (text.trim() === '' || !this.#mayShow()) return;
    emit(this.#parts, { type: 'attempt:text', text, ...this.#about });
  }

  tool(name: string, summary: string, done: boolean): void {
    emit(this.#parts, { type: 'attempt:tool', name, summary, done, ...this.#about });
  }

  /** Resolves when everything is written; throws what went wrong, such as a lost claim. */
  async settled(): Promise<void> {
    await this.#tail;
    if (this.#error) throw this.#error;
  }

  #later(event: TicketEvent): void {
    this.#tail = this.#tail
      .then(() => this.#journal.apply(event))
      .catch((error: unknown) => {
        this.#error ??= error;
      });
  }
}

function limiter(perSecond: number): () => boolean {
  let began = Number.NEGATIVE_INFINITY;
  let count = 0;
  return () => {
    const now = performance.now();
    if (now - began >= 1000) {
      began = now;
      count = 0;
    }
    return ++count <= perSecond;
  };
}
