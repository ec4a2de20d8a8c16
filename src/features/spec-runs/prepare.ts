import { realpathSync } from 'node:fs';
import { isAtWork } from '../../engine/checkout.ts';
import type { EngineContext } from '../../engine/context.ts';
import { readSpec, type Spec } from '../../kiro/read-spec.ts';
import type { SpecProblem } from '../../kiro/task.ts';
import { type Unit, type UnitOptions, unitsOf } from '../../kiro/units.ts';
import { InputError } from '../../model/errors.ts';
import { ticketsOf } from '../../model/plans/view.ts';
import type { Ticket } from '../../model/ticket.ts';
import { canAskForOthers, specialiseSpec } from '../../model/workflow-variants.ts';
import { pinWorkflow } from '../../workflows/pin.ts';
import { resolveWorkflow } from '../../workflows/resolve.ts';
import { groupsOf, knownOwners, statedOwners } from './assignments.ts';
import { emptyCheckpoints } from './checkpoints.ts';
import { refuseLocked } from './lock.ts';
import {
  branchFor,
  checkBase,
  freePlanId,
  freeTree,
  refuseBranchAbove,
  repositoryOf,
  type SpecLocation,
} from './places.ts';
import { planSpec, type SpecPlan } from './plan.ts';
import { keptOf, tasksAsKnown, withTasks } from './previous-run.ts';
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
import type { SpecRunRequest } from './request.ts';
import type { Together } from './ticket.ts';
import { besideSpec, openParents, ownersOf, unitHash } from './unit.ts';

export interface PreparedSpec {
  spec: Spec;
  units: Unit[];
  problems: SpecProblem[];
  /** What the person should know, one sentence each. */
  notes: string[];
  prepared: SpecPlan;
  workflow: Pinned;
  /** The same for units whose agent assigns others as well. */
  variants: Pinned[];
  /** The plan of an earlier run that this one replaces. */
  replaced: string | null;
  isNew: boolean;
}

interface Pinned {
  hash: string;
  text: string;
}

const WORKFLOW = 'spec-task';

/** Finds out everything that can be known before anything is changed, and refuses what cannot be run. */
export async function prepareSpecRun(parts: EngineContext, request: SpecRunRequest): Promise<PreparedSpec> {
  const original = await readSpec(request.dir);
  const place = await placeOfRun(parts, request, original);
  const { before, root, branch, seen } = place;
  const kept = keptOf(original, place, parts.now());
  refuseErrors(original.problems);
  const { spec, units, problems, remarks } = await selectUnits(parts, request, {
    original,
    root,
    text: tasksAsKnown({ original, kept, before, inPlace: request.inPlace }),
  });
  if (before) refuseMoved(before, request.inPlace);
  const stated = statedOwners(besideSpec(kept), original.name, units, ownersOf(parts.settings));
  const hashes = new Map(units.map((unit) => [unit.id, unitHash(unit)]));
  const assignments = knownOwners(seen, hashes, stated.assignments);
  const workflows = await pinWorkflows(parts, request, {
    units,
    hashes,
    isDecided: (id) => assignments.has(id),
  });
  const tree = request.inPlace ? { worktree: root, notes: [] } : await freeTree(parts, place);
  const prepared = planSpec({
    ...workflows,
    planId: place.planId,
    before,
    spec,
    units,
    kept: { ...kept, unselected: countUnselected(spec, request.units, units), parents: openParents(spec) },
    repo: root,
    branch,
    worktree: tree.worktree,
    inPlace: request.inPlace,
    agent: request.backend,
    base: request.base,
    workflow: WORKFLOW,
    stopOnFailure: request.stopOnFailure,
    delaySeconds: request.delaySeconds,
    maxIterations: request.maxIterations,
    assignments,
    isAtWork: (ticket) => isAtWork(parts, ticket),
    now: parts.now(),
  });
  await refusePlace(parts, request, place, prepared);
  return {
    spec,
    units,
    problems,
    notes: [...stated.notes, ...remarks.map(noteOf), ...tree.notes],
    prepared,
    workflow: workflows.pinned,
    variants: workflows.variants,
    replaced: request.fresh ? place.found : null,
    isNew: !before,
  };
}

interface RunPlace extends SpecLocation {
  /** The id of the plan that an earlier run of this spec has. */
  found: string | null;
  /** Its tickets. */
  seen: readonly Ticket[];
}

/** Where the spec is worked on: repository, plan, branch. Refuses a spec that another run has. */
async function placeOfRun(parts: EngineContext, request: SpecRunRequest, original: Spec): Promise<RunPlace> {
  const { name } = original;
  const { inPlace } = request;
  const dir = realpathSync.native(original.dir);
  const root = await repositoryOf(parts, request, dir);
  checkAgents(parts, request);
  const view = parts.store.view();
  const found = view.plans.find(
    (plan) => plan.spec?.dir === dir && plan.repo === root && plan.status !== 'archived',
  );
  const seen = found ? ticketsOf(view, found) : [];
  if (found) {
    refuseHeld(parts, found);
    refuseDaemon(parts, found, seen);
  }
  const before = found && !request.fresh ? { plan: found, tickets: seen } : null;
  const planId = before?.plan.id ?? freePlanId(parts, name);
  const branch = await branchFor(parts, { root, before, name, inPlace });
  await refuseLocked(parts, planId, { name, dir, repo: root, tree: inPlace ? root : branch });
  return { dir, root, planId, before, branch, found: found?.id ?? null, seen };
}

/** The units that this run is about, from the tasks as they are known. Refuses a spec with errors. */
async function selectUnits(
  parts: EngineContext,
  request: SpecRunRequest,
  { original, text, root }: { original: Spec; text: string; root: string },
) {
  const spec: Spec = text === original.text ? original : { ...original, ...withTasks(original, text) };
  const { units, problems: more } = unitsOf(spec, request.units);
  const { checks: configured } = parts.settings;
  const empty = await emptyCheckpoints(units, { configured, root, file: spec.files.tasks });
  const problems = [...spec.problems, ...more, ...empty];
  refuseErrors(problems);
  const remarks = [...more.filter(({ code }) => code === 'spec/not-selected'), ...empty];
  return { spec, units, problems, remarks };
}

/** The workflow of the units, and with `--assign all` one for each unit whose agent assigns a group of others. */
async function pinWorkflows(
  parts: EngineContext,
  { maxAttempts, assignBackend, assignAll }: SpecRunRequest,
  about: { units: readonly Unit[]; hashes: ReadonlyMap<string, string>; isDecided(id: string): boolean },
): Promise<{
  pinned: Pinned;
  workflowHash: string;
  variants: Pinned[];
  together: ReadonlyMap<string, Together>;
}> {
  const { workflow, prompts, scripts } = await resolveWorkflow(WORKFLOW, parts.settings.searchPath);
  const owners = ownersOf(parts.settings);
  const pinFor = (together: readonly string[]) => {
    const wishes = { owners, maxAttempts, together, assignAgent: assignBackend };
    return pinWorkflow({ workflow: specialiseSpec(workflow, wishes), prompts, scripts });
  };
  if (assignAll && !canAskForOthers(workflow))
    throw new InputError('spec/assign', `Your workflow ${WORKFLOW} cannot assign several units at once.`, {
      hint: 'Its phase assign needs "others" in its output and its capture, as the one that is shipped has.',
    });
  const pinned = pinFor([]);
  const groups = assignAll ? groupsOf(about.units, ({ id }) => about.isDecided(id)) : new Map();
  const variants: Pinned[] = [];
  const together = new Map<string, Together>();
  for (const [id, ids] of groups as Map<string, readonly string[]>) {
    const variant = pinFor(ids);
    variants.push(variant);
    const asked = Object.fromEntries(ids.map((each) => [each, about.hashes.get(each) ?? '']));
    together.set(id, { ids, asked, workflowHash: variant.hash });
  }
  return { pinned, workflowHash: pinned.hash, variants, together };
}

/** Refuses a checkout or branch in which the units cannot work. */
async function refusePlace(
  parts: EngineContext,
  request: SpecRunRequest,
  { before, root, branch }: RunPlace,
  prepared: SpecPlan,
): Promise<void> {
  if (request.inPlace) await refuseDirty(parts, prepared.plan, before?.tickets ?? []);
  else {
    await refuseStanding(parts, prepared, branch);
    await refuseBranchAbove(parts, root, branch);
    await checkBase(parts, root, request.base);
  }
  if (before && prepared.plan.status !== 'complete') await refuseLost(parts, before.plan, before.tickets);
}

/** A problem in one line. */
export function noteOf({ file, line, message }: SpecProblem): string {
  return `${file}:${line}: ${message.replace(/\.$/, '')}.`;
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
