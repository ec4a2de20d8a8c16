import { InputError } from '../model/errors.ts';
import { groupBy } from '../model/group-and-remember.ts';
import { digest } from '../model/ids-and-branch-names.ts';
import { wordsOf } from './collect-task-drafts.ts';
import { boxHeading, boxItem, readTitle, splitLines } from './parse-task-line.ts';
import { type ParsedTasks, parseTasks } from './parse-tasks.ts';
import { ancestorsOf, isWork, parentOf, type SpecTask } from './task-and-problem-types.ts';

/** How a task is found again in a file that may have changed, without its line number. */
export interface TaskIdentity extends Pick<SpecTask, 'id' | 'title' | 'numbered'> {
  /** Of its own text. If both are known and differ, it is another task. */
  hash?: string | undefined;
}

export function identityOf({ id, title, numbered, details }: SpecTask): TaskIdentity {
  return { id, title, numbered, hash: digest(JSON.stringify([title, details])) };
}

interface Ticked {
  text: string;
  /** Ids that were ticked now, parents included. */
  ticked: string[];
  /** Ids that were ticked already. */
  already: string[];
  /** Ids of tasks that have neither a box nor a line that a check mark fits on. */
  boxless: string[];
  /** Offsets of the boxes that changed, in the text before. */
  edits: number[];
}

/**
 * Ticks tasks, and parents whose required children are all done then. Only the characters in those boxes change; a task without a
 * box, such as a heading, gets a check mark behind its title. A task that is gone or has another title now is an error.
 */
export function tick(text: string, tasks: readonly TaskIdentity[], file = 'tasks.md'): Ticked {
  const parsed = parseTasks(text);
  return tickFound(text, parsed, findAgain(parsed, tasks, file));
}

function tickFound(text: string, parsed: ParsedTasks, found: readonly SpecTask[]): Ticked {
  const now = new Set(found);
  addFinished(parsed, now);
  const inOrder = [...now].sort((a, b) => a.line - b.line);
  const open = inOrder.filter(({ box, mark }) => box !== null && mark !== 'done');
  const edits = boxOffsets(text, open);
  const boxed = replaceAt(text, edits, 'x');
  const undone = inOrder.filter((task) => task.mark !== 'done' && isWork(task));
  const marked = markable(boxed, undone);
  const ticked = inOrder.filter((task) => open.includes(task) || marked.includes(task));
  const already = inOrder.filter(({ mark }) => mark === 'done');
  const idsOf = (tasks: readonly SpecTask[]) => tasks.map(({ id }) => id);
  return {
    text: changeLines(boxed, marked, withMark),
    ticked: idsOf(ticked),
    already: idsOf(already),
    boxless: idsOf(inOrder.filter((task) => !ticked.includes(task) && !already.includes(task))),
    edits,
  };
}

/** Those of the tasks that a check mark on their line shows as done, with nothing else changed. */
function markable(text: string, tasks: readonly SpecTask[]): SpecTask[] {
  const lines = splitLines(text);
  const plain = tasks.filter(({ box, kind, line }) => {
    const own = lines[line - 1]?.text ?? '';
    return box === null && kind !== 'section' && !boxItem(own) && !boxHeading(own);
  });
  if (plain.length === 0) return [];
  const { byId } = parseTasks(changeLines(text, plain, withMark));
  return plain.filter(({ id, title, line }) => {
    const after = byId.get(id);
    return after?.mark === 'done' && after.title === title && after.line === line;
  });
}

const CHECK_MARK = '[✅✔☑✓]\\ufe0f?';
const MARK_BEHIND = new RegExp(`[ \\t]*${CHECK_MARK}(?=[ \\t]*(?:[ \\t]#+[ \\t]*)?$)`, 'u');
const MARK_WITHIN = new RegExp(`[ \\t]*${CHECK_MARK}(?=[:.)])|${CHECK_MARK}[ \\t]*`, 'u');
/** White space and the closing hashes of a heading. */
const TRAILER = /[ \t]*(?:[ \t]#+[ \t]*)?$/;

/** The line of a task without a box, with a check mark behind its title. */
function withMark(line: string): string {
  return line.replace(TRAILER, (trailer) => ` ✅${trailer}`);
}

/** The line without the check mark behind its title, or the one before the words of a heading or after its id. */
function withoutMark(line: string): string {
  const bare = line.replace(MARK_BEHIND, '');
  const words = /^ {0,3}#{1,6}[ \t]+(.*)$/.exec(bare)?.[1];
  return words !== undefined && readTitle(wordsOf(words)).ticked ? bare.replace(MARK_WITHIN, '') : bare;
}

/** The text with the lines of some tasks changed. */
function changeLines(text: string, tasks: readonly SpecTask[], change: (line: string) => string): string {
  const lines = splitLines(text);
  let changed = text;
  for (const { line } of [...tasks].sort((a, b) => b.line - a.line)) {
    const { start = 0, text: own = '' } = lines[line - 1] ?? {};
    changed = changed.slice(0, start) + change(own) + changed.slice(start + own.length);
  }
  return changed;
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

/** Finds tasks by id and title; one without a number also by its title alone, since its id may have changed. */
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
  const renamed = now ? `is called ${JSON.stringify(now.title)} now` : 'no longer exists';
  const why = same.length > 1 ? `exists ${same.length} times now` : renamed;
  const message = `${file} has changed: task ${task.id} (${JSON.stringify(task.title)}) ${why}.`;
  return new InputError('spec/changed', message, {
    hint: 'The box was not ticked. If the task is done, tick it in your own copy; then run the spec again. Otherwise it is done again.',
    details: { file, id: task.id, title: task.title, line: now?.line ?? null },
  });
}

/** Tasks whose own box, or heading, says that they are done. */
export function tickedIn(text: string): TaskIdentity[] {
  const done = parseTasks(text).all.filter(({ mark }) => mark === 'done');
  return done.map(({ id, title, numbered }) => ({ id, title, numbered }));
}

/** What is known to be done: by the engine, with the same text; by a person, under any title. */
export interface KnownDone {
  engine: readonly TaskIdentity[];
  person?: readonly TaskIdentity[];
}

/**
 * The text with those tasks ticked that are known to be done. Parents follow from what is in them: one that
 * was ticked and has something new in it is not done.
 */
export function withTicks(text: string, { engine, person = [] }: KnownDone): string {
  const byKey = groupBy(engine, ({ id, title }) => `${id}\0${title}`);
  const persons = new Set(person.map(looseKey));
  const isKnown = (task: SpecTask) =>
    persons.has(looseKey(task)) ||
    (byKey.get(`${task.id}\0${task.title}`) ?? []).some(
      ({ hash }) => hash === undefined || hash === identityOf(task).hash,
    );
  const parsed = parseTasks(text);
  const tasks = parsed.all.filter((task) => isWork(task) && isKnown(task));
  return tasks.length === 0 ? text : tickFound(text, parsed, tasks).text;
}

/** Ids of tasks that a text no longer has. */
export function lostTasks(before: string, after: string): string[] {
  const now = parseTasks(after).all;
  const ids = new Set(now.map(({ id }) => id));
  const titles = new Set(now.map(({ title }) => title));
  return parseTasks(before).all.flatMap(({ id, title, numbered }) =>
    ids.has(id) || (!numbered && titles.has(title)) ? [] : [id],
  );
}

function looseKey({ id, title, numbered }: TaskIdentity): string {
  return numbered ? id : `\0${title}`;
}

/**
 * Opens the boxes and removes the check marks that come from neither the engine nor a person. A task inside one that is known to be done stays
 * ticked, and so does a parent of which everything required is known to be done.
 */
export function takeBack(text: string, { engine, person = [] }: KnownDone): string {
  const parsed = parseTasks(text);
  const keys = new Set(engine.map(keyOf));
  const persons = new Set(person.map(looseKey));
  const isKnown = (task: SpecTask) =>
    [task, ...ancestorsOf(parsed, task)].some((each) => keys.has(keyOf(each)) || persons.has(looseKey(each)));
  const isDone = (task: SpecTask): boolean =>
    isKnown(task) ||
    (!isWork(task) && task.children.every((child) => isDone(child) || (child.optional && !task.optional)));
  const stray = parsed.all.filter((task) => task.mark === 'done' && !isDone(task));
  const opened = replaceAt(text, boxOffsets(text, stray), ' ');
  const boxless = stray.filter(({ box }) => box === null);
  return changeLines(opened, boxless, withoutMark);
}

function keyOf({ id, title, numbered }: TaskIdentity): string {
  return numbered ? `${id}\0${title}` : `\0${title}`;
}

/**
 * What the branch's task list becomes, given what the engine has done; null where both were changed since. `was` is the user's
 * copy when it was last brought to the branch, empty when it never was.
 */
export function mergedTasks(
  { was, mine, branch }: Record<'was' | 'mine' | 'branch', string>,
  engine: readonly TaskIdentity[],
): string | null {
  const theirs = withTicks(mine, { engine });
  if (theirs === branch || (was !== '' && was === mine)) return branch;
  // With all boxes open, only other changes are compared.
  const [before, now, here] = [was, mine, branch].map((text) => takeBack(text, { engine: [] }));
  const isEdited = was !== '' && before !== here && now !== here;
  if (!isEdited) return theirs;
  if (before !== now) return null;
  // If a person has only ticked, other changes of the branch stay, unless tasks are gone from it.
  if (lostTasks(mine, branch).length > 0) return theirs;
  const named = engine.map(({ hash: _, ...task }) => task);
  return withTicks(branch, { engine: named, person: tickedIn(mine) });
}
