import { InputError } from '../model/errors.ts';
import { orderByDependencies } from '../model/plans/dependency-order.ts';
import { cleanLine } from '../model/text/clean-escape-quote-plural.ts';
import { didYouMean } from '../model/text/nearest-word.ts';
import { isNone } from './parse-task-fields.ts';
import type { Spec } from './read-spec.ts';
import {
  ancestorsOf,
  error,
  inFile,
  isWork,
  parentOf,
  type SpecProblem,
  type SpecTask,
  warning,
  withDescendants,
} from './task-and-problem-types.ts';

export interface UnitOptions {
  includeOptional?: boolean;
  /** Ids of the only tasks to take, with their children. An optional task that is named is taken. */
  only?: readonly string[];
  /** The id of the first task to take, in the order of the run. */
  from?: string;
  /** Ids of tasks to leave out, with their children. */
  skip?: readonly string[];
  /** `parent`: a root task with its children. `leaf`: every task by itself. */
  unit?: 'parent' | 'leaf';
}

/** The work of one agent at a time. */
export interface Unit {
  id: string;
  title: string;
  root: SpecTask;
  /** The tasks with work of their own that were selected, in the order of the file. */
  work: SpecTask[];
  /** Those of them that are still to do. */
  open: SpecTask[];
  /** Tasks that it needs, that are still to do and were not selected. */
  leftOut: SpecTask[];
  done: boolean;
  /** Why a person has to act first: `_Blocked: reason_` of a task that is still to do, or of its parents. */
  blocked: string | null;
  /** Units of this selection that have to be done first. */
  after: string[];
  wave: number | null;
}

export interface Units {
  /** In the order in which they run, done ones included. */
  units: Unit[];
  problems: SpecProblem[];
}

/** The part of a spec that units are made from. */
type UnitSource = Pick<Spec, 'tasks' | 'all' | 'byId' | 'problems' | 'files'>;

/** Divides a spec into units, ordered by dependencies, then by waves, then by the file. */
export function unitsOf(spec: UnitSource, options: UnitOptions = {}): Units {
  const select = selection(spec, options);
  const roots = options.unit === 'leaf' ? spec.all.filter(isWork) : spec.tasks.flatMap(parentRoots);
  const owners = ownersOf(spec.tasks, new Set(roots));
  const units = roots.flatMap((root) => toUnit(root, owners, select) ?? []);
  const problems = link(spec, units, owners);
  const ordered = orderByDependencies(
    inWaves(units).map((unit) => ({ key: unit.id, dependsOn: unit.after, unit })),
  );
  if (!spec.problems.some(({ code }) => code === 'spec/cycle'))
    problems.push(...ordered.cycles.map((cycle) => unitCycle(spec, cycle)));
  const chosen = select
    .from(ordered.order.map(({ unit }) => unit))
    .map((unit) => ({ ...unit, blocked: blockedReason(spec, unit) }));
  problems.push(
    ...chosen.flatMap((unit) => (unit.blocked === null ? [] : blockedUnit(spec, unit, unit.blocked))),
  );
  const ids = new Set(chosen.map(({ id }) => id));
  return {
    units: chosen.map((unit) => ({ ...unit, after: unit.after.filter((id) => ids.has(id)) })),
    problems,
  };
}

interface Selection {
  takes(task: SpecTask): boolean;
  /** A task that was named counts as done only if its own box is ticked. */
  isDone(task: SpecTask): boolean;
  from(units: Unit[]): Unit[];
}

function selection(spec: UnitSource, options: UnitOptions): Selection {
  const find = (id: string, flag: string) => findTask(spec, id, flag);
  const only = options.only && new Set(options.only.map((id) => find(id, '--only')));
  const skip = new Set(options.skip?.map((id) => find(id, '--skip')));
  const first = options.from === undefined ? undefined : find(options.from, '--from');
  const withAncestors = (task: SpecTask) => [task, ...ancestorsOf(spec, task)];
  return {
    takes(task) {
      const chain = withAncestors(task);
      if (chain.some((each) => skip.has(each))) return false;
      const named = only && chain.find((each) => only.has(each));
      if (only && !named) return false;
      return !task.optional || options.includeOptional === true || named?.optional === true || task === first;
    },
    isDone: (task) => (only?.has(task) || task === first ? task.mark === 'done' : task.done),
    from(units) {
      if (!first) return units;
      const at = units.findIndex(
        ({ root, work }) => root === first || work.some((task) => withAncestors(task).includes(first)),
      );
      if (at < 0) throw nothingFrom(first);
      return units.slice(at).map((unit, index) => (index === 0 ? startingAt(unit, first) : unit));
    },
  };
}

/** The unit without what is before the task in the file. */
function startingAt(unit: Unit, first: SpecTask): Unit {
  const work = unit.work.filter((task) => task.line >= first.line);
  const open = unit.open.filter((task) => task.line >= first.line);
  const before = unit.open.filter((task) => task.line < first.line && !task.optional);
  return { ...unit, work, open, leftOut: [...before, ...unit.leftOut], done: open.length === 0 };
}

/** A task by the id that a person typed. */
function findTask(spec: Pick<UnitSource, 'byId'>, id: string, flag: string): SpecTask {
  const plain = id.trim().replace(/^#/, '').replace(/\.$/, '');
  const found =
    spec.byId.get(plain) ?? spec.byId.get(plain.toUpperCase()) ?? spec.byId.get(plain.toLowerCase());
  if (found) return found;
  const ids = [...spec.byId.keys()];
  const list = ids.length > 20 ? `${ids.slice(0, 20).join(', ')}…` : ids.join(', ');
  const message = `${flag}: there is no task ${JSON.stringify(plain)}.${didYouMean(plain, ids)}`;
  throw new InputError('spec/unknown-task', message, {
    hint: ids.length === 0 ? 'The spec has no tasks.' : `Tasks: ${list}`,
    details: { id: plain },
  });
}

function nothingFrom({ id }: SpecTask): InputError {
  const message = `--from ${id}: the task is not among those that are selected.`;
  return new InputError('spec/unknown-task', message, {
    hint: 'Leave it out of --skip, or add it to --only.',
  });
}

/** The roots of units. A numbered heading above headings or parents is none: its children are. */
function parentRoots(task: SpecTask): SpecTask[] {
  const isParent = (child: SpecTask) => child.kind !== 'item' || child.children.length > 0;
  const groups = task.kind === 'section' && task.children.some(isParent);
  return groups ? task.children.flatMap(parentRoots) : [task];
}

/** The unit that each task belongs to: the nearest above it. */
function ownersOf(tasks: readonly SpecTask[], roots: ReadonlySet<SpecTask>): Map<SpecTask, SpecTask> {
  const owners = new Map<SpecTask, SpecTask>();
  const left: [SpecTask, SpecTask | undefined][] = tasks.map((task) => [task, undefined]);
  for (let next = left.pop(); next; next = left.pop()) {
    const [task, above] = next;
    const owner = roots.has(task) ? task : above;
    if (owner) owners.set(task, owner);
    for (const child of task.children) left.push([child, owner]);
  }
  return owners;
}

function toUnit(
  root: SpecTask,
  owners: ReadonlyMap<SpecTask, SpecTask>,
  select: Selection,
): Unit | undefined {
  const own = withDescendants(root).filter((task) => owners.get(task) === root && isWork(task));
  const work = own.filter(select.takes).sort((a, b) => a.line - b.line);
  if (work.length === 0) return undefined;
  const open = work.filter((task) => !select.isDone(task));
  const leftOut = own.filter((task) => !task.optional && !task.done && !work.includes(task));
  const waves = work.flatMap((task) => task.wave ?? []);
  const wave = root.wave ?? (waves.length > 0 ? Math.min(...waves) : null);
  const done = open.length === 0;
  return { id: root.id, title: root.title, root, work, open, leftOut, done, blocked: null, after: [], wave };
}

/** Sets the units that each unit waits for, by the dependencies of its tasks and their parents. */
function link(
  spec: UnitSource,
  units: readonly Unit[],
  owners: ReadonlyMap<SpecTask, SpecTask>,
): SpecProblem[] {
  const byRoot = new Map(units.map((unit) => [unit.root, unit]));
  const problems: SpecProblem[] = [];
  const targets = new Map<SpecTask, Unit[]>();
  const unitsFor = (task: SpecTask): Unit[] => {
    const known = targets.get(task);
    if (known) return known;
    const roots = withDescendants(task).flatMap((each) => (isWork(each) ? (owners.get(each) ?? []) : []));
    const found = [...new Set(roots)].flatMap((root) => byRoot.get(root) ?? []);
    targets.set(task, found);
    return found;
  };
  for (const unit of units) {
    const after = new Set<string>();
    const tasks = new Set(unit.work.flatMap((task) => [task, ...ancestorsOf(spec, task)]));
    for (const task of tasks)
      for (const { id, line } of task.dependsOn) {
        const target = spec.byId.get(id);
        if (!target) continue;
        const before = unitsFor(target);
        if (before.length === 0 && !target.done) problems.push(notAwaited(spec, line, task, target));
        const inside = new Set(withDescendants(target));
        const cut = before.flatMap(({ leftOut }) => leftOut.filter((each) => inside.has(each)));
        if (cut.length > 0) problems.push(notAwaited(spec, line, task, target, cut));
        for (const each of before) if (each !== unit) after.add(each.id);
      }
    const outer = parentOf(spec, unit.root);
    const parent = outer && byRoot.get(outer);
    if (parent && parent !== unit) after.add(parent.id);
    unit.after = [...after];
  }
  return problems;
}

/** Orders units by wave; one without a wave stays after the one before it. */
function inWaves(units: readonly Unit[]): Unit[] {
  let wave = 0;
  const placed = [...units]
    .sort((a, b) => a.root.line - b.root.line)
    .map((unit) => {
      wave = unit.wave ?? wave;
      return { unit, wave };
    });
  return placed.sort((a, b) => a.wave - b.wave).map(({ unit }) => unit);
}

/** Warns of a dependency that is not done, and not selected or only in part. */
function notAwaited(
  spec: UnitSource,
  line: number,
  task: SpecTask,
  target: SpecTask,
  cut: readonly SpecTask[] = [target],
): SpecProblem {
  const ids = cut.map(({ id }) => id).join(', ');
  const isOne = cut.length === 1;
  const whole = isOne && cut[0] === target;
  const isOptional = whole && target.optional;
  const which = whole ? 'which' : `of which ${ids}`;
  const why = isOptional ? 'optional and not included' : 'not selected';
  const message = `Task ${task.id} depends on ${target.id}, ${which} ${isOne ? 'is' : 'are'} ${why} and not done: the run does not wait for ${isOne ? 'it' : 'them'}.`;
  const add = `Add ${ids} to the selection if ${isOne ? 'it matters' : 'they matter'}.`;
  const hint = isOptional ? '--include-optional includes it.' : add;
  return inFile(spec.files.tasks, warning(line, 'spec/not-selected', message, hint));
}

function blockedReason(spec: UnitSource, { open }: Unit): string | null {
  const tasks = new Set(open.flatMap((task) => [task, ...ancestorsOf(spec, task)]));
  const reasons = [...tasks].flatMap(({ fields }) => fields.blocked ?? []).filter((text) => !isNone(text));
  return reasons.length === 0 ? null : reasons.map((text) => cleanLine(text)).join('; ');
}

function blockedUnit(spec: UnitSource, { id, root }: Unit, blocked: string): SpecProblem {
  const message = `Unit ${id} is blocked: ${blocked.replace(/\.$/, '')}.`;
  const hint =
    'It waits for a person, as do units that depend on it. Delete the `_Blocked_` line once that is settled.';
  return inFile(spec.files.tasks, warning(root.line, 'spec/blocked', message, hint));
}

function unitCycle(spec: UnitSource, cycle: readonly string[]): SpecProblem {
  const line = spec.byId.get(cycle[0] ?? '')?.line ?? 1;
  const message = `Units wait for each other: ${[...cycle, cycle[0]].join(' → ')}.`;
  const hint = 'Their tasks can be ordered one by one: --unit leaf.';
  return inFile(spec.files.tasks, error(line, 'spec/unit-cycle', message, hint));
}
