import { readFileSync } from 'node:fs';
import { messageOf } from '../../../model/errors.ts';
import type { IssueResult } from '../types.ts';

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
