import { sharedRules, unitVariables } from '../features/spec-runs/unit.ts';
import { explained } from '../model/errors.ts';
import { refKey } from '../model/ids.ts';
import type { Plan } from '../model/plan.ts';
import { next, type Step } from '../model/state/next.ts';
import type { AttemptEnd } from '../model/state/outcome.ts';
import type { TicketEvent } from '../model/state/reduce.ts';
import { redactAll } from '../model/text/redact.ts';
import { attemptKey, openAttempt, type Ticket, type Usage } from '../model/ticket.ts';
import { afterStraying, type PhaseContext, type Place, perform } from '../phases/index.ts';
import type { WorkspaceSpec } from '../workspaces/index.ts';
import { admission, allowanceOf, endedBefore, launchesOf } from './admission.ts';
import { Writer } from './attempt-recorder.ts';
import { type EngineContext, emit } from './context.ts';
import { neighbours } from './hidden-paths.ts';
import type { Pinned } from './pinned-workflow.ts';
import { adoptedPlace, preparePlace } from './prepare-workspace.ts';
import { rememberSecrets } from './secrets.ts';
import { refOf, tellEnd } from './status-events.ts';
import { agentOf } from './ticket-defaults.ts';
import type { Journal } from './ticket-writer.ts';

interface StepInput {
  plan: Plan;
  pinned: Pinned;
  journal: Journal;
  spec: WorkspaceSpec;
  step: Step;
  /** The attempt has only just been begun, or is to be: nothing of it runs yet. */
  fresh: boolean;
  mayBegin(step: Step): boolean;
  signal: AbortSignal;
}

/** Takes one step to its end and gives back the attempt that was begun in the same write, if one was. */
export async function takeStep(parts: EngineContext, input: StepInput): Promise<string | undefined> {
  const { plan, pinned, journal, spec, step, fresh, signal } = input;
  const start = step.do === 'start' ? startOf(parts, plan, journal.ticket, step) : undefined;
  if (start?.type === 'hold') {
    await journal.apply(start);
    return undefined;
  }
  const begin: TicketEvent[] = [];
  let place: Place | undefined;
  let refused: AttemptEnd | undefined;
  if (step.phase.type !== 'gate') {
    try {
      place =
        (fresh ? undefined : adoptedPlace(parts, journal.ticket, spec)) ??
        (await preparePlace(parts, plan, journal.ticket, { ...spec, signal }));
      const { ref, commit } = place.base;
      if (journal.ticket.base?.commit !== commit || journal.ticket.worktree !== place.worktree) {
        begin.push({ type: 'base', base: { ref, commit }, branch: place.branch, worktree: place.worktree });
      }
    } catch (error) {
      refused = signal.aborted
        ? { type: 'interrupted', reason: 'stopped', deliberate: true }
        : { type: 'failed', error: { class: 'workspace', message: explained(error) } };
    }
  }
  parts.crash('workspace:ready');
  if (start) begin.push(start);
  if (begin.length > 0) await journal.apply(...begin);
  parts.crash('attempt:recorded');
  const attempt = openAttempt(journal.ticket);
  if (!attempt) return undefined;
  const named = agentOf(step.phase, journal.ticket, plan, parts.settings);
  const agent = step.phase.type === 'agent' ? (attempt.agent ?? named) : null;
  const about = {
    ...refOf(journal.ticket),
    phase: attempt.phase,
    visit: attempt.visit,
    attempt: attempt.attempt,
  };
  if (fresh) emit(parts, { type: 'attempt:start', agent, kind: step.phase.type, ...about });
  else if (step.phase.type === 'agent' || step.phase.type === 'script')
    emit(parts, { type: 'attempt:adopt', ...about });
  const writer = new Writer(parts, journal, about);
  const mayShow = limiter(SHOWN_PER_SECOND);
  const context: PhaseContext = {
    ticket: journal.ticket,
    plan,
    pinned,
    phase: step.phase,
    attempt,
    place: place ?? {
      repo: spec.repo,
      branch: spec.branch,
      worktree: spec.path,
      base: { ref: '', commit: '' },
    },
    agentName: agent ?? named,
    standsIn: agent !== null && agent !== named,
    allowance: step.phase.type === 'agent' ? allowanceOf(parts, plan, journal.ticket, step.phase) : null,
    shared: sharedRules(journal.ticket, plan),
    unit: unitVariables(journal.ticket, plan, parts.settings, parts.store.glance()),
    others: () => neighbours(parts, journal.ticket),
    settings: parts.settings,
    workspaces: parts.workspaces,
    jobDir: parts.machine.job(journal.ticket, attempt),
    resumed: !fresh,
    signal,
    now: parts.now,
    env: parts.env,
    onProcess: () => parts.crash('attempt:running'),
    onSession: (id) => writer.session(id, agent),
    onUsage: (usage: Usage) => writer.usage(usage),
    onNote: (note) => writer.note(note),
    onText: (text) => {
      if (text.trim() !== '' && mayShow()) emit(parts, { type: 'attempt:text', text, ...about });
    },
    onTool: (name, summary, done) => emit(parts, { type: 'attempt:tool', name, summary, done, ...about }),
  };
  const key = refKey(about);
  const before = fresh ? undefined : endedBefore(context.jobDir);
  const launched = launchesOf(context.jobDir);
  if (step.phase.type !== 'gate') rememberSecrets(parts);
  if (agent) parts.machine.memory.begin(key, agent, context.jobDir);
  const ended = refused ?? (await perform(context).finally(() => parts.machine.memory.end(key)));
  const seen = agent && !refused ? await afterStraying(context, ended) : ended;
  const end = {
    ...redactAll(seen, parts.redact),
    ...(agent ? { launches: launchesOf(context.jobDir) } : {}),
    ...(before && launchesOf(context.jobDir) === launched ? { endedAt: before } : {}),
  };
  parts.crash('attempt:performed');
  await writer.settled();
  await journal.apply({ type: 'end', end }, (ticket) => {
    const after = next(pinned.workflow, ticket);
    return after?.do === 'start' && input.mayBegin(after) ? startOf(parts, plan, ticket, after) : undefined;
  });
  parts.crash('attempt:closed');
  tellEnd(parts, journal.ticket, about);
  const open = openAttempt(journal.ticket);
  return open && attemptKey(open) !== attemptKey(attempt) ? attemptKey(open) : undefined;
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

/** What an agent says is for eyes: more lines than these per second are left to its output file. */
const SHOWN_PER_SECOND = 100;

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
