import type { EngineContext } from '../../engine/context.ts';
import { knownPinned } from '../../engine/pinned-workflow.ts';
import { workspaceFor } from '../../engine/work-out-workspace-and-repository.ts';
import { scriptInstead } from '../../model/actions.ts';
import { IllegalMoveError, InputError, orError, SignalboxError, WorkspaceError } from '../../model/errors.ts';
import { groupBy } from '../../model/group-and-remember.ts';
import { parseRef, refKey, refOf, type TicketRef } from '../../model/ids-and-branch-names.ts';
import { type Plan, stoppedTogether } from '../../model/plan.ts';
import { orderByDependencies } from '../../model/plans/dependency-order.ts';
import { LAST, newestFirst } from '../../model/plans/latest-plans-and-unknown-name-errors.ts';
import { entryOf, planOf, ticketOf, ticketsOf } from '../../model/plans/plans-view.ts';
import { plural } from '../../model/text/clean-escape-quote-plural.ts';
import { shellWord } from '../../model/text/quote-values-for-shell.ts';
import { isOver, isSuperseded, saysStatus, type Ticket } from '../../model/ticket.ts';
import { openAndOnePlan, type StoreView } from '../../store/store-interface.ts';
import type { WorkspaceSpec } from '../../workspaces/workspaces.ts';
import { findLanded, type Landed } from '../landed/find-landed-work.ts';

/** A branch in the train, and the ticket that gets it back if it cannot be merged. Its key is the branch's name. */
export interface TrainCar {
  key: string;
  /** Keys of cars that have to come before it. */
  dependsOn: readonly string[];
  ref: TicketRef;
  title: string;
  spec: WorkspaceSpec;
  /** Its ticket is not complete: it waits for the merge of its pull request. */
  waiting: boolean;
}

export interface LeftOut extends TicketRef {
  branch: string;
  reason: string;
  /** The only reason is that checks of its pull request still run. */
  pending?: true;
}

export function leaveOut(car: TrainCar, reason: string): LeftOut {
  return { ...car.ref, branch: car.key, reason };
}

/** A branch whose work is already in the base, by other commits. */
export interface AlreadyMerged extends TicketRef {
  branch: string;
  /** Where it is, in words: `main`, or `main by pull request #3`. */
  into: string;
}

/** The branches to merge into one base of one repository. */
export interface Trainload {
  repo: string;
  /** The base branch. */
  base: string;
  cars: TrainCar[];
  left: LeftOut[];
  /** Branches that were already in the base. */
  already: AlreadyMerged[];
}

interface Ready {
  plan: Plan;
  tickets: Ticket[];
  spec: WorkspaceSpec;
  commonDir: string;
}

/**
 * Collects the branches of complete tickets whose work is not in their base yet: of one ticket, one plan, or all plans of the
 * repository. Where pull requests are merged, tickets that only wait for their merge count as well.
 */
export async function loadTrains(
  engine: EngineContext,
  { named, cwd }: { named: { planId: string; ticketId?: string } | undefined; cwd: string },
): Promise<Trainload[]> {
  const { store } = engine;
  // Finished plans may have branches that are not merged yet.
  const view = named ? openAndOnePlan(store, named.planId) : store.view();
  const plans = named ? [namedPlan(engine, named.planId)] : livePlans(view);
  const only = named ? null : await here(engine, cwd);
  const isNamed = ({ ticketId }: Ticket) => named?.ticketId === undefined || ticketId === named.ticketId;
  const found: Ready[] = [];
  for (const plan of plans)
    found.push(...(await readyIn(engine, plan, view, only)).filter(({ tickets }) => tickets.some(isNamed)));
  const loads = new Map<string, Trainload>();
  const branches = new Map<string, string>();
  const withoutBase: { error: WorkspaceError; left: LeftOut }[] = [];
  for (const ready of newest(found)) {
    for (const ticket of ready.tickets) branches.set(refKey(ticket), ready.spec.branch);
    const { plan, spec, tickets } = ready;
    const trains = await engine.workspaces.trains(spec.repo);
    const wanted = { base: plan.base, recordedBase: spec.recordedBase ?? null };
    const base = await orError(WorkspaceError, () => trains.baseName(wanted));
    const ref = refOf(tickets.at(-1) as Ticket);
    const { branch } = spec;
    if (base instanceof WorkspaceError) {
      withoutBase.push({ error: base, left: { ...ref, branch, reason: base.message } });
      continue;
    }
    const key = `${ready.commonDir}\n${base}`;
    const load = loads.get(key) ?? { repo: spec.repo, base, cars: [], left: [], already: [] };
    loads.set(key, load);
    const reason = whyNotReady(engine, ready, view);
    const already = reason ? null : await alreadyIn(engine, spec, tickets);
    if (reason) load.left.push({ ...ref, branch, reason });
    else if (already) load.already.push({ ...ref, branch, into: already.where });
    else load.cars.push(carOf(ready, ref, view));
  }
  for (const load of loads.values()) await orderCars(engine, load, view, branches);
  const [some] = loads.values();
  if (some) some.left.push(...withoutBase.map(({ left }) => left));
  else if (withoutBase[0]) throw withBranch(withoutBase[0]);
  return [...loads.values()].filter(
    ({ cars, left, already }) => cars.length + left.length + already.length > 0,
  );
}

/** The error of a base, with the command that merges the branch elsewhere. */
function withBranch({ error, left }: { error: WorkspaceError; left: LeftOut }): WorkspaceError {
  const hint = `${error.hint ?? ''}\nThe branch: git merge ${shellWord(left.branch)}`.trim();
  return new WorkspaceError(error.code, error.message, { hint, details: error.details, cause: error });
}

/** More commands than these are not listed. */
const MAX_CHOICES = 8;

/** The commands that merge what is ready, by plan, the newest first, and by ticket unless that would be too many. */
export function mergeChoices(
  loads: readonly Trainload[],
  plans: readonly Plan[],
  latest: string | undefined,
): string[] {
  const ready = groupBy(
    loads.flatMap(({ cars }) => cars.map(({ ref }) => ref)),
    ({ planId }) => planId,
  );
  const found = plans.filter(({ id }) => ready.has(id)).sort(newestFirst);
  const choices = found.map(({ id }) => {
    const refs = ready.get(id) ?? [];
    const [first] = refs;
    if (first && refs.length === 1) return [{ command: id, what: first.ticketId }];
    const each = refs.map(({ ticketId }) => ({ command: `${id} ${ticketId}`, what: '' }));
    return [{ command: id, what: plural(refs.length, 'ticket') }, ...each];
  });
  const isLong = choices.flat().length > MAX_CHOICES;
  const named = isLong ? choices.flatMap(([plan]) => plan ?? []).slice(0, MAX_CHOICES) : choices.flat();
  const more = found.length - MAX_CHOICES;
  if (named[0] && named[0].command === latest) named.push({ command: LAST, what: latest });
  if (named.length > 0) named.push({ command: '--all', what: plural(found.length, 'plan') });
  const width = Math.max(...named.map(({ command, what }) => (what ? command.length : 0)));
  return [
    ...named.map(({ command, what }) =>
      what ? `signalbox merge ${command.padEnd(width)}  # ${what}` : `signalbox merge ${command}`,
    ),
    ...(isLong && more > 0 ? [`and ${more} more: signalbox status --all`] : []),
  ];
}

function namedPlan(engine: EngineContext, planId: string): Plan {
  const plan = engine.store.plan(planId);
  if (plan.status !== 'archived') return plan;
  throw new IllegalMoveError('plan/status', `Plan "${planId}" is archived.`, {
    hint: `Tickets of an archived plan cannot be sent back. Merge its branches one by one with: signalbox integrate ${planId} <ticket>`,
  });
}

/** Older plans first. */
function livePlans(view: StoreView): Plan[] {
  const live = view.plans.filter(({ status }) => status !== 'archived' && status !== 'draft');
  return live.sort(
    (a, b) => (a.createdAt ?? '').localeCompare(b.createdAt ?? '') || a.id.localeCompare(b.id),
  );
}

async function here(engine: EngineContext, cwd: string): Promise<string> {
  try {
    return (await engine.workspaces.checkRepo(cwd)).commonDir;
  } catch (error) {
    if (error instanceof WorkspaceError && error.code === 'workspace/no-commit') throw error;
    throw new InputError('merge/nothing-named', `${cwd} is in no repository, and no plan is named.`, {
      hint: 'Name a plan, or go into the repository.',
      cause: error,
    });
  }
}

/** Branches of a plan that a complete ticket has worked on, in the plan's order. Several tickets may share one. */
async function readyIn(
  engine: EngineContext,
  plan: Plan,
  view: StoreView,
  only: string | null,
): Promise<Ready[]> {
  const byBranch = new Map<string, Ready>();
  for (const ticket of ticketsOf(view, {
    ...plan,
    tickets: plan.tickets.toSorted((a, b) => a.order - b.order),
  })) {
    // A ticket without a base never had a branch.
    if (!ticket.base) continue;
    const place = await placeOf(engine, ticket, plan, view).catch((error: unknown) => {
      // A ticket whose repository is unknown is not one of this repository.
      if (only !== null && error instanceof SignalboxError) return null;
      throw error;
    });
    if (!place || (only !== null && place.commonDir !== only)) continue;
    const { spec, commonDir } = place;
    if (ticket.status === 'complete' && !ticket.landed)
      await engine.handOver?.bringBranch(plan, { engine, ticket, workspace: spec });
    const key = `${commonDir}\n${spec.branch}`;
    const known = byBranch.get(key);
    if (known) known.tickets.push(ticket);
    else byBranch.set(key, { plan, tickets: [ticket], spec, commonDir });
  }
  const ready: Ready[] = [];
  for (const each of byBranch.values()) {
    const { tickets, spec } = each;
    if (tickets.some((ticket) => isReadyToMerge(engine, ticket)) && !(await isInBase(engine, spec, tickets)))
      ready.push(each);
  }
  return ready;
}

/** Whether nothing is left to merge: the base has the branch's commits, or the branch is gone. */
async function isInBase(
  engine: EngineContext,
  spec: WorkspaceSpec,
  tickets: readonly Ticket[],
): Promise<boolean> {
  const commit = await engine.workspaces.tip(spec);
  return (
    commit === undefined ||
    (await findLanded(engine, { ...spec, tickets, commit }, ['record', 'history'])) !== null
  );
}

/** Branches whose work reached the base by other commits, such as a squash. */
async function alreadyIn(
  engine: EngineContext,
  spec: WorkspaceSpec,
  tickets: readonly Ticket[],
): Promise<Landed | null> {
  const commit = await engine.workspaces.tip(spec);
  if (commit === undefined || tickets.some(({ status }) => status !== 'complete')) return null;
  // A train that merges pull requests queries each of them later.
  const asks = engine.settings.merge.pr ? [] : (['pull-request'] as const);
  return findLanded(engine, { ...spec, tickets, commit }, ['changes', ...asks]);
}

async function placeOf(engine: EngineContext, ticket: Ticket, plan: Plan, view: StoreView) {
  const spec = workspaceFor(ticket, plan, engine.settings, view);
  const { commonDir } = await engine.workspaces.checkRepo(spec.repo);
  return { spec, commonDir };
}

/** An issue that was run again has the same branch in two plans: the later plan counts. */
function newest(found: readonly Ready[]): Ready[] {
  const latest = new Map(found.map((ready) => [`${ready.commonDir}\n${ready.spec.branch}`, ready]));
  return found.filter((ready) => latest.get(`${ready.commonDir}\n${ready.spec.branch}`) === ready);
}

/** Why a branch with finished work cannot be merged yet. */
function whyNotReady(
  engine: EngineContext,
  { plan, tickets, spec }: Ready,
  view: StoreView,
): string | undefined {
  const open = tickets.find((ticket) => !isReadyToMerge(engine, ticket));
  if (open) return `${open.ticketId} works on the same branch and ${saysStatus(open)}`;
  const held = tickets.find(
    ({ status, claim }) => status === 'complete' && claim && engine.holder.isLive(claim),
  );
  if (held) return 'an engine still has it';
  const other = [...view.tickets.values()].find(
    (ticket) =>
      ticket.planId !== plan.id &&
      ticket.base &&
      ticket.branch === spec.branch &&
      !isOver(ticket) &&
      !isSuperseded(ticket),
  );
  return other ? `${refKey(other)} works on the same branch and ${saysStatus(other)}` : undefined;
}

function carOf({ spec, tickets, plan }: Ready, ref: TicketRef, view: StoreView): TrainCar {
  const blockers = tickets.flatMap((ticket) => entryOf(plan, ticket)?.blockedBy ?? []);
  const dependsOn = blockers.map((name) => refKey(parseRef(name, plan.id)));
  const title = ticketOf(view, ref)?.title ?? ref.ticketId;
  const waiting = tickets.some(({ status }) => status !== 'complete');
  return { key: spec.branch, dependsOn, ref, title, spec, waiting };
}

/** Puts the cars in order, and leaves out those that need work which is neither in the base nor in the train. */
async function orderCars(
  engine: EngineContext,
  load: Trainload,
  view: StoreView,
  branches: ReadonlyMap<string, string>,
): Promise<void> {
  const inTrain = new Set(load.cars.map(({ key }) => key));
  const inBase = new Set(load.already.map(({ branch }) => branch));
  const missing = new Map<TrainCar, string>();
  load.cars = load.cars.map((car) => ({ ...car, dependsOn: [...car.dependsOn] }));
  for (const car of load.cars) {
    const keys: string[] = [];
    for (const blocker of car.dependsOn) {
      const branch = branches.get(blocker);
      if (branch === car.key || (branch !== undefined && inBase.has(branch))) continue;
      if (branch !== undefined && inTrain.has(branch)) keys.push(branch);
      else if (await isOpen(engine, blocker, car, view))
        missing.set(car, `waits for ${blocker}, whose work is not in ${load.base}`);
    }
    Object.assign(car, { dependsOn: keys });
  }
  const without = dependentsOf(
    load.cars,
    [...missing.keys()].map(({ key }) => key),
  );
  for (const car of without) if (!missing.has(car)) missing.set(car, `waits for ${car.dependsOn.join(', ')}`);
  for (const [car, reason] of missing) load.left.push(leaveOut(car, reason));
  load.cars = orderByDependencies(load.cars.filter((car) => !missing.has(car))).order;
}

/** Whether a prerequisite in the same repository has work that its base lacks. */
async function isOpen(engine: EngineContext, key: string, car: TrainCar, view: StoreView): Promise<boolean> {
  const ticket = ticketOf(view, parseRef(key, ''));
  const plan = planOf(view, ticket?.planId);
  if (!ticket?.base || !plan) return false;
  const spec = workspaceFor(ticket, plan, engine.settings, view);
  if (spec.repo !== car.spec.repo || (await isInBase(engine, spec, [ticket]))) return false;
  return (await alreadyIn(engine, spec, [ticket])) === null;
}

/** Complete; where pull requests are merged, also waiting for nothing but that merge. */
export function isReadyToMerge(engine: EngineContext, ticket: Ticket): boolean {
  return ticket.status === 'complete' || (engine.settings.merge.pr && awaitsMerge(engine, ticket));
}

/** Whether a ticket waits for nothing but the merge of its pull request. */
export function awaitsMerge(engine: EngineContext, ticket: Ticket): boolean {
  if (ticket.status !== 'running' && ticket.status !== 'ready' && !stoppedWithRun(engine, ticket))
    return false;
  const workflow = knownPinned(engine, ticket)?.workflow;
  const phase = workflow?.phases.find(({ id }) => id === ticket.currentPhase);
  if (phase?.type !== 'poll') return false;
  if (phase.action === 'pull-request-poll') return phase.with?.for === 'merge';
  return phase.command === scriptInstead('pull-request-poll') && phase.args[0] === 'merge';
}

/** Whether a ticket was stopped with its run while it polled a pull request: its work is ready. One that was paused alone is not. */
function stoppedWithRun(engine: EngineContext, { planId, status, hold }: Ticket): boolean {
  return status === 'paused' && hold?.reason === stoppedTogether(engine.store.plan(planId));
}

/** What decides the position of a branch in a train. */
export type Car = Pick<TrainCar, 'key' | 'dependsOn'>;

/** Cars that need one of these, directly or through others. */
export function dependentsOf<T extends Car>(cars: readonly T[], keys: Iterable<string>): T[] {
  const needed = new Set(keys);
  const found = new Set<T>();
  for (let grown = true; grown; ) {
    grown = false;
    for (const car of cars) {
      if (found.has(car) || !car.dependsOn.some((key) => needed.has(key))) continue;
      found.add(car);
      needed.add(car.key);
      grown = true;
    }
  }
  return cars.filter((car) => found.has(car));
}
