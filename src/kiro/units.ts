import { orderByDependencies } from '../model/plans/order.ts';
import type { Spec } from './read-spec.ts';
import { type Selection, type SelectOptions, selection } from './select.ts';
import { isWork, type SpecProblem, type SpecTask, withDescendants } from './task.ts';

export interface UnitOptions extends SelectOptions {
  /** `parent`: a parent with all that is in it, or a lone task. `leaf`: every task by itself. */
  unit?: 'parent' | 'leaf';
}

/** What one agent is given at a time. */
export interface Unit {
  id: string;
  title: string;
  root: SpecTask;
  /** The tasks with work of their own that were selected, as they stand in the file. */
  work: SpecTask[];
  /** Those of them that are still to do. */
  open: SpecTask[];
  /** Tasks that it needs, that are still to do and were not selected. */
  leftOut: SpecTask[];
  done: boolean;
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
export type UnitSource = Pick<Spec, 'tasks' | 'all' | 'byId' | 'problems' | 'files'>;

/** Cuts a spec into units: selected, tied together, ordered by waves, then by the file, never before what they wait for. */
export function unitsOf(spec: UnitSource, options: UnitOptions = {}): Units {
  const select = selection(spec, options);
  const roots = options.unit === 'leaf' ? spec.all.filter(isWork) : spec.tasks.flatMap(parentRoots);
  const owners = ownersOf(spec.tasks, new Set(roots));
  const units = roots.flatMap((root) => toUnit(root, owners, select) ?? []);
  const problems = tie(spec, units, owners);
  const ordered = orderByDependencies(
    inWaves(units).map((unit) => ({ key: unit.id, dependsOn: unit.after, unit })),
  );
  if (!spec.problems.some(({ code }) => code === 'spec/cycle'))
    problems.push(...ordered.cycles.map((cycle) => unitCycle(spec, cycle)));
  const chosen = select.from(ordered.order.map(({ unit }) => unit));
  const ids = new Set(chosen.map(({ id }) => id));
  return {
    units: chosen.map((unit) => ({ ...unit, after: unit.after.filter((id) => ids.has(id)) })),
    problems,
  };
}

/** Roots; of a numbered heading above headings, or above tasks that have tasks in them, what stands below it. */
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
  return { id: root.id, title: root.title, root, work, open, leftOut, done, after: [], wave };
}

/** Notes for each unit what it waits for, by its tasks and by what they are in. */
function tie(
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
    const tasks = new Set(unit.work.flatMap((task) => [task, ...ancestors(spec, task)]));
    for (const task of tasks)
      for (const { id, line } of task.dependsOn) {
        const target = spec.byId.get(id);
        if (!target) continue;
        const before = unitsFor(target);
        if (before.length === 0 && !target.done) problems.push(notWaited(spec, task, target, line));
        const cut = cutFrom(target, before);
        if (cut.length > 0) problems.push(partlyWaited(spec, { task, target, cut, line }));
        for (const each of before) if (each !== unit) after.add(each.id);
      }
    const outer = unit.root.parent === null ? undefined : spec.byId.get(unit.root.parent);
    const parent = outer && byRoot.get(outer);
    if (parent && parent !== unit) after.add(parent.id);
    unit.after = [...after];
  }
  return problems;
}

/** What a target needs and units that stand for it leave out. */
function cutFrom(target: SpecTask, units: readonly Unit[]): SpecTask[] {
  const inside = new Set(withDescendants(target));
  return units.flatMap(({ leftOut }) => leftOut.filter((task) => inside.has(task)));
}

function ancestors(spec: UnitSource, task: SpecTask): SpecTask[] {
  const found: SpecTask[] = [];
  for (let id = task.parent; id !== null; ) {
    const parent = spec.byId.get(id);
    if (!parent) break;
    found.push(parent);
    id = parent.parent;
  }
  return found;
}

/** Units without a wave stay behind the one before them. */
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

function notWaited(spec: UnitSource, task: SpecTask, target: SpecTask, line: number): SpecProblem {
  const why = target.optional ? 'is optional and not included' : 'is not selected';
  return {
    file: spec.files.tasks,
    line,
    column: 1,
    message: `Task ${task.id} depends on ${target.id}, which ${why} and not done: nobody waits for it.`,
    hint: target.optional
      ? '--include-optional takes it along.'
      : `Add ${target.id} to the selection if it matters.`,
    code: 'spec/not-selected',
    severity: 'warning',
  };
}

function partlyWaited(
  spec: UnitSource,
  { task, target, cut, line }: { task: SpecTask; target: SpecTask; cut: readonly SpecTask[]; line: number },
): SpecProblem {
  const ids = cut.map(({ id }) => id).join(', ');
  const isOne = cut.length === 1;
  const which = isOne && cut[0] === target ? 'which' : `of which ${ids}`;
  return {
    file: spec.files.tasks,
    line,
    column: 1,
    message: `Task ${task.id} depends on ${target.id}, ${which} ${isOne ? 'is' : 'are'} not selected and not done: nobody waits for ${isOne ? 'it' : 'them'}.`,
    hint: `Add ${ids} to the selection if ${isOne ? 'it matters' : 'they matter'}.`,
    code: 'spec/not-selected',
    severity: 'warning',
  };
}

function unitCycle(spec: UnitSource, cycle: readonly string[]): SpecProblem {
  return {
    file: spec.files.tasks,
    line: spec.byId.get(cycle[0] ?? '')?.line ?? 1,
    column: 1,
    message: `Units wait for each other: ${[...cycle, cycle[0]].join(' → ')}.`,
    hint: 'Their tasks can be ordered one by one: --unit leaf.',
    code: 'spec/unit-cycle',
    severity: 'error',
  };
}
