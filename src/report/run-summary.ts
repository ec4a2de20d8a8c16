import { totalUsage, usageOf } from '../model/limits/usage.ts';
import type { Plan } from '../model/plan.ts';
import type { Ticket } from '../model/ticket.ts';
import { duration, oneLine, type Style, usageText } from './style.ts';
import { fittingTable } from './table.ts';
import { joined } from './width.ts';

const BRING = /^To bring it into your checkout: (git -C .+ signalbox\/\S+)$/m;

/** The result of a run: a row per ticket, with the reason for each that is not complete. */
export function summary(
  run: {
    plan: Plan;
    tickets: readonly Ticket[];
    wanted: number;
    problems: readonly string[];
    /** Other holders of tickets, by ticket id. */
    held: ReadonlyMap<string, string>;
    ms: number;
    stopped: boolean;
  },
  style: Style,
  columns?: number,
): string {
  const rows = run.tickets.map((ticket) => [
    ticketMark(ticket, style),
    ticket.ticketId,
    ticket.status.replace('_', ' '),
    ticket.branch ?? '',
    usageText(usageOf(ticket)),
    ticket.status === 'complete'
      ? ''
      : oneLine(run.held.get(ticket.ticketId) ?? ticket.hold?.reason ?? ticket.error ?? '', 1000),
  ]);
  const complete = run.tickets.filter((ticket) => ticket.status === 'complete').length;
  const total = totalUsage(run.tickets.map(usageOf));
  const facts = [`${complete}/${run.wanted} complete`, duration(run.ms), usageText(total)].filter(Boolean);
  const lines = [
    '',
    fittingTable(['', 'ticket', 'status', 'branch', 'usage', 'why'], rows, { style, columns, lead: 3 }),
    '',
    style.bold(joined(facts, columns)),
  ];
  for (const problem of run.problems) lines.push(`${style.red('✗')} ${oneLine(problem, 300)}`);
  const open = run.tickets.filter((ticket) => ticket.status !== 'complete');
  for (const command of bringingIn(run.tickets))
    lines.push(`Your checkout was left as it is. To bring the work into it: ${command}`);
  if (run.stopped) lines.push(`Stopped. Go on with: signalbox resume ${run.plan.id}`);
  else if (open.length > 0) lines.push(`Details: signalbox status --plan ${run.plan.id}`);
  return lines.join('\n');
}

/** Commands that `integrate` printed because the base is checked out; once per repository. */
function bringingIn(tickets: readonly Ticket[]): Set<string> {
  const said = tickets.flatMap(({ phaseHistory }) =>
    phaseHistory.flatMap(({ agent, status, output }) =>
      agent === null && status === 'success' ? (BRING.exec(output ?? '')?.[1] ?? []) : [],
    ),
  );
  return new Set(said.map((command) => oneLine(command, 1000)));
}

export function ticketMark(ticket: Ticket, style: Style): string {
  if (ticket.status === 'complete') return style.green('✓');
  if (ticket.status === 'failed') return style.red('✗');
  if (ticket.status === 'paused') return style.yellow('‖');
  return ticket.status === 'needs_attention' ? style.yellow('!') : style.dim('◌');
}
