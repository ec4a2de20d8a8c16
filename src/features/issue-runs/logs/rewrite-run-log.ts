import { existsSync, realpathSync, statSync, writeFileSync } from 'node:fs';
import { dirname, isAbsolute, join, relative } from 'node:path';
import type { EngineContext } from '../../../engine/context.ts';
import { makeDirectory } from '../../../machine/files/make-directory-and-handle-storage-errors.ts';
import { writeAtomic } from '../../../machine/files/write-atomic-and-note-facts.ts';
import { InputError, messageOf } from '../../../model/errors.ts';
import type { EngineEvent } from '../../../model/events.ts';
import type { Plan } from '../../../model/plan.ts';
import type { ExecutionConfig } from '../../../model/plan-schema.ts';
import { isOver, type Ticket } from '../../../model/ticket.ts';
import { modeOf } from '../options/execution-config-and-workflow-changes.ts';
import type { IssueResult } from '../request-and-result-types.ts';
import { issueResult, runSeconds } from '../results/issue-result.ts';
import { storedRun } from '../results/stored-run-time-and-issue-names.ts';
import { type IssueLog, type RunLog, readLog } from './read-and-rotate-logs.ts';

export interface RunLogWriter {
  readonly path: string;
  /** How long the run took before this part of it. */
  readonly spentSeconds?: number;
  /** Writes the run as it is now. */
  update(): void;
  /** Writes how it ended. */
  finish(end: { aborted: boolean }): void;
}

interface RunLogOptions {
  path: string;
  planId: string;
  config: ExecutionConfig;
  /** How long the run took until now, used if the log has no value. */
  spentSeconds?: number;
  /** Issues that were asked for and not taken into the run. */
  refused?: readonly IssueResult[];
}

/** One file per run, rewritten whole whenever a phase or an issue ends, so that a kill loses nothing. A resumed run continues its file. */
export function openRunLog(
  engine: Pick<EngineContext, 'store' | 'now'>,
  options: RunLogOptions,
): RunLogWriter {
  const { path, planId, config } = options;
  // A log that cannot be read is written again from the store.
  const read = readLog(path);
  const before = 'log' in read ? read.log : undefined;
  const began = Date.parse(engine.now());
  const spent = Math.max(before?.summary?.totalDurationSeconds ?? 0, options.spentSeconds ?? 0);
  const startTime = before?.startTime ?? new Date(began - spent * 1000).toISOString();
  makePlace(dirname(path));
  const write = (end?: { aborted: boolean }) => {
    const now = engine.now();
    const plan = engine.store.plan(planId);
    const tickets = engine.store.tickets(plan);
    const others = options.refused?.map((result) => issueLog(result, [], true)) ?? before?.issues ?? [];
    const seconds = spent + Math.max(0, Date.parse(now) - began) / 1000;
    const ended = { endTime: end ? now : null, aborted: end?.aborted ?? false };
    const log = runLog({ plan, tickets, config, startTime, seconds, others, ...ended });
    writeAtomic(path, `${JSON.stringify(log, null, 2)}\n`, 0o644);
  };
  return { path, spentSeconds: spent, update: () => write(), finish: write };
}

interface RunLogInput {
  plan: Plan;
  tickets: readonly Ticket[];
  config: ExecutionConfig;
  startTime: string;
  endTime: string | null;
  seconds: number;
  aborted: boolean;
  /** Entries of issues that have no ticket. */
  others?: readonly IssueLog[];
}

/** The content of a run's log. */
export function runLog(input: RunLogInput): RunLog {
  const { plan, tickets, config, startTime, endTime, aborted, others = [] } = input;
  const own = tickets.map((ticket) => {
    // Such a ticket changes only by a person, even while others run.
    const rests = isOver(ticket) || ticket.status === 'needs_attention';
    return issueLog(issueResult(ticket, plan), ticket.source?.labels ?? [], endTime !== null || rests);
  });
  const { phases, sequential, chain, concurrency, qualityLoop, maxIterations, qaGate } = config;
  const project = storedRun(plan)?.manifest;
  const ids = new Set(own.map(({ id }) => id));
  const issues = [...own, ...others.filter(({ id }) => !ids.has(id))];
  const count = (is: (issue: IssueLog) => boolean | undefined) => issues.filter(is).length;
  return {
    version: 1,
    runId: plan.id,
    startTime,
    endTime,
    config: {
      phases: [...phases],
      mode: modeOf(plan, config),
      ...{ sequential, chain, concurrency, qualityLoop, maxIterations, qaGate },
      stack: project?.stack ?? null,
      packageManager: project?.packageManager ?? null,
    },
    issues,
    summary: {
      totalIssues: issues.length,
      passed: count(({ success }) => success),
      failed: count(({ status }) => status === 'failure' || status === 'partial'),
      notStarted: count((issue) => issue.notStarted),
      waiting: count((issue) => issue.waiting),
      stopped: count(({ status }) => status === 'stopped'),
      aborted,
      totalDurationSeconds: runSeconds(input.seconds, own),
    },
  };
}

function makePlace(path: string): void {
  const isNew = !existsSync(path);
  const refused = (why: string) =>
    new InputError('run/log', `The log of the run cannot be written to ${path}: ${why}.`, {
      hint: 'Name another directory with --log-path, or leave it out with --no-log-json.',
      details: { path },
    });
  try {
    makeDirectory(path, 0o777);
    // Logs should not show up as changes of the repository.
    if (isNew) writeFileSync(join(path, '.gitignore'), '*\n', { flag: 'wx' });
  } catch (error) {
    // Another run created it at the same time.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST')
      throw refused(messageOf(error).replace(/\.$/, ''));
  }
  if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) throw refused('it is not a directory');
}

function issueLog(result: IssueResult, labels: string[], over: boolean): IssueLog {
  return { ...result, labels, status: statusOf(result, over) };
}

function statusOf(result: IssueResult, over: boolean): IssueLog['status'] {
  if (result.success) return 'success';
  if (result.notStarted) return 'not_started';
  if (result.waiting) return 'waiting';
  if (result.stopped) return 'stopped';
  if (!over) return 'running';
  return result.phaseResults.some((phase) => phase.success) ? 'partial' : 'failure';
}

/** Writes the logs of runs that a daemon continues. Takes every event; problems are reported as events. */
export function followLogs(
  engine: Pick<EngineContext, 'store' | 'now'>,
  report: (event: EngineEvent) => void,
): (event: EngineEvent) => void {
  const logs = new Map<string, RunLogWriter | null>();
  return (event) => {
    if (event.type !== 'attempt:end' && event.type !== 'ticket:status') return;
    const { planId } = event;
    try {
      const plan = engine.store.plan(planId);
      if (!logs.has(planId)) logs.set(planId, open(engine, plan));
      const log = logs.get(planId);
      if (!log) return;
      if (isAtRest(engine, plan)) log.finish({ aborted: false });
      else log.update();
    } catch (error) {
      logs.set(planId, null);
      const message = `the run's log: ${messageOf(error)}`;
      report({ type: 'problem', planId, ticketId: null, message, path: null });
    }
  };
}

function open(engine: Pick<EngineContext, 'store' | 'now'>, plan: Plan): RunLogWriter | null {
  const run = storedRun(plan);
  if (!run?.log) return null;
  checkLogPlace(run.log, plan.repo ?? '/');
  return openRunLog(engine, { path: run.log, planId: plan.id, config: run.config });
}

/** No ticket of it will change without a person. */
function isAtRest({ store }: Pick<EngineContext, 'store'>, plan: Plan): boolean {
  return !store
    .tickets(plan)
    .some(
      ({ status, hold }) =>
        status === 'running' || status === 'ready' || (status === 'queued' && hold === null),
    );
}

/** A repository may contain links to other places; a log inside the repository must stay inside it. */
export function checkLogPlace(file: string, repo: string): void {
  if (!isWithin(repo, file)) return;
  const refused = (place: string, why: string, details: object, hint: string) =>
    new InputError('run/log', `The log of the run would be written to ${place}${why}.`, {
      hint: `${hint}, or leave the log out with --no-log-json.`,
      details: { ...details },
    });
  const place = dirname(file);
  let dir = place;
  while (!existsSync(dir) && dir !== dirname(dir)) dir = dirname(dir);
  const real = realpathSync(dir);
  const root = realpathSync(repo);
  // Git would take a log among its own files for one of its files.
  if (isWithin(join(root, '.git'), join(real, relative(dir, place))))
    throw refused(place, ", among git's files", { path: place }, 'Name another directory with --log-path');
  if (isWithin(root, real)) return;
  const hint = `Make ${dir} a directory, name another one with --log-path`;
  throw refused(real, `: ${dir} leads out of the repository`, { path: dir, real }, hint);
}

function isWithin(dir: string, path: string): boolean {
  const way = relative(dir, path);
  return way !== '..' && !way.startsWith('../') && !isAbsolute(way);
}
