import { type Dirent, existsSync, lstatSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { stateLock } from '../machine/file-lock.ts';
import { statIfVisible } from '../machine/files/read-and-remove-files.ts';
import { InputError, ifUsable, messageOf } from '../model/errors.ts';
import { idProblem, requireId, type TicketRef } from '../model/ids-and-branch-names.ts';
import type { Plan } from '../model/plan.ts';
import { isFinished } from '../model/plans/latest-plans-and-unknown-name-errors.ts';
import { SchemasNeeded, type StateReader } from './parse-and-cache-state-files.ts';
import { unreadable } from './state-file-io.ts';
import type { StoreView } from './store-interface.ts';

export type Layout = ReturnType<typeof layoutOf>;

/** Where the shared state is in a state directory. Only the store knows these paths. */
export function layoutOf(root: string) {
  const plans = join(root, 'plans');
  const planDir = (id: string) => join(plans, requireId(id, 'plan'));
  const ticketDir = (planId: string) => join(planDir(planId), 'tickets');
  return {
    root,
    plans,
    planDir,
    ticketDir,
    pins: join(root, 'workflows'),
    engines: join(root, 'engines'),
    daemon: join(root, 'daemon.json'),
    /** Only saves time, as the next one: both may be deleted at any time. */
    claimed: join(root, 'claimed.json'),
    finishedIndex: join(root, 'finished.index'),
    /** What agents of deleted tickets used. */
    deletedUsage: join(root, 'past.json'),
    planFile: (id: string) => join(planDir(id), 'plan.json'),
    ticketFile: ({ planId, ticketId }: TicketRef) =>
      join(ticketDir(planId), `${requireId(ticketId, 'ticket')}.json`),
    events: (planId: string) => join(planDir(planId), 'events.jsonl'),
    /** Which notifications about a plan were sent. */
    notified: (planId: string) => join(planDir(planId), 'notified.jsonl'),
  };
}

/** With more tickets than this, only the directory entry is checked, not the size of each file. */
const MAX_SIZE_CHECKED_TICKETS = 100;

const NO_DIRECTORY = 'is no directory of a plan that can be reached. Put the plan there, or move it away.';

/** All plans and tickets, or one plan alone, and what is wrong with those that cannot be used. */
export function readView(layout: Layout, reader: StateReader, planId?: string): StoreView {
  const view: StoreView = { plans: [], tickets: new Map(), problems: [] };
  const one = planId !== undefined && mayBePlan(layout.plans, planId) ? [planId] : [];
  for (const id of planId === undefined ? directories(layout.plans).sort() : one)
    viewPlan(id, view, { layout, reader });
  return view;
}

interface ViewOptions {
  layout: Layout;
  reader: StateReader;
  /** Tickets of finished plans are left out. */
  openOnly?: boolean;
}

/** Adds one plan to a view, with its tickets and what is wrong with them. */
export function viewPlan(id: string, view: StoreView, { layout, reader, openOnly }: ViewOptions): void {
  const note = (ticketId: string | null, path: string, what: unknown) =>
    view.problems.push({ planId: id, ticketId, path, message: messageOf(what) });
  const dir = join(layout.plans, id);
  const illegal = idProblem(id);
  if (illegal) return void note(null, dir, `the plan directory's name ${illegal}`);
  // Links may lead in a circle, or to a place without permission.
  if (!statIfVisible(dir)?.isDirectory()) return void note(null, dir, `${dir} ${NO_DIRECTORY}`);
  const file = layout.planFile(id);
  let plan: Plan;
  try {
    plan = reader.plan(file, id);
  } catch (error) {
    if (error instanceof SchemasNeeded) throw error;
    return void note(null, file, error);
  }
  view.plans.push(plan);
  if (openOnly && isFinished(plan)) return;
  const listed = new Set(plan.tickets.map((entry) => entry.ticketId));
  // A ticket and its entry are written under the plan's lock. Without a lock now, the plan has the entry, if there is one.
  const isBeingListed = (ticketId: string) => {
    if (existsSync(stateLock(layout.root, id))) return true;
    const latest = ifUsable(() => reader.plan(file, id));
    return latest === undefined || latest.tickets.some((entry) => entry.ticketId === ticketId);
  };
  const tickets = layout.ticketDir(id);
  const found = ticketFiles(tickets);
  if (found instanceof InputError) note(null, tickets, found);
  const files = found instanceof InputError ? new Map<string, boolean>() : found;
  for (const ticketId of listed) {
    // Both ids are checked already. Plain concatenation is faster than `join`, which matters for a thousand tickets.
    const path = `${tickets}/${ticketId}.json`;
    try {
      const plain = listed.size > MAX_SIZE_CHECKED_TICKETS && files.get(`${ticketId}.json`) === true;
      view.tickets.set(`${id}/${ticketId}`, reader.ticket(path, id, ticketId, { plain }));
    } catch (error) {
      if (error instanceof SchemasNeeded) throw error;
      // If the directory itself cannot be read, that is reported once, not for each ticket.
      if (files === found) note(ticketId, path, error);
    }
  }
  for (const name of files.keys()) {
    const ticketId = name.slice(0, -5);
    if (!name.endsWith('.json') || listed.has(ticketId) || isBeingListed(ticketId)) continue;
    note(ticketId, join(tickets, name), 'the ticket is not listed in plan.json, so it is not run');
  }
}

/** Names in a plan's tickets/, each with whether it is a regular file; or why they cannot be listed. */
function ticketFiles(path: string): Map<string, boolean> | InputError {
  try {
    return new Map(readdirSync(path, { withFileTypes: true }).map((entry) => [entry.name, entry.isFile()]));
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? new Map() : unreadable(path, error);
  }
}

/** In the name of a plan directory that is being deleted; no id has a "+". */
export const DELETED = '+deleted.';
/** The suffix of a plan directory that is being created. */
export const NEW = '+new';

/** Names of directories of plans, and of what was probably meant to be one, in any order. */
export function directories(path: string): string[] {
  if (!existsSync(path)) return [];
  return readdirSync(path, { withFileTypes: true })
    .filter((entry) => isMeantAsPlan(entry.name, entry))
    .map((entry) => entry.name);
}

/** The same question about one name. */
export function mayBePlan(plans: string, name: string): boolean {
  const stat = lstatSync(join(plans, name), { throwIfNoEntry: false });
  return stat !== undefined && isMeantAsPlan(name, stat);
}

/** A link counts, whatever it points to. A file with a dot in its name, such as a README.md, does not. */
function isMeantAsPlan(name: string, entry: Pick<Dirent, 'isDirectory' | 'isSymbolicLink'>): boolean {
  if (name.includes(DELETED) || name.endsWith(NEW)) return false;
  return entry.isDirectory() || entry.isSymbolicLink() || !name.includes('.');
}

/** A file without permission exists, too: reading it explains the problem. */
export function entryExists(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
    return true;
  }
}
