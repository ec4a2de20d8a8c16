import { existsSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Parts } from './parts.ts';

const DAY_MS = 86_400_000;

interface Kept {
  path: string;
  bytes: number;
  at: number;
}

/**
 * Deletes the output of attempts that is older than the retention setting allows, then the oldest until the rest fits.
 * Once a day is enough. What an unfinished ticket may still need is never touched; events and results stay for ever.
 */
export function sweepOutput(parts: Parts, force = false): number {
  const { layout } = parts.store;
  const root = join(layout.root, 'jobs');
  const mark = join(root, '.swept');
  const now = Date.parse(parts.now());
  const last = statSync(mark, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  if (!existsSync(root) || (!force && now - last < DAY_MS)) return 0;
  const open = new Set<string>();
  for (const ticket of parts.store.view().tickets.values()) {
    if (ticket.status !== 'complete') open.add(layout.jobsOf(ticket));
  }
  const { days, gigabytes } = parts.settings.retention;
  const all = attempts(root).filter((kept) => !open.has(dirname(kept.path)));
  all.sort((a, b) => a.at - b.at);
  let bytes = all.reduce((sum, kept) => sum + kept.bytes, 0);
  let deleted = 0;
  for (const kept of all) {
    if (now - kept.at <= days * DAY_MS && bytes <= gigabytes * 1e9) break;
    rmSync(kept.path, { recursive: true, force: true });
    bytes -= kept.bytes;
    deleted++;
  }
  writeFileSync(mark, '', { mode: 0o600 });
  return deleted;
}

function attempts(root: string): Kept[] {
  return below(root).flatMap(below).flatMap(below).map(measure);
}

function below(path: string): string[] {
  return readdirSync(path, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(path, entry.name));
}

function measure(path: string): Kept {
  const kept = { path, bytes: 0, at: 0 };
  for (const name of readdirSync(path)) {
    const stat = statSync(join(path, name), { throwIfNoEntry: false });
    kept.bytes += stat?.size ?? 0;
    kept.at = Math.max(kept.at, stat?.mtimeMs ?? 0);
  }
  return kept;
}
