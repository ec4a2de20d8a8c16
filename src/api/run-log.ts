import { existsSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { PreparedRun } from '../engine/issue-run.ts';
import type { Parts } from '../engine/parts.ts';
import type { EngineEvent } from '../model/events.ts';
import { writeAtomic } from '../store/atomic.ts';
import type { ExecutionConfig } from './execution-config.ts';
import { type IssueResult, issueResult } from './issue-result.ts';

export interface RunLogWriter {
  readonly path: string;
  listen(event: EngineEvent): void;
  finish(results: readonly IssueResult[], aborted: boolean): void;
}

export interface IssueLog extends IssueResult {
  labels: string[];
  status: 'success' | 'failure' | 'partial' | 'running';
}

export interface RunLog {
  version: 1;
  runId: string;
  startTime: string;
  endTime: string | null;
  config: {
    phases: string[];
    mode: string;
    concurrency: number;
    qualityLoop: boolean;
    maxIterations: number;
    qaGate: boolean;
  };
  issues: IssueLog[];
  summary: {
    totalIssues: number;
    passed: number;
    failed: number;
    aborted: boolean;
    totalDurationSeconds: number;
  };
}

/** One file per run, rewritten whole whenever a phase or an issue ends, so that a kill loses nothing. */
export function createRunLog(
  parts: Parts,
  prepared: PreparedRun,
  config: ExecutionConfig,
  dir: string,
  rotation: { maxSizeMB: number; maxFiles: number },
): RunLogWriter {
  const startTime = parts.now();
  const planId = prepared.plan.id;
  const path = join(dir, `${planId}.json`);
  mkdirSync(dir, { recursive: true });
  rotate(dir, rotation);
  const labels = new Map(prepared.items.map((item) => [item.id, item.labels]));
  const write = (results: readonly IssueResult[], end: { endTime: string | null; aborted: boolean }) => {
    const passed = results.filter((result) => result.success).length;
    const log: RunLog = {
      version: 1,
      runId: planId,
      startTime,
      endTime: end.endTime,
      config: {
        phases: [...config.phases],
        mode: config.chain ? 'chain' : config.sequential ? 'sequential' : 'parallel',
        concurrency: config.concurrency,
        qualityLoop: config.qualityLoop,
        maxIterations: config.maxIterations,
        qaGate: config.qaGate,
      },
      issues: results.map((result) => ({
        ...result,
        labels: labels.get(result.id) ?? [],
        status: statusOf(result, end.endTime !== null),
      })),
      summary: {
        totalIssues: results.length,
        passed,
        failed:
          end.endTime === null
            ? results.filter((result) => result.failureCategory).length
            : results.length - passed,
        aborted: end.aborted,
        totalDurationSeconds: Math.max(0, Date.parse(parts.now()) - Date.parse(startTime)) / 1000,
      },
    };
    writeAtomic(path, `${JSON.stringify(log, null, 2)}\n`, 0o644);
  };
  const now = () => {
    const { tickets } = parts.store.view();
    return prepared.tickets.flatMap((ticket) => {
      const latest = tickets.get(`${planId}/${ticket.ticketId}`);
      return latest ? [issueResult(latest)] : [];
    });
  };
  return {
    path,
    listen(event) {
      if (event.type === 'attempt:end' || event.type === 'ticket:status')
        write(now(), { endTime: null, aborted: false });
    },
    finish: (results, aborted) => write(results, { endTime: parts.now(), aborted }),
  };
}

function statusOf(result: IssueResult, over: boolean): IssueLog['status'] {
  if (result.success) return 'success';
  if (!over) return 'running';
  return result.phaseResults.some((phase) => phase.success) ? 'partial' : 'failure';
}

/** Keeps the newest files, by number and by size together. */
function rotate(dir: string, { maxSizeMB, maxFiles }: { maxSizeMB: number; maxFiles: number }): void {
  if (!existsSync(dir)) return;
  const files = readdirSync(dir)
    .filter((name) => name.startsWith('run-') && name.endsWith('.json'))
    .sort()
    .reverse()
    .map((name) => ({ path: join(dir, name), bytes: statSync(join(dir, name)).size }));
  let bytes = 0;
  files.forEach((file, index) => {
    bytes += file.bytes;
    if (index >= maxFiles - 1 || bytes > maxSizeMB * 1e6) rmSync(file.path, { force: true });
  });
}
