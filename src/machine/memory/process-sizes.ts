import { readdirSync, readFileSync } from 'node:fs';
import { run } from '../run.ts';

/** One process of a listing; memory in megabytes. */
interface Row {
  pid: number;
  parent: number;
  session: number;
  megabytes: number;
}

/** Resident memory of each of these processes with everything below it or in its session, in megabytes. */
export async function treeSizes(roots: readonly number[]): Promise<Map<number, number>> {
  const rows = process.platform === 'linux' ? fromProc() : await fromPs();
  return new Map(roots.map((root) => [root, sizeOf(root, rows)]));
}

function sizeOf(root: number, rows: readonly Row[]): number {
  const inside = new Set([root]);
  let size = 0;
  // Parents have lower pids than their children, nearly always; what that misses is found by its session.
  for (const row of rows) {
    if (row.session !== root && !inside.has(row.pid) && !inside.has(row.parent)) continue;
    inside.add(row.pid);
    size += row.megabytes;
  }
  return size;
}

function fromProc(): Row[] {
  const page = pageSize() / (1 << 20);
  const pids = readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : []));
  return pids.sort((a, b) => a - b).flatMap((pid) => statOf(pid, page) ?? []);
}

/** The system counts in pages and does not say how large they are; our own size is known in both. */
function pageSize(): number {
  const pages = Number(readFileSync('/proc/self/statm', 'latin1').split(' ')[1]);
  const ratio = process.memoryUsage.rss() / pages;
  return Number.isFinite(ratio) && ratio > 0 ? 2 ** Math.round(Math.log2(ratio)) : 4096;
}

function statOf(pid: number, page: number): Row | undefined {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, 'latin1');
  } catch {
    return undefined;
  }
  // The name in brackets may hold anything; the fields behind it begin with the state, which is the third.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const at = (field: number) => Number(fields[field - 3] ?? 0);
  return { pid, parent: at(4), session: at(6), megabytes: at(24) * page };
}

async function fromPs(): Promise<Row[]> {
  const { stdout } = await run('ps', ['-ax', '-o', 'pid=,ppid=,sess=,rss=']);
  const rows = stdout.split('\n').flatMap((line) => {
    const [pid, parent, session, rss] = line.trim().split(/\s+/).map(Number);
    if (!pid || parent === undefined || rss === undefined) return [];
    return [{ pid, parent, session: session ?? 0, megabytes: rss / 1024 }];
  });
  return rows.sort((a, b) => a.pid - b.pid);
}
