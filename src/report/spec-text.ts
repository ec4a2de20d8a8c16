import { relative } from 'node:path';
import type { SpecResult } from '../features/spec-runs/spec-result.ts';
import type { Unit } from '../kiro/group-tasks-into-units.ts';
import type { Spec } from '../kiro/read-spec.ts';
import type { SpecProblem, SpecTask } from '../kiro/task-and-problem-types.ts';
import { isGivenUp } from '../model/plan.ts';
import { NO_REASON } from '../model/state/attempt-end-types-and-waits.ts';
import { currentHold } from '../model/state/explain-ticket.ts';
import { plural } from '../model/text/clean-escape-quote-plural.ts';
import { openTasksOf, type Ticket } from '../model/ticket.ts';
import { unchecked } from '../model/verdict-criteria-and-missing-checks.ts';
import { groupOf } from './plan-headers-and-summaries.ts';
import { oneLine } from './printable-text.ts';
import type { Style } from './style-and-phrases.ts';
import { counted, duration, statusMark, usageOfAttempts, usageText } from './style-and-phrases.ts';
import { fittingTable, foldSummary, joined, table, wrapLines } from './tables-and-text-wrapping.ts';

interface Shown {
  spec: Pick<Spec, 'name' | 'kind' | 'files' | 'tasks' | 'all'>;
  units: readonly Unit[];
}

interface TextOptions {
  colors: Style;
  /** Paths are shown relative to it. */
  cwd: string;
}

/** A spec for the terminal: its tasks, then its units in order. */
export function specText({ spec, units }: Shown, { colors, cwd }: TextOptions): string[] {
  const done = spec.all.filter((task) => task.done).length;
  const optional = spec.all.filter((task) => task.optional).length;
  const counts = [
    plural(spec.all.length, 'task'),
    `${done} done`,
    ...(optional > 0 ? [`${optional} optional`] : []),
    `${plural(units.length, 'unit')}, ${units.filter((unit) => !unit.done).length} to do`,
  ];
  const rows = units.map((unit, index) => [
    String(index + 1),
    unit.done ? colors.green('✓') : '○',
    unit.id,
    oneLine(unit.title, 60),
    unit.done ? 'done' : `${unit.open.length} of ${unit.work.length}`,
    unit.after.join(', '),
    unit.wave === null ? '' : String(unit.wave),
  ]);
  return [
    `${colors.bold(spec.name)} (${spec.kind}): ${counts.join(', ')}`,
    colors.dim(shortPath(spec.files.tasks, cwd)),
    '',
    ...spec.tasks.flatMap((task) => taskLines(task, colors)),
    ...(rows.length === 0
      ? []
      : ['', ...table(['', '', 'unit', 'title', 'to do', 'after', 'wave'], rows, colors)]),
  ];
}

function taskLines(root: SpecTask, colors: Style): string[] {
  const lines: string[] = [];
  const left: [SpecTask, number][] = [[root, 0]];
  for (let next = left.pop(); next; next = left.pop()) {
    const [task, depth] = next;
    lines.push(`${'  '.repeat(depth)}${taskLine(task, colors)}`);
    for (const child of [...task.children].reverse()) left.push([child, depth + 1]);
  }
  return lines;
}

const SIGNS = { open: '○', queued: '○', started: '◐', done: '○' } as const;

function taskLine(task: SpecTask, colors: Style): string {
  const about = [
    ...(task.optional ? ['optional'] : []),
    ...(task.dependsOn.length > 0 ? [`after ${task.dependsOn.map(({ id }) => id).join(', ')}`] : []),
    ...(task.requirements.length > 0
      ? [`requirements ${task.requirements.map(({ id }) => id).join(', ')}`]
      : []),
  ];
  const sign = task.done ? colors.green('✓') : SIGNS[task.mark];
  const end = about.length === 0 ? '' : colors.dim(`  (${oneLine(about.join('; '), 80)})`);
  return `${sign} ${colors.cyan(task.id)}  ${oneLine(task.title, 80)}${end}`;
}

/** `file:line:column: error: text`, with the hint below it. */
export function specProblemText(problem: SpecProblem, { colors, cwd }: TextOptions): string[] {
  const { file, line, column, severity, message, hint } = problem;
  const word = severity === 'error' ? colors.red('error') : colors.yellow('warning');
  const first = `${shortPath(file, cwd)}:${line}:${column}: ${word}: ${message}`;
  return [first, ...(hint?.split('\n').map((text) => `    ${text}`) ?? [])];
}

function shortPath(path: string, cwd: string): string {
  const short = relative(cwd, path);
  return short === '' || short.startsWith('..') ? path : short;
}

/** Counts, cost and time of a run, one line each. */
export function summaryFacts(result: SpecResult): string[] {
  const { counts, usage, unpriced, ms, changes } = result;
  const parts = [
    `${counts.complete - counts.partly} of ${counts.units} complete${counts.before > 0 ? ` (${counts.before} before this run)` : ''}`,
    ...unfinished(counts),
  ];
  const stat = changes.split('\n').at(-1)?.trim();
  return [
    `Units: ${parts.join(', ')}`,
    `Attempts: ${counts.attempts} in the last run`,
    `Changes: ${stat || 'none'} since the branch began`,
    `Usage: ${usageText(usage, unpriced) || 'unknown'} in the last run`,
    `Time: ${duration(ms)} in the last run`,
    ...(result.unchecked.length > 0 ? [`Unchecked: ${uncheckedText(result)}`] : []),
    ...(result.merge ? [`Merge: ${result.merge}`] : []),
    ...(addedText(result) ? [`Edited: ${addedText(result)}`] : []),
  ];
}

function addedText({ added, refused }: SpecResult): string {
  if (refused !== null)
    return `tasks.md was edited during this run and cannot be run like this: ${oneLine(refused, 300)}`;
  if (added.length === 0) return '';
  return `tasks.md was edited during this run. Run the spec again for: ${oneLine(added.join(', '), 300)}`;
}

function uncheckedText({ unchecked }: SpecResult): string {
  const one = unchecked.length === 1;
  return `${one ? 'checkpoint' : 'checkpoints'} ${unchecked.join(', ')} ${one ? 'was' : 'were'} ticked without a check, since there are none`;
}

/** The result of a spec run: a row per unit, the changes, and how to continue. */
export function specSummary(result: SpecResult, colors: Style, columns?: number): string[] {
  const { tickets, plan, halted, counts, changes, usage, unpriced, ms } = result;
  const failed = isGivenUp(plan) ? 0 : counts.failed;
  const now = Date.now();
  const shown = columns === undefined ? worthShowing(tickets) : tickets;
  const all = shown.map((ticket) => ({
    group: isPartly(ticket) ? ('waiting' as const) : groupOf(ticket, plan),
    cells: [
      isPartly(ticket) ? colors.yellow('✓') : statusMark(ticket.status, colors),
      ticket.ticketId,
      isPartly(ticket) ? 'partly' : ticket.status.replace('_', ' '),
      oneLine(ticket.title, 50),
      usageOfAttempts(ticket.phaseHistory),
      ticket.status === 'complete'
        ? oneLine(openText(ticket) || unchecked(ticket), 300)
        : oneLine(currentHold(ticket, { now })?.reason ?? ticket.error ?? '', 300),
    ],
  }));
  const rows = foldSummary(all, 'unit', columns);
  const facts = [
    `${counts.complete - counts.partly} of ${plural(counts.units, 'unit')} done`,
    ...unfinished(counts),
    `${plural(counts.attempts, 'attempt')} in this run`,
    duration(ms),
    usageText(usage, unpriced),
  ].filter(Boolean);
  const header = ['', 'unit', 'status', 'title', 'usage', 'why'];
  const lines = ['', ...fittingTable(header, rows, { style: colors, columns, lead: 3 })];
  const left = tickets.length - shown.length;
  if (left > 0) lines.push(colors.dim(`… and ${left} more: signalbox status --plan ${plan.id}`));
  if (changes !== '')
    lines.push('', colors.dim('Changes of the branch since it began:'), ...changes.split('\n'));
  lines.push('', ...joined(facts, columns).map(colors.bold));
  const branch = tickets[0]?.branch;
  if (branch)
    lines.push(colors.dim(`Branch: ${branch}${result.branchGone ? ' (gone: merged or deleted)' : ''}`));
  const where = plan.workspace === 'checkout' ? 'Checkout' : 'Worktree';
  if (result.path) lines.push(colors.dim(`${where}: ${result.path}`));
  const begun = tickets.find(({ base }) => base !== null);
  if (begun && changes !== '') lines.push(`To look at it: signalbox diff ${plan.id} ${begun.ticketId}`);
  if (result.merge) lines.push(`Merge it with: ${result.merge}`);
  if (addedText(result)) lines.push(`${colors.yellow('!')} ${addedText(result)}`);
  if (counts.blocked > 0)
    lines.push('To continue with blocked units, delete their `_Blocked_` lines and run the spec again.');
  if (result.unchecked.length > 0)
    lines.push(`${colors.yellow('!')} ${uncheckedText(result)}. Name them in the setting checks.`);
  if (halted) {
    const asks =
      halted.reason === NO_REASON ? 'halted and gave no reason' : `asks: ${oneLine(halted.reason, 1000)}`;
    lines.push(`${colors.yellow('!')} ${halted.ticketId} ${asks}`);
    lines.push(`Continue with: signalbox resume ${plan.id} --answer "…"`);
  } else if (plan.status === 'paused') lines.push(`Stopped. Continue with: signalbox resume ${plan.id}`);
  else if (failed > 0)
    lines.push(
      `To see why: signalbox logs --failed ${plan.id}`,
      `To retry the ${failed === 1 ? 'failed unit' : `${failed} failed units`}: signalbox resume ${plan.id}`,
    );
  else if (result.exitCode === 1) lines.push('The same command continues from here.');
  if (!halted && result.exitCode !== 0) lines.push(`Details: signalbox status --plan ${plan.id}`);
  return wrapLines(lines, columns);
}

const MAX_ROWS = 60;
const MAX_ROWS_PER_STATUS = 20;

/** Of many units: the latest complete ones, the next ones, and all that need attention. */
function worthShowing(tickets: readonly Ticket[]): readonly Ticket[] {
  if (tickets.length <= MAX_ROWS) return tickets;
  const of = (status: Ticket['status']) => tickets.filter((ticket) => ticket.status === status);
  const latest = of('complete').sort((a, b) => (a.since ?? '').localeCompare(b.since ?? ''));
  const alike = new Set([
    ...latest.slice(-MAX_ROWS_PER_STATUS),
    ...of('queued').slice(0, MAX_ROWS_PER_STATUS),
  ]);
  return tickets.filter(
    (ticket) => (ticket.status !== 'complete' && ticket.status !== 'queued') || alike.has(ticket),
  );
}

function unfinished({ partly, openBoxes, ...counts }: SpecResult['counts']): string[] {
  const { failed, halted, blocked, left, unselected } = counts;
  const boxes = { [openBoxes === 1 ? 'required box open' : 'required boxes open']: openBoxes };
  return counted({ partly, ...boxes, failed, halted, blocked, 'to do': left, 'not selected': unselected });
}

/** A complete unit with required boxes that are open. */
function isPartly(ticket: Ticket): boolean {
  return openTasksOf(ticket).length > 0;
}

function openText({ unit }: Ticket): string {
  const { leftOut = [], unticked = [] } = unit ?? {};
  return [
    ...(leftOut.length > 0 ? [`not selected and not done: ${leftOut.join(', ')}`] : []),
    ...(unticked.length > 0 ? [`not ticked, in a parent that is: ${unticked.join(', ')}`] : []),
  ].join('; ');
}
