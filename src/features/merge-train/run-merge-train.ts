import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type EngineContext, emit } from '../../engine/context.ts';
import { recordLanded } from '../../engine/create-release-and-diff-ticket-workspace.ts';
import { pinnedFor } from '../../engine/pinned-workflow.ts';
import { reportStatus } from '../../engine/report-status-changes.ts';
import { workspaceFor } from '../../engine/work-out-workspace-and-repository.ts';
import { HeldError, ifUsable, orError, SignalboxError } from '../../model/errors.ts';
import type { TicketRef } from '../../model/ids-and-branch-names.ts';
import type { Plan } from '../../model/plan.ts';
import { type Findings, sendBack } from '../../model/state/send-back-after-failed-merge.ts';
import type { Ticket } from '../../model/ticket.ts';
import { NO_CHECKS } from '../../model/verdict-criteria-and-missing-checks.ts';
import { excerpt } from '../../phases/capture-values-and-excerpt-output.ts';
import type { Fleet } from '../../store/store-interface.ts';
import type { Track, TrackSpec, Trains, WorkspaceSpec } from '../../workspaces/workspaces.ts';
import { Notifier } from '../notifications/notify.ts';
import { isReadyToMerge, type LeftOut, leaveOut, type Trainload } from './collect-branches.ts';
import { type Fault, findPassingCars, type Sorted } from './find-passing-branches.ts';
import type { LandedPull, Landing, LandOptions, Pulls } from './merge-pull-requests.ts';
import { findPulls, landPulls } from './merge-pull-requests.ts';
import type { Patience } from './reasons-not-to-merge-pull-requests.ts';
import { TrainChecks } from './train-checks.ts';

interface Landed extends TicketRef {
  branch: string;
  pullRequest: LandedPull | null;
}

/** The result of a train. */
export interface TrainResult extends Omit<Trainload, 'cars'> {
  /** What was moved: the base, its integration branch, or `origin/<base>`. */
  target: string;
  /** Its commit now. */
  commit: string;
  /** The command that brings it into a checkout of the base. */
  fastForward: string | null;
  landed: Landed[];
  returned: Returned[];
  /** The commands that had to pass. */
  checks: string[];
  /** Why what landed was not checked at all; null when it was, or nothing landed. */
  unchecked: string | null;
}

interface TrainOptions {
  /** Merge pull requests on GitHub instead of local branches. */
  pr: boolean;
  signal: AbortSignal;
  say(line: string): void;
}

/** How often the train starts over because the base has moved. */
const MAX_TRIES = 5;

/** Merges the branches that pass together, and sends the others back to their tickets. */
export function runTrain(
  engine: EngineContext,
  load: Trainload,
  options: TrainOptions,
): Promise<TrainResult> {
  const alone = (own: EngineContext) =>
    own.workspaces.withTrainLock(load.repo, () => run(own, load, options));
  return engine.store.fleet ? aloneOnFleet(engine, engine.store.fleet, alone) : alone(engine);
}

/** On a fleet, one process merges at a time, by lease. */
const MERGE_TRAIN = 'merge-train';

async function aloneOnFleet<T>(
  engine: EngineContext,
  fleet: Fleet,
  work: (engine: EngineContext) => Promise<T>,
): Promise<T> {
  const { holder, store } = engine;
  // A daemon has started it already.
  const isStarted = holder.by === 'daemon';
  if (!isStarted) await holder.start();
  const mayAct = async () => {
    // This process may have slept for longer than its lease.
    await store.refresh();
    if (await fleet.takeRole(holder, MERGE_TRAIN)) return;
    throw new HeldError('merge/held', 'Another process of the fleet is merging.', {
      hint: 'Try again when it is done.',
    });
  };
  try {
    await mayAct();
    return await work({ ...engine, mayAct });
  } finally {
    await fleet.releaseRole(holder, MERGE_TRAIN).catch(() => undefined);
    if (!isStarted) await holder.stop();
  }
}

async function run(engine: EngineContext, load: Trainload, options: TrainOptions): Promise<TrainResult> {
  const trains = await engine.workspaces.trains(load.repo);
  const [first] = load.cars;
  const checks = first && new TrainChecks(engine, { ...options, trains, setup: first.spec });
  const notifier = new Notifier(engine);
  try {
    await checks?.open();
    const result = await drive(engine, load, { ...options, trains, checks });
    const plans = new Set(result.returned.map(({ planId }) => planId));
    notifier.queueNewNotices(engine.store.glance(), ({ id }) => plans.has(id));
    await notifier.settled();
    return result;
  } finally {
    await checks?.close();
    trains.close();
  }
}

/**
 * The commands that bring what was merged before into checkouts of the base that lack it. The branch that has it first gets what the
 * base has got since, so that they can fast-forward.
 */
export async function bringGathered(engine: EngineContext, plans: readonly Plan[]): Promise<Set<string>> {
  const { store, settings, workspaces } = engine;
  const view = store.glance();
  const specs = new Map<string, WorkspaceSpec>();
  for (const plan of plans)
    for (const ticket of store.tickets(plan)) {
      const { status, base } = ticket;
      const spec =
        status === 'complete' && base
          ? ifUsable(() => workspaceFor(ticket, plan, settings, view))
          : undefined;
      if (spec) specs.set(`${spec.repo}\n${base?.ref}`, spec);
    }
  const commands = new Set<string>();
  for (const { repo, base, recordedBase = null } of specs.values()) {
    const spec: TrackSpec = { base, recordedBase, remote: false };
    const bring = async () => {
      const trains = await workspaces.trains(repo);
      const track = await trains.track(spec);
      const { name, from, tip, fastForward } = track;
      const inBase = await trains.tipOf(name);
      if (!fastForward || from === name || inBase === undefined || (await trains.has(inBase, tip))) return;
      if (await trains.land(spec, track, tip)) commands.add(fastForward);
    };
    const failed = await orError(SignalboxError, () => workspaces.withTrainLock(repo, bring));
    // A repository or base that is gone has nothing to bring.
    if (failed?.code === 'merge/base-conflict') throw failed;
  }
  return commands;
}

interface Drive extends TrainOptions {
  trains: Trains;
  checks: TrainChecks | undefined;
}

async function drive(engine: EngineContext, load: Trainload, options: Drive): Promise<TrainResult> {
  const { trains, checks, pr, say } = options;
  const spec: TrackSpec = { base: load.base, recordedBase: null, remote: pr };
  // Another merge may have sent tickets back while this one waited for the lock.
  const still = load.cars.filter(({ ref }) => isReadyToMerge(engine, engine.store.ticket(ref)));
  const patience = { ...options, seconds: engine.settings.merge.waitSeconds };
  const found = await withPulls(engine, { ...load, cars: still }, { pr, trains, patience });
  const { pulls, left, already } = found;
  let { cars } = found;
  const done: Landed[] = [];
  for (let tries = 1; ; ) {
    const track = await trains.track(spec);
    const check = checks ? (commit: string) => checks.check(commit) : null;
    const sorted = await findPassingCars(cars, { trains, track, check, say });
    engine.crash('merge:checked');
    const landing = await land(engine, sorted, pulls, { cars, trains, spec, track });
    for (const each of landing.landed) done.push(await noteLanded(engine, each, landing.track.branch));
    left.push(...landing.left);
    if (!landing.stale) {
      engine.crash('merge:landed');
      const returned = await returnFaulty(engine, sorted, landing.track.from);
      const known = [...already, ...sorted.already];
      for (const each of known) await recordLanded(engine, each, each.into);
      const noChecks = engine.settings.checks ? 'The setting `checks` is empty.' : NO_CHECKS;
      return {
        repo: load.repo,
        base: load.base,
        target: landing.track.branch,
        commit: landing.track.tip,
        fastForward: done.length > 0 ? landing.track.fastForward : null,
        landed: done,
        returned: returned.returned,
        left: [...left, ...sorted.left, ...returned.left],
        already: known,
        checks: [...(checks?.commands ?? [])],
        unchecked: done.length > 0 && checks?.commands.size === 0 ? noChecks : null,
      };
    }
    const out = new Set([
      ...landing.landed.map(({ car }) => car.key),
      ...landing.left.map((each) => each.branch),
    ]);
    if (out.size === 0 && tries++ === MAX_TRIES) {
      const message = `${track.from} moved ${MAX_TRIES} times during the checks.`;
      const hint = 'Run the merge again later.';
      throw new SignalboxError('merge/moving', message, { hint, details: { landed: done } });
    }
    cars = cars.filter(({ key }) => !out.has(key));
    const isRefused = landing.left.length > 0;
    say(
      isRefused
        ? 'One was refused; trying again without it.'
        : `${track.from} has moved meanwhile; trying again.`,
    );
  }
}

/** The cars of a load; when pull requests are merged, those whose pull request can be merged now. */
async function withPulls(
  engine: EngineContext,
  { base, cars, left, already }: Trainload,
  { pr, trains, patience }: { pr: boolean; trains: Trains; patience: Patience | null },
) {
  const found =
    pr && cars.length > 0
      ? await findPulls(engine, cars, { trains, base, patience })
      : { pulls: null, cars, left: [], already: [] };
  return { ...found, left: [...left, ...found.left], already: [...already, ...found.already] };
}

async function land(
  engine: EngineContext,
  { placed, faults }: Sorted,
  pulls: Pulls | null,
  options: LandOptions,
): Promise<Landing & { track: Track }> {
  const { trains, spec, track } = options;
  const nothing = { track, landed: [], left: [], stale: false };
  if (placed.length === 0 && (pulls || faults.length === 0)) return nothing;
  if (pulls) return { ...(await landPulls(engine, placed, pulls, options)), track: await trains.track(spec) };
  await engine.mayAct?.();
  const moved = await trains.land(spec, track, placed.at(-1)?.commit ?? track.tip);
  return moved ? { ...nothing, track: moved, landed: placed } : { ...nothing, stale: true };
}

async function noteLanded(
  engine: EngineContext,
  { car, commit, pullRequest }: Landing['landed'][number],
  onto: string,
): Promise<Landed> {
  await recordLanded(engine, car.ref, onto);
  const detail = { branch: car.key, onto, ...(pullRequest ? { number: pullRequest.number } : { commit }) };
  emit(engine, { type: 'command', command: 'merge', detail, ...car.ref });
  return { ...car.ref, branch: car.key, pullRequest: pullRequest ?? null };
}

/** Sends faulty branches back. Runs after the merge, so that the base has the work that they must be fixed against. */
async function returnFaulty(
  engine: EngineContext,
  { faults }: Sorted,
  onto: string,
): Promise<{ returned: Returned[]; left: LeftOut[] }> {
  const returned: Returned[] = [];
  const left: LeftOut[] = [];
  for (const fault of faults) {
    // An engine polls its pull request and will react to the same problem.
    if (fault.car.waiting) {
      left.push(leaveOut(fault.car, findingsOf(fault, onto).message));
      continue;
    }
    const back = await returnTicket(engine, fault, onto);
    if (back) returned.push(back);
    else left.push(leaveOut(fault.car, 'its ticket has changed in the meantime'));
    engine.crash('merge:returned');
  }
  return { returned, left };
}

export interface Preview extends Omit<Trainload, 'cars'> {
  target: string;
  /** In the order in which they would be merged. */
  order: (TicketRef & { branch: string; title: string; conflict: string[] })[];
}

/** The branches that a train would merge, in order and with their conflicts. Changes nothing. */
export async function previewTrain(
  engine: EngineContext,
  load: Trainload,
  { pr }: { pr: boolean },
): Promise<Preview> {
  const trains = await engine.workspaces.trains(load.repo, { dry: true });
  try {
    const track = await trains.track({ base: load.base, recordedBase: null, remote: pr });
    const found = await withPulls(engine, load, { pr, trains, patience: null });
    const options = { trains, track, check: null, say: () => undefined };
    const { faults, left, already } = await findPassingCars(found.cars, options);
    const out = new Set([...left, ...already].map(({ branch }) => branch));
    const order = found.cars
      .filter(({ key }) => !out.has(key))
      .map((car) => {
        const fault = faults.find((each) => each.car === car);
        const conflict = fault && 'conflict' in fault ? fault.conflict : [];
        return { ...car.ref, branch: car.key, title: car.title, conflict };
      });
    return {
      repo: load.repo,
      base: load.base,
      target: track.branch,
      order,
      left: [...found.left, ...left],
      already: [...found.already, ...already],
    };
  } finally {
    trains.close();
  }
}

/** A ticket that a merge has sent back. */
interface Returned extends TicketRef {
  branch: string;
  /** The phase it continues with; null when a person has to decide. */
  phase: string | null;
  reason: string;
  /** Files that both sides changed, when that was the reason. */
  conflict: string[];
}

/** Sends the ticket of a faulty branch back to work; undefined when the ticket has changed in the meantime. */
async function returnTicket(
  engine: EngineContext,
  fault: Fault,
  onto: string,
): Promise<Returned | undefined> {
  const { store, now } = engine;
  const { ref, key: branch } = fault.car;
  const before = store.ticket(ref);
  const plan = store.plan(ref.planId);
  const { workflow } = await pinnedFor(engine, before, plan);
  const findings = findingsOf(fault, onto);
  const move = (ticket: Ticket) => sendBack(workflow, ticket, findings, now());
  keepLog(engine, fault, move(before));
  const after = await store.updateTicket(ref, move);
  if (after.rev === before.rev || after.status === 'complete') return undefined;
  const detail = { branch, onto, reason: findings.message };
  emit(engine, { type: 'command', command: 'merge', detail, ...ref });
  reportStatus(engine, before, after);
  if (plan.status === 'complete') {
    // A plan is complete only while all its tickets are.
    const active = await store.updatePlan(plan.id, (latest) =>
      latest.status === 'complete' ? { ...latest, status: 'active', completedAt: null } : latest,
    );
    emit(engine, { type: 'plan:status', planId: plan.id, status: active.status });
  }
  return {
    ...ref,
    branch,
    phase: after.status === 'ready' ? after.currentPhase : null,
    reason: findings.message,
    conflict: 'conflict' in fault ? fault.conflict : [],
  };
}

/** What the agent that fixes the branch gets: where the others' work is now, and what went wrong. */
function findingsOf(fault: Fault, onto: string): Findings {
  if ('conflict' in fault) {
    const message = `conflicts with ${onto} in ${fault.conflict.join(', ')}`;
    const output = `This branch ${message}. Merge ${onto} into it, resolve the conflicts, and commit.`;
    return { message, output };
  }
  const { red } = fault;
  const others = fault.with.length > 0 ? `, together with ${fault.with.join(', ')}` : '';
  const message = `${red.message} when merged into ${onto}`;
  const how = `The checks failed once this branch was merged into ${onto}${others}: ${red.message}.`;
  const todo = `Merge ${onto} into this branch, fix what fails, and commit.`;
  return { message, output: `${how} ${todo}\n\n${excerpt(red.tail, 'end')}` };
}

/** `logs` shows it as the output of the entry that sent the ticket back. */
function keepLog(engine: EngineContext, fault: Fault, after: Ticket): void {
  const note = after.phaseHistory.findLast((entry) => entry.error?.class === 'merge');
  if (!note) return;
  const dir = engine.machine.job(fault.car.ref, note);
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  if ('red' in fault) copyFileSync(fault.red.logFile, join(dir, 'stdout'));
  else writeFileSync(join(dir, 'stdout'), `${note.output ?? ''}\n`, { mode: 0o600 });
}
