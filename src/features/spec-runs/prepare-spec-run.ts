import { realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { EngineContext } from '../../engine/context.ts';
import { refuseInsideJob } from '../../engine/control-tickets-and-plans.ts';
import { hasUnreadJob } from '../../engine/jobs-of-ticket.ts';
import { sharedName } from '../../engine/work-out-workspace-and-repository.ts';
import { type Unit, type UnitOptions, unitsOf } from '../../kiro/group-tasks-into-units.ts';
import { readSpec, type Spec, withTasks } from '../../kiro/read-spec.ts';
import type { SpecProblem } from '../../kiro/task-and-problem-types.ts';
import { type TaskIdentity, takeBack, tickedIn, withTicks } from '../../kiro/tick-and-merge-tasks.ts';
import { canAskForOthers, specialiseSpec } from '../../model/apply-changes-of-run-to-workflow.ts';
import { InputError } from '../../model/errors.ts';
import type { Plan, PlanSpec } from '../../model/plan.ts';
import { plural } from '../../model/text/clean-escape-quote-plural.ts';
import type { Ticket } from '../../model/ticket.ts';
import { resolveWorkflow } from '../../workflows/find-and-check-workflow.ts';
import { pinWorkflow } from '../../workflows/pin-workflow-and-render-prompts.ts';
import {
  groupsOf,
  knownOwners,
  ownersInStateFile,
  ownersOf,
  unknownOwner,
} from './assign-agents-to-units.ts';
import { placeInTree } from './bring-spec-into-worktree.ts';
import { emptyCheckpoints } from './checkpoints-without-checks.ts';
import {
  branchFor,
  checkBase,
  freePlanId,
  freeTree,
  plansOfSpecs,
  refuseBranchAbove,
  repositoryOf,
  type SpecLocation,
  ticksOnBranch,
} from './choose-repository-branch-and-worktree.ts';
import { openParents, planSpec, SPEC_WORKFLOW, type SpecPlan, type Together, unitHash } from './plan-spec.ts';
import {
  checkAgents,
  refuseCheckedOut,
  refuseDaemon,
  refuseDirty,
  refuseErrors,
  refuseHeld,
  refuseLost,
  refuseMoved,
  refuseOnFleet,
} from './refuse-spec-run.ts';
import { engineTicks, type SpecRunRequest } from './run-request-ticks-and-halt.ts';
import { refuseLocked } from './spec-lock.ts';
import { stateFilesDir } from './write-state-and-progress-files.ts';

export interface PreparedSpec {
  spec: Spec;
  units: Unit[];
  problems: SpecProblem[];
  /** What the person should know, one sentence each. */
  notes: string[];
  prepared: SpecPlan;
  workflowHash: string;
  /** The workflow, and its variants for units whose agent assigns others as well. */
  pinned: { hash: string; text: string }[];
  /** The plan of an earlier run that this one replaces. */
  replaced: string | null;
  isNew: boolean;
}

/** Plans a run without changing anything, and refuses what cannot be run. */
export async function prepareSpecRun(engine: EngineContext, request: SpecRunRequest): Promise<PreparedSpec> {
  const original = await readSpec(request.dir);
  const { inPlace } = request;
  const { found: replaced, seen, ...place } = await placeOfRun(engine, request, original);
  const { before, root, branch } = place;
  const kept = keptOf(original, place, engine.now());
  refuseErrors(original.problems);
  const isLost = !before && !inPlace && !request.fresh;
  const ticked = isLost ? await ticksOnBranch(engine.workspaces, { ...place, spec: original }) : [];
  const spec = withTasks(original, tasksAsKnown(original, kept, { before, ticked, inPlace }));
  const { units, problems: more } = unitsOf(spec, request.units);
  const empty = await emptyCheckpoints(spec, units, root, async () => engine.settings.checks);
  const problems = [...spec.problems, ...more, ...empty];
  refuseErrors(problems);
  if (before) refuseMoved(before, inPlace);
  const hashes = new Map(units.map((unit) => [unit.id, unitHash(unit)]));
  const beside = stateFilesDir(kept);
  const stated = ownersInStateFile(beside, original.name);
  const owners = ownersOf(engine.settings);
  const strangers = [...stated.assignments].flatMap(([id, said]) =>
    hashes.has(id) ? unknownOwner(beside, id, said, owners) : [],
  );
  const assignments = knownOwners(seen, hashes, stated.assignments);
  const undecided = units.filter(({ id }) => !assignments.has(id));
  const workflows = await pinWorkflows(engine, request, undecided, hashes);
  const isFleet = engine.store.fleet !== undefined;
  const given = { worktree: inPlace ? root : null, notes: [] };
  const tree = inPlace || isFleet ? given : await freeTree(engine, place);
  const prepared = planSpec({
    ...place,
    ...workflows,
    request,
    spec,
    units,
    kept: { ...kept, unselected: countUnselected(spec, request.units, units), parents: openParents(spec) },
    worktree: tree.worktree,
    ticked,
    assignments,
    isAtWork: (ticket) => hasUnreadJob(engine, ticket),
    now: engine.now(),
  });
  if (isFleet) await refuseOnFleet(engine, request, prepared);
  if (inPlace) await refuseDirty(engine, prepared.plan, before?.tickets ?? []);
  else {
    await refuseCheckedOut(engine, prepared, branch);
    await refuseBranchAbove(engine, root, branch);
    await checkBase(engine, root, request.base);
  }
  if (before && prepared.plan.status !== 'complete' && !isFleet)
    await refuseLost(engine, before.plan, before.tickets);
  const found = plural(ticked.length, 'ticked task');
  const lost =
    ticked.length > 0 ? [`${branch} has ${found} of a run whose state is gone: it is not done again.`] : [];
  return {
    spec,
    units,
    problems,
    notes: [...stated.notes, ...strangers, ...warnings(problems, original.dir), ...tree.notes, ...lost],
    prepared,
    workflowHash: workflows.workflowHash,
    pinned: workflows.pinned,
    replaced: request.fresh ? replaced : null,
    isNew: !before,
  };
}

const MAX_WARNINGS = 20;

/** The warnings of `spec check`. */
function warnings(problems: readonly SpecProblem[], dir: string): string[] {
  const all = problems.filter(({ severity }) => severity === 'warning').map(noteOf);
  const more = all.length - MAX_WARNINGS;
  if (more <= 0) return all;
  return [
    ...all.slice(0, MAX_WARNINGS),
    `… and ${plural(more, 'more warning')}: signalbox spec check ${dir}`,
  ];
}

/** A problem in one line. */
export function noteOf({ file, line, message }: SpecProblem): string {
  return `${file}:${line}: ${message.replace(/\.$/, '')}.`;
}

/**
 * Where the spec is worked on: repository, plan, branch. Refuses a spec that another run has. `found` is the id of the plan that an
 * earlier run of this spec has, with its tickets.
 */
async function placeOfRun(engine: EngineContext, request: SpecRunRequest, original: Spec) {
  const { name } = original;
  const { inPlace, fresh } = request;
  const dir = realpathSync.native(original.dir);
  const root = await repositoryOf(engine, request, dir);
  checkAgents(engine, request);
  const shared = engine.store.fleet && (await sharedName(engine, root));
  const inTree = placeInTree(dir, root);
  const isSame = ({ spec, repo, repositories }: Plan) =>
    (spec?.dir === dir && repo === root) ||
    (shared !== undefined && repositories?.[repo ?? ''] === shared && spec?.inTree === inTree);
  const found = plansOfSpecs(engine).find((plan) => isSame(plan) && plan.status !== 'archived');
  const seen = found ? engine.store.tickets(found) : [];
  if (found) {
    refuseHeld(engine, found);
    refuseDaemon(engine, found, seen);
    const isDone = found.status === 'complete' && !fresh;
    if (!isDone) refuseInsideJob(engine, `continue or replace ${found.id}: a person decides about it`);
  }
  const before = found && !fresh ? { plan: found, tickets: seen } : null;
  const planId = before?.plan.id ?? (await freePlanId(engine, name));
  const branch = await branchFor(engine, { dir, root, before, spec: original, inPlace, fresh });
  await refuseLocked(engine, planId, { name, dir, repo: root, tree: inPlace ? root : branch });
  return { dir, root, planId, before, branch, found: found?.id ?? null, seen };
}

/** What the plan stores of the spec, with what earlier runs stored. */
function keptOf(spec: Spec, { dir, root, before }: SpecLocation, now: string): PlanSpec {
  const first = { tracked: false, text: '', base: null, startedAt: now };
  const { pending: _, ...earlier } = before?.plan.spec ?? {};
  const linked = join(realpathSync.native(dirname(spec.dir)), basename(spec.dir));
  const others = [spec.files.requirements, spec.files.design].flatMap((file) =>
    file ? [basename(file)] : [],
  );
  return {
    ...first,
    ...earlier,
    ...(linked === dir ? {} : { beside: dirname(linked) }),
    name: spec.name,
    dir,
    inTree: placeInTree(dir, root),
    files: { tasks: basename(spec.files.tasks), others },
  };
}

/**
 * The user's tasks.md with the ticks of tasks that the engine knows to be done; ticks of an agent on the branch do not count.
 * In a checkout there is one copy: there, ticks from before the unit whose work is in it count.
 */
function tasksAsKnown(
  { text }: Spec,
  kept: PlanSpec,
  { before, ticked, inPlace }: Pick<SpecLocation, 'before'> & { ticked: TaskIdentity[]; inPlace: boolean },
): string {
  if (!before) return withTicks(text, { engine: ticked });
  const engine = engineTicks(before.plan, before.tickets);
  if (!inPlace) return withTicks(text, { engine });
  const isOpen = before.tickets.some(
    (ticket) =>
      ticket.phaseHistory.length > 0 &&
      ticket.status !== 'complete' &&
      ticket.base !== null &&
      !isUntickable(ticket),
  );
  if (!isOpen || kept.text === '') return text;
  return takeBack(text, { engine: [...tickedIn(kept.text), ...engine] });
}

/** Whether its work is done and a person has to tick its boxes. */
function isUntickable({ status, currentPhase }: Ticket): boolean {
  return currentPhase === 'attention' || (status === 'failed' && currentPhase === 'tick');
}

const TWO_HOURS = 7200;

/** Pins the workflow of the units; with `--assign all` also a variant for each unit whose agent assigns a group of others. */
async function pinWorkflows(
  { settings }: EngineContext,
  { maxAttempts, timeoutSeconds, assignBackend, assignAll }: SpecRunRequest,
  undecided: readonly Unit[],
  hashes: ReadonlyMap<string, string>,
) {
  const { workflow, prompts, scripts } = await resolveWorkflow(SPEC_WORKFLOW, settings.searchPath);
  const isSet = settings.origin['timeouts.agentSeconds'] !== 'default';
  const usualSeconds = isSet ? settings.timeouts.agentSeconds : TWO_HOURS;
  const pinFor = (together: readonly string[]) => {
    const limits = { maxAttempts, timeoutSeconds, usualSeconds };
    const wishes = { ...limits, owners: ownersOf(settings), together, assignAgent: assignBackend };
    return pinWorkflow({ workflow: specialiseSpec(workflow, wishes), prompts, scripts });
  };
  if (assignAll && !canAskForOthers(workflow))
    throw new InputError(
      'spec/assign',
      `Your workflow ${SPEC_WORKFLOW} cannot assign several units at once.`,
      { hint: 'Its phase assign needs "others" in its output and its capture, as the bundled workflow has.' },
    );
  const main = pinFor([]);
  const pinned = [main];
  const together = new Map<string, Together>();
  for (const [first, ...others] of assignAll ? groupsOf(undecided) : []) {
    const variant = pinFor(others);
    pinned.push(variant);
    const asked = Object.fromEntries(others.map((id) => [id, hashes.get(id) ?? '']));
    together.set(first, { together: others, asked, workflowHash: variant.hash });
  }
  return { pinned, workflowHash: main.hash, together };
}

/** Open units that there would be without a selection. */
function countUnselected(
  spec: Spec,
  { unit, includeOptional }: UnitOptions,
  chosen: readonly Unit[],
): number {
  const all = unitsOf(spec, { ...(unit ? { unit } : {}), ...(includeOptional ? { includeOptional } : {}) });
  const tasks = new Set(chosen.flatMap(({ work }) => work.map(({ id }) => id)));
  return all.units.filter(({ open }) => open.some(({ id }) => !tasks.has(id))).length;
}
