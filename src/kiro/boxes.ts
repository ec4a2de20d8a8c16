import { splitLines } from './lines.ts';
import { type ParseOptions, parseTasks } from './parse-tasks.ts';
import { isWork, type SpecTask } from './task.ts';
import { identityOf, type TaskIdentity, tickFound } from './tick.ts';

/** Tasks whose own box, or heading, says that they are done. */
export function tickedIn(text: string): TaskIdentity[] {
  return parseTasks(text).all.flatMap(({ id, title, numbered, mark }) =>
    mark === 'done' ? [{ id, title, numbered }] : [],
  );
}

/** What is known to be done: by the engine, task for task; by a person, whatever it is called by now. */
export interface KnownDone {
  engine: readonly TaskIdentity[];
  person?: readonly TaskIdentity[];
}

/**
 * The text with the boxes ticked of tasks that are known to be done. Parents follow from what is in them: one that
 * was ticked and has something new in it is not done.
 */
export function withTicks(text: string, known: KnownDone): string {
  const isKnown = matcher(known);
  const parsed = parseTasks(text);
  const tasks = parsed.all.filter((task) => isWork(task) && task.box !== null && isKnown(task));
  return tasks.length === 0 ? text : tickFound(text, parsed, tasks).text;
}

/** Ids of tasks with work of their own that a text has lost. */
export function lostTasks(before: string, after: string): string[] {
  const now = parseTasks(after).all;
  const ids = new Set(now.map(({ id }) => id));
  const titles = new Set(now.map(({ title }) => title));
  return parseTasks(before).all.flatMap(({ id, title, numbered }) =>
    ids.has(id) || (!numbered && titles.has(title)) ? [] : [id],
  );
}

function matcher({ engine, person = [] }: KnownDone): (task: SpecTask) => boolean {
  const hashes = new Map<string, Set<string | undefined>>();
  for (const task of engine) {
    const key = `${task.id}\0${task.title}`;
    hashes.set(key, (hashes.get(key) ?? new Set()).add(task.hash));
  }
  const persons = new Set(person.map(looseKey));
  return (task) => {
    const found = hashes.get(`${task.id}\0${task.title}`);
    const same = found && (found.has(undefined) || found.has(identityOf(task).hash));
    return same === true || persons.has(looseKey(task));
  };
}

function looseKey({ id, title, numbered }: TaskIdentity): string {
  return numbered ? id : `\0${title}`;
}

/**
 * Opens the boxes of tasks that nobody who may has ticked. What stands in a task that is known to be done stays, and so
 * do parents of which all that is required is known to be done.
 */
export function takeBack(
  text: string,
  { engine, person = [] }: KnownDone,
  options: ParseOptions = {},
): { text: string; ids: string[] } {
  const { all, byId } = parseTasks(text, options);
  const keys = new Set(engine.map(keyOf));
  const persons = new Set(person.map(looseKey));
  const isKnown = (task: SpecTask): boolean => {
    const parent = task.parent === null ? undefined : byId.get(task.parent);
    const own = keys.has(keyOf(task)) || persons.has(looseKey(task));
    return own || (parent !== undefined && isKnown(parent));
  };
  const isDone = (task: SpecTask): boolean =>
    isKnown(task) ||
    (!isWork(task) && task.children.every((child) => isDone(child) || (child.optional && !task.optional)));
  const stray = all.filter((task) => task.box !== null && task.mark === 'done' && !isDone(task));
  const lines = splitLines(text);
  const chars = text.split('');
  for (const { box } of stray) if (box) chars[(lines[box.line - 1]?.start ?? 0) + box.column] = ' ';
  return { text: stray.length === 0 ? text : chars.join(''), ids: stray.map(({ id }) => id) };
}

/** The text with all of its boxes open, to compare what else there is in it. */
export function withoutTicks(text: string): string {
  return takeBack(text, { engine: [] }).text;
}

function keyOf({ id, title, numbered }: TaskIdentity): string {
  return numbered ? `${id}\0${title}` : `\0${title}`;
}
