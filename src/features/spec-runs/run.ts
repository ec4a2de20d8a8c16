import { existsSync, realpathSync } from 'node:fs';
import { isAtWork, keepUsersCommits } from '../../engine/checkout.ts';
import { type EngineContext, emit } from '../../engine/context.ts';
import { control } from '../../engine/control.ts';
import { keepUsage } from '../../engine/deleted-usage.ts';
import { letGo } from '../../engine/plan-transitions.ts';
import { putBack, takeOut } from '../../engine/shared-tree.ts';
import { workspaceFor } from '../../engine/ticket-defaults.ts';
import { readSpec, type Spec } from '../../kiro/read-spec.ts';
import type { SpecProblem } from '../../kiro/task.ts';
import { type Unit, type UnitOptions, unitsOf } from '../../kiro/units.ts';
import { stopJob } from '../../machine/jobs/stop.ts';
import { HeldError, InputError } from '../../model/errors.ts';
import type { Plan } from '../../model/plan.ts';
import { ticketsOf } from '../../model/plans/view.ts';
import { canAskForOthers, specialiseSpec } from '../../model/spec-variant.ts';
import { openAttempt, type Ticket } from '../../model/ticket.ts';
import { pinWorkflow } from '../../workflows/pin.ts';
import { resolveWorkflow } from '../../workflows/resolve.ts';
import { groupsOf } from './assign-groups.ts';
import { emptyCheckpoints } from './checkpoints.ts';
import { freeTree } from './free-tree.ts';
import { lockSpec, placeOf, refuseLocked, unlockSpec } from './lock.ts';
import { planSpec, type SpecPlan } from './plan.ts';
import { prepareTree } from './prepare-tree.ts';
import {
  assignmentsOf,
  branchFor,
  freePlanId,
  keptOf,
  knownOwners,
  tasksAsKnown,
  withTasks,
} from './previous-run.ts';
import {
  checkAgents,
  refuseDaemon,
  refuseDirty,
  refuseErrors,
  refuseHeld,
  refuseLost,
  refuseMoved,
  refuseStanding,
} from './refusals.ts';
import { checkBase, refuseBeside, repositoryOf } from './repository.ts';
import { besideSpec, ownersOf } from './unit.ts';
import { openParents, unitHash } from './unit-text.ts';

export interface SpecRunRequest {
  /** The spec directory, or its tasks.md. */
  dir: string;
  /** Where the repository is; null: where the spec is, else `cwd`. */
  workdir: string | null;
  cwd: string;
  units: UnitOptions;
  backend: string | null;
  assignBackend: string | null;
  base: string | null;
  delaySeconds: number;
  maxIterations: number;
  maxAttempts: number;
  stopOnFailure: boolean;
  inPlace: boolean;
  fresh: boolean;
  /** Let one agent decide about all units at once, instead of each when its turn comes. */
  assignAll: boolean;
}

export interface PreparedSpec {
  spec: Spec;
  units: Unit[];
  problems: SpecProblem[];
  /** What the person should know, one sentence each. */
  notes: string[];
  prepared: SpecPlan;
  workflow: { hash: string; text: string };
  /** The same for units that ask for others too. */
  variants: { hash: string; text: string }[];
  /** The plan of an earlier run that this one takes the place of. */
  replaced: string | null;
  isNew: boolean;
}

const WORKFLOW = 'spec-task';

/** Everything that can be found out before anything is changed. */
export async function prepareSpecRun(parts: EngineContext, request: SpecRunRequest): Promise<PreparedSpec> {
  const original = await readSpec(request.dir);
  const dir = realpathSync.native(original.dir);
  const root = await repositoryOf(parts, request, dir);
  checkAgents(parts, request);
  const view = parts.store.view();
  const found = view.plans.find(
    (plan) => plan.spec?.dir === dir && plan.repo === root && plan.status !== 'archived',
  );
  if (found) {
    refuseHeld(parts, found);
    refuseDaemon(parts, found, ticketsOf(view, found));
  }
  const before = found && !request.fresh ? { plan: found, tickets: ticketsOf(view, found) } : null;
  const planId = before?.plan.id ?? freePlanId(parts, original.name);
  const about = { request, root, planId, before, name: original.name };
  const branch = await branchFor(parts, about);
  const tree = request.inPlace ? root : branch;
  await refuseLocked(parts, planId, { name: original.name, dir, repo: root, tree });
  const kept = keptOf(original, dir, root, before?.plan, parts.now());
  refuseErrors(original.problems);
  const text = tasksAsKnown({ request, original, kept, before });
  const spec: Spec = text === original.text ? original : { ...original, ...withTasks(original, text) };
  const { units, problems: more } = unitsOf(spec, request.units);
  const { checks: configured } = parts.settings;
  const empty = await emptyCheckpoints(units, { configured, root, file: spec.files.tasks });
  const problems = [...spec.problems, ...more, ...empty];
  refuseErrors(problems);
  if (before) refuseMoved(before, request.inPlace);
  const { assignments, notes: said } = assignmentsOf(
    besideSpec(kept),
    original.name,
    units,
    ownersOf(parts.settings),
  );
  const unwaited = more.filter(({ code }) => code === 'spec/not-selected');
  const notes = [...said, ...[...unwaited, ...empty].map(noteOf)];
  const resolved = await resolveWorkflow(WORKFLOW, parts.settings.searchPath);
  const pinFor = (together: readonly string[]) => {
    const wishes = { owners: ownersOf(parts.settings), maxAttempts: request.maxAttempts, together };
    const workflow = specialiseSpec(resolved.workflow, { ...wishes, assignAgent: request.assignBackend });
    return pinWorkflow({ workflow, prompts: resolved.prompts, scripts: resolved.scripts });
  };
  const pinned = pinFor([]);
  if (request.assignAll && !canAskForOthers(resolved.workflow)) throw cannotAsk();
  const hashes = new Map(units.map((unit) => [unit.id, unitHash(unit)]));
  const seen = found ? ticketsOf(view, found) : [];
  const known = knownOwners(seen, hashes, assignments);
  const groups = request.assignAll ? groupsOf(units, ({ id }) => known.has(id)) : new Map();
  const asking = [...groups].map(([id, ids]) => ({ id, ids, pinned: pinFor(ids) }));
  const askedFor = (ids: readonly string[]) =>
    Object.fromEntries(ids.map((each) => [each, hashes.get(each) ?? '']));
  const { worktree, notes: placed } = request.inPlace
    ? { worktree: root, notes: [] }
    : await freeTree(parts, about, branch);
  notes.push(...placed);
  const prepared = planSpec({
    planId,
    before,
    spec,
    units,
    kept: {
      ...kept,
      unselected: countUnselected(spec, request.units, units),
      parents: openParents(spec),
    },
    repo: root,
    branch,
    worktree,
    inPlace: request.inPlace,
    agent: request.backend,
    base: request.base,
    workflow: WORKFLOW,
    workflowHash: pinned.hash,
    stopOnFailure: request.stopOnFailure,
    delaySeconds: request.delaySeconds,
    maxIterations: request.maxIterations,
    assignments: known,
    together: new Map(
      asking.map(({ id, ids, pinned: { hash } }) => [id, { ids, asked: askedFor(ids), workflowHash: hash }]),
    ),
    isAtWork: (ticket) => isAtWork(parts, ticket),
    now: parts.now(),
  });
  if (request.inPlace) await refuseDirty(parts, prepared.plan, before?.tickets ?? []);
  else {
    await refuseStanding(parts, prepared, branch);
    await refuseBeside(parts, root, branch);
    await checkBase(parts, root, request.base);
  }
  if (before && prepared.plan.status !== 'complete') await refuseLost(parts, before.plan, before.tickets);
  const replaced = found && request.fresh ? found.id : null;
  const variants = asking.map((each) => each.pinned);
  return { spec, units, problems, notes, prepared, workflow: pinned, variants, replaced, isNew: !before };
}

/** A problem in one line, as the run tells it. */
export function noteOf({ file, line, message }: SpecProblem): string {
  return `${file}:${line}: ${message.replace(/\.$/, '')}.`;
}

/** Open units that there would be if nothing had been said about which. */
function countUnselected(
  spec: Spec,
  { unit, includeOptional }: UnitOptions,
  chosen: readonly Unit[],
): number {
  const all = unitsOf(spec, { ...(unit ? { unit } : {}), ...(includeOptional ? { includeOptional } : {}) });
  const tasks = new Set(chosen.flatMap(({ work }) => work.map(({ id }) => id)));
  return all.units.filter(({ open }) => open.some(({ id }) => !tasks.has(id))).length;
}

function cannotAsk(): InputError {
  return new InputError('spec/assign', `Your workflow ${WORKFLOW} cannot assign several units at once.`, {
    hint: 'Its phase assign needs "others" in its output and its capture, as the one that is shipped has.',
  });
}

/** Writes the plan, which is ours from the beginning, and brings spec and tree together. */
export async function startSpecRun(
  parts: EngineContext,
  request: SpecRunRequest,
  run: PreparedSpec,
): Promise<string> {
  const { store, holder } = parts;
  const { plan, added, changed, dropped, aside } = run.prepared;
  if (request.inPlace) await refuseDirty(parts, plan, run.isNew ? [] : ticketsNow(parts, plan.id));
  const place = placeOf(plan, run.prepared.tickets[0]?.branch ?? null);
  if (place) await lockSpec(parts, plan.id, place, { first: run.isNew });
  for (const { hash, text } of [run.workflow, ...run.variants]) await store.pin(hash, text);
  if (run.replaced !== null) await archive(parts, run.replaced);
  const claim = holder.claim(parts.now());
  if (run.isNew) await create(parts, { ...plan, claim }, run.prepared.tickets);
  else {
    await store.updatePlan(plan.id, (latest) => {
      refuseHeld(parts, latest);
      return { ...latest, claim };
    });
    if (request.inPlace) await keepUsersCommits(parts, plan.id);
    for (const ticket of aside) await setAside(parts, plan, ticket);
    for (const ticket of added) await store.addTicket(ticket);
    for (const ticket of changed)
      await store.updateTicket(ticket, (latest) =>
        latest.claim && parts.holder.isLive(latest.claim)
          ? latest
          : { ...ticket, base: ticket.base && latest.base, rev: latest.rev },
      );
    await store.updatePlan(plan.id, (latest) => ({ ...plan, claim, rev: latest.rev }));
    await keepUsage(parts, [...dropped, ...aside]);
    for (const ticket of [...dropped, ...aside]) await store.removeTicket(ticket);
  }
  try {
    await setGoing(parts, plan.id, run.workflow.hash);
    await prepareTree(parts, plan.id);
    emit(parts, { type: 'plan:status', planId: plan.id, status: plan.status });
  } catch (error) {
    await letGo(parts, plan.id);
    throw error;
  }
  return plan.id;
}

/** Takes the work of a ticket that this run does not include out of the worktree. */
async function setAside(parts: EngineContext, plan: Plan, ticket: Ticket): Promise<void> {
  const latest = parts.store.ticket(ticket);
  const open = openAttempt(latest);
  if (open) await stopJob(parts.machine.job(latest, open), 'stopped');
  const workspace = workspaceFor(latest, plan, parts.settings, parts.store.view());
  if (latest.base === null || latest.worktree !== workspace.path || !existsSync(workspace.path)) return;
  await putBack(parts, latest, workspace);
  await takeOut(parts, latest, workspace);
}

/** Another run may have begun with the spec since it was looked at. */
async function create(parts: EngineContext, plan: Plan, tickets: readonly Ticket[]): Promise<void> {
  if (parts.store.hasPlan(plan.id)) {
    unlockSpec(parts, plan.id);
    refuseHeld(parts, parts.store.plan(plan.id));
    throw new HeldError('plan/held', `Another run of spec "${plan.name}" has just been.`, {
      hint: 'Run the spec again, and it goes on where that one was.',
    });
  }
  await parts.store.create(plan, tickets);
}

/** What failed or was stopped goes on with this run; what waits for an answer goes on waiting. */
export async function setGoing(
  parts: EngineContext,
  planId: string,
  workflowHash: string | null,
): Promise<void> {
  const plan = parts.store.plan(planId);
  for (const ticket of ticketsOf(parts.store.view(), plan)) {
    const asks = ticket.status === 'needs_attention' && ticket.hold?.kind === 'gate';
    const ref = { planId, ticketId: ticket.ticketId };
    if (ticket.status === 'paused') await control(parts, ref, { type: 'resume' }, 'the run');
    else if (ticket.status === 'failed' || (ticket.status === 'needs_attention' && !asks)) {
      if (workflowHash) await parts.store.updateTicket(ref, (latest) => ({ ...latest, workflowHash }));
      await control(parts, ref, { type: 'retry' }, 'the run');
    }
  }
}

async function archive(parts: EngineContext, planId: string): Promise<void> {
  await parts.store.updatePlan(planId, (latest) => {
    refuseHeld(parts, latest);
    return { ...latest, status: 'archived', claim: null };
  });
  emit(parts, { type: 'plan:status', planId, status: 'archived' });
}

function ticketsNow({ store }: EngineContext, planId: string): Ticket[] {
  return ticketsOf(store.view(), store.plan(planId));
}
