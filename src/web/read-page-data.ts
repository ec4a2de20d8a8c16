import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { EngineContext } from '../engine/context.ts';
import { diffTicket } from '../engine/create-release-and-diff-ticket-workspace.ts';
import { knownPinned, workflowNameOf } from '../engine/pinned-workflow.ts';
import { logsOfRepository, runStats } from '../features/issue-runs/logs/run-stats.ts';
import { InputError, ignoring, SignalboxError } from '../model/errors.ts';
import type { StoredEvent } from '../model/events.ts';
import { refKey, type TicketRef } from '../model/ids-and-branch-names.ts';
import { addUsage, isUnpriced, noUsage } from '../model/limits/usage-cost-and-estimate.ts';
import type { Plan } from '../model/plan.ts';
import { ticketsOf } from '../model/plans/plans-view.ts';
import { asShown, runCommand } from '../model/state/explain-ticket.ts';
import { endOfCharacter } from '../model/text/clean-escape-quote-plural.ts';
import { shellWord } from '../model/text/quote-values-for-shell.ts';
import {
  type Attempt,
  attemptKey,
  isCancelled,
  legalCommands,
  openAttempt,
  type Ticket,
} from '../model/ticket.ts';
import { decisionsOf, phaseOf, type Workflow } from '../model/workflow.ts';
import type { BoardReader } from '../report/board/read-board.ts';
import { enginesIn } from '../report/engines-of-tickets.ts';
import { type OutputSource, outputOf } from '../report/find-attempt-output.ts';
import { makeReport, periodOf, timeOf } from '../report/gather-plans-and-write-reports.ts';
import { allStatusJson, type PlanStatus, statusJson, statusOf } from '../report/plan-and-ticket-status.ts';
import { mergeCommand, whereWorkIs } from '../report/status-text.ts';
import { openAndOnePlan, type Store, type StoreView } from '../store/store-interface.ts';
import { resolveWorkflow } from '../workflows/find-and-check-workflow.ts';
import type { Costs, PlanPage, TicketPage } from './schemas-of-api-answers-events-and-bodies.ts';

const MAX_DIFF_CHARS = 4 * 1024 * 1024;
const DEFAULT_EVENTS = 500;

/** What `status --json` prints. */
export function statusPage(engine: EngineContext, { all }: { all: boolean }) {
  const view = all ? engine.store.view() : engine.store.glance();
  return allStatusJson(statusIn(engine, view), view);
}

export function planList({ store }: EngineContext) {
  const rows = [...planRows(store.glance()), ...finishedRows(store)].flat();
  return rows.sort((a, b) => ((a.createdAt ?? '') < (b.createdAt ?? '') ? 1 : -1));
}

function planRows(view: StoreView) {
  return view.plans.map((plan) => ({
    id: plan.id,
    name: plan.name,
    status: plan.status,
    complete: ticketsOf(view, plan).filter(({ status }) => status === 'complete').length,
    tickets: plan.tickets.length,
    createdAt: plan.createdAt ?? null,
    repo: typeof plan.repo === 'string' ? plan.repo : null,
  }));
}

const finishedRows = ofFinishedPlans(planRows);

/** A change of a finished plan that nothing has reported is seen within this time. */
const FULL_CHECK_MS = 60_000;

/** Keeps a result for each finished plan until the plan changes: there may be thousands, and pages ask while tickets run. */
function ofFinishedPlans<T>(make: (view: StoreView) => T): (store: Store) => T[] {
  const stores = new WeakMap<Store, { made: Map<string, T>; cursor?: string; checkedAt: number }>();
  return (store) => {
    const kept = stores.get(store) ?? { made: new Map<string, T>(), checkedAt: Number.NEGATIVE_INFINITY };
    stores.set(store, kept);
    const { finished } = store.glance();
    const isDue = performance.now() - kept.checkedAt > FULL_CHECK_MS;
    if (isDue) kept.checkedAt = performance.now();
    const { changed, cursor } = store.changes(kept.cursor, isDue ? 'all' : 'noticed');
    kept.cursor = cursor;
    if (changed === 'unknown') kept.made.clear();
    else for (const { planId } of changed) kept.made.delete(planId);
    return [...(finished?.ids() ?? [])].map((id) => {
      const made = kept.made.get(id) ?? make(store.view(id));
      kept.made.set(id, made);
      return made;
    });
  };
}

/** What `status` shows of a view. */
function statusIn(
  { store, holder }: EngineContext,
  view: StoreView,
  isWanted?: (plan: Plan) => boolean,
): PlanStatus[] {
  return statusOf({ view, holder, now: Date.now(), isWanted, ...enginesIn(store, holder) });
}

/** One plan as `status` sees it. */
function planStatus(engine: EngineContext, planId: string): PlanStatus {
  engine.store.plan(planId);
  const view = openAndOnePlan(engine.store, planId);
  const [found] = statusIn(engine, view, ({ id }) => id === planId);
  if (!found) throw new InputError('plan/unknown', `There is no plan "${planId}".`);
  return found;
}

export function planPage(engine: EngineContext, planId: string, board: BoardReader): PlanPage {
  const status = planStatus(engine, planId);
  const { plan, tickets } = status;
  const isPaused = plan.status === 'paused' || tickets.some(({ ticket }) => ticket.status === 'paused');
  const isOpen = plan.status === 'active' || plan.status === 'paused';
  return {
    status: statusJson(status) as unknown as PlanPage['status'],
    rows: board.read(Date.now()).rows,
    legal: [
      ...(plan.status === 'draft' ? (['approve'] as const) : []),
      ...(plan.status === 'active' ? (['pause'] as const) : []),
      ...(isOpen && isPaused ? (['resume'] as const) : []),
      ...(isOpen ? (['cancel'] as const) : []),
    ],
    commands: planCommands(status),
  };
}

/** What can be done with a plan on the command line only. */
function planCommands({ plan, tickets }: PlanStatus): PlanPage['commands'] {
  const { id, status } = plan;
  const isPaused = status === 'paused';
  const run = isPaused ? `signalbox resume ${id}` : runCommand(plan);
  const merge = tickets.some(({ ticket }) => ticket.status === 'complete') && mergeCommand(plan);
  return [
    ...(isPaused || status === 'active' ? [{ about: 'Continue it in a terminal', command: run }] : []),
    ...(merge ? [{ about: 'Merge what is finished', command: merge }] : []),
    { about: 'Check it', command: `signalbox plan check ${id}` },
    { about: 'Remove what is left over', command: 'signalbox clean' },
    { about: 'Delete it', command: `signalbox plan delete ${id}` },
  ];
}

export async function ticketPage(
  engine: EngineContext,
  ref: TicketRef,
  board: BoardReader,
): Promise<TicketPage> {
  engine.store.ticket(ref);
  const status = planStatus(engine, ref.planId);
  const { plan } = status;
  const isNamed = ({ ticketId }: { ticketId: string }) => ticketId === ref.ticketId;
  const found = status.tickets.find(({ ticket }) => isNamed(ticket));
  const row = board.read(Date.now()).rows.find(isNamed);
  if (!found || !row)
    throw new InputError('ticket/unknown', `Plan "${ref.planId}" has no ticket "${ref.ticketId}".`);
  const { ticket, why, next } = found;
  const stored = engine.store.ticket(ref);
  const workflow = await workflowOf(engine, stored, plan);
  const keysOf = (phase: string) =>
    stored.phaseHistory.filter((each) => each.phase === phase).map(attemptKey);
  const known = new Set(workflow?.phases.map(({ id }) => id));
  const others = [...new Set(stored.phaseHistory.map(({ phase }) => phase))].filter((id) => !known.has(id));
  return {
    plan: { id: plan.id, name: plan.name || plan.id, status: plan.status },
    ticket: { ...ticket, why, next } as unknown as TicketPage['ticket'],
    row,
    phases: [
      ...(workflow?.phases ?? []).map(({ id, type }) => ({ id, type, attempts: keysOf(id) })),
      ...others.map((id) => ({ id, type: 'unknown', attempts: keysOf(id) })),
    ],
    attempts: stored.phaseHistory.map((attempt) => attemptFacts(engine, ref, attempt)),
    legal: [...legalCommands(ticket), ...(canCancel(ticket, plan) ? (['cancel'] as const) : [])],
    gate: gateOf(ticket, workflow),
    commands: ticketCommands(ticket, plan),
  };
}

const canCancel = (ticket: Ticket, { status }: Plan) =>
  ticket.status !== 'complete' && status !== 'draft' && !isCancelled(ticket);

/** The workflow that a ticket started with, or would start with; undefined where it cannot be read. Nothing is stored. */
async function workflowOf(engine: EngineContext, ticket: Ticket, plan: Plan): Promise<Workflow | undefined> {
  return ignoring(SignalboxError, async () => {
    const known = knownPinned(engine, ticket);
    const name = workflowNameOf(ticket, plan, engine.settings);
    return (known ?? (await resolveWorkflow(name, engine.settings.searchPath))).workflow;
  });
}

function gateOf(shown: Ticket, workflow: Workflow | undefined): TicketPage['gate'] {
  const ticket = asShown(shown);
  const open = openAttempt(ticket);
  if (!open || ticket.hold?.kind !== 'gate') return null;
  const phase = workflow && phaseOf(workflow, open.phase);
  const decisions = open.decisions ?? (phase?.type === 'gate' ? decisionsOf(phase) : []);
  const list = ` (${decisions.join(' | ')})`;
  const { reason } = ticket.hold;
  const asks = reason.endsWith(list) ? reason.slice(0, -list.length) : reason;
  return { key: attemptKey(open), asks, decisions };
}

function attemptFacts(
  engine: EngineContext,
  ref: TicketRef,
  attempt: Attempt,
): TicketPage['attempts'][number] {
  const dir = engine.machine.job(ref, attempt);
  const size = (name: string) => statSync(join(dir, name), { throwIfNoEntry: false })?.size ?? 0;
  return {
    key: attemptKey(attempt),
    attempt,
    stdoutBytes: size('stdout'),
    stderrBytes: size('stderr'),
    hasPrompt: size('prompt.md') > 0,
  };
}

/** What can be done with a ticket on the command line only. */
function ticketCommands(ticket: Ticket, plan: Plan): TicketPage['commands'] {
  const names = `${plan.id} ${ticket.ticketId}`;
  const hasSession = ticket.phaseHistory.some(({ sessionId }) => sessionId !== null);
  const merge = whereWorkIs(ticket)?.kind === 'branch' && mergeCommand(plan);
  return [
    { about: 'Follow its log', command: `signalbox logs ${names} -f` },
    ...(ticket.base ? [{ about: 'Show its diff', command: `signalbox diff ${names}` }] : []),
    ...(hasSession
      ? [{ about: 'Continue the agent’s session', command: `signalbox resume-session ${names}` }]
      : []),
    ...(ticket.worktree && existsSync(ticket.worktree)
      ? [{ about: 'Open a shell in its worktree', command: `cd ${shellWord(ticket.worktree)}` }]
      : []),
    ...(merge ? [{ about: 'Merge it', command: merge }] : []),
  ];
}

/** The output and the record of an attempt; only attempts that the ticket lists have them. */
export function attemptOf(
  engine: EngineContext,
  ref: TicketRef,
  key: string,
): { source: OutputSource; attempt: Attempt } {
  const { phaseHistory } = engine.store.ticket(ref);
  const attempt = phaseHistory.find((each) => attemptKey(each) === key);
  if (!attempt)
    throw new InputError('attempt/unknown', `${refKey(ref)} has no attempt "${key}".`, {
      hint:
        phaseHistory.length === 0
          ? 'It has not started.'
          : `Its attempts: ${phaseHistory.slice(-20).map(attemptKey).join(', ')}.`,
    });
  return { source: outputOf(engine.store, engine.machine, ref, attempt), attempt };
}

export function eventPage(
  { store }: EngineContext,
  planId: string,
  { ticket, last = DEFAULT_EVENTS }: { ticket?: string | undefined; last?: number | undefined },
): StoredEvent[] {
  store.plan(planId);
  const isWanted = (event: StoredEvent) =>
    ticket === undefined || ('ticketId' in event && event.ticketId === ticket);
  return store.events(planId).filter(isWanted).slice(-last);
}

export async function diffPage(engine: EngineContext, ref: TicketRef, { stat }: { stat: boolean }) {
  const { base, branch, text } = await diffTicket(engine, ref, stat ? 'stat' : undefined);
  const end = text.length <= MAX_DIFF_CHARS ? text.length : endOfCharacter(text, MAX_DIFF_CHARS);
  return { base, branch, text: text.slice(0, end), cut: text.length - end };
}

/** What attempts of agents used, in groups that a page can add up as it likes. */
export function costPage(
  { store }: EngineContext,
  { since, plan }: { since?: string | undefined; plan?: string | undefined },
): Costs {
  const from = since === undefined ? null : timeOf(since, Date.now());
  const all =
    plan === undefined
      ? [costsOf(store.glance()), costsOfTickets(store.deletedUsage()), ...finishedCosts(store)].flat()
      : costsOfTickets(store.tickets(store.plan(plan)));
  const rows = new Map<string, Costs['rows'][number]>();
  for (const { end, planId, phase, agent, usage, seconds, unpriced } of all) {
    if (from !== null && end < from) continue;
    const group = { day: localDay(end), planId, phase, agent };
    const key = JSON.stringify(group);
    const row = rows.get(key) ?? { ...group, attempts: 0, unpriced: 0, seconds: 0, usage: noUsage() };
    row.attempts += 1;
    row.unpriced += unpriced ? 1 : 0;
    row.seconds += seconds;
    if (usage) row.usage = addUsage(row.usage, usage);
    rows.set(key, row);
  }
  return {
    since: from === null ? null : new Date(from).toISOString(),
    rows: [...rows.values()].sort((a, b) => (a.day < b.day ? -1 : a.day > b.day ? 1 : 0)),
  };
}

const costsOf = ({ tickets }: StoreView) => costsOfTickets(tickets.values());
const finishedCosts = ofFinishedPlans(costsOf);

/** What each attempt of an agent used, and when it ended. */
function costsOfTickets(tickets: Iterable<Ticket>) {
  return [...tickets].flatMap(({ planId, phaseHistory }) =>
    phaseHistory.flatMap((entry) => {
      const { agent, phase, usage, startedAt, completedAt } = entry;
      const end = Date.parse(completedAt ?? startedAt);
      if (agent === null || Number.isNaN(end)) return [];
      const seconds = completedAt ? Math.max(0, (end - Date.parse(startedAt)) / 1000) : 0;
      return [{ end, planId, phase, agent, usage, seconds, unpriced: isUnpriced(entry) }];
    }),
  );
}

function localDay(ms: number): string {
  const date = new Date(ms);
  const two = (value: number) => String(value).padStart(2, '0');
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

/** What `stats --json` prints in a directory. */
export function statsPage({ store, settings, holder }: EngineContext, cwd: string) {
  const { logPath } = settings.run;
  const { logs, unreadable } = logsOfRepository(cwd, { logPath, view: store.view(), holder });
  return runStats(logs, unreadable);
}

export async function reportPage(
  engine: EngineContext,
  { since, plan }: { since?: string | undefined; plan?: string | undefined },
) {
  const now = Date.now();
  const given = since === undefined ? undefined : timeOf(since, now);
  const period = periodOf({ given, planId: plan, last: undefined, now });
  return makeReport(engine, { ...period, planId: plan });
}
