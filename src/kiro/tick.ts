import { createHash } from 'node:crypto';
import { InputError } from '../model/errors.ts';
import { groupBy } from '../model/group-by.ts';
import { splitLines } from './lines.ts';
import { type ParsedTasks, type ParseOptions, parseTasks } from './parse-tasks.ts';
import { ancestorsOf, isWork, parentOf, type SpecTask } from './task.ts';

/** How a task is found again in a file that may have changed: never by its line alone. */
export interface TaskIdentity extends Pick<SpecTask, 'id' | 'title' | 'numbered'> {
  /** Of its own text; where it is known, another text is another task. */
  hash?: string | undefined;
}

export function identityOf({ id, title, numbered, details }: SpecTask): TaskIdentity {
  const hash = createHash('sha256')
    .update(JSON.stringify([title, details]))
    .digest('hex')
    .slice(0, 16);
  return { id, title, numbered, hash };
}

interface Ticked {
  text: string;
  /** Ids whose box was ticked now, parents included. */
  ticked: string[];
  /** Ids that were ticked already. */
  already: string[];
  /** Ids of tasks that have no box. */
  boxless: string[];
  /** Offsets of the characters that changed. */
  edits: number[];
}

/**
 * Ticks tasks, and parents whose last required child that was. Of the text, only the characters in those boxes change.
 * Other edits in the meantime are kept; a task that is gone or means something else now is an error, and nothing changes.
 */
export function tick(text: string, tasks: readonly TaskIdentity[], options: ParseOptions = {}): Ticked {
  const parsed = parseTasks(text, options);
  return tickFound(text, parsed, findAgain(parsed, tasks, options.file ?? 'tasks.md'));
}

/** The same for tasks of the parsed text itself. */
function tickFound(text: string, parsed: ParsedTasks, found: readonly SpecTask[]): Ticked {
  const now = new Set(found);
  addFinished(parsed, now);
  const inOrder = [...now].sort((a, b) => a.line - b.line);
  const isTicked = ({ box, mark }: SpecTask) => box !== null && mark === 'done';
  const open = inOrder.filter((task) => task.box !== null && !isTicked(task));
  const edits = boxOffsets(text, open);
  const idsOf = (tasks: readonly SpecTask[]) => tasks.map(({ id }) => id);
  return {
    text: replaceAt(text, edits, 'x'),
    ticked: idsOf(open),
    already: idsOf(inOrder.filter(isTicked)),
    boxless: idsOf(inOrder.filter(({ box }) => box === null)),
    edits,
  };
}

function boxOffsets(text: string, tasks: readonly SpecTask[]): number[] {
  const lines = splitLines(text);
  return tasks.flatMap(({ box }) => (box ? [(lines[box.line - 1]?.start ?? 0) + box.column] : []));
}

function replaceAt(text: string, offsets: readonly number[], char: string): string {
  const chars = text.split('');
  for (const at of offsets) chars[at] = char;
  return chars.join('');
}

/** Adds parents that have nothing left to do, from the inside out. */
function addFinished(parsed: ParsedTasks, now: Set<SpecTask>): void {
  const left = new Set([...now].flatMap((task) => parentOf(parsed, task) ?? []));
  for (const parent of left) {
    left.delete(parent);
    const isDone = (child: SpecTask) => child.done || now.has(child) || (child.optional && !parent.optional);
    if (now.has(parent) || isWork(parent) || !parent.children.every(isDone)) continue;
    now.add(parent);
    const outer = parentOf(parsed, parent);
    if (outer) left.add(outer);
  }
}

/** By id and title; one without a number of its own also by its title alone, since its id may have moved. */
function findAgain({ all }: ParsedTasks, tasks: readonly TaskIdentity[], file: string): SpecTask[] {
  const byId = groupBy(all, ({ id }) => id);
  const byTitle = groupBy(
    all.filter(({ numbered }) => !numbered),
    ({ title }) => title,
  );
  return tasks.map((task) => {
    const same = byId.get(task.id) ?? [];
    const titled = task.numbered ? [] : (byTitle.get(task.title) ?? []);
    const found = [same, titled].find(
      ([one, ...more]) => one?.title === task.title && more.length === 0,
    )?.[0];
    if (found) return found;
    throw changed(task, same, file);
  });
}

function changed(task: TaskIdentity, same: readonly SpecTask[], file: string): InputError {
  const [now] = same;
  const why =
    same.length > 1
      ? `is there ${same.length} times now`
      : now
        ? `is called ${JSON.stringify(now.title)} now`
        : 'is not there any more';
  const message = `${file} has changed: task ${task.id} (${JSON.stringify(task.title)}) ${why}.`;
  return new InputError('spec/changed', message, {
    hint: 'Its box was left alone. Tick it in your own copy if it is done, else it is done anew; then run the spec again.',
    details: { file, id: task.id, title: task.title, line: now?.line ?? null },
  });
}

/** Tasks whose own box, or heading, says that they are done. */
export function tickedIn(text: string): TaskIdentity[] {
  const done = parseTasks(text).all.filter(({ mark }) => mark === 'done');
  return done.map(({ id, title, numbered }) => ({ id, title, numbered }));
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
 * Opens the boxes that were ticked by neither the engine nor a person. A task inside one that is known to be done stays
 * ticked, and so does a parent of which everything required is known to be done.
 */
export function takeBack(
  text: string,
  { engine, person = [] }: KnownDone,
  options: ParseOptions = {},
): { text: string; ids: string[] } {
  const parsed = parseTasks(text, options);
  const keys = new Set(engine.map(keyOf));
  const persons = new Set(person.map(looseKey));
  const isKnown = (task: SpecTask) =>
    [task, ...ancestorsOf(parsed, task)].some((each) => keys.has(keyOf(each)) || persons.has(looseKey(each)));
  const isDone = (task: SpecTask): boolean =>
    isKnown(task) ||
    (!isWork(task) && task.children.every((child) => isDone(child) || (child.optional && !task.optional)));
  const stray = parsed.all.filter((task) => task.box !== null && task.mark === 'done' && !isDone(task));
  return { text: replaceAt(text, boxOffsets(text, stray), ' '), ids: stray.map(({ id }) => id) };
}

/** The text with all of its boxes open, to compare what else there is in it. */
function withoutTicks(text: string): string {
  return takeBack(text, { engine: [] }).text;
}

function keyOf({ id, title, numbered }: TaskIdentity): string {
  return numbered ? `${id}\0${title}` : `\0${title}`;
}

/** One task list in three states. */
interface TaskTexts {
  /** The user's copy when it was last brought to the branch; empty when it never was. */
  was: string;
  mine: string;
  branch: string;
}

/** What the branch's task list becomes, given what the engine has done; null where both were changed since. */
export function mergedTasks(
  { was, mine, branch }: TaskTexts,
  engine: readonly TaskIdentity[],
): string | null {
  const theirs = withTicks(mine, { engine });
  if (theirs === branch || (was !== '' && was === mine)) return branch;
  const [before, now, here] = [was, mine, branch].map(withoutTicks);
  const isEdited = was !== '' && before !== here && now !== here;
  if (!isEdited) return theirs;
  if (before !== now) return null;
  // A person who only ticks does not take back what else has changed on the branch, unless tasks are gone from it.
  if (lostTasks(mine, branch).length > 0) return theirs;
  const named = engine.map(({ hash: _, ...task }) => task);
  return withTicks(branch, { engine: named, person: tickedIn(mine) });
}
