import { lstatSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import { keyPath, valueAt } from '../../../config/describe-schema-problems.ts';
import { messageOf } from '../../../model/errors.ts';
import type { IssueResult } from '../request-and-result-types.ts';

export interface Rotation {
  maxSizeMB: number;
  maxFiles: number;
}

/** As ids of runs are made; sorted by name is sorted by time. */
const NAME = /^run-\d{8}-\d{6}-[0-9a-f]{4}\.json$/;

/**
 * Deletes old logs beside this one, beyond a number and a total size, but not those of unfinished runs. Only real logs are counted
 * and deleted. Returns problems as notes, because they must not stop the run.
 */
export function rotateLogs(
  path: string,
  { maxSizeMB, maxFiles }: Rotation,
  underWay: (runId: string) => boolean,
): string[] {
  const problems: string[] = [];
  let files: ReturnType<typeof logFiles>;
  try {
    files = logFiles(path);
  } catch (error) {
    return [`Old logs in ${dirname(path)} cannot be listed: ${messageOf(error)}`];
  }
  const fits = (count: number, bytes: number) => count <= maxFiles - 1 && bytes <= maxSizeMB * 1e6;
  const all = files.reduce((sum, file) => sum + file.bytes, 0);
  // If all of them fit, they need not be read.
  if (fits(files.length, all)) return [];
  let count = 0;
  let bytes = 0;
  for (const file of files) {
    const read = readLog(file.path);
    if (!('log' in read) || read.log.runId !== file.runId) continue;
    count += 1;
    bytes += file.bytes;
    if (fits(count, bytes) || underWay(file.runId)) continue;
    try {
      rmSync(file.path, { force: true });
      // The report of the same run.
      rmSync(file.path.replace(/\.json$/, '.md'), { force: true });
    } catch (error) {
      problems.push(`An old log cannot be deleted: ${messageOf(error)}`);
    }
  }
  return problems;
}

/** Files that may be logs, newest first. Links, directories and files that another run deletes meanwhile are left out. */
function logFiles(path: string) {
  const dir = dirname(path);
  return readdirSync(dir)
    .filter((name) => NAME.test(name) && name !== basename(path))
    .sort()
    .reverse()
    .flatMap((name) => {
      const found = lstatSync(join(dir, name), { throwIfNoEntry: false });
      if (!found?.isFile()) return [];
      return [{ path: join(dir, name), runId: basename(name, '.json'), bytes: found.size }];
    });
}

export const LOG_STATUSES = [
  'success',
  'partial',
  'failure',
  'running',
  'waiting',
  'stopped',
  'not_started',
] as const;

export interface IssueLog extends IssueResult {
  labels: string[];
  status: (typeof LOG_STATUSES)[number];
}

export interface RunLog {
  version: 1;
  runId: string;
  startTime: string;
  endTime: string | null;
  config: {
    phases: string[];
    mode: string;
    /** One issue at a time, and none after the first failure. True for chains. */
    sequential: boolean;
    chain: boolean;
    concurrency: number;
    qualityLoop: boolean;
    maxIterations: number;
    qaGate: boolean;
    /** What the project is. */
    stack: string | null;
    packageManager: string | null;
  };
  issues: IssueLog[];
  summary: {
    totalIssues: number;
    passed: number;
    failed: number;
    /** Neither passed nor failed: nothing of these has begun. */
    notStarted: number;
    /** Neither passed nor failed: these wait for approval. */
    waiting: number;
    /** Neither passed nor failed: these were stopped. */
    stopped: number;
    aborted: boolean;
    totalDurationSeconds: number;
  };
}

const usage = z.number().nullish();

/** The fields that are read of a log; others may be anything. */
const LOG = z.object({
  version: z.literal(1),
  runId: z.string(),
  startTime: z.string(),
  endTime: z.string().nullable(),
  config: z.object({ mode: z.string() }),
  issues: z.array(
    z.object({
      id: z.string(),
      status: z.string(),
      success: z.boolean(),
      durationSeconds: z.number(),
      failureCategory: z.string().optional(),
      phaseResults: z.array(
        z.object({ phase: z.string(), success: z.boolean(), durationSeconds: z.number() }),
      ),
      usage: z.object({ inputTokens: usage, outputTokens: usage, costUsd: usage }).nullish(),
      unpriced: z.number().optional(),
    }),
  ),
  summary: z.object({ totalDurationSeconds: z.number() }).optional(),
});

const EXPECTED: Record<string, string> = {
  string: 'a text',
  number: 'a number',
  boolean: 'true or false',
  object: 'an object',
  array: 'a list',
};

/** A run's log, or why the file is not one. */
export function readLog(path: string): { log: RunLog } | { reason: string } {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    return { reason: messageOf(error).replace(/\.$/, '') };
  }
  const issue = LOG.safeParse(value).error?.issues[0];
  return issue ? { reason: problem(value, issue) } : { log: value as RunLog };
}

/** `issues[0].id is missing`. */
function problem(log: unknown, issue: z.core.$ZodIssue): string {
  const path = keyPath(issue.path);
  const found = valueAt(log, issue.path);
  if (found === undefined) return `${path} is missing`;
  const type = Array.isArray(found) ? 'array' : found === null ? '' : typeof found;
  const says = type === 'boolean' || type === 'number' ? undefined : EXPECTED[type];
  const wanted = issue.code === 'invalid_type' ? EXPECTED[issue.expected] : '1';
  return `${path || 'it'} is ${says ?? String(found)}, not ${wanted}`;
}
