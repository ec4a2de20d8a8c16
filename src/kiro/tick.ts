import { createHash } from 'node:crypto';
import { InputError } from '../model/errors.ts';
import { splitLines } from './lines.ts';
import { type ParsedTasks, type ParseOptions, parseTasks } from './parse-tasks.ts';
import { isWork, type SpecTask } from './task.ts';

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

export interface Ticked {
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
export function tickFound(text: string, parsed: ParsedTasks, found: readonly SpecTask[]): Ticked {
  const now = new Set(found);
  addFinished(parsed, now);
  const result: Ticked = { text, ticked: [], already: [], boxless: [], edits: [] };
  const lines = splitLines(text);
  const inOrder = [...now].sort((a, b) => a.line - b.line);
  for (const task of inOrder) {
    if (task.box === null) result.boxless.push(task.id);
    else if (task.mark === 'done') result.already.push(task.id);
    else {
      result.ticked.push(task.id);
      result.edits.push((lines[task.box.line - 1]?.start ?? 0) + task.box.column);
    }
  }
  let done = 0;
  const parts = result.edits.map((at) => {
    const part = `${text.slice(done, at)}x`;
    done = at + 1;
    return part;
  });
  return { ...result, text: parts.join('') + text.slice(done) };
}

/** Adds parents that have nothing left to do, from the inside out. */
function addFinished(parsed: ParsedTasks, now: Set<SpecTask>): void {
  const parentOf = (task: SpecTask) => (task.parent === null ? undefined : parsed.byId.get(task.parent));
  const left = new Set([...now].flatMap((task) => parentOf(task) ?? []));
  for (const parent of left) {
    left.delete(parent);
    const isDone = (child: SpecTask) => child.done || now.has(child) || (child.optional && !parent.optional);
    if (now.has(parent) || isWork(parent) || !parent.children.every(isDone)) continue;
    now.add(parent);
    const outer = parentOf(parent);
    if (outer) left.add(outer);
  }
}

/** By id and title; one without a number of its own also by its title alone, since its id may have moved. */
function findAgain({ all }: ParsedTasks, tasks: readonly TaskIdentity[], file: string): SpecTask[] {
  const byId = grouped(all, ({ id }) => id);
  const byTitle = grouped(
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

function grouped(tasks: readonly SpecTask[], by: (task: SpecTask) => string): Map<string, SpecTask[]> {
  const groups = new Map<string, SpecTask[]>();
  for (const task of tasks) {
    const group = groups.get(by(task));
    if (group) group.push(task);
    else groups.set(by(task), [task]);
  }
  return groups;
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
