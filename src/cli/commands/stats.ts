import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { Rate } from '../../features/issue-runs/logs/stats.ts';
import type { Plan } from '../../model/plan.ts';
import { plural } from '../../model/text/plural.ts';
import { type Io, outJson } from '../io.ts';
import { type GlobalOptions, openStore } from '../open.ts';

export function registerStats(program: Command, io: Io): void {
  program
    .command('stats')
    .description('success, durations, cost and failures over the runs of this project')
    .option('--csv', 'one line per issue, as CSV')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExamples:\n  $ signalbox stats\n  $ signalbox stats --csv > runs.csv')
    .action(async (_options: unknown, command: Command) => show(command.optsWithGlobals(), io));
}

async function show(options: GlobalOptions & { csv?: boolean }, io: Io): Promise<void> {
  const { settings, store, view } = await openStore(io, options);
  const [{ countedIssues, readRunLogs, runStats, storedLogs }, { repositoryOf }] = await Promise.all([
    import('../../features/issue-runs/logs/stats.ts'),
    import('../../config/paths.ts'),
  ]);
  const repo = repositoryOf(io.cwd) ?? io.cwd;
  const { logs: files, unreadable } = readRunLogs(resolve(repo, settings.run.logPath));
  const holder = store.holder('stats');
  const isHeld = ({ claim }: Plan) => claim !== null && holder.isLive(claim);
  const known = new Set(files.map((log) => log.runId));
  const logs = [...files, ...storedLogs(view, repo, known, isHeld)];
  if (!options.json)
    for (const { file, reason } of unreadable) io.err(`! ${file} could not be read: ${reason}`);
  if (options.csv) return io.out(csv(logs.map((log) => ({ ...log, issues: countedIssues(log) }))));
  const stats = runStats(logs, unreadable);
  if (options.json) return outJson(io, stats);
  if (stats.runs === 0) return io.out('No finished runs are known here yet.');
  const [{ table }, { style, wholeSeconds }] = await Promise.all([
    import('../../report/table.ts'),
    import('../../report/style.ts'),
  ]);
  const row = (name: string, rate: Rate) => [
    name,
    String(rate.total),
    rate.rate === null ? '' : `${Math.round(rate.rate * 100)}%`,
    rate.averageSeconds === null ? '' : wholeSeconds(rate.averageSeconds * 1000),
  ];
  const rows = [
    row('all issues', stats.issues),
    ...Object.entries(stats.byMode).map(([name, rate]) => row(`  ${name}`, rate)),
    ...Object.entries(stats.byPhase).map(([name, rate]) => row(`phase ${name}`, rate)),
  ];
  io.out(`${plural(stats.runs, 'run')}`);
  io.out(table(['', 'count', 'success', 'average'], rows, style(io.color)));
  const failures = Object.entries(stats.failures).map(([name, count]) => `${name} ${count}`);
  if (failures.length > 0) io.out(`failures: ${failures.join(', ')}`);
  if (stats.tokens !== null)
    io.out(`tokens: ${stats.tokens}${stats.costUsd === null ? '' : `, cost: $${stats.costUsd.toFixed(2)}`}`);
}

function csv(
  logs: readonly { runId: string; config: { mode: string }; issues: readonly CsvIssue[] }[],
): string {
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
  return [head.join(','), ...lines].join('\n');
}

interface CsvIssue {
  id: string;
  status: string;
  durationSeconds: number;
  usage: { inputTokens: number | null; outputTokens: number | null; costUsd: number | null } | null;
  failureCategory?: string;
}

/** Quoted where needed; a leading sign that a spreadsheet would compute is defused. */
function cell(value: string | number): string {
  const text = String(value);
  const safe = /^[=+@-]/.test(text) && typeof value === 'string' ? `'${text}` : text;
  return /[",\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
