import { type Dirent, existsSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { unlessCode } from '../machine/files/read-and-remove-files.ts';
import { idProblem } from '../model/ids-and-branch-names.ts';
import { readableTicket } from '../store/store-interface.ts';
import type { EngineContext } from './context.ts';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

/** Output of one attempt. */
interface Kept {
  path: string;
  bytes: number;
  at: number;
}

/**
 * Deletes the output of attempts that is older than the retention setting allows, then the oldest until the rest fits.
 * Runs once a day, and removes files that killed processes left half written. Output of unfinished tickets stays; events and results are never deleted.
 */
export function sweepOutput(engine: EngineContext, force = false): number {
  const root = engine.machine.jobs;
  const mark = join(root, '.swept');
  const last = statSync(mark, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  if (!existsSync(root) || (!force && Date.parse(engine.now()) - last < DAY_MS)) return 0;
  const old = oldOutput(engine);
  for (const { path } of old) rmSync(path, { recursive: true, force: true });
  const before = Date.parse(engine.now()) - HOUR_MS;
  engine.store.sweep(before);
  const kept = engine.settings.retention.days * DAY_MS;
  const since = new Date(Date.parse(engine.now()) - kept).toISOString();
  // Where the store cannot be reached, the next sweep does it.
  engine.store.output?.deleteBefore(since).catch(() => undefined);
  engine.machine.sweep(before);
  writeFileSync(mark, '', { mode: 0o600 });
  return old.length;
}

/** What a sweep would delete now. */
export function oldOutput(engine: EngineContext): Kept[] {
  const root = engine.machine.jobs;
  if (!existsSync(root)) return [];
  const now = Date.parse(engine.now());
  const { days, gigabytes } = engine.settings.retention;
  const ofTickets = below(root)
    .flatMap(below)
    .filter((dir) => !isOpen(engine, dir));
  const all = ofTickets.flatMap(below).map(measure);
  all.sort((a, b) => a.at - b.at);
  let bytes = all.reduce((sum, kept) => sum + kept.bytes, 0);
  const old: Kept[] = [];
  for (const kept of all) {
    if (now - kept.at <= days * DAY_MS && bytes <= gigabytes * 1e9) break;
    bytes -= kept.bytes;
    old.push(kept);
  }
  return old;
}

/** Whether a directory has the output of a ticket that is not complete. Only tickets with output are read. */
function isOpen({ store }: EngineContext, dir: string): boolean {
  const ref = { planId: basename(dirname(dir)), ticketId: basename(dir) };
  if (idProblem(ref.planId) || idProblem(ref.ticketId)) return false;
  const status = readableTicket(store, ref)?.status;
  return status !== undefined && status !== 'complete';
}

function below(path: string): string[] {
  return entries(path)
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(path, entry.name));
}

/** Directories that cannot be listed, or were deleted meanwhile, are left out. */
function entries(path: string): Dirent[] {
  return unlessCode(['EACCES', 'EPERM', 'ENOENT'], () => readdirSync(path, { withFileTypes: true })) ?? [];
}

function measure(path: string): Kept {
  const kept = { path, bytes: 0, at: 0 };
  for (const { name } of entries(path)) {
    const stat = statSync(join(path, name), { throwIfNoEntry: false });
    kept.bytes += stat?.size ?? 0;
    kept.at = Math.max(kept.at, stat?.mtimeMs ?? 0);
  }
  return kept;
}
