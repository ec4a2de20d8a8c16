import { type Dirent, existsSync, readdirSync, statSync } from 'node:fs';

/** In the name of a plan directory that is being deleted; no id has a "+". */
export const DELETED = '+deleted.';

/** Names that are, or look as if they were meant to be, directories of plans. */
export function directories(path: string): string[] {
  if (!existsSync(path)) return [];
  return readdirSync(path, { withFileTypes: true })
    .filter((entry) => mayBePlan(entry) && !entry.name.includes(DELETED))
    .map((entry) => entry.name)
    .sort();
}

/** A link counts, wherever it leads. A file with a dot in its name, such as a README.md, is somebody's own. */
function mayBePlan(entry: Dirent): boolean {
  return entry.isDirectory() || entry.isSymbolicLink() || !entry.name.includes('.');
}

export function isDirectory(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  } catch (error) {
    // Links that lead in a circle, or to where we may not look.
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
    return false;
  }
}

/** What may not be looked at is there, too: reading it will tell why it cannot be read. */
export function isThere(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
    return true;
  }
}
