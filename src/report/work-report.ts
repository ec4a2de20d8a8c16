import { escapeProse } from '../github/escape-markdown.ts';
import type { StoredEvent } from '../model/events.ts';
import { groupBy } from '../model/group-and-remember.ts';
import { refKey, type TicketRef } from '../model/ids-and-branch-names.ts';
import { dollars, medianCost, timesMedian, totalUsage } from '../model/limits/usage-cost-and-estimate.ts';
import type { Plan } from '../model/plan.ts';
import { isToRetry, sayOutcome } from '../model/state/explain-ticket.ts';
import { plural } from '../model/text/clean-escape-quote-plural.ts';
import { type Attempt, inStateSince, isOver, openAttempt, type Ticket } from '../model/ticket.ts';
import { unchecked, verdictOf } from '../model/verdict-criteria-and-missing-checks.ts';
import { isIn, type PlanStatus, type TicketStatus } from './plan-and-ticket-status.ts';
import { oneLine } from './printable-text.ts';
import { mergeCommand, nextSteps, whereWorkIs } from './status-text.ts';
import { clock, type Style, untilNote, usageOfAttempts, waitTime, withOffset } from './style-and-phrases.ts';
import type { Report } from './view-schemas.ts';

/** One entry: what it is about, facts about it, and commands to paste. */
type Item = Report['sections'][number]['items'][number];

const SECTIONS = {
  decisions: 'Needs your decision',
  failures: 'Failed',
  ready: 'Ready to merge',
  merged: 'Merged',
  running: 'Running',
  waiting: 'Waiting',
  dearest: 'Most expensive',
  oddities: 'Unusual',
  decided: 'Decided by people',
  plans: 'Plans',
};

interface ReportInput {
  plans: readonly PlanStatus[];
  since: number;
  now: number;
  period: string;
  /** What people did, and what engines reported. */
  events: readonly StoredEvent[];
  /** Work from before `since` that is not in its base yet, as `plan/ticket`. */
  unmerged?: ReadonlySet<string>;
  /** `2 files changed, 3 insertions(+)`; null where it cannot be known. */
  diffstat(ticket: Ticket): string | null;
  /** The phases of its workflow that run the project's checks; undefined where they cannot be known. */
  checkPhases(ticket: Ticket): readonly string[] | undefined;
  /** When a running attempt last printed something; null where that is unknown. */
  printedAt(ticket: Ticket, attempt: Attempt): number | null;
}

/** What happened since a time, and what a person has to do about it. */
export function workReport(input: ReportInput): Report {
  const { since, now, period, events } = input;
  const plans = withoutRepeats(input.plans);
  const isNew = (time: string | null) => time !== null && Date.parse(time) >= since;
  const all = plans.flatMap(({ plan, tickets }) => tickets.map((each) => ({ ...each, plan })));
  // A failure or unmerged work needs a person until it is dealt with, however old it is.
  const current = all.filter(
    ({ ticket }) =>
      !isOver(ticket) ||
      isIn('need you', ticket) ||
      isNew(ticket.since) ||
      input.unmerged?.has(refKey(ticket)) === true,
  );
  const attemptsOf = ({ phaseHistory }: Ticket) =>
    phaseHistory.filter(({ completedAt, startedAt }) => isNew(completedAt ?? startedAt));
  const attempts = all.flatMap(({ ticket }) => attemptsOf(ticket));
  const used = usageOfAttempts(attempts);
  const needed = current.filter(({ ticket }) => isIn('need you', ticket));
  const done = current.filter(({ ticket }) => ticket.status === 'complete');
  const items: Record<keyof typeof SECTIONS, Item[]> = {
    decisions: decisions(needed, now),
    failures: failures(needed.filter(({ ticket }) => ticket.hold?.kind !== 'gate')),
    ready: [],
    merged: [],
    running: current.flatMap((each) => runningItem(each, input)),
    waiting: waiting(
      current.filter(({ ticket }) => isIn('waiting', ticket)),
      now,
    ),
    dearest: dearest(all.map(({ ticket }) => ({ ticket, attempts: attemptsOf(ticket) }))),
    oddities: oddities(
      all.map(({ ticket }) => ticket),
      isNew,
    ),
    decided: decided(
      events.filter(({ at }) => isNew(at)),
      now,
    ),
    plans: plans.length > 1 ? plans.map(({ plan, tickets }) => planItem(plan, tickets)) : [],
  };
  for (const { ticket } of done) {
    const work = whereWorkIs(ticket);
    if (!work) continue;
    const { planId, ticketId } = ticket;
    const facts = [work.text, input.diffstat(ticket), verdictOf(ticket)?.verdict, checksText(ticket, input)];
    const isMerged = work.kind === 'merged';
    items[isMerged ? 'merged' : 'ready'].push(
      item(named(ticket), [ticket], {
        details: [facts.filter(Boolean).join(' · ')],
        commands: isMerged ? [] : [`signalbox diff ${planId} ${ticketId}`],
      }),
    );
  }
  for (const [planId, own] of groupBy(done, ({ ticket }) => ticket.planId)) {
    const open = own.filter(({ ticket }) => whereWorkIs(ticket)?.kind === 'branch');
    const [first] = open;
    if (!first || first.plan.status === 'archived') continue;
    const merge = mergeCommand(first.plan);
    if (merge) items.ready.push(item(`To merge all of ${planId}`, [], { commands: [merge] }));
  }
  return {
    since: new Date(since).toISOString(),
    until: new Date(now).toISOString(),
    period,
    sentence:
      current.length === 0
        ? 'Nothing happened, and nothing needs you.'
        : `${sayOutcome(current.map(({ ticket }) => ticket))}${used && ` · ${used}`}`,
    sections: (Object.keys(SECTIONS) as (keyof typeof SECTIONS)[])
      .filter((name) => items[name].length > 0)
      .map((name) => ({ name, heading: SECTIONS[name], items: items[name] })),
  };
}

/** Leaves out what a run only recorded as done, where the run that did it is here as well. */
function withoutRepeats(plans: readonly PlanStatus[]): PlanStatus[] {
  const done = plans.flatMap(({ tickets }) =>
    tickets.flatMap(({ ticket: { status, source } }) =>
      status === 'complete' && source && !source.already ? source.key : [],
    ),
  );
  const own = plans.map((plan) => {
    const isOwn = ({ ticket: { source } }: TicketStatus) => !(source?.already && done.includes(source.key));
    return { ...plan, tickets: plan.tickets.filter(isOwn) };
  });
  return own.filter(({ tickets }, at) => tickets.length > 0 || plans[at]?.tickets.length === 0);
}

const item = (
  text: string,
  tickets: readonly TicketRef[] = [],
  { details = [], commands = [] }: Partial<Pick<Item, 'details' | 'commands'>> = {},
): Item => ({ text, details, commands, tickets: tickets.map(refKey) });

/** A ticket with its plan. */
interface Current extends TicketStatus {
  plan: Plan;
}

const named = (ticket: Ticket) => `${refKey(ticket)}${ticket.title ? `: ${oneLine(ticket.title, 100)}` : ''}`;

/** Questions, the oldest first. */
function decisions(needed: readonly Current[], now: number): Item[] {
  return needed
    .filter(({ ticket }) => ticket.hold?.kind === 'gate')
    .sort((a, b) => (a.ticket.since ?? '').localeCompare(b.ticket.since ?? ''))
    .map((each) => {
      const { ticket, why, plan } = each;
      const asked = inStateSince(ticket);
      const pull = ticket.context.pr_url;
      const details = [
        oneLine(why, 500),
        ...(typeof pull === 'string' ? [oneLine(pull, 300)] : []),
        ...(asked === null ? [] : [`open for ${waitTime(now - Date.parse(asked))}`]),
      ];
      return item(named(ticket), [ticket], { details, commands: nextSteps(each, plan) });
    });
}

/** Failures by cause, then one command for all of a plan. */
function failures(failed: readonly TicketStatus[]): Item[] {
  const byCause = groupBy(failed, ({ ticket, why }) => `${ticket.planId} ${why}`);
  const causes = [...byCause.values()].map((same) => {
    const [first] = same;
    const tickets = same.map(({ ticket }) => ticket);
    const text =
      same.length === 1 && first
        ? named(first.ticket)
        : `${plural(same.length, 'ticket')}: ${tickets.map(refKey).join(', ')}`;
    return item(oneLine(text, 300), tickets, {
      details: [oneLine(first?.why ?? '', 500)],
      commands: same.flatMap(({ ticket, next }) =>
        next && (same.length === 1 || !isToRetry(ticket)) ? next : [],
      ),
    });
  });
  const bulk = [...groupBy(failed, ({ ticket }) => ticket.planId)].flatMap(([planId, own]) => {
    const count = own.filter(({ ticket }) => isToRetry(ticket)).length;
    const commands = [`signalbox retry --failed ${planId}`];
    return count > 1 ? item(`To retry the ${count} failed of ${planId}`, [], { commands }) : [];
  });
  return [...causes, ...bulk];
}

/** Silent for longer than this is worth a look. */
const SILENT_MS = 10 * 60_000;

function runningItem({ ticket, why }: TicketStatus, { now, printedAt }: ReportInput): Item[] {
  const open = openAttempt(ticket);
  if (ticket.status !== 'running' || !open) return [];
  const printed = printedAt(ticket, open);
  const silent = printed === null ? 0 : now - printed;
  const details = [
    `${oneLine(why || open.phase, 200)}, for ${waitTime(now - Date.parse(inStateSince(ticket) ?? open.startedAt))}`,
    ...(silent > SILENT_MS ? [`silent for ${waitTime(silent)}`] : []),
  ];
  const commands = silent > SILENT_MS ? [`signalbox logs ${ticket.planId} ${ticket.ticketId}`] : [];
  return [item(named(ticket), [ticket], { details, commands })];
}

function waiting(tickets: readonly TicketStatus[], now: number): Item[] {
  return [
    ...groupBy(tickets, ({ why, next }) => `${why}\n${next.startsWith('signalbox') ? next : ''}`).values(),
  ].map((same) => {
    const [first] = same;
    const own = same.map(({ ticket }) => ticket);
    const keys = own.map(refKey);
    const shown = keys.length > 8 ? `${keys.slice(0, 8).join(', ')}, …` : keys.join(', ');
    const until = first ? untilNote(first.ticket.hold, first.why, now) : '';
    const next = first?.next ? [first.next] : [];
    const isCommand = first?.next.startsWith('signalbox') ?? false;
    return item(`${plural(same.length, 'ticket')}: ${shown}`, own, {
      details: [`${oneLine(first?.why || 'waits', 300)}${until}`, ...(isCommand ? [] : next)],
      commands: isCommand ? next : [],
    });
  });
}

const MAX_DEAREST = 3;

function dearest(all: readonly { ticket: Ticket; attempts: readonly Attempt[] }[]): Item[] {
  const cost = (attempts: readonly Attempt[]) => totalUsage(attempts.map(({ usage }) => usage))?.costUsd ?? 0;
  return all
    .filter(({ attempts }) => cost(attempts) > 0)
    .sort((a, b) => cost(b.attempts) - cost(a.attempts))
    .slice(0, MAX_DEAREST)
    .map(({ ticket, attempts }) => item(`${named(ticket)}: ${usageOfAttempts(attempts)}`, [ticket]));
}

/** A phase that was entered this often is worth a look. */
const MANY_VISITS = 4;

function oddities(tickets: readonly Ticket[], isNew: (time: string | null) => boolean): Item[] {
  const ended = tickets
    .flatMap(({ phaseHistory }) => phaseHistory)
    .filter((each) => each.completedAt !== null);
  const medians = new Map(
    [...groupBy(ended, ({ phase }) => phase)].map(([phase, same]) => [
      phase,
      medianCost(same.flatMap(({ usage }) => usage?.costUsd ?? [])),
    ]),
  );
  let lostMs = 0;
  const odd: Item[] = [];
  for (const ticket of tickets) {
    const key = refKey(ticket);
    if (!ticket.phaseHistory.some(({ startedAt }) => isNew(startedAt))) continue;
    for (const [phase, visits] of Object.entries(ticket.visits))
      if (visits >= MANY_VISITS)
        odd.push(item(`${key}: ${oneLine(phase)} was entered ${visits} times`, [ticket]));
    for (const [at, attempt] of ticket.phaseHistory.entries()) {
      const median = medians.get(attempt.phase) ?? null;
      const cost = attempt.usage?.costUsd ?? 0;
      if (median !== null && isNew(attempt.startedAt) && timesMedian(cost, median) !== null)
        odd.push(
          item(`${key}: ${oneLine(attempt.phase)} cost ${dollars(cost)}, the median is ${dollars(median)}`, [
            ticket,
          ]),
        );
      const next = ticket.phaseHistory[at + 1];
      if (attempt.status === 'limit' && attempt.completedAt && next && isNew(next.startedAt))
        lostMs += Math.max(0, Date.parse(next.startedAt) - Date.parse(attempt.completedAt));
    }
  }
  if (lostMs > 0) odd.push(item(`${waitTime(lostMs)} of waiting for usage limits, all tickets together`));
  return odd;
}

/** What people did, in order; the same done to tickets of a plan within a minute is one entry. Messages to agents are left out. */
function decided(events: readonly StoredEvent[], now: number): Item[] {
  const commands = events
    // A pause with an end is a step of another command, such as `cancel`.
    .flatMap((event) => (event.type === 'command' && !('goesOnBy' in event.detail) ? event : []))
    .sort((a, b) => Date.parse(a.at) - Date.parse(b.at))
    .map((event) => {
      const { decision, phase } = event.detail;
      const who = event.by === undefined ? '' : `, by ${oneLine(event.by)}`;
      const what = [decision, phase].find((each) => typeof each === 'string') ?? '';
      return { ...event, did: `${event.command}${what && ` ${oneLine(String(what))}`}${who}` };
    });
  const minute = ({ at }: StoredEvent) => Math.floor(Date.parse(at) / 60_000);
  const equal = groupBy(commands, (each) => `${minute(each)} ${each.planId} ${each.did}`);
  return [...equal.values()].flatMap((same) => {
    const [first] = same;
    if (!first) return [];
    const about = same.length > 1 ? `${first.planId}, ${plural(same.length, 'ticket')}` : refKey(first);
    return item(`${clock(first.at, now)} ${about}: ${first.did}`, same);
  });
}

function planItem(plan: Plan, tickets: readonly TicketStatus[]): Item {
  const own = tickets.map(({ ticket }) => ticket);
  const used = usageOfAttempts(own.flatMap(({ phaseHistory }) => phaseHistory));
  return item(`${plan.id} (${plan.status}): ${sayOutcome(own)}${used && ` · ${used}`}`);
}

/** Whether checks really ran. */
function checksText(ticket: Ticket, { checkPhases }: ReportInput): string {
  const why = unchecked(ticket);
  if (why) return oneLine(why).replace(/\.$/, '');
  const phases = checkPhases(ticket);
  if (!phases) return '';
  const last = ticket.phaseHistory.findLast(({ phase }) => phases.includes(phase));
  if (!last || last.status === 'skipped') return 'no checks ran';
  return last.status === 'success' ? 'checks passed' : `checks: ${last.status}`;
}

const titleOf = ({ period }: Report) => `Signalbox report, ${period}`;

const asOf = ({ until }: Report) => `As of ${withOffset(until)}; all times are of that zone.`;

/** For a terminal or a pipe. */
export function reportText(report: Report, style: Style): string[] {
  return [
    style.bold(titleOf(report)),
    report.sentence,
    ...report.sections.flatMap(({ heading, items }) => [
      '',
      style.bold(heading),
      ...items.flatMap(({ text, details, commands }) => [
        `  ${text}`,
        ...details.map((each) => `    ${each}`),
        ...commands.map((each) => `    ${style.dim(`→ ${each}`)}`),
      ]),
    ]),
  ];
}

/** The same as Markdown. Titles and reasons are the work of others: they are shown, and mean nothing. */
export function reportMarkdown(report: Report): string[] {
  const prose = (text: string) => escapeProse(oneLine(text, 1000)).replace(/[\\`*_[\]|#~]/g, '\\$&');
  return [
    `# ${prose(titleOf(report))}`,
    '',
    prose(report.sentence),
    '',
    asOf(report),
    ...report.sections.flatMap(({ heading, items }) => [
      '',
      `## ${heading}`,
      '',
      ...items.flatMap(({ text, details, commands }) => [
        `- ${prose(text)}`,
        ...details.map((each) => `  - ${prose(each)}`),
        ...commands.map((each) => `  - \`${oneLine(each, 1000).replaceAll('`', "'")}\``),
      ]),
    ]),
  ];
}

const ENTITIES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** The same as one HTML file that loads nothing and runs nothing. */
export function reportHtml(report: Report): string[] {
  const safe = (text: string) => oneLine(text, 1000).replace(/[&<>"']/g, (char) => ENTITIES[char] ?? '');
  return [
    '<!doctype html>',
    '<html lang="en"><head><meta charset="utf-8">',
    `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">`,
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<title>${safe(titleOf(report))}</title>`,
    '<style>:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:50rem;margin:2rem auto;padding:0 1rem;overflow-wrap:anywhere}h2{font-size:1.1rem;margin-top:2rem}li{margin:.3rem 0}li ul{color:GrayText}code{user-select:all}</style>',
    `</head><body><h1>${safe(titleOf(report))}</h1>`,
    `<p>${safe(report.sentence)}</p><p><small>${asOf(report)}</small></p>`,
    ...report.sections.flatMap(({ heading, items }) => [
      `<h2>${safe(heading)}</h2><ul>`,
      ...items.map(({ text, details, commands }) => {
        const more = [...details.map(safe), ...commands.map((each) => `<code>${safe(each)}</code>`)];
        const list = more.length > 0 ? `<ul>${more.map((each) => `<li>${each}</li>`).join('')}</ul>` : '';
        return `<li>${safe(text)}${list}</li>`;
      }),
      '</ul>',
    ]),
    '</body></html>',
  ];
}
