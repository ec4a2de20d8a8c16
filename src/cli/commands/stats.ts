import { resolve } from 'node:path';
import { repositoryOf } from '../../config/find-config-and-state.ts';
import {
  countedIssues,
  type Rate,
  readRunLogs,
  runStats,
  storedLogs,
} from '../../features/issue-runs/logs/run-stats.ts';
import { costText } from '../../model/limits/usage-and-cost.ts';
import type { Plan } from '../../model/plan.ts';
import { plural } from '../../model/text/clean-escape-quote-plural.ts';
import { oneLine, style, wholeSeconds } from '../../report/style-and-phrases.ts';
import { table } from '../../report/table.ts';
import { type Io, outJson } from '../io.ts';
import { type GlobalOptions, openStore } from '../open-state-and-find-named-tickets.ts';

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
