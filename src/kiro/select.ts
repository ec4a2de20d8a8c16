import { InputError } from '../model/errors.ts';
import { didYouMean } from '../model/text/near.ts';
import type { SpecTask } from './task.ts';
import type { Unit, UnitSource } from './units.ts';

export interface SelectOptions {
  includeOptional?: boolean;
  /** Ids of tasks: these and what is in them, and nothing else. An optional task that is named is taken. */
  only?: readonly string[];
  /** The id of a task: this and what comes behind it in the order of the run. */
  from?: string;
  /** Ids of tasks: neither these nor what is in them. */
  skip?: readonly string[];
}

export interface Selection {
  takes(task: SpecTask): boolean;
  /** A task that is named by itself and not ticked itself is not done by its parent. */
  isDone(task: SpecTask): boolean;
  from(units: Unit[]): Unit[];
}

export function selection(spec: UnitSource, options: SelectOptions): Selection {
  const find = (id: string, flag: string) => findTask(spec, id, flag);
  const only = options.only && new Set(options.only.map((id) => find(id, '--only')));
  const skip = new Set(options.skip?.map((id) => find(id, '--skip')));
  const first = options.from === undefined ? undefined : find(options.from, '--from');
  const chain = (task: SpecTask): SpecTask[] => {
    const parent = task.parent === null ? undefined : spec.byId.get(task.parent);
    return parent ? [task, ...chain(parent)] : [task];
  };
  return {
    takes(task) {
      const way = chain(task);
      if (way.some((each) => skip.has(each))) return false;
      const named = only && way.find((each) => only.has(each));
      if (only && !named) return false;
      return !task.optional || options.includeOptional === true || named?.optional === true || task === first;
    },
    isDone: (task) => (only?.has(task) || task === first ? task.mark === 'done' : task.done),
    from(units) {
      if (!first) return units;
      const at = units.findIndex(
        ({ root, work }) => root === first || work.some((task) => chain(task).includes(first)),
      );
      if (at < 0) throw nothingFrom(first);
      return units.slice(at).map((unit, index) => (index === 0 ? behind(unit, first) : unit));
    },
  };
}

/** The unit without what stands before the task in the file. */
function behind(unit: Unit, first: SpecTask): Unit {
  const work = unit.work.filter((task) => task.line >= first.line);
  const open = unit.open.filter((task) => task.line >= first.line);
  const before = unit.open.filter((task) => task.line < first.line && !task.optional);
  return { ...unit, work, open, leftOut: [...before, ...unit.leftOut], done: open.length === 0 };
}

/** A task by the id that a person typed. */
export function findTask(spec: Pick<UnitSource, 'byId'>, id: string, flag: string): SpecTask {
  const plain = id.trim().replace(/^#/, '').replace(/\.$/, '');
  const found =
    spec.byId.get(plain) ?? spec.byId.get(plain.toUpperCase()) ?? spec.byId.get(plain.toLowerCase());
  if (found) return found;
  const ids = [...spec.byId.keys()];
  const list = ids.length > 20 ? `${ids.slice(0, 20).join(', ')}…` : ids.join(', ');
  throw new InputError(
    'spec/unknown-task',
    `${flag}: there is no task ${JSON.stringify(plain)}.${didYouMean(plain, ids)}`,
    {
      hint: ids.length === 0 ? 'The spec has no tasks.' : `Tasks: ${list}`,
      details: { id: plain },
    },
  );
}

function nothingFrom(task: SpecTask): InputError {
  return new InputError(
    'spec/unknown-task',
    `--from ${task.id}: the task is not among those that are selected.`,
    {
      hint: 'Leave it out of --skip, or add it to --only.',
    },
  );
}
