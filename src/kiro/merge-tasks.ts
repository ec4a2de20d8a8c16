import { lostTasks, tickedIn, withoutTicks, withTicks } from './boxes.ts';
import type { TaskIdentity } from './tick.ts';

/** One task list in three states. */
export interface TaskTexts {
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
