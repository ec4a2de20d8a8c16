import { existsSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { repositoryOf } from '../../../config/find-config-and-state.ts';
import { groupBy } from '../../../model/group-and-remember.ts';
import type { Plan } from '../../../model/plan.ts';
import { ticketsOf } from '../../../model/plans/plans-view.ts';
import type { Holder, StoreView } from '../../../store/store-interface.ts';
import { roundedSeconds } from '../results/issue-result.ts';
import { storedRun } from '../results/stored-run-time-and-issue-names.ts';
import { type IssueLog, type RunLog, readLog } from './read-and-rotate-logs.ts';
import { runLog } from './rewrite-run-log.ts';

export interface Rate {
  total: number;
  passed: number;
  /** Between 0 and 1; null when there is nothing to count. */
  rate: number | null;
  averageSeconds: number | null;
}

export interface Unreadable {
  file: string;
  reason: string;
}

/** The logs of all runs in the repository of a directory: those that were written, then what the store knows of the other runs. */
export function logsOfRepository(
  cwd: string,
  { logPath, view, holder }: { logPath: string; view: StoreView; holder: Pick<Holder, 'isLive'> },
): { logs: RunLog[]; unreadable: Unreadable[] } {
  const repo = repositoryOf(cwd) ?? cwd;
  const { logs, unreadable } = readRunLogs(resolve(repo, logPath));
  const known = new Set(logs.map((log) => log.runId));
  const isHeld = ({ claim }: Plan) => claim !== null && holder.isLive(claim);
  return { logs: [...logs, ...storedLogs(view, repo, known, isHeld)], unreadable };
}

/** All run logs of a directory, oldest first; one that cannot be read is named, not fatal. */
function readRunLogs(dir: string): { logs: RunLog[]; unreadable: Unreadable[] } {
  const logs: RunLog[] = [];
  const unreadable: Unreadable[] = [];
  if (!existsSync(dir)) return { logs, unreadable };
  for (const name of readdirSync(dir)
    .filter((each) => each.startsWith('run-') && each.endsWith('.json'))
    .sort()) {
    const read = readLog(join(dir, name));
    if ('log' in read) logs.push(read.log);
    else unreadable.push({ file: name, reason: read.reason });
  }
  return { logs, unreadable };
}

/** Runs that left no log: what is known of them is in the store. `isHeld` is true for those still under way. */
function storedLogs(
  view: StoreView,
  repo: string,
  known: ReadonlySet<string>,
  isHeld: (plan: Plan) => boolean,
): RunLog[] {
  return view.plans.flatMap((plan) => {
    const stored = storedRun(plan);
    if (!stored || !isOf(plan, repo) || known.has(plan.id) || isHeld(plan)) return [];
    const tickets = ticketsOf(view, plan);
    const ends = tickets.flatMap(({ phaseHistory }) => phaseHistory.at(-1)?.completedAt ?? []);
    const startTime = plan.createdAt ?? ends[0];
    const endTime = ends.sort().at(-1);
    if (!startTime || !endTime) return [];
    const seconds = Math.max(0, Date.parse(endTime) - Date.parse(startTime)) / 1000;
    const aborted = plan.status === 'paused';
    return [runLog({ plan, tickets, config: stored.config, startTime, endTime, seconds, aborted })];
  });
}

/** Made in this checkout, or in a linked worktree of it. */
function isOf({ repo }: Plan, top: string): boolean {
  return repo === top || (repo !== null && repositoryOf(repo) === top);
}

/** The issues of a finished run that count for the stats: not those done before, never begun, stopped or waiting. */
export function countedIssues(log: RunLog): IssueLog[] {
  return log.endTime === null
    ? []
    : log.issues.filter((issue) => !issue.skipped && !issue.notStarted && !issue.waiting && !issue.stopped);
}

/** Success by mode and phase, durations, cost and what went wrong, over finished runs. */
export function runStats(logs: readonly RunLog[], unreadable: readonly Unreadable[]) {
  const finished = logs.filter((log) => log.endTime !== null);
  const issues = finished.flatMap((log) =>
    countedIssues(log).map((issue) => ({ ...issue, mode: log.config.mode })),
  );
  const phases = issues.flatMap((issue) => issue.phaseResults);
  const failures: Record<string, number> = {};
  for (const issue of issues) {
    if (!issue.success) {
      const kind = issue.failureCategory ?? 'other';
      failures[kind] = (failures[kind] ?? 0) + 1;
    }
  }
  return {
    runs: finished.length,
    issues: rate(issues),
    byMode: grouped(issues, (issue) => issue.mode),
    byPhase: grouped(phases, (phase) => phase.phase),
    failures,
    costUsd: sum(issues.map((issue) => issue.usage?.costUsd ?? null)),
    /** Issues with attempts whose cost is unknown. */
    unpriced: issues.filter(({ usage, unpriced = 0 }) => unpriced > 0 || usage?.costUsd === null).length,
    tokens: sum(
      issues.flatMap((issue) => [issue.usage?.inputTokens ?? null, issue.usage?.outputTokens ?? null]),
    ),
    /** Files that could not be read. */
    unreadable: [...unreadable],
  };
}

function rate(entries: readonly { success: boolean; durationSeconds: number }[]): Rate {
  const passed = entries.filter((entry) => entry.success).length;
  const total = entries.length;
  if (total === 0) return { total, passed, rate: null, averageSeconds: null };
  return {
    total,
    passed,
    rate: passed / total,
    averageSeconds: roundedSeconds(entries.reduce((all, entry) => all + entry.durationSeconds, 0) / total),
  };
}

function grouped<T extends { success: boolean; durationSeconds: number }>(
  entries: readonly T[],
  by: (entry: T) => string,
): Record<string, Rate> {
  return Object.fromEntries([...groupBy(entries, by)].map(([name, group]) => [name, rate(group)]));
}

/** Unknown plus unknown is unknown. */
function sum(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length > 0 ? known.reduce((a, b) => a + b, 0) : null;
}
