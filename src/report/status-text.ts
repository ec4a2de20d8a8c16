import { existsSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { ignoring, SignalboxError } from '../model/errors.ts';
import { groupBy } from '../model/group-and-remember.ts';
import { integrationBranch, refKey } from '../model/ids-and-branch-names.ts';
import { isGivenUp, type Plan, sharesWorkspace } from '../model/plan.ts';
import { answerCommands, answerTo, isToRetry } from '../model/state/explain-ticket.ts';
import { plural } from '../model/text/clean-escape-quote-plural.ts';
import { endedMerged, inStateSince, openAttempt, openTasksOf, type Ticket, tipOf } from '../model/ticket.ts';
import { notMerged, whyUnchecked } from '../model/verdict-criteria-and-missing-checks.ts';
import type { Workspaces } from '../workspaces/workspaces.ts';
import {
  BOARD_SECTIONS,
  type BoardSection,
  isIn,
  type PlanStatus,
  SECTION_NAMES,
  sectionOf,
  type TicketStatus,
} from './plan-and-ticket-status.ts';
import { oneLine } from './printable-text.ts';
import {
  ago,
  counted,
  duration,
  type Style,
  sayProblem,
  statusMark,
  untilNote,
  usageOfAttempts,
  usageText,
  whichAttempt,
} from './style-and-phrases.ts';
import { cut, FOLDED_DONE_FROM, FOLDED_FAILED_FROM, FOLDED_FROM, table } from './tables-and-text-wrapping.ts';

/** The name of a run is the list of its issues. */
const MAX_NAME_CELLS = 60;

export function planLines(
  { plan, tickets, problems }: PlanStatus,
  style: Style,
  now: number,
  { detailed, only }: { detailed: boolean; only?: BoardSection | undefined },
): string[] {
  const byStatus = groupBy(tickets, ({ ticket }) => ticket.status);
  const count = (status: Ticket['status']) => byStatus.get(status)?.length ?? 0;
  const unselected = plan.spec?.unselected ?? 0;
  const attention = count('needs_attention');
  const partly = tickets.filter(({ ticket }) => openTasksOf(ticket).length > 0);
  const facts = [
    `${count('complete') - partly.length}/${plan.tickets.length} complete`,
    ...counted({
      'partly complete': partly.length,
      running: count('running'),
      failed: count('failed'),
      [attention === 1 ? 'needs attention' : 'need attention']: attention,
      paused: count('paused'),
      'not selected': unselected,
    }),
    usageOfAttempts(tickets.flatMap(({ ticket }) => ticket.phaseHistory)),
  ].filter(Boolean);
  const title =
    plan.name && plan.name !== plan.id
      ? `${style.bold(cut(oneLine(plan.name), MAX_NAME_CELLS))} (${plan.id})`
      : style.bold(plan.id);
  const lines = [
    title,
    `  ${plan.status === 'complete' && unselected > 0 ? 'complete as far as selected' : plan.status} — ${plan.workflow ?? 'default workflow'} — ${facts.join(', ')}`,
  ];
  const shown = only ? tickets.filter(({ ticket }) => isIn(only, ticket)) : tickets;
  const sections = inSections(shown, detailed);
  const width = Math.max(4, ...sections.flatMap(({ rows }) => rows.map((equal) => rowName(equal).length)));
  const page = { lines, style, now, width, detailed, plan, margin: '    ' };
  for (const { name, count, rows } of sections) {
    lines.push(`  ${style.bold(SECTION_NAMES[name])} (${count})`);
    for (const equal of rows) addFolded(equal, page);
  }
  const own = tickets.map(({ ticket }) => ticket);
  lines.push(...workLine(plan, own).map((line) => `  ${line}`));
  for (const problem of problems) lines.push(`  ${style.red('✗')} ${oneLine(sayProblem(problem), 400)}`);
  if (detailed) lines.push(...lastRun(plan));
  return lines;
}

const MAX_IDS = 8;

/** What needs a person, what runs, what waits, what is done. Those with the same reason are together, unless each is wanted. */
function inSections(tickets: readonly TicketStatus[], each: boolean) {
  const bySection = groupBy(tickets, ({ ticket }) => sectionOf(ticket));
  return BOARD_SECTIONS.flatMap((name) => {
    const section = bySection.get(name) ?? [];
    const equal = groupBy(section, ({ ticket, why }) => `${ticket.status} ${why}`);
    const rows = [...equal.values()].flatMap((same) =>
      !each && isFolded(same) ? [same] : same.map((one) => [one]),
    );
    return section.length > 0 ? [{ name, count: section.length, rows }] : [];
  });
}

/** What a person can do next, a line each: at a gate, a command for each decision. */
export function nextSteps({ ticket, next }: TicketStatus, plan: Plan): string[] {
  if (next === '') return [];
  return next === answerTo(ticket, plan) ? answerCommands(ticket, plan) : [next];
}

function isFolded(same: readonly TicketStatus[]): boolean {
  const [first] = same;
  const from = first && isToRetry(first.ticket) ? FOLDED_FAILED_FROM : FOLDED_FROM;
  return same.length >= (first?.ticket.status === 'complete' ? FOLDED_DONE_FROM : from);
}

/** The id of a ticket, or the number of those that have the same reason. */
function rowName(equal: readonly TicketStatus[]): string {
  return equal.length === 1 && equal[0] ? equal[0].ticket.ticketId : `${equal.length} tickets`;
}

/** One row for one ticket, or for all that have the same reason. */
function addFolded(equal: readonly TicketStatus[], page: Page): void {
  const [first] = equal;
  if (first === undefined || equal.length === 1) {
    if (first) addTicketLines(first, page);
    return;
  }
  const { lines, style, now, width, plan, margin } = page;
  const { planId, status, hold } = first.ticket;
  const ids = equal.slice(0, MAX_IDS).map(({ ticket }) => ticket.ticketId);
  const more = equal.length > MAX_IDS ? ', …' : '';
  lines.push(
    `${margin}${statusMark(status, style)} ${rowName(equal).padEnd(width)}  ${status.replace('_', ' ').padEnd(15)}  ${style.dim(`${ids.join(', ')}${more}`)}`,
  );
  const indent = indentBelow(page);
  if (first.why) lines.push(`${indent}${oneLine(first.why, 320)}${untilNote(hold, first.why, now)}`);
  const isAsked = first.next === answerTo(first.ticket, plan);
  const next = isAsked ? answerTo({ ...first.ticket, ticketId: '<ticket>' }, plan) : first.next;
  const step = equal.every(({ ticket }) => isToRetry(ticket)) ? `signalbox retry --failed ${planId}` : next;
  if (step) lines.push(`${indent}${style.dim(`→ ${step}`)}`);
}

/** Where the work of a complete ticket is; null where there is none to look for. */
export function whereWorkIs(
  ticket: Ticket,
): { kind: 'merged' | 'pull request' | 'branch'; text: string } | null {
  const { status, branch, base, context } = ticket;
  if (status !== 'complete' || base === null) return null;
  const url = typeof context.pr_url === 'string' ? oneLine(context.pr_url, 300) : '';
  if (url && endedMerged(ticket)) return { kind: 'merged', text: `merged: ${url}` };
  const { landed } = ticket;
  if (landed && landed.tip === tipOf(ticket))
    return { kind: 'merged', text: `merged into ${oneLine(landed.into)}` };
  if (url) return { kind: 'pull request', text: `pull request ${url}` };
  const last = ticket.phaseHistory.findLast(({ phase }) => phase === 'integrate');
  const isIntegrated = last?.status === 'success' && notMerged(last.output) === undefined;
  if (isIntegrated && !ticket.machine) return { kind: 'merged', text: 'merged' };
  if (!branch || changedNothing(ticket)) return null;
  // On a fleet, only the clone of its worker has the merge.
  const alsoAt = isIntegrated ? `, merged only in the clone on ${oneLine(ticket.machine?.host ?? '')}` : '';
  return { kind: 'branch', text: `on branch ${oneLine(branch)}${alsoAt}` };
}

/** The branch beside its base, which is checked out, that the work was merged into and that the base does not have yet. */
export function gatheredOn({ landed, base }: Ticket): string | undefined {
  const beside = base && integrationBranch(base.ref.replace(/^origin\//, ''));
  return landed && landed.into === beside ? beside : undefined;
}

/**
 * The same plans, where git says so of finished work: merged, by whomever, or no longer on a branch, because that was deleted. Where git
 * cannot be asked, everything stays as it was recorded.
 */
export async function asGitHasIt(
  plans: readonly PlanStatus[],
  workspaces: () => Promise<Pick<Workspaces, 'placesOfWork'>>,
): Promise<PlanStatus[]> {
  const works = plans.flatMap(({ plan, tickets }) =>
    tickets.flatMap(({ ticket }) => {
      const { branch, base, machine, landed } = ticket;
      const kind = whereWorkIs(ticket)?.kind;
      const repo = ticket.repo ?? plan.repo;
      // On a fleet, the branch may be on another machine.
      if (!branch || !base || !repo || machine || sharesWorkspace(plan) || !isAbsolute(repo)) return [];
      const isOpen = kind === 'branch' || (kind === 'merged' && (!landed || gatheredOn(ticket)));
      return isOpen ? [{ repo, base: base.ref, branch, start: base.commit, tip: tipOf(ticket), ticket }] : [];
    }),
  );
  const known = new Map<Ticket, Ticket>();
  for (const own of groupBy(works, ({ repo, base }) => `${repo}\n${base}`).values())
    await ignoring(SignalboxError, async () => {
      const [{ repo, base } = { repo: '', base: '' }] = own;
      const places = await (await workspaces()).placesOfWork({ repo, base, works: own });
      for (const [at, { ticket, tip }] of own.entries()) {
        const into = places[at];
        if (into === null) known.set(ticket, { ...ticket, branch: null });
        else if (into !== undefined) known.set(ticket, { ...ticket, landed: { into, tip } });
      }
    });
  return plans.map((each) => ({
    ...each,
    tickets: each.tickets.map((one) => ({ ...one, ticket: known.get(one.ticket) ?? one.ticket })),
  }));
}

/** The same for tickets of one plan. */
export async function ticketsAsGitHasThem(
  plan: Plan,
  tickets: readonly Ticket[],
  workspaces: Pick<Workspaces, 'placesOfWork'>,
): Promise<Ticket[]> {
  const recorded = tickets.map((ticket) => ({ ticket, why: '', next: '' }));
  const [known] = await asGitHasIt([{ plan, tickets: recorded, problems: [] }], async () => workspaces);
  return known?.tickets.map(({ ticket }) => ticket) ?? [];
}

/** Whether a complete ticket's branch ends where it began. */
function changedNothing(ticket: Ticket): boolean {
  return ticket.status === 'complete' && ticket.base !== null && tipOf(ticket) === ticket.base.commit;
}

/** Where the work of a plan is, and the command for what is not merged. */
export function workLine(plan: Plan, tickets: readonly Ticket[]): string[] {
  const { id, workspace } = plan;
  const kinds = groupBy(
    tickets.flatMap((ticket) => whereWorkIs(ticket) ?? []),
    ({ kind }) => kind,
  );
  const count = (kind: 'merged' | 'pull request' | 'branch') => kinds.get(kind)?.length ?? 0;
  const [merged, pulls, branches] = [count('merged'), count('pull request'), count('branch')];
  const gathered = tickets.filter((ticket) => whereWorkIs(ticket)?.kind === 'merged' && gatheredOn(ticket));
  const beside = gathered[0] && gatheredOn(gathered[0]);
  const inBase = merged - gathered.length;
  const facts = [
    ...(inBase > 0 ? [`${inBase} merged`] : []),
    ...(beside ? [`${gathered.length} merged into ${beside}`] : []),
    ...(pulls > 0 ? [plural(pulls, 'pull request')] : []),
    ...(branches > 0
      ? [workspace ? 'on one branch' : `${branches} on ${branches === 1 ? 'its branch' : 'their branches'}`]
      : []),
  ];
  if (facts.length === 0) return [];
  const work = `Work: ${facts.join(', ')}`;
  const pages = [...new Set(kinds.get('pull request')?.map(({ text }) => text))];
  const isOneByOne = isGivenUp(plan) && !workspace;
  const onBranches = tickets.filter((ticket) => isOneByOne && whereWorkIs(ticket)?.kind === 'branch');
  const below = [...pages, ...onBranches.map(({ ticketId }) => `→ signalbox integrate ${id} ${ticketId}`)];
  const hidden = below.length - MAX_IDS;
  const merge = mergeCommand(plan, pulls > 0 ? ' --pr' : '');
  const isMerged = isGivenUp(plan) || pulls + branches + gathered.length === 0;
  return [
    isMerged || !merge ? work : `${work} → ${merge}`,
    ...below.slice(0, MAX_IDS).map((line) => `  ${line}`),
    ...(hidden > 0 ? [`  … and ${hidden} more`] : []),
  ];
}

/** What merges the work of a plan. `merge` takes no branch that tickets share: git merges that of a complete spec, as its last run found. */
export function mergeCommand({ id, workspace, ended }: Plan, flag = ''): string | undefined {
  if (!workspace) return `signalbox merge ${id}${flag}`;
  const line = ended?.lines.find((each) => each.startsWith('Merge: '));
  return line && oneLine(line.slice('Merge: '.length), 1000);
}

/** The summary of a spec's last run. */
function lastRun(plan: Plan): string[] {
  const lines = plan.ended?.lines ?? [];
  return lines.length === 0 ? [] : ['  Last run:', ...lines.map((line) => `    ${oneLine(line, 200)}`)];
}

interface Page {
  lines: string[];
  style: Style;
  now: number;
  width: number;
  detailed: boolean;
  plan: Plan;
  margin: string;
}

/** Details stand behind the ids; below them where ids are long, so that branches and commands have room. */
const MAX_INDENT = 20;
function indentBelow({ margin, width }: Page): string {
  const behind = margin.length + width + 4;
  return ' '.repeat(behind <= MAX_INDENT ? behind : margin.length + 2);
}

function addTicketLines(each: TicketStatus, page: Page): void {
  const { ticket, why } = each;
  const { lines, style, now, width, detailed, plan, margin } = page;
  const since = ticket.status === 'complete' ? '' : ` ${style.dim(howLong(ticket, now))}`;
  const status = ticket.status.replace('_', ' ');
  const mark = statusMark(ticket.status, style);
  lines.push(
    `${margin}${mark} ${ticket.ticketId.padEnd(width)}  ${status.padEnd(15)}${ticket.since ? since : ''}  ${oneLine(ticket.title, 60)}`,
  );
  const indent = indentBelow(page);
  if (why) lines.push(`${indent}${oneLine(why, detailed ? 4000 : 320)}${untilNote(ticket.hold, why, now)}`);
  const warning = ticket.phaseHistory.findLast(({ agent }) => agent)?.warning;
  if (warning && (detailed || ticket.status !== 'complete'))
    lines.push(`${indent}${style.yellow('!')} ${oneLine(warning, 320)}`);
  const pr = ticket.context.pr_url;
  const pull = typeof pr === 'string' ? `pull request ${oneLine(pr, 300)}` : '';
  const isAsked = ticket.hold?.kind === 'gate';
  if (pull && isAsked) lines.push(`${indent}${pull}`);
  for (const step of nextSteps(each, plan)) lines.push(`${indent}${style.dim(`→ ${step}`)}`);
  if (!detailed) return;
  const phase = ticket.currentPhase;
  const where = whereWorkIs(ticket);
  const branch = ticket.branch && where?.kind !== 'branch' ? `, branch ${oneLine(ticket.branch)}` : '';
  if (phase) lines.push(`${indent}phase ${oneLine(phase)}${branch}`);
  const isDone = isIn('done', ticket);
  const kept = isDone ? 'worktree kept: ' : 'worktree ';
  if (ticket.worktree && (!isDone || existsSync(ticket.worktree)))
    lines.push(`${indent}${kept}${oneLine(ticket.worktree, 300)}`);
  const work = where?.text ?? (changedNothing(ticket) ? 'nothing changed' : isAsked ? '' : pull);
  if (work) lines.push(`${indent}${work}`);
  const session =
    openAttempt(ticket)?.sessionId ?? ticket.phaseHistory.findLast((attempt) => attempt.sessionId)?.sessionId;
  if (session) lines.push(`${indent}session ${oneLine(session)}`);
  const used = usageOfAttempts(ticket.phaseHistory);
  if (used) lines.push(`${indent}${used}`);
}

/** Everything about one ticket: its reason, where its work is, and every attempt. */
export function ticketLines(each: TicketStatus, plan: Plan, style: Style, now: number): string[] {
  const { ticket } = each;
  const lines = [style.bold(refKey(ticket))];
  addTicketLines(each, {
    lines,
    style,
    now,
    width: ticket.ticketId.length,
    detailed: true,
    plan,
    margin: '  ',
  });
  const rows = ticket.phaseHistory.map((attempt) => {
    const end = attempt.completedAt === null ? now : Date.parse(attempt.completedAt);
    const outcome = attempt.outcome && attempt.outcome !== attempt.status ? ` → ${attempt.outcome}` : '';
    return [
      `  ${attempt.phase}`,
      whichAttempt(attempt),
      `${attempt.status}${outcome}`,
      duration(Math.max(0, end - Date.parse(attempt.startedAt))),
      usageText(attempt.usage),
      oneLine(attempt.error?.message ?? whyUnchecked(attempt), 200),
    ];
  });
  if (rows.length > 0)
    lines.push('', ...table(['  phase', 'attempt', 'result', 'time', 'usage', 'why'], rows, style));
  const { planId, ticketId } = ticket;
  if (rows.length > 0) lines.push('', style.dim(`→ signalbox logs ${planId} ${ticketId}`));
  if (ticket.base) lines.push(style.dim(`→ signalbox diff ${planId} ${ticketId}`));
  return lines;
}

function howLong(ticket: Ticket, now: number): string {
  const since = ago(inStateSince(ticket), now);
  return ticket.status === 'failed' ? `${since} ago` : `for ${since}`;
}
