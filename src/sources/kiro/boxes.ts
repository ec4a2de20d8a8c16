import { splitLines } from './lines.ts';
import { type ParseOptions, parseTasks } from './parse-tasks.ts';
import { isWork, type SpecTask } from './task.ts';
import type { TaskIdentity } from './tick.ts';

/** Tasks whose own box, or heading, says that they are done. */
export function tickedIn(text: string): TaskIdentity[] {
  return parseTasks(text).all.flatMap(({ id, title, numbered, mark }) =>
    mark === 'done' ? [{ id, title, numbered }] : [],
  );
}

/**
 * Opens the boxes of tasks that nobody who may has ticked. What stands in a task that is known to be done stays, and so
 * do parents of which all that is required is known to be done.
 */
export function takeBack(
  text: string,
  known: readonly TaskIdentity[],
  options: ParseOptions = {},
): { text: string; ids: string[] } {
  const { all, byId } = parseTasks(text, options);
  const keys = new Set(known.map(keyOf));
  const isKnown = (task: SpecTask): boolean => {
    const parent = task.parent === null ? undefined : byId.get(task.parent);
    return keys.has(keyOf(task)) || (parent !== undefined && isKnown(parent));
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
  return takeBack(text, []).text;
}

function keyOf({ id, title, numbered }: TaskIdentity): string {
  return numbered ? `${id}\0${title}` : `\0${title}`;
}
