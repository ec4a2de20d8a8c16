import { existsSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { loadSettings } from '../config/load-settings.ts';
import { fullDisk, makeDirectory } from '../machine/files/make-directory-and-handle-storage-errors.ts';
import { ifPossible } from '../machine/files/read-and-remove-files.ts';
import {
  isLeaseOver,
  lastOutputAt,
  MARKER,
  readIdentity,
  readJob,
} from '../machine/jobs/start-and-read-job.ts';
import { alreadyFailing } from '../machine/results-of-base-checks.ts';
import { ACTIONS, scriptInstead } from '../model/actions.ts';
import { HeldError, InputError, ifUsable, messageOf, shortageOf } from '../model/errors.ts';
import type { AttemptRef } from '../model/events.ts';
import { remembered } from '../model/group-and-remember.ts';
import { refKey, refOf, type TicketRef } from '../model/ids-and-branch-names.ts';
import type { Plan } from '../model/plan.ts';
import { planOf } from '../model/plans/plans-view.ts';
import { type AttemptEnd, shortageHold } from '../model/state/attempt-end-types-and-waits.ts';
import { next, type Step } from '../model/state/next-step-or-rest.ts';
import type { TicketEvent } from '../model/state/reduce.ts';
import { redactAll } from '../model/text/find-and-redact-secrets.ts';
import { type Attempt, attemptKey, type Hold, isMadeAt, openAttempt, type Ticket } from '../model/ticket.ts';
import { actionOf, edgesOf, runsProgram } from '../model/workflow.ts';
import type { ActionEnd, ActionRequest, PhaseContext, Place } from '../phases/perform-phase.ts';
import {
  endAfterReturn,
  failure,
  failureBy,
  hasCommitted,
  mayBeDone,
  perform,
} from '../phases/perform-phase.ts';
import type { Store, StoreView } from '../store/store-interface.ts';
import { admission, agentOf, allowanceOf } from './choose-agent-within-limits.ts';
import { type EngineContext, emit, hooksOf } from './context.ts';
import {
  keepForgeRecord,
  keepSession,
  restoreForgeRecord,
  restoreSessions,
  shipOutput,
} from './fleet/store-output-and-sessions-for-other-machines.ts';
import { endedBefore, launchesOf } from './jobs-of-ticket.ts';
import type { Pinned } from './pinned-workflow.ts';
import { adoptedPlace, preparePlace } from './prepare-place-of-ticket.ts';
import { reportEnd } from './report-status-changes.ts';
import { currentWorkspace, type TicketWorkspace, workspaceFor } from './work-out-workspace-and-repository.ts';
import { recordAttempt, type TicketWriter } from './write-tickets-and-reports-of-attempts.ts';

interface StepInput {
  plan: Plan;
  pinned: Pinned;
  writer: TicketWriter;
  workspace: TicketWorkspace;
  step: Step;
  /** Nothing of the attempt runs yet: it has just been recorded, or is recorded here. */
  fresh: boolean;
  mayBegin(step: Step): boolean;
  signal: AbortSignal;
  /** What the ticket was held by until now. */
  held: Hold | null;
}

/** Takes one step to its end. Returns the key of the next attempt where that was recorded in the same write. */
export async function takeStep(engine: EngineContext, input: StepInput): Promise<string | undefined> {
  const { plan, writer, step } = input;
  const start = step.do === 'start' ? startOf(engine, plan, writer.ticket, step) : undefined;
  if (start?.type === 'hold') {
    await writer.apply(start);
    return undefined;
  }
  const placed = await placeFor(engine, input);
  if (placed.shortage && start) {
    const now = engine.now();
    const since = (input.held?.kind === 'shortage' ? input.held.since : undefined) ?? now;
    await writer.apply({
      type: 'hold',
      hold: redactAll(shortageHold(placed.shortage, since, now), engine.redact),
    });
    return undefined;
  }
  await untilLeased(engine, writer.ticket);
  engine.crash('workspace:ready');
  if (step.do === 'start')
    // Meanwhile another ticket may have taken what was left of a budget.
    await writer.applyCounting(...placed.events, (ticket) => startOf(engine, plan, ticket, step));
  else {
    const begin = [...placed.events, ...restartOf(engine, input)];
    if (begin.length > 0) await writer.apply(...begin);
  }
  engine.crash('attempt:recorded');
  const attempt = openAttempt(writer.ticket);
  if (!attempt) return undefined;
  return runAttempt(engine, input, attempt, placed);
}

/** The time in which an attempt could not begin is no part of it. */
function restartOf({ machine }: EngineContext, { writer, step, fresh }: StepInput): TicketEvent[] {
  const open = step.do === 'continue' && !fresh ? step.attempt : undefined;
  const waits = step.phase.type === 'poll' || step.phase.type === 'gate';
  const hasBegun = open && readJob(machine.job(writer.ticket, open)).state !== 'none';
  return open && !waits && !hasBegun ? [{ type: 'restart' }] : [];
}

interface Placed {
  place?: Place;
  /** Why the attempt cannot run. */
  refused?: AttemptEnd;
  /** What this computer is short of for that. */
  shortage?: string | undefined;
  /** What the ticket has to record before its attempt. */
  events: TicketEvent[];
}

/** The worktree that an attempt runs in. A gate needs none. */
async function placeFor(engine: EngineContext, input: StepInput): Promise<Placed> {
  const { plan, writer, workspace, step, fresh, signal } = input;
  const { ticket } = writer;
  if (step.phase.type === 'gate') return { events: [] };
  try {
    const place =
      (fresh ? recordedPlace(input) : adoptedPlace({ engine, ticket, workspace })) ??
      (await preparePlace(plan, { engine, ticket, workspace: { ...workspace, signal } }));
    const { branch, worktree, base } = place;
    const full = fresh && runsProgram(step.phase) ? fullDisk(worktree, place.repo) : undefined;
    if (full) return { refused: failure('shortage', full), shortage: full, events: [] };
    const machine = engine.handOver?.machine;
    const isKnown =
      ticket.base?.commit === base.commit &&
      ticket.worktree === worktree &&
      (!machine || isMadeAt(ticket, machine));
    const { ref, commit } = base;
    const isMoved = machine && ticket.machine && !isMadeAt(ticket, machine);
    const sessions = isMoved ? await restoreSessions(engine, ticket, worktree) : undefined;
    if (isMoved) await restoreForgeRecord(engine, ticket);
    return {
      place,
      events: isKnown ? [] : [{ type: 'base', base: { ref, commit }, branch, worktree, machine, sessions }],
    };
  } catch (error) {
    if (signal.aborted)
      return { refused: { type: 'interrupted', reason: 'stopped', deliberate: true }, events: [] };
    // Another repository's ticket may have taken the path meanwhile.
    const { path } = currentWorkspace(engine, ticket, plan);
    if (path !== workspace.path)
      return placeFor(engine, { ...input, workspace: Object.assign(workspace, { path }) });
    // Not every setup command says what it has no room for.
    const full = fullDisk(workspace.path, workspace.repo);
    const shortage = shortageOf(error) ?? (full && `${full}; ${messageOf(error)}`);
    const refused = shortage ? failure('shortage', shortage) : failureBy('workspace', error);
    return { refused, shortage, events: [] };
  }
}

/** Where the ticket's worktree was last; an action that does not use it needs no more. */
function recordedPlace({ pinned, step, workspace, writer }: StepInput): Place | undefined {
  const { base, worktree } = writer.ticket;
  const action = actionOf(step.phase);
  if (!action || !ACTIONS[action].isTreeless || pinned.scripts[scriptInstead(action)]) return undefined;
  if (!base || worktree !== workspace.path) return undefined;
  const { repo, branch, inPlace } = workspace;
  return { repo, branch, worktree, inPlace, base };
}

async function runAttempt(
  engine: EngineContext,
  input: StepInput,
  attempt: Attempt,
  { place, refused }: Placed,
): Promise<string | undefined> {
  const { plan, pinned, writer, step, fresh } = input;
  const { phase, visit, attempt: number } = attempt;
  const about: AttemptRef = { ...refOf(writer.ticket), phase, visit, attempt: number };
  const recorder = recordAttempt(engine, writer, about);
  const context = phaseContext(engine, input, { attempt, place, recorder });
  const { held } = input;
  const { type } = step.phase;
  const agent = type === 'agent' ? context.agentName : null;
  if (fresh) emit(engine, { type: 'attempt:start', agent, kind: type, ...about });
  else if (type !== 'poll' && type !== 'gate' && held?.kind !== 'shortage')
    emit(engine, { type: 'attempt:adopt', ...about });
  const shipped = type === 'gate' || refused ? undefined : shipOutput(engine, writer.ticket, attempt);
  const seen = await endOf(engine, context, { agent, refused }).finally(shipped);
  // Recording it may have to wait for room on the disk.
  const ended = { endedAt: engine.now(), ...seen };
  const since = held?.kind === 'shortage' ? held.since : undefined;
  const end = ended.type === 'waiting' && ended.shortSince && since ? { ...ended, shortSince: since } : ended;
  engine.crash('attempt:performed');
  await recorder.settled();
  const { ticket } = writer;
  const hasWorked = place !== undefined && type !== 'poll' && type !== 'gate';
  // Before the end is stored, because an end that is stored is never repeated.
  const handOver = hasWorked
    ? await engine.handOver?.publish(plan, { engine, ticket, workspace: input.workspace })
    : undefined;
  const session = seen.sessionId ?? openAttempt(writer.ticket)?.sessionId ?? null;
  if (place) await keepSession(engine, writer.ticket, { agent, session });
  if (end.type !== 'waiting') await keepForgeRecord(engine, writer.ticket);
  await writer.applyCounting(
    () => handOver && { type: 'handOver', handOver },
    { type: 'end', end },
    (ticket) => {
      const after = next(pinned.workflow, ticket);
      return after?.do === 'start' && input.mayBegin(after)
        ? startOf(engine, plan, ticket, after)
        : undefined;
    },
  );
  engine.crash('attempt:closed');
  reportEnd(engine, writer.ticket, about);
  const open = openAttempt(writer.ticket);
  return open && attemptKey(open) !== attemptKey(attempt) ? attemptKey(open) : undefined;
}

/** Performs the attempt, or reads how it ended, and adds what the engine knows about it. */
async function endOf(
  engine: EngineContext,
  context: PhaseContext,
  { agent, refused }: { agent: string | null; refused: AttemptEnd | undefined },
): Promise<AttemptEnd> {
  const { ticket, phase, jobDir, resumed } = context;
  const key = refKey(ticket);
  const before = resumed ? endedBefore(jobDir) : undefined;
  const launched = launchesOf(jobDir);
  if (phase.type !== 'gate') engine.rememberSecrets();
  if (agent) engine.machine.memory.begin(key, agent, jobDir);
  const done = refused ?? (await perform(context).finally(() => engine.machine.memory.end(key)));
  const ended = refused ?? (await askPersonIfEndUnknown(engine, context, done));
  const seen = agent && !refused ? await endAfterReturn(context, ended) : ended;
  return {
    ...redactAll(seen, engine.redact),
    ...(agent ? { launches: launchesOf(jobDir) } : {}),
    ...(before && launchesOf(jobDir) === launched ? { endedAt: before } : {}),
  };
}

/** Asks a person if the record of an attempt's end may be lost with the storage: its work must not be done twice. */
async function askPersonIfEndUnknown(
  { machine }: EngineContext,
  context: PhaseContext,
  end: AttemptEnd,
): Promise<AttemptEnd> {
  const { jobDir } = context;
  if (end.type === 'failed') return afterCutOutput(machine, context, end);
  if (end.type !== 'interrupted' || !end.lost) return end;
  // A supervisor that has not recorded itself has not started its command.
  if (!readIdentity(jobDir)) return end;
  if (!machine.storage.failedSince(Number(lastOutputAt(jobDir))) || !(await mayBeDone(context))) return end;
  return { ...end, asks: true, reason: askWhetherDone(context) };
}

/** Errors of programs that could not print their result, and of those that were on a full disk. */
const POSSIBLE_WITH_CUT_OUTPUT: ReadonlySet<string> = new Set(['exit', 'crash', 'protocol', 'shortage']);

/** Without its output, the exit of a program says nothing about its work: commits do. */
async function afterCutOutput(
  { storage, stateDir }: EngineContext['machine'],
  context: PhaseContext,
  end: Extract<AttemptEnd, { type: 'failed' }>,
): Promise<AttemptEnd> {
  const { phase, jobDir } = context;
  const { error, outcome, until, jitter, ...facts } = end;
  if (!runsProgram(phase) || !POSSIBLE_WITH_CUT_OUTPUT.has(error.class)) return end;
  const full = fullDisk(stateDir);
  if (!full && !storage.failedSince(Number(lastOutputAt(jobDir)))) return end;
  if (await hasCommitted(context)) {
    const reason = askWhetherDone(context);
    return { ...facts, type: 'interrupted', deliberate: false, lost: true, asks: true, reason };
  }
  if (error.class === 'shortage') return end;
  const why = full ?? 'the state directory could not be written';
  return { ...facts, ...failure('shortage', `${why}; ${phase.id}: ${error.message}`) };
}

function askWhetherDone({ ticket, phase, place }: PhaseContext): string {
  const what = `${ticket.planId} ${ticket.ticketId}`;
  const { success } = edgesOf(phase);
  const isDone = success ? ` or signalbox skip ${what} ${success} (it is done)` : '';
  return `The state directory could not be written when ${phase.id} ended, and it may have done its work. Check ${place.worktree}, then: signalbox retry ${what} (do it again)${isDone}.`;
}

function phaseContext(
  engine: EngineContext,
  { plan, pinned, writer, workspace, step, fresh, signal }: StepInput,
  given: { attempt: Attempt; place: Place | undefined; recorder: ReturnType<typeof recordAttempt> },
): PhaseContext {
  const { attempt, recorder } = given;
  const { ticket } = writer;
  const { phase } = step;
  const hooks = hooksOf(engine, plan);
  const named = agentOf(engine, phase, ticket, plan);
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
    allowance: phase.type === 'agent' ? allowanceOf(engine, plan, ticket, phase, recorder) : null,
    rules: hooks.evidence?.(plan, ticket) ?? null,
    variables: {
      base_failures: alreadyFailing(engine.machine, ticket.base),
      ...hooks.variables?.(plan, ticket),
    },
    others: () => hiddenPaths(engine, writer.ticket),
    settings: engine.settings,
    workspaces: engine.workspaces,
    act: (request) => runAction(engine, { ref: refOf(ticket), phase: phase.id, request }),
    jobDir: engine.machine.job(ticket, attempt),
    lease: engine.machine.lease,
    resumed: !fresh,
    signal,
    now: engine.now,
    env: engine.env,
    onProcess: () => engine.crash('attempt:running'),
    onSession: (id) => recorder.session(id, agent),
    onUsage: recorder.usage,
    onWarning: recorder.warning,
    onNote: recorder.note,
    onText: recorder.text,
    onTool: recorder.tool,
  };
}

/** The event that starts an attempt, or why none may start now. */
function startOf(
  engine: EngineContext,
  plan: Plan,
  ticket: Ticket,
  step: Extract<Step, { do: 'start' }>,
): Extract<TicketEvent, { type: 'start' | 'hold' }> {
  if (step.phase.type !== 'agent') return { type: 'start', attempt: step.attempt, agent: null };
  const admitted = admission(engine, plan, ticket, step.phase);
  if ('hold' in admitted) return { type: 'hold', hold: redactAll(admitted.hold, engine.redact) };
  engine.machine.memory.reserve(refKey(ticket), admitted.agent, ticket.phaseHistory.length + 1);
  // The other machines of a fleet may not know this agent.
  const account = engine.store.fleet && engine.settings.agents[admitted.agent]?.account;
  return { type: 'start', attempt: step.attempt, agent: admitted.agent, account };
}

/** Repositories, git directories and worktrees of all known tickets, except the ticket's own worktree. */
async function hiddenPaths(engine: EngineContext, own: Ticket): Promise<string[]> {
  const old = pathsOfFinished(engine);
  const repos = new Set(old.repos);
  const trees = new Set(old.trees);
  addPaths(engine, engine.store.glance(), { repos, trees }, own);
  const roots = [...repos].filter((path) => existsSync(path));
  const gitDirs = (await Promise.all(roots.map((repo) => engine.workspaces.gitDirs(repo)))).flat();
  return [...roots, ...gitDirs, ...[...trees].filter((path) => existsSync(path))];
}

interface Paths {
  repos: Set<string>;
  trees: Set<string>;
}

function addPaths(engine: EngineContext, view: StoreView, { repos, trees }: Paths, own?: Ticket): void {
  for (const [key, ticket] of view.tickets) {
    const plan = planOf(view, ticket.planId);
    const workspace = plan && ifUsable(() => workspaceFor(ticket, plan, engine.settings, view));
    if (!workspace) continue;
    repos.add(workspace.repo);
    if (ensuresWorktreeRoot(workspace)) trees.add(workspace.worktreeRoot);
    if (!own || key !== refKey(own)) trees.add(workspace.path);
  }
}

const ofFinished = new WeakMap<Store, Paths & { plans: Set<string> }>();

/** The paths of finished plans. Each plan is read once, since there may be thousands; deleted paths are left out. */
function pathsOfFinished(engine: EngineContext): Paths {
  const { store } = engine;
  const { plans, finished } = store.glance();
  const none = () => ({ repos: new Set<string>(), trees: new Set<string>(), plans: new Set<string>() });
  const known = remembered(ofFinished, store, none);
  for (const { id } of plans) known.plans.delete(id);
  for (const id of finished?.ids() ?? []) {
    if (known.plans.has(id)) continue;
    known.plans.add(id);
    const found: Paths = { repos: known.repos, trees: new Set() };
    addPaths(engine, store.view(id), found);
    for (const path of found.trees) if (existsSync(path)) known.trees.add(path);
  }
  return known;
}

/** Creates the root of future worktrees, since only an existing directory can be hidden. False if that is not possible. */
function ensuresWorktreeRoot({ repo, worktreeRoot }: TicketWorkspace): boolean {
  if (existsSync(worktreeRoot)) return true;
  if (!existsSync(repo)) return false;
  // If this fails, no worktree can be created there either.
  ifPossible(() => makeDirectory(worktreeRoot, 0o777));
  return existsSync(worktreeRoot);
}

/** A worker that was away for its lease asks whether it still has a ticket, which begins the lease anew, before it starts anything. */
async function untilLeased(engine: EngineContext, ref: TicketRef): Promise<void> {
  const { lease } = engine.machine;
  while (lease !== undefined && isLeaseOver(lease)) {
    await requireClaim(engine, ref);
    // What ran before is ended first.
    await delay(LEASE_CHECK_MS);
  }
}

const LEASE_CHECK_MS = 50;

/** What is done outside of git and the store cannot be fenced, so the claim is checked immediately before. */
async function requireClaim({ store, holder }: EngineContext, ref: TicketRef): Promise<void> {
  if (store.fleet && !(await store.fleet.keepsClaim(holder, ref)))
    throw new HeldError('claim/lost', `Another engine has taken ${refKey(ref)}.`);
}

/** Runs an action with what the command line in a script of the phase would have had. */
async function runAction(
  engine: EngineContext,
  { ref, phase, request }: { ref: TicketRef; phase: string; request: ActionRequest },
): Promise<ActionEnd> {
  const { action, inputs, place, jobDir, signal } = request;
  const run = engine.actions[action];
  if (!run) throw new InputError('action/unknown', `The action "${action}" is not available here.`);
  const { packageDir } = engine.settings;
  const settings = await loadSettings({ cwd: place.worktree, env: request.env, packageDir });
  const own = Object.entries(request.env).filter(([name]) => name.startsWith('SIGNALBOX_'));
  const env = { ...Object.fromEntries(own), [MARKER]: jobDir };
  const workspaces = engine.workspaces.patient({ signal, strict: true, env });
  const end = await run({
    engine: { ...engine, settings, job: jobDir, signal, workspaces, mayAct: () => requireClaim(engine, ref) },
    ref,
    phase,
    place,
    inputs,
  });
  engine.crash('action:done');
  return end;
}
