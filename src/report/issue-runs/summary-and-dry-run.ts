import type {
  IssueResult,
  PlannedIssue,
  RunResult,
} from '../../features/issue-runs/request-and-result-types.ts';
import { reasonOf, retryCommand, workedSeconds } from '../../features/issue-runs/results/issue-result.ts';
import {
  issueName,
  remarksOf,
  storedRun,
} from '../../features/issue-runs/results/stored-run-time-and-issue-names.ts';
import type { EngineEvent } from '../../model/events.ts';
import { dollars, type Forecast, totalUsage } from '../../model/limits/usage-cost-and-estimate.ts';
import { howToAnswer } from '../../model/state/explain-ticket.ts';
import { isCancelled, type Ticket } from '../../model/ticket.ts';
import { whyUnchecked } from '../../model/verdict-criteria-and-missing-checks.ts';
import { readableTicket, type Store } from '../../store/store-interface.ts';
import { type Lines, oneLine } from '../printable-text.ts';
import { whereWorkIs } from '../status-text.ts';
import { counted, type Style, usageText, wholeSeconds } from '../style-and-phrases.ts';
import {
  cells,
  fittingTable,
  foldSummary,
  groupCounts,
  joined,
  type SummaryRow,
  wrapLines,
} from '../tables-and-text-wrapping.ts';
import { markOf, RunLines } from './progress-lines.ts';

interface RunOutputOptions {
  store: Store;
  out(lines: Lines): void;
  verbose: boolean;
  /** Print only the result. */
  quiet: boolean;
  style: Style;
  /** The width of the terminal, which may change while the run is shown. */
  columns?: (() => number) | undefined;
  /** The lines are above a live block, which shows starts, progress and time. */
  live?: boolean;
}

/** Prints an issue run as lines: its progress, then its result. */
export function runOutput({ store, out, verbose, quiet, style, columns, live = false }: RunOutputOptions) {
  let planId = '';
  const known = <T>(ticketId: string, read: (ticket: Ticket) => T, otherwise: T): T => {
    const ticket = readableTicket(store, { planId, ticketId });
    return ticket ? read(ticket) : otherwise;
  };
  const lines = new RunLines({
    out: (line) => out(paintMark(line, style)),
    live,
    clock: () => performance.now(),
    verbose,
    nameOf: (id) => known(id, issueName, id),
    msOf: (id) => known(id, (ticket) => workedSeconds(ticket) * 1000, 0),
    reasonOf: (id) => known(id, reasonOf, ''),
    howToAnswer: (id) => known(id, (ticket) => howToAnswer(ticket, store.plan(planId)), []),
    remarksOf: (id, phase) => known(id, (ticket) => remarksOf(ticket, phase), []),
  });
  return {
    listen(event: EngineEvent): void {
      if (quiet) return;
      if (event.type !== 'plan:status' || planId !== '') return void lines.listen(event);
      planId = event.planId;
      const plan = store.plan(planId);
      const marks = plan.tickets.map(({ ticketId }) => [ticketId, known(ticketId, markOf, '⏳')] as const);
      lines.begin(new Map(marks), storedRun(plan)?.config.sequential);
    },
    end(result: RunResult): void {
      lines.close();
      if (result.detached) return;
      planId = result.planId ?? planId;
      const onBranch = (id: string) => known(id, (ticket) => whereWorkIs(ticket)?.kind === 'branch', true);
      const text = result.dryRun
        ? wrapLines(
            [...dryRunLines(result.dryRun, result.results), ...forecastLines(result.forecast)],
            columns?.(),
          )
        : issueSummary(result, style, columns?.(), onBranch, (ticketId) =>
            readableTicket(store, { planId, ticketId }),
          );
      if (text.length > 0) out(text);
    },
    close: (): void => lines.close(),
  };
}

const PAINTS: Readonly<Record<string, keyof Style>> = {
  '✓': 'green',
  '✗': 'red',
  '!': 'yellow',
  '◌': 'yellow',
  '‖': 'yellow',
  '●': 'cyan',
};

/** Colours the mark that a line begins with. */
function paintMark(line: string, style: Style): string {
  const paint = PAINTS[line.charAt(0)];
  return paint ? style[paint](line.charAt(0)) + line.slice(1) : line;
}

/** Reasons end with the hint, so piped output has them in full. */
const MAX_REASON_CHARS = 300;
const PIPED_WHY = 4000;

const nameOf = ({ issueNumber, id }: { issueNumber: number; id: string }) =>
  issueNumber && id === String(issueNumber) ? `#${issueNumber}` : id;

/**
 * The result of a run: a row per issue, then how to continue with each that is not done. `onBranch`: whether there is work to merge.
 * `stored`: its ticket, where that can be read.
 */
export function issueSummary(
  result: RunResult,
  colors: Style,
  columns?: number,
  onBranch: (id: string) => boolean = () => true,
  stored: (id: string) => Ticket | undefined = () => undefined,
): string[] {
  const { results, planId } = result;
  const groupOf = (issue: IssueResult): SummaryRow['group'] => {
    if (issue.success) return 'done';
    const ticket = stored(issue.id);
    if (result.cancelled || (ticket && isCancelled(ticket))) return 'cancelled';
    const isIdle = issue.pending || issue.notStarted || issue.stopped || issue.superseded;
    return isIdle ? 'waiting' : 'need you';
  };
  const lines = [...tableOf(results, colors, columns, groupOf)];
  const failed = results.filter((issue) => !issue.success && !issue.pending);
  const unpriced = results.reduce((sum, issue) => sum + (issue.unpriced ?? 0), 0);
  const used = usageText(totalUsage(results.map(({ usage }) => usage)), unpriced);
  const superseded = results.filter((issue) => issue.superseded).length;
  const groups = results.filter((issue) => !issue.superseded).map(groupOf);
  const facts = [
    ...groupCounts(groups, results.length),
    ...counted({ superseded }),
    wholeSeconds(result.wallClockDurationSeconds * 1000),
    used,
  ];
  lines.push(...joined(facts.filter(Boolean), columns).map(colors.bold));
  const forward = new Set(results.flatMap((issue) => issue.fastForward ?? []));
  for (const command of forward)
    lines.push(
      `Merged next to the base branch, which is checked out. To bring it into your checkout: ${command}`,
    );
  for (const issue of results) if (issue.notMerged) lines.push(`${nameOf(issue)}: ${issue.notMerged}`);
  if (planId !== null && !result.config.integrate)
    lines.push(...diffAndMergeLines(results, planId, { cancelled: result.cancelled, onBranch }));
  const resume = planId === null || result.cancelled ? '' : `signalbox resume ${planId}`;
  // Ctrl-C here, or `stop` elsewhere: one command continues all.
  const isStopped = result.exitCode >= 130 || failed.filter(({ next }) => next === resume).length > 1;
  const all = isStopped ? resume : '';
  const retried = failed.filter(
    ({ id, next }) => planId !== null && next === retryCommand({ planId, ticketId: id }),
  );
  const isBulk = retried.length > 1 || result.cancelled;
  // The table shows no branches of rows that are folded.
  const begun = failed.find(({ id, superseded }) => !superseded && stored(id)?.base);
  if (begun && planId !== null && (isBulk || all))
    lines.push(`To look at what ${nameOf(begun)} has done so far: signalbox diff ${planId} ${begun.id}`);
  for (const issue of failed)
    if (issue.next !== all && !(isBulk && retried.includes(issue)))
      lines.push(...continueLines(issue, planId, columns));
  if (result.cancelled)
    lines.push(
      [
        'This run was cancelled.',
        ...retried.slice(0, 1).map(({ next }) => `To bring back an issue: ${next}`),
      ].join(' '),
    );
  else if (isBulk)
    lines.push(
      `To see why: signalbox logs --failed ${planId}`,
      `To retry the ${retried.length} failed: signalbox retry --failed ${planId} && signalbox resume ${planId}`,
    );
  if (all) lines.push(`Stopped. Continue with: ${all}`);
  if (result.logPath) lines.push(colors.dim(`Log: ${result.logPath}`));
  return wrapLines(lines, columns);
}

/** Commands that merge pull requests, and that show and merge work without one. */
function diffAndMergeLines(
  results: readonly IssueResult[],
  planId: string,
  { cancelled = false, onBranch }: { cancelled: boolean | undefined; onBranch(id: string): boolean },
): string[] {
  const fresh = results.filter(({ success, skipped }) => success && !skipped);
  const pulls = new Set(cancelled ? [] : fresh.flatMap(({ prUrl }) => prUrl ?? [])).size;
  if (pulls === 1) return [`To merge the pull request: signalbox merge ${planId} --pr`];
  if (pulls > 1)
    return [
      `To see the ${pulls} pull requests: signalbox status ${planId}`,
      `To merge them: signalbox merge ${planId} --pr`,
    ];
  const done = fresh.filter(({ id, branch, prUrl }) => branch && !prUrl && onBranch(id));
  if (done[0] === undefined) return [];
  const [work, it] =
    done.length === 1 ? ['The work is on its branch', 'it'] : ['Work is on its branches', 'one'];
  return [
    `${work}. To look at ${it}: signalbox diff ${planId} ${done[0].id}`,
    // `merge` takes no archived plan.
    cancelled
      ? `To merge ${it}: signalbox integrate ${planId} ${done[0].id}`
      : `To merge: signalbox merge ${planId}`,
  ];
}

/** The command that continues an issue; on its own line if the terminal is too narrow. */
function continueLines(issue: IssueResult, planId: string | null, columns: number | undefined): string[] {
  const [next = '', ...rest] = issue.next?.split('\n') ?? [];
  const others = issue.answers?.filter((command) => command !== next) ?? [];
  const more = [...rest, ...others.map((command) => `or: ${command}`)];
  const name = nameOf(issue);
  if (next === '') return [];
  if (!next.startsWith('signalbox ')) return [`${name}: ${next}`, ...more.map(indented)];
  const logs = issue.phaseResults.length > 0 ? `signalbox logs ${planId} ${issue.id}` : '';
  const line = `${name}: ${logs && `see ${logs}; `}continue with: ${next}`;
  if (columns === undefined || cells(line) <= columns) return [line, ...more.map(indented)];
  return [`${name}: continue with:`, ...[next, ...more, ...(logs ? ['and see:', logs] : [])].map(indented)];
}

const indented = (line: string) => `  ${line}`;

function tableOf(
  results: readonly IssueResult[],
  style: Style,
  columns: number | undefined,
  groupOf: (issue: IssueResult) => SummaryRow['group'],
): string[] {
  const rows = results.map((issue) => ({
    group: groupOf(issue),
    cells: [
      resultMark(issue, style),
      nameOf(issue),
      timeOf(issue),
      issue.notStarted ? '' : (issue.branch ?? ''),
      issue.prUrl ?? '',
      usageText(issue.usage, issue.unpriced ?? 0),
      oneLine(
        issue.success ? (issue.reservation ?? uncheckedIn(issue)) : whyOf(issue),
        columns === undefined ? PIPED_WHY : MAX_REASON_CHARS,
      ),
    ],
  }));
  if (rows.length === 0) return [];
  const shown = foldSummary(rows, 'issue', columns);
  const header = ['', 'issue', 'time', 'branch', 'pull request', 'usage', 'why'];
  return ['', ...fittingTable(header, shown, { style, columns, lead: 3 }), ''];
}

function uncheckedIn({ phaseResults }: IssueResult): string {
  const last = phaseResults.findLast(({ phase }) => phase === 'checks');
  return last ? whyUnchecked({ status: 'success', output: last.output ?? null }) : '';
}

/** `Phase exec failed: nothing was committed`; other reasons need no cause. */
function whyOf({ abortReason = '', cause, notStarted }: IssueResult): string {
  // The time column already says so.
  if (notStarted && abortReason === 'not started') return '';
  return cause && /^Phase \w+ failed$/.test(abortReason) ? `${abortReason}: ${cause}` : abortReason;
}

function resultMark(issue: IssueResult, colors: Style): string {
  if (issue.success) return colors.green('✓');
  if (issue.stopped) return colors.yellow('‖');
  if (issue.waiting) return colors.yellow('!');
  return issue.pending || issue.notStarted ? colors.dim('◌') : colors.red('✗');
}

function timeOf(issue: IssueResult): string {
  if (issue.skipped) return 'done before';
  return issue.notStarted ? 'not started' : wholeSeconds(issue.durationSeconds * 1000);
}

/** What a run would do, and what it refuses. */
export function dryRunLines(planned: readonly PlannedIssue[], refused: readonly IssueResult[]): string[] {
  const lines = planned.flatMap((each) => {
    const name = nameOf({ ...each, id: each.issue });
    if (each.done) return [`Done before ${name}: ${each.title}`, `  branch    ${each.branch}`];
    return [
      `Would run ${name}: ${each.title}`,
      `  phases    ${each.phases.join(' → ')}`,
      ...(each.added
        ? [`  labels    ${each.added.labels.join(', ')} → ${each.added.phases.join(', ')}`]
        : []),
      ...(each.after.length > 0 ? [`  after     ${each.afterNames.join(', ')}`] : []),
      ...(each.batch === null ? [] : [`  batch     ${each.batch}`]),
      `  branch    ${each.branch}`,
      `  worktree  ${each.worktree}`,
      ...(each.note ? [`  note      ${each.note}`] : []),
    ];
  });
  const others = refused.flatMap((issue) => [
    `Would not run ${nameOf(issue)}: ${oneLine(issue.abortReason ?? '', 300)}`,
    ...(issue.next?.split('\n').map((line) => `  ${line}`) ?? []),
  ]);
  return [...lines, ...others];
}

const MODES: Record<Forecast['mode'], (limit: number) => string> = {
  parallel: (limit) => `parallel, at most ${limit} at once`,
  sequential: () => 'sequential, one at a time',
  chain: () => 'chain, each from the branch of the one before',
  batch: (limit) => `batches in order, at most ${limit} at once`,
};

/** What a run would need and take, below what it would do. */
export function forecastLines(forecast: Forecast | undefined): string[] {
  if (!forecast || Object.keys(forecast.phases).length === 0) return [];
  const { mode, concurrency, agents, models, forge } = forecast;
  const named = models.map(({ phase, model, effort }) => {
    return `${phase} ${[model ?? '', effort ? `(effort ${effort})` : ''].filter(Boolean).join(' ')}`;
  });
  const modelText = [...named, named.length > 0 ? 'others as the agent chooses' : 'as the agent chooses'];
  return [
    '',
    `mode        ${MODES[mode](concurrency)}`,
    `agent       ${agents.join(', ') || 'none'}`,
    ...(agents.length > 0 ? [`models      ${modelText.join(', ')}`] : []),
    `forge       ${forge.length > 0 ? `origin and gh, for ${forge.join(', ')}` : 'not needed'}`,
    `estimate    ${estimateText(forecast.estimate)}`,
  ];
}

function estimateText(estimate: Forecast['estimate']): string {
  if (!estimate) return 'none: it needs three earlier attempts of the same phase and agent';
  const { seconds, usd, unpriced, missing } = estimate;
  const range = (low: string, high: string, equal: string) =>
    low === high ? `${equal} ${low}` : `${low} to ${high}`;
  const time = range(wholeSeconds(seconds.low * 1000), wholeSeconds(seconds.high * 1000), 'about');
  const isUnknown = !usd || (unpriced && usd.high === 0);
  const cost = isUnknown
    ? 'cost unknown'
    : `${unpriced ? 'at least ' : ''}${range(dollars(usd.low), dollars(usd.high), unpriced ? '' : 'about').trim()}`;
  const without = missing.length > 0 ? `, without ${missing.join(', ')}` : '';
  const rework = !`${time} ${cost}`.includes(' to ') ? '' : ', from no rework to the most so far';
  return `${time}, ${cost}${rework}${without}`;
}
