import { statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { repositoryOf } from '../../config/find-config-and-state.ts';
import type { EngineContext } from '../../engine/context.ts';
import { diffTicket } from '../../engine/prepare-release-diff-workspace.ts';
import {
  countedIssues,
  type Rate,
  readRunLogs,
  runStats,
  storedLogs,
} from '../../features/issue-runs/logs/run-stats.ts';
import { makeDirectory } from '../../machine/files/make-directory-and-handle-storage-errors.ts';
import { noteFact, readFacts, writeAtomic } from '../../machine/files/write-atomic-and-note-facts.ts';
import { InputError, messageOf, SignalboxError } from '../../model/errors.ts';
import { costText } from '../../model/limits/usage-and-cost.ts';
import type { Plan } from '../../model/plan.ts';
import { plural } from '../../model/text/clean-escape-quote-plural.ts';
import { statusOf } from '../../report/status-text.ts';
import { clock, oneLine, style, wholeSeconds } from '../../report/style-and-phrases.ts';
import { table, wrapLines } from '../../report/table.ts';
import {
  reportHtml,
  reportMarkdown,
  reportText,
  type WorkReport,
  workReport,
} from '../../report/work-report.ts';
import { type Io, outJson } from '../io.ts';
import {
  type GlobalOptions,
  openEngine,
  openStore,
  planNamed,
  plansHere,
} from '../open-state-and-find-named-tickets.ts';

export async function stats(io: Io, options: GlobalOptions & { csv?: boolean }): Promise<void> {
  const { settings, store, view } = await openStore(io, options);
  const repo = repositoryOf(io.cwd) ?? io.cwd;
  const { logs: files, unreadable } = readRunLogs(resolve(repo, settings.run.logPath));
  const holder = store.holder('stats');
  const isHeld = ({ claim }: Plan) => claim !== null && holder.isLive(claim);
  const known = new Set(files.map((log) => log.runId));
  const logs = [...files, ...storedLogs(view, repo, known, isHeld)];
  if (!options.json)
    for (const { file, reason } of unreadable) io.err(`! ${file} could not be read: ${reason}`);
  if (options.csv) return io.out(csv(logs.map((log) => ({ ...log, issues: countedIssues(log) }))));
  const found = runStats(logs, unreadable);
  if (options.json) return outJson(io, found);
  if (found.runs === 0) return io.out('No finished runs are known here yet.');
  const row = (name: string, rate: Rate) => [
    name,
    String(rate.total),
    rate.rate === null ? '' : `${Math.round(rate.rate * 100)}%`,
    rate.averageSeconds === null ? '' : wholeSeconds(rate.averageSeconds * 1000),
  ];
  const rows = [
    row('all issues', found.issues),
    ...Object.entries(found.byMode).map(([name, rate]) => row(`  ${name}`, rate)),
    ...Object.entries(found.byPhase).map(([name, rate]) => row(`phase ${name}`, rate)),
  ];
  io.out(`${plural(found.runs, 'run')}`);
  io.out(table(['', 'count', 'success', 'average'], rows, style(io.color)));
  const failures = Object.entries(found.failures).map(([name, count]) => `${name} ${count}`);
  if (failures.length > 0) io.out(`failures: ${failures.join(', ')}`);
  const facts = [
    ...(found.tokens === null ? [] : [`tokens: ${found.tokens}`]),
    ...(found.costUsd !== null ? [`cost: ${costText(found.costUsd, found.unpriced)}`] : []),
    ...(found.costUsd === null && found.unpriced > 0 ? [costText(null, found.unpriced)] : []),
  ];
  if (facts.length > 0) io.out(facts.join(', '));
}

function csv(
  logs: readonly { runId: string; config: { mode: string }; issues: readonly CsvIssue[] }[],
): string[] {
  const head = ['run', 'mode', 'issue', 'status', 'seconds', 'tokens', 'costUsd', 'failure'];
  const lines = logs.flatMap((log) =>
    log.issues.map((issue) =>
      [
        log.runId,
        log.config.mode,
        issue.id,
        issue.status,
        issue.durationSeconds.toFixed(1),
        (issue.usage?.inputTokens ?? 0) + (issue.usage?.outputTokens ?? 0) || '',
        issue.usage?.costUsd ?? '',
        issue.failureCategory ?? '',
      ]
        .map(cell)
        .join(','),
    ),
  );
  return [head.join(','), ...lines];
}

interface CsvIssue {
  id: string;
  status: string;
  durationSeconds: number;
  usage: { inputTokens: number | null; outputTokens: number | null; costUsd: number | null } | null;
  failureCategory?: string;
}

/** Quoted if needed; a text that a spreadsheet would take for a formula gets an apostrophe. */
function cell(value: string | number): string {
  const text = oneLine(String(value), 1000);
  const safe = /^[=+@-]/.test(text) && typeof value === 'string' ? `'${text}` : text;
  return /[",]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

interface ReportOptions extends GlobalOptions {
  since?: string;
  md?: boolean;
  html?: boolean;
  plan?: string;
  repo?: string;
  all?: boolean;
}

const DEFAULT_HOURS = 12;
const HOUR_MS = 3_600_000;
/** More finished plans than these are not read for one report. */
const MAX_FINISHED = 200;
/** Git is started once for each of these. */
const MAX_DIFFSTATS = 50;
/** The end of a run of more tickets is not held up by git. */
const MAX_DIFFSTATS_AT_END = 5;

/** Shows what happened since a time, and what a person has to do. */
export async function report(io: Io, options: ReportOptions): Promise<void> {
  const formats = [options.md, options.html, options.json].filter(Boolean).length;
  if (formats > 1) throw new InputError('usage', 'Choose one of --md, --html and --json.');
  const now = Date.now();
  const given = options.since === undefined ? undefined : sinceOf(options.since, now);
  const engine = await openEngine(io, options, 'report');
  const planId = options.plan === undefined ? undefined : planNamed(io, engine.store, 'report', options.plan);
  const place = options.repo === undefined ? io : { ...io, cwd: resolve(io.cwd, options.repo) };
  if (options.repo !== undefined && repositoryOf(place.cwd) === null)
    throw new InputError('usage', `${place.cwd} is in no git repository.`);
  const scope = options.all ? null : repositoryOf(place.cwd);
  const looked = engine.machine.reportsLookedAt;
  const { at: last } = (readFacts(looked)[scope ?? 'all'] ?? {}) as { at?: string };
  const period = periodOf({ given, planId, last, now });
  const made = await makeReport(engine, {
    ...period,
    planId,
    isWanted: scope ? plansHere(place, engine.store) : undefined,
  });
  if (given === undefined && planId === undefined) noteFact(looked, scope ?? 'all', { at: made.until }, 1000);
  if (options.json) return outJson(io, made);
  if (options.html) return io.out(reportHtml(made));
  io.out(options.md ? reportMarkdown(made) : wrapLines(reportText(made, style(io.color)), io.columns?.()));
}

interface Period {
  since: number;
  period: string;
}

function periodOf(from: {
  given: number | undefined;
  planId: string | undefined;
  last: string | undefined;
  now: number;
}): Period {
  const { given, planId, last, now } = from;
  const at = (time: number) => clock(new Date(time).toISOString(), now);
  if (given !== undefined) return { since: given, period: `since ${at(given)}` };
  if (planId !== undefined) return { since: 0, period: `plan ${planId}` };
  const looked = Date.parse(last ?? '');
  if (!Number.isNaN(looked))
    return { since: looked, period: `since ${at(looked)}, when you last looked at one` };
  const since = now - DEFAULT_HOURS * HOUR_MS;
  return { since, period: `the last ${DEFAULT_HOURS} hours, since ${at(since)}` };
}

const UNITS: Readonly<Record<string, number>> = { m: 60_000, h: HOUR_MS, d: 24 * HOUR_MS };

/** `18:00` (the last one), `12h`, or a date with or without a time. */
function sinceOf(text: string, now: number): number {
  const [, number, unit = ''] = /^(\d{1,5})([mhd])$/.exec(text) ?? [];
  if (number !== undefined) return now - Number(number) * (UNITS[unit] ?? 0);
  const [, hours, minutes] = /^([01]?\d|2[0-3]):([0-5]\d)$/.exec(text) ?? [];
  if (hours !== undefined) {
    const date = new Date(now);
    date.setHours(Number(hours), Number(minutes), 0, 0);
    if (date.getTime() > now) date.setDate(date.getDate() - 1);
    return date.getTime();
  }
  // A date alone would be taken for UTC.
  const time = /^\d{4}-\d\d-\d\d/.test(text)
    ? Date.parse(text.length === 10 ? `${text}T00:00` : text)
    : Number.NaN;
  if (!Number.isNaN(time)) return time;
  throw new InputError('usage', `Invalid --since value: ${text}. Must be a time, a duration or a date.`, {
    hint: 'For example: --since 18:00, --since 12h, --since 2026-03-01',
  });
}

interface Wanted extends Period {
  planId?: string | undefined;
  isWanted?: ((plan: Plan) => boolean) | undefined;
  maxDiffstats?: number;
}

async function makeReport(
  engine: EngineContext,
  { since, period, planId, isWanted, maxDiffstats = MAX_DIFFSTATS }: Wanted,
): Promise<WorkReport> {
  const { store, holder, machine } = engine;
  const open = store.glance();
  const ids = planId === undefined ? (open.finished?.since(since, MAX_FINISHED) ?? []) : [planId];
  const known = new Set(open.plans.map(({ id }) => id));
  const others = ids.filter((id) => !known.has(id)).map((id) => store.view(id));
  if (planId !== undefined) store.plan(planId);
  const views = [open, ...others];
  const view = {
    ...open,
    plans: views.flatMap(({ plans }) => plans),
    tickets: new Map(views.flatMap(({ tickets }) => [...tickets])),
  };
  const now = Date.parse(engine.now());
  const all = statusOf({ view, holder, daemon: holder.daemon() !== undefined, now });
  const isIn = (plan: Plan) => (planId === undefined ? (isWanted?.(plan) ?? true) : plan.id === planId);
  const plans = all.filter(({ plan }) => plan.status !== 'draft' && isIn(plan));
  let stats = 0;
  return workReport({
    plans,
    since,
    now,
    period,
    events: plans.flatMap(({ plan }) => store.events(plan.id)),
    async diffstat(ticket) {
      if (++stats > maxDiffstats) return null;
      try {
        const { text } = await diffTicket(engine, ticket, 'stat');
        return text.trim().split('\n').at(-1)?.trim() || null;
      } catch (error) {
        if (error instanceof SignalboxError) return null;
        throw error;
      }
    },
    printedAt: (ticket, attempt) =>
      statSync(join(machine.job(ticket, attempt), 'stdout'), { throwIfNoEntry: false })?.mtimeMs ?? null,
  });
}

/** Writes the report of a run that has ended beside its log. Problems are only shown: the run is over. */
export async function keepReport(
  io: Io,
  options: GlobalOptions & { engine?: EngineContext },
  planId: string,
  logPath: string | null,
): Promise<void> {
  try {
    const engine = options.engine ?? (await openEngine(io, options, 'report'));
    const isSmall = engine.store.plan(planId).tickets.length <= MAX_DIFFSTATS_AT_END;
    const maxDiffstats = isSmall ? MAX_DIFFSTATS_AT_END : 0;
    const made = await makeReport(engine, { since: 0, period: `plan ${planId}`, planId, maxDiffstats });
    const file =
      logPath?.replace(/\.json$/, '.md') ?? join(engine.settings.logDir, 'reports', `${planId}.md`);
    makeDirectory(dirname(file));
    writeAtomic(file, `${reportMarkdown(made).join('\n')}\n`);
  } catch (error) {
    io.err(`! The report of ${planId} could not be written: ${messageOf(error)}`);
  }
}
