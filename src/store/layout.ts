import { type Dirent, existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { requireId, type TicketRef } from '../model/ids.ts';

/** Where the shared state is in a state directory. Only the store knows these paths. */
export class Layout {
  readonly root: string;

  constructor(root: string) {
    this.root = root;
  }

  get plans(): string {
    return join(this.root, 'plans');
  }
  get locks(): string {
    return join(this.root, 'locks');
  }
  get pins(): string {
    return join(this.root, 'workflows');
  }
  get engines(): string {
    return join(this.root, 'engines');
  }
  get daemon(): string {
    return join(this.root, 'daemon.json');
  }

  /** What agents of deleted tickets used. */
  get deletedUsage(): string {
    return join(this.root, 'past.json');
  }

  planDir(id: string): string {
    return join(this.plans, requireId(id, 'plan'));
  }
  planFile(id: string): string {
    return join(this.planDir(id), 'plan.json');
  }
  ticketDir(planId: string): string {
    return join(this.planDir(planId), 'tickets');
  }
  ticketFile(ref: TicketRef): string {
    return join(this.ticketDir(ref.planId), `${requireId(ref.ticketId, 'ticket')}.json`);
  }
  events(planId: string): string {
    return join(this.planDir(planId), 'events.jsonl');
  }
  /** Which notifications about a plan were sent. */
  notified(planId: string): string {
    return join(this.planDir(planId), 'notified.jsonl');
  }
  /** `name` is an id, or `plan+ticket`. */
  lock(name: string): string {
    for (const part of name.split('+')) requireId(part, 'lock');
    return join(this.locks, `${name}.lock`);
  }
}

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
