import { createHash } from 'node:crypto';
import { existsSync, realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { EngineContext } from '../../engine/context.ts';
import { worktreeRootOf } from '../../engine/ticket-defaults.ts';
import { parseTasks } from '../../kiro/parse-tasks.ts';
import type { Spec } from '../../kiro/read-spec.ts';
import { type Assignment, readAssignments, readStateText } from '../../kiro/state-files.ts';
import { takeBack, tickedIn, withTicks } from '../../kiro/tick.ts';
import type { Unit } from '../../kiro/units.ts';
import { InputError } from '../../model/errors.ts';
import { branchProblem, idProblem, slug } from '../../model/ids.ts';
import type { Plan, PlanSpec } from '../../model/plan.ts';
import { ticketOf } from '../../model/plans/view.ts';
import { didYouMean } from '../../model/text/near.ts';
import type { Ticket } from '../../model/ticket.ts';
import { decidedWith } from './assign-groups.ts';
import type { SpecRunRequest } from './run.ts';
import { assignmentOf } from './state.ts';
import { placeInTree, STATE_FILE } from './tree.ts';
import { engineTicks } from './unit.ts';

export function freePlanId(parts: EngineContext, name: string): string {
  for (let number = 1; ; number += 1) {
    const id = `spec-${plainName(name)}${behind(number)}`;
    if (!parts.store.exists({ planId: id, ticketId: null })) return id;
  }
}

function plainName(name: string): string {
  return idProblem(name) === undefined ? name : readable(name);
}

const behind = (number: number) => (number === 1 ? '' : `-${number}`);

/** A name of which nothing is left in Latin letters gets a few digits of its own. */
function readable(name: string): string {
  const plain = slug(name, 60);
  return plain === slug('') ? createHash('sha256').update(name).digest('hex').slice(0, 8) : plain;
}

export interface BranchInput {
  request: SpecRunRequest;
  root: string;
  planId: string;
  before: { plan: Plan; tickets: readonly Ticket[] } | null;
  name: string;
}

export async function branchFor(parts: EngineContext, input: BranchInput): Promise<string> {
  const known = input.before?.tickets[0]?.branch;
  if (known && (input.before?.plan.workspace === 'checkout') === input.request.inPlace) return known;
  if (input.request.inPlace) {
    const { branch } = await parts.workspaces.head(input.root);
    if (branch !== undefined) return branch;
    throw new InputError('spec/detached', `The checkout ${input.root} is on no branch.`, {
      hint: `Switch to one: git -C ${input.root} switch -c spec/${slug(input.name)}`,
    });
  }
  return freeBranch(parts, input);
}

/** Plans are numbered for the whole state directory, branches among the plans of one repository. */
function freeBranch(parts: EngineContext, { root, name }: BranchInput): string {
  const plain = `spec/${plainName(name)}`;
  const first = branchProblem(plain) === undefined ? plain : `spec/${slug(name)}`;
  const view = parts.store.view();
  const taken = new Set(
    view.plans.flatMap(({ id, repo, tickets: [one] }) =>
      one && repo === root ? [ticketOf(view, { planId: id, ticketId: one.ticketId })?.branch] : [],
    ),
  );
  for (let number = 1; ; number += 1) {
    const branch = `${first}${behind(number)}`;
    if (!taken.has(branch)) return branch;
  }
}

/** Trees of several repositories may lie in one place: one whose branch is not called as its plan is named after the plan. */
export function treeOf(
  parts: EngineContext,
  { root, planId, before }: BranchInput,
  branch: string,
): string | null {
  const name = `spec/${planId.slice('spec-'.length)}`;
  if (branch === name || branchProblem(name) !== undefined) return null;
  const worktreeRoot = before?.plan.worktreeRoot ?? null;
  return join(worktreeRootOf({ worktreeRoot }, parts.settings, root), name);
}

export function keptOf(spec: Spec, dir: string, root: string, plan: Plan | undefined, now: string): PlanSpec {
  const before = plan?.spec;
  const linked = join(realpathSync.native(dirname(spec.dir)), basename(spec.dir));
  const beside = linked === dir ? before?.beside : dirname(linked);
  const others = [spec.files.requirements, spec.files.design].flatMap((file) =>
    file ? [basename(file)] : [],
  );
  return {
    name: spec.name,
    dir,
    ...(beside ? { beside } : {}),
    inTree: placeInTree(dir, root),
    tracked: before?.tracked ?? false,
    files: { tasks: basename(spec.files.tasks), others },
    text: before?.text ?? '',
    base: before?.base ?? null,
    startedAt: before?.startedAt ?? now,
    ...(before?.list ? { list: before.list } : {}),
    ...(before?.brought ? { brought: before.brought } : {}),
    ...(before?.aside ? { aside: before.aside } : {}),
    ...(before?.gone ? { gone: before.gone } : {}),
  };
}

/**
 * The user's own tasks.md with what the engine knows to be done; what an agent ticked on the branch counts for nothing.
 * In a checkout, where both have one copy, ticks count that were there before the unit whose work lies in it.
 */
export function tasksAsKnown({
  original,
  kept,
  before,
  request,
}: { original: Spec; kept: PlanSpec } & Pick<BranchInput, 'request' | 'before'>): string {
  if (!before) return original.text;
  const engine = engineTicks(before.plan, before.tickets);
  if (!request.inPlace) return withTicks(original.text, { engine });
  const isOpen = before.tickets.some(
    (ticket) =>
      ticket.phaseHistory.length > 0 &&
      ticket.status !== 'complete' &&
      ticket.base !== null &&
      !isUntickable(ticket),
  );
  if (!isOpen || kept.text === '') return original.text;
  return takeBack(original.text, { engine: [...tickedIn(kept.text), ...engine] }).text;
}

/** Its work is done and its boxes could not be ticked: that is left to a person. */
function isUntickable({ status, currentPhase }: Ticket): boolean {
  return currentPhase === 'attention' || (status === 'failed' && currentPhase === 'tick');
}

export function withTasks(spec: Spec, text: string) {
  const parsed = parseTasks(text, { file: spec.files.tasks });
  const others = spec.problems.filter(({ file }) => file !== spec.files.tasks);
  return { ...parsed, text, problems: [...parsed.problems, ...others] };
}

/**
 * Whose units are, as far as that is decided: by the state file, else by an agent in an earlier run. What an agent said
 * counts for the unit that it was asked about, and not for another text under the same id; a fallback is nobody's word.
 */
export function knownOwners(
  before: readonly Ticket[],
  units: ReadonlyMap<string, string>,
  stated: ReadonlyMap<string, Assignment>,
): Map<string, Assignment> {
  const decided = before.flatMap((ticket) => {
    const own = assignmentOf(ticket);
    const id = ticket.unit?.id;
    return [...decidedWith(ticket), ...(own && id ? [[id, own] as const] : [])];
  });
  const known = new Map(decided);
  for (const [id, said] of stated) {
    const before = known.get(id);
    // Whoever changes a line in the file need not say that it was them.
    if (!before || said.by === 'person') known.set(id, said);
    else if (!isSame(before, said)) known.set(id, { ...said, by: 'person' });
  }
  return new Map([...known].filter(([id, said]) => stillFits(said, units.get(id))));
}

function stillFits({ by, of }: Assignment, hash: string | undefined): boolean {
  return hash !== undefined && (by === 'person' || (by === 'agent' && of === hash));
}

function isSame(one: Assignment, other: Assignment): boolean {
  const key = ({ type, owner_agent, criticality }: Assignment) => [type, owner_agent, criticality].join('\0');
  return key(one) === key(other);
}

/** An owner that the settings do not have gets no agent of its own; that may be a slip of the pen. */
export function strangerIn(
  file: string,
  id: string,
  { owner_agent: owner }: Assignment,
  owners: readonly string[],
): string[] {
  if (owners.includes(owner)) return [];
  const who = `${JSON.stringify(owner)}, which is none of the owners (${owners.join(', ')})`;
  return [`${file}: ${id} is given to ${who}: the default agent does it.${didYouMean(owner, owners)}`];
}

/** What the state file says of owners; a file that cannot be read is told, and written anew when the run begins. */
export function assignmentsOf(
  place: string,
  name: string,
  units: readonly Unit[],
  owners: readonly string[],
): { assignments: Map<string, Assignment>; notes: string[] } {
  const file = join(place, STATE_FILE);
  const notes: string[] = [];
  if (!existsSync(file)) return { assignments: new Map(), notes };
  try {
    const read = readAssignments(readStateText(file), name, file);
    for (const { id, message } of read.problems)
      notes.push(`${file}: the assignment of ${id} is left out: ${message}`);
    if (read.unnamed) notes.push(`${file} does not say whose its assignments are; they are left out.`);
    const ids = new Set(units.map(({ id }) => id));
    const own = read.unnamed ? [] : [...read.assignments].filter(([id]) => ids.has(id));
    for (const [id, said] of own) notes.push(...strangerIn(file, id, said, owners));
    return { assignments: new Map(own), notes };
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    notes.push(`${error.message} It is moved aside.`);
    return { assignments: new Map(), notes };
  }
}
