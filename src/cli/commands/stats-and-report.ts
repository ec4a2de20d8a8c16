import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { repositoryOf } from '../../config/find-config-and-state.ts';
import type { EngineContext } from '../../engine/context.ts';
import type { RunLog } from '../../features/issue-runs/logs/read-and-rotate-logs.ts';
import type { Rate } from '../../features/issue-runs/logs/run-stats.ts';
import { countedIssues, logsOfRepository, runStats } from '../../features/issue-runs/logs/run-stats.ts';
import { ifWritable } from '../../machine/files/make-directory-and-handle-storage-errors.ts';
import { noteFact, readFacts } from '../../machine/files/write-atomic-and-note-facts.ts';
import { InputError, messageOf } from '../../model/errors.ts';
import { plural } from '../../model/text/clean-escape-quote-plural.ts';
import { keepReport, makeReport, periodOf, timeOf } from '../../report/gather-plans-and-write-reports.ts';
import { oneLine } from '../../report/printable-text.ts';
import { usageText, wholeSeconds } from '../../report/style-and-phrases.ts';
import { table, wrapLines } from '../../report/tables-and-text-wrapping.ts';
import { reportHtml, reportMarkdown, reportText } from '../../report/work-report.ts';
import type { OptionsOf } from '../definitions/commands-and-their-options.ts';
import { planNamed, plansHere } from '../find-named-plans-and-tickets.ts';
import { type Io, outJson } from '../io.ts';
import {
  type GlobalOptions,
  openEngine,
  openNamedStore,
  openSettings,
} from '../open-settings-store-and-engine.ts';

export async function stats(io: Io, options: OptionsOf<'stats'>): Promise<void> {
  const settings = await openSettings(io, options);
  const { store, view } = await openNamedStore(io, options, settings, (state) => state.view());
  const { logPath } = settings.run;
  const { logs, unreadable } = logsOfRepository(io.cwd, { logPath, view, holder: store.holder('stats') });
  if (!options.json)
    for (const { file, reason } of unreadable) io.err(`! ${file} could not be read: ${reason}`);
  if (options.csv) return io.out(csv(logs));
  const found = runStats(logs, unreadable);
  if (options.json) return outJson(io, found);
  if (found.runs === 0) return io.out('No finished runs of issues are known here yet.');
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
  io.out(table(['', 'count', 'success', 'average'], rows, io.style));
  const failures = Object.entries(found.failures).map(([name, count]) => `${name} ${count}`);
  if (failures.length > 0) io.out(`failures: ${failures.join(', ')}`);
  const { tokens, costUsd, unpriced } = found;
  const used = usageText({ inputTokens: tokens, outputTokens: null, costUsd }, unpriced);
  if (used) io.out(`usage: ${used}`);
}

function csv(logs: readonly RunLog[]): string[] {
  const head = ['run', 'mode', 'issue', 'status', 'seconds', 'tokens', 'costUsd', 'failure'];
  const lines = logs.flatMap((log) =>
    countedIssues(log).map((issue) =>
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

/** Quoted if needed; a text that a spreadsheet would take for a formula gets an apostrophe. */
function cell(value: string | number): string {
  const text = oneLine(String(value), 1000);
  const safe = /^[=+@-]/.test(text) && typeof value === 'string' ? `'${text}` : text;
  return /[",]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

type ReportOptions = OptionsOf<'report'>;

/** Shows what happened since a time, and what a person has to do. */
export async function report(io: Io, options: ReportOptions): Promise<void> {
  const formats = [options.md, options.html, options.json].filter(Boolean).length;
  if (formats > 1) throw new InputError('usage', 'Choose one of --md, --html and --json.');
  const now = Date.now();
  const given = options.since === undefined ? undefined : timeOf(options.since, now);
  const engine = await openEngine(io, options, 'report');
  const planId = options.plan === undefined ? undefined : planNamed(io, engine.store, 'report', options.plan);
  const place = options.repo === undefined ? io : { ...io, cwd: resolve(io.cwd, options.repo) };
  if (options.repo !== undefined && !existsSync(place.cwd))
    throw new InputError('usage', `${place.cwd} does not exist.`);
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
  // One that goes to a file or a program has not been looked at. A report can be read where nothing can be written.
  if (given === undefined && planId === undefined && io.tty)
    ifWritable(() => noteFact(looked, scope ?? 'all', { at: made.until }, 1000));
  if (options.json) return outJson(io, made);
  if (options.html) return io.out(reportHtml(made));
  io.out(options.md ? reportMarkdown(made) : wrapLines(reportText(made, io.style), io.columns?.()));
}

/** Writes the report of a run that has ended. Problems are only shown: the run is over. */
export async function reportAtEnd(
  io: Io,
  options: GlobalOptions & { engine?: EngineContext },
  planId: string,
): Promise<void> {
  try {
    await keepReport(options.engine ?? (await openEngine(io, options, 'report')), planId);
  } catch (error) {
    io.err(`! The report of ${planId} could not be written: ${messageOf(error)}`);
  }
}
