import { existsSync, lstatSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, relative } from 'node:path';
import { InputError, messageOf } from '../../../model/errors.ts';
import type { IssueResult } from '../types.ts';

export interface Rotation {
  maxSizeMB: number;
  maxFiles: number;
}

/** As ids of runs are made; sorted by name is sorted by time. */
const NAME = /^run-\d{8}-\d{6}-[0-9a-f]{4}\.json$/;

/**
 * Keeps the newest logs beside this one, by number and by size together, and those of runs that are under way. Nothing
 * but logs counts, or is deleted, whatever its name. Returns what could not be done: no run is lost for it.
 */
export function rotateLogs(
  path: string,
  { maxSizeMB, maxFiles }: Rotation,
  underWay: (runId: string) => boolean,
): string[] {
  const problems: string[] = [];
  let files: LogFile[];
  try {
    files = logFiles(path);
  } catch (error) {
    return [`Old logs in ${dirname(path)} are not looked for: ${messageOf(error)}`];
  }
  const fits = (count: number, bytes: number) => count <= maxFiles - 1 && bytes <= maxSizeMB * 1e6;
  const all = files.reduce((sum, file) => sum + file.bytes, 0);
  // Reading them is not worth it where even all of them have room.
  if (fits(files.length, all)) return [];
  let count = 0;
  let bytes = 0;
  for (const file of files.filter(isLog)) {
    count += 1;
    bytes += file.bytes;
    if (fits(count, bytes) || underWay(file.runId)) continue;
    try {
      rmSync(file.path, { force: true });
    } catch (error) {
      problems.push(`An old log cannot be deleted: ${messageOf(error)}`);
    }
  }
  return problems;
}

interface LogFile {
  path: string;
  runId: string;
  bytes: number;
}

/** Files that may be logs, newest first. Links and directories are none, nor is what another run deletes meanwhile. */
function logFiles(path: string): LogFile[] {
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

function isLog({ path, runId }: LogFile): boolean {
  const read = readLog(path);
  return 'log' in read && read.log.runId === runId;
}

/** A repository may contain links to other places; a log inside the repository must stay inside it. */
export function checkLogPlace(file: string, repo: string): void {
  if (!isWithin(repo, file)) return;
  let dir = dirname(file);
  while (!existsSync(dir) && dir !== dirname(dir)) dir = dirname(dir);
  const real = realpathSync(dir);
  const root = realpathSync(repo);
  // Git takes what it finds among its own files for its own.
  if (isWithin(join(root, '.git'), join(real, relative(dir, dirname(file)))))
    throw new InputError(
      'run/log',
      `The log of the run would be written to ${dirname(file)}, among git's files.`,
      {
        hint: 'Name another directory with --log-path, or leave the log out with --no-log-json.',
        details: { path: dirname(file) },
      },
    );
  if (isWithin(root, real)) return;
  throw new InputError(
    'run/log',
    `The log of the run would be written to ${real}: ${dir} leads out of the repository.`,
    {
      hint: `Make ${dir} a directory, name another one with --log-path, or leave the log out with --no-log-json.`,
      details: { path: dir, real },
    },
  );
}

function isWithin(dir: string, path: string): boolean {
  const way = relative(dir, path);
  return way !== '..' && !way.startsWith('../') && !isAbsolute(way);
}

export interface IssueLog extends IssueResult {
  labels: string[];
  status: 'success' | 'failure' | 'partial' | 'running' | 'not_started' | 'waiting' | 'stopped';
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

/** Why a value is not what a log has there, by the path to it; undefined where it is. */
type Check = (value: unknown, path: string) => string | undefined;

const is =
  (words: string, fits: (value: unknown) => boolean): Check =>
  (value, path) => {
    if (fits(value)) return undefined;
    const found = value === null ? 'null' : Array.isArray(value) ? 'a list' : sayType(value);
    return value === undefined ? `${path} is missing` : `${path} is ${found}, not ${words}`;
  };

const text = is('a text', (value) => typeof value === 'string');
const number = is('a number', (value) => Number.isFinite(value));
const flag = is('true or false', (value) => typeof value === 'boolean');
const object = is(
  'an object',
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
);
const list = is('a list', Array.isArray);

const orNull =
  (check: Check): Check =>
  (value, path) =>
    value === null ? undefined : check(value, path);

const optional =
  (check: Check): Check =>
  (value, path) =>
    value === undefined ? undefined : check(value, path);

const fields =
  (of: Readonly<Record<string, Check>>): Check =>
  (value, path) =>
    object(value, path || 'it') ??
    first(Object.entries(of), ([name, check]) =>
      check((value as Record<string, unknown>)[name], path === '' ? name : `${path}.${name}`),
    );

const each =
  (check: Check): Check =>
  (value, path) =>
    list(value, path) ??
    first([...(value as unknown[]).entries()], ([index, entry]) => check(entry, `${path}[${index}]`));

const amount = optional(orNull(number));

/** What is read of a log, and no more: what else is in it is the writer's affair. */
const LOG = fields({
  version: is('1', (value) => value === 1),
  runId: text,
  startTime: text,
  endTime: orNull(text),
  config: fields({ mode: text }),
  issues: each(
    fields({
      id: text,
      status: text,
      success: flag,
      durationSeconds: number,
      failureCategory: optional(text),
      phaseResults: each(fields({ phase: text, success: flag, durationSeconds: number })),
      usage: optional(orNull(fields({ inputTokens: amount, outputTokens: amount, costUsd: amount }))),
    }),
  ),
  summary: optional(fields({ totalDurationSeconds: number })),
});

type ReadLog = { log: RunLog } | { reason: string };

/** A log of a run, or why the file is none. */
export function readLog(path: string): ReadLog {
  try {
    return parseLog(readFileSync(path, 'utf8'));
  } catch (error) {
    return { reason: sentence(error) };
  }
}

/** The same for its text. */
export function parseLog(text: string): ReadLog {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return { reason: sentence(error) };
  }
  const reason = LOG(value, '');
  return reason === undefined ? { log: value as RunLog } : { reason };
}

const sentence = (error: unknown) => messageOf(error).replace(/\.$/, '');

function first<T>(entries: readonly T[], problem: (entry: T) => string | undefined): string | undefined {
  for (const entry of entries) {
    const found = problem(entry);
    if (found !== undefined) return found;
  }
  return undefined;
}

function sayType(value: unknown): string {
  if (typeof value === 'string') return 'a text';
  return typeof value === 'object' ? 'an object' : String(value);
}
