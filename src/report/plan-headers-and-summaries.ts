import type { RunResult } from '../engine/run-plan.ts';
import { modeOf } from '../features/issue-runs/options/execution-config-and-workflow-changes.ts';
import { issueName, storedRun } from '../features/issue-runs/results/stored-run-time-and-issue-names.ts';
import { parseRef } from '../model/ids-and-branch-names.ts';
import { isGivenUp, type Plan } from '../model/plan.ts';
import { type PlansView, planOf, ticketOf } from '../model/plans/plans-view.ts';
import type { Naming } from '../model/state/explain-ticket.ts';
import { answerCommands, currentHold, isToRetry, nameOf, runCommand } from '../model/state/explain-ticket.ts';
import { plural } from '../model/text/clean-escape-quote-plural.ts';
import { isCancelled, type Ticket } from '../model/ticket.ts';
import { unchecked } from '../model/verdict-criteria-and-missing-checks.ts';
import type { Store } from '../store/store-interface.ts';
import { ticketsIn } from './live/live-state.ts';
import { oneLine } from './printable-text.ts';
import { gatheredOn, whereWorkIs, workLine } from './status-text.ts';
import type { Style } from './style-and-phrases.ts';
import { statusMark, usageOfAttempts, wholeSeconds, withoutOutput } from './style-and-phrases.ts';
import {
  cells,
  fittingTable,
  foldSummary,
  groupCounts,
  joined,
  padOrCut,
  type SummaryRow,
  table,
  wrapLines,
} from './tables-and-text-wrapping.ts';

const BRING = /^To bring it into your checkout: (git -C .+ signalbox\/\S+)$/m;

/** The result of a run: a row per ticket, with the reason for each that is not complete. */
export function summary(
  run: Omit<RunResult, 'ok'> & { ms: number; stopped: boolean },
  style: Style,
  columns?: number,
): string[] {
  const now = Date.now();
  const reasonOf = (ticket: Ticket) =>
    withoutOutput(currentHold(ticket, { now })?.reason ?? ticket.error ?? '');
  const all = run.tickets.map((ticket) => ({
    group: groupOf(ticket, run.plan),
    cells: [
      statusMark(ticket.status, style),
      ticket.ticketId,
      ticket.status.replace('_', ' '),
      ticket.branch ?? '',
      usageOfAttempts(ticket.phaseHistory),
      ticket.status === 'complete'
        ? oneLine(unchecked(ticket))
        : oneLine(run.held.get(ticket.ticketId) ?? reasonOf(ticket), 1000),
    ],
  }));
  const rows = foldSummary(all, 'ticket', columns);
  const used = usageOfAttempts(run.tickets.flatMap(({ phaseHistory }) => phaseHistory));
  const facts = [
    ...groupCounts(
      all.map(({ group }) => group),
      run.wanted,
    ),
    wholeSeconds(run.ms),
    used,
  ].filter(Boolean);
  const lines = [
    '',
    ...fittingTable(['', 'ticket', 'status', 'branch', 'usage', 'why'], rows, { style, columns, lead: 3 }),
    '',
    ...joined(facts, columns).map(style.bold),
  ];
  for (const problem of run.problems) lines.push(`${style.red('✗')} ${oneLine(problem, 300)}`);
  const open = run.tickets.filter((ticket) => ticket.status !== 'complete');
  const forward = fastForwardCommands(run.tickets.filter((each) => !each.landed || gatheredOn(each)));
  for (const command of forward)
    lines.push(`Your checkout was left as it is. To bring the work into it: ${command}`);
  const failed = run.tickets.filter(isToRetry);
  const { id } = run.plan;
  const continues = runCommand(run.plan);
  const [first, ...others] = failed;
  if (first && others.length > 0)
    lines.push(`To retry the ${failed.length} failed: signalbox retry --failed ${id} && ${continues}`);
  else if (first)
    lines.push(`To retry ${first.ticketId}: signalbox retry ${id} ${first.ticketId} && ${continues}`);
  const asked = run.tickets.filter(
    ({ hold, status }) => status === 'needs_attention' && hold?.kind === 'gate',
  );
  for (const ticket of asked.slice(0, MAX_ANSWERS))
    for (const [at, command] of answerCommands(ticket, run.plan).entries())
      lines.push(
        `${at > 0 ? '  or' : `To answer ${ticket.ticketId}`}: ${command}${command.startsWith(continues) ? '' : ` && ${continues}`}`,
      );
  const unmerged = run.tickets.filter((ticket) => (whereWorkIs(ticket)?.kind ?? 'merged') !== 'merged');
  // What is merged needs one command, which is above.
  if (forward.size === 0 || unmerged.length > 0) lines.push(...workLine(run.plan, run.tickets));
  const toSee = unmerged.find((ticket) => whereWorkIs(ticket)?.kind === 'branch');
  if (toSee) lines.push(`To look at it: signalbox diff ${id} ${toSee.ticketId}`);
  // A run that was stopped inside a job has paused nothing: its plan may continue elsewhere.
  if (run.plan.status === 'paused') lines.push(`Stopped. Continue with: signalbox resume ${run.plan.id}`);
  else if (open.length > 0) lines.push(`Details: signalbox status --plan ${run.plan.id}`);
  return wrapLines(lines, columns);
}

/** The commands of more questions are in `status`. */
const MAX_ANSWERS = 3;

/** No person has to act on what was cancelled, with its plan or alone. */
export function groupOf(ticket: Ticket, plan: Plan): SummaryRow['group'] {
  const { status } = ticket;
  if (status === 'complete') return 'done';
  if (isGivenUp(plan) || isCancelled(ticket)) return 'cancelled';
  return status === 'failed' || status === 'needs_attention' ? 'need you' : 'waiting';
}

/** Commands that `integrate` printed because the base is checked out; once per repository. */
function fastForwardCommands(tickets: readonly Ticket[]): Set<string> {
  const commands = tickets.flatMap(({ phaseHistory, machine }) =>
    phaseHistory.flatMap(({ agent, status, output }) =>
      // On a fleet, it names the clone of a worker.
      agent === null && status === 'success' && !machine ? (BRING.exec(output ?? '')?.[1] ?? []) : [],
    ),
  );
  return new Set(commands.map((command) => oneLine(command, 1000)));
}

const LONGEST_TITLE = 100;
const MAX_LISTED_TICKETS = 20;

/** The header of a live view: a line about the run, and its tickets. */
function headerLines(
  about: string,
  tickets: readonly Ticket[],
  { style, ...naming }: Naming & { style: Style },
): string[] {
  const shown = tickets.slice(0, MAX_LISTED_TICKETS);
  const names = shown.map((ticket) => nameOf(ticket, naming));
  const width = Math.max(0, ...names.map(cells));
  const left = tickets.length - shown.length;
  return [
    about,
    ...shown.map(
      ({ title }, at) => `  ${padOrCut(names[at] ?? '', width)}  ${style.dim(oneLine(title, LONGEST_TITLE))}`,
    ),
    ...(left > 0 ? [style.dim(`  … and ${left} more`)] : []),
    '',
  ];
}

/** The header for a plan, or for some of its tickets. */
export function planHeader(
  view: PlansView,
  scope: { planId: string; ticketIds?: readonly string[] },
  style: Style,
): string[] {
  const tickets = ticketsIn(view, scope);
  const noun = planOf(view, scope.planId)?.kind === 'spec' ? 'unit' : 'ticket';
  return headerLines(`${style.bold(scope.planId)}: ${plural(tickets.length, noun)}`, tickets, {
    style,
    withPlan: false,
  });
}

/** The header for an issue run: its mode and its issues. */
export function runHeader(store: Store, planId: string, colors: Style): string[] {
  const plan = store.plan(planId);
  const tickets = ticketsIn(store.view(planId), { planId });
  const names = new Map(tickets.map((ticket) => [ticket.ticketId, issueName(ticket)]));
  const count = plural(tickets.length, 'issue');
  return headerLines(`${colors.bold(plan.id)}: ${count}, ${modeText(plan)}`, tickets, {
    style: colors,
    withPlan: false,
    called: (id) => names.get(id),
  });
}

/** `parallel (concurrency 3)`, `batch of 2 groups (concurrency 3)`, `chain`. */
function modeText(plan: Plan): string {
  const config = storedRun(plan)?.config;
  if (!config) return 'parallel';
  const { concurrency } = config;
  const mode = modeOf(plan, config);
  const groups = new Set(plan.tickets.map(({ group }) => group)).size;
  const name = mode === 'batch' ? `batch of ${plural(groups, 'group')}` : mode;
  return concurrency > 1 ? `${name} (concurrency ${concurrency})` : name;
}

interface Defaults {
  defaultWorkflow: string;
  defaultAgent: string;
}

/** A summary of a plan for the person who approves it. */
export function planSummary(
  plan: Plan,
  view: Pick<PlansView, 'tickets'>,
  defaults: Defaults,
  colors: Style,
  from: string | null,
): string[] {
  const workflow = plan.workflow ?? defaults.defaultWorkflow;
  const agent = plan.agent ?? defaults.defaultAgent;
  const count = plural(plan.tickets.length, 'ticket');
  const where =
    plan.repo === null ? '' : ` in ${oneLine(plan.repo, 200)}${from === null ? '' : `, from ${from}`}`;
  const head = `${oneLine(plan.name) || plan.id} (${plan.id}), ${plan.status}: ${count}${where}, workflow ${workflow}, agent ${agent}`;
  const steps = rounds(plan);
  const rows = [...plan.tickets]
    .sort((a, b) => (steps.get(a.ticketId) ?? 0) - (steps.get(b.ticketId) ?? 0) || a.order - b.order)
    .map(({ ticketId, blockedBy }) => {
      const ticket = ticketOf(view, { planId: plan.id, ticketId });
      const own = [
        ...(ticket?.workflow && ticket.workflow !== workflow ? [`workflow ${ticket.workflow}`] : []),
        ...(ticket?.agent && ticket.agent !== agent ? [`agent ${ticket.agent}`] : []),
        ...(ticket?.repo && ticket.repo !== plan.repo ? [`in ${ticket.repo}`] : []),
      ];
      return [
        String(steps.get(ticketId) ?? '?'),
        ticketId,
        oneLine(ticket?.title ?? 'cannot be used, see below', 60),
        String(ticket?.acceptanceCriteria.length ?? 0),
        oneLine([...(blockedBy.length > 0 ? [`after ${blockedBy.join(', ')}`] : []), ...own].join('; '), 80),
      ];
    });
  return rows.length === 0
    ? [head]
    : [head, ...table(['round', 'ticket', 'title', 'criteria', ''], rows, colors)];
}

/** The round of each ticket: tickets of one round may run at the same time. */
function rounds(plan: Plan): Map<string, number> {
  const before = new Map(
    plan.tickets.map(({ ticketId, blockedBy }) => [
      ticketId,
      blockedBy.flatMap((text) => {
        const ref = parseRef(text, plan.id);
        return ref.planId === plan.id ? [ref.ticketId] : [];
      }),
    ]),
  );
  const found = new Map<string, number>();
  // Tickets in a cycle get no round.
  for (let known = -1; known !== found.size; ) {
    known = found.size;
    for (const [id, blockers] of before) {
      if (found.has(id) || !blockers.every((blocker) => found.has(blocker) || !before.has(blocker))) continue;
      found.set(id, 1 + Math.max(0, ...blockers.map((blocker) => found.get(blocker) ?? 0)));
    }
  }
  return found;
}
