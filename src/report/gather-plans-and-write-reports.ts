import { statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { EngineContext } from '../engine/context.ts';
import { readTip } from '../engine/create-release-and-diff-ticket-workspace.ts';
import { knownPinned } from '../engine/pinned-workflow.ts';
import { workspaceFor } from '../engine/work-out-workspace-and-repository.ts';
import { checkLogPlace } from '../features/issue-runs/logs/rewrite-run-log.ts';
import { storedRun } from '../features/issue-runs/results/stored-run-time-and-issue-names.ts';
import { findLanded } from '../features/landed/find-landed-work.ts';
import { makeDirectory } from '../machine/files/make-directory-and-handle-storage-errors.ts';
import { writeAtomic } from '../machine/files/write-atomic-and-note-facts.ts';
import { scriptInstead } from '../model/actions.ts';
import { InputError, ifUsable, ignoring, messageOf, SignalboxError } from '../model/errors.ts';
import type { EngineEvent } from '../model/events.ts';
import { groupBy } from '../model/group-and-remember.ts';
import { refKey } from '../model/ids-and-branch-names.ts';
import type { Plan } from '../model/plan.ts';
import { latestFinished } from '../model/plans/latest-plans-and-unknown-name-errors.ts';
import { isMoving, isRest } from '../model/state/next-step-or-rest.ts';
import { type Ticket, tipOf } from '../model/ticket.ts';
import { actionOf, commandOf, type Phase } from '../model/workflow.ts';
import { readableTicket, withPlans } from '../store/store-interface.ts';
import { enginesIn } from './engines-of-tickets.ts';
import { type PlanStatus, statusOf } from './plan-and-ticket-status.ts';
import { asGitHasIt, whereWorkIs } from './status-text.ts';
import { clock } from './style-and-phrases.ts';
import type { Report } from './view-schemas.ts';
import { reportMarkdown, workReport } from './work-report.ts';

const DEFAULT_HOURS = 12;
const HOUR_MS = 3_600_000;
/** More finished plans than these are not read for one report. */
const MAX_FINISHED = 200;

interface Period {
  since: number;
  period: string;
}

/** Since when a report is: a given time, the beginning of a plan, the last report that a person looked at, or some hours ago. */
export function periodOf(from: {
  given: number | undefined;
  planId: string | undefined;
  last: string | undefined;
  now: number;
}): Period {
  const { given, planId, last, now } = from;
  const at = (time: number) => clock(new Date(time).toISOString(), now);
  if (given !== undefined) return { since: given, period: `since ${at(given)}` };
  if (planId !== undefined) return { since: 0, period: `plan ${planId}` };
  const looked = Date.parse(last ?? '');
  if (!Number.isNaN(looked))
    return { since: looked, period: `since ${at(looked)}, when you last looked at one` };
  const since = now - DEFAULT_HOURS * HOUR_MS;
  return { since, period: `the last ${DEFAULT_HOURS} hours, since ${at(since)}` };
}

const UNITS: Readonly<Record<string, number>> = { m: 60_000, h: HOUR_MS, d: 24 * HOUR_MS };

/** `18:00` (the last one), `12h`, or a date with or without a time. */
export function timeOf(text: string, now: number): number {
  const [, number, unit = ''] = /^(\d{1,5})([mhd])$/.exec(text) ?? [];
  if (number !== undefined) return now - Number(number) * (UNITS[unit] ?? 0);
  const [, hours, minutes] = /^([01]?\d|2[0-3]):([0-5]\d)$/.exec(text) ?? [];
  if (hours !== undefined) {
    const date = new Date(now);
    date.setHours(Number(hours), Number(minutes), 0, 0);
    if (date.getTime() > now) date.setDate(date.getDate() - 1);
    return date.getTime();
  }
  // A date alone would be taken for UTC.
  const time = /^\d{4}-\d\d-\d\d/.test(text)
    ? Date.parse(text.length === 10 ? `${text}T00:00` : text)
    : Number.NaN;
  if (!Number.isNaN(time)) return time;
  throw new InputError('usage', `Invalid --since value: ${text}. Must be a time, a duration or a date.`, {
    hint: 'For example: --since 18:00, --since 12h, --since 2026-03-01',
  });
}

interface Wanted extends Period {
  planId?: string | undefined;
  isWanted?: ((plan: Plan) => boolean) | undefined;
}

/** Reads plans and makes the report of what happened in them since a time. */
export async function makeReport(
  engine: EngineContext,
  { since, period, planId, isWanted }: Wanted,
): Promise<Report> {
  const { store, holder, machine } = engine;
  const open = store.glance();
  const isIn = (plan: Plan) => (planId === undefined ? (isWanted?.(plan) ?? true) : plan.id === planId);
  const ids = new Set(planId === undefined ? (open.finished?.since(since, MAX_FINISHED) ?? []) : [planId]);
  const older = planId === undefined ? latestFinished(open, isIn).filter(({ id }) => !ids.has(id)) : [];
  const olderIds = new Set(older.flatMap(({ id, status }) => (status === 'complete' ? id : [])));
  const view = withPlans(open, [...ids, ...olderIds], (id) => store.view(id));
  if (planId !== undefined) store.plan(planId);
  const now = Date.parse(engine.now());
  const found = statusOf({
    view,
    holder,
    ...enginesIn(store, holder),
    now,
    isWanted: (plan) => plan.status !== 'draft' && isIn(plan),
  });
  const known = await asGitHasIt(found, async () => engine.workspaces);
  const unmerged = await unmergedBefore(engine, known, since);
  const plans = known.filter(
    ({ plan, tickets }) =>
      !olderIds.has(plan.id) || tickets.some(({ ticket }) => unmerged.has(refKey(ticket))),
  );
  const stats = await diffstats(
    engine,
    plans,
    (ticket) => Date.parse(ticket.since ?? '') >= since || unmerged.has(refKey(ticket)),
  );
  return workReport({
    plans,
    since,
    now,
    period,
    unmerged,
    events: plans.flatMap(({ plan }) => store.events(plan.id)),
    diffstat: (ticket) => stats.get(refKey(ticket)) ?? null,
    checkPhases: (ticket) =>
      ifUsable(() => knownPinned(engine, ticket))
        ?.workflow.phases.filter(isCheck)
        .map(({ id }) => id),
    printedAt: (ticket, attempt) =>
      statSync(join(machine.job(ticket, attempt), 'stdout'), { throwIfNoEntry: false })?.mtimeMs ?? null,
  });
}

function isCheck(phase: Phase): boolean {
  return actionOf(phase) === 'checks' || commandOf(phase) === scriptInstead('checks');
}

/** Git is asked about the work of this many tickets at most. */
const MAX_CHECKED = 50;

/** Work that was complete before a time and is not in its base yet, as `plan/ticket`. */
async function unmergedBefore(
  engine: EngineContext,
  plans: readonly PlanStatus[],
  since: number,
): Promise<Set<string>> {
  const view = engine.store.glance();
  const onBranches = plans.flatMap(({ plan, tickets }) =>
    tickets.flatMap(({ ticket }) =>
      whereWorkIs(ticket)?.kind === 'branch' && Date.parse(ticket.since ?? '') < since
        ? { plan, ticket }
        : [],
    ),
  );
  const unmerged = new Set<string>();
  // Where the repository is gone, nothing can be merged.
  for (const { plan, ticket } of onBranches.slice(0, MAX_CHECKED))
    await ignoring(SignalboxError, async () => {
      const workspace = workspaceFor(ticket, plan, engine.settings, view);
      const commit = await engine.workspaces.tip(workspace);
      if (commit === undefined) return;
      const work = { ...workspace, tickets: [ticket], commit };
      if ((await findLanded(engine, work, ['record', 'history', 'changes'])) === null)
        unmerged.add(refKey(ticket));
    });
  return unmerged;
}

/** What complete tickets changed, by ticket. Git is started once for each repository. */
async function diffstats(
  engine: EngineContext,
  plans: readonly PlanStatus[],
  isShown: (ticket: Ticket) => boolean,
): Promise<Map<string, string | null>> {
  const view = engine.store.glance();
  const done: { key: string; repo: string; range: { base: string; tip: string } }[] = [];
  for (const { plan, tickets } of plans)
    for (const { ticket } of tickets) {
      const { status, base } = ticket;
      if (status !== 'complete' || !base || !isShown(ticket)) continue;
      const workspace = workspaceFor(ticket, plan, engine.settings, view);
      // A ticket that is complete at this moment has not recorded its last commit yet.
      const tip = tipOf(ticket) ?? (await readTip(engine, workspace));
      if (tip) done.push({ key: refKey(ticket), repo: workspace.repo, range: { base: base.commit, tip } });
    }
  const found = new Map<string, string | null>();
  for (const [repo, own] of groupBy(done, (each) => each.repo)) {
    const ranges = own.map(({ range }) => range);
    // A repository that is gone has no diffs to show.
    const stats = await ignoring(SignalboxError, () => engine.workspaces.shortStats(repo, ranges));
    for (const [at, { key }] of own.entries()) found.set(key, stats?.[at] ?? null);
  }
  return found;
}

/** Writes the report of a plan beside the log of its run, and of other plans into the log directory. */
export async function keepReport(engine: EngineContext, planId: string): Promise<void> {
  const plan = engine.store.plan(planId);
  const log = storedRun(plan)?.log;
  if (log) checkLogPlace(log, plan.repo ?? '/');
  const file = log?.replace(/\.json$/, '.md') ?? join(engine.settings.logDir, 'reports', `${planId}.md`);
  const report = await makeReport(engine, { since: 0, period: `plan ${planId}`, planId });
  makeDirectory(dirname(file));
  writeAtomic(file, `${reportMarkdown(report).join('\n')}\n`);
}

/** Does something for plans, one after the other. A plan that waits for its turn is not added again; a failure is a problem of the plan. */
export function plansInTurn(
  engine: EngineContext,
  failed: string,
  work: (plan: Plan) => Promise<void>,
): { add(planId: string): void; ended(): Promise<void> } {
  const { store } = engine;
  const waiting = new Set<string>();
  let ended: Promise<void> = Promise.resolve();
  const next = async (planId: string) => {
    waiting.delete(planId);
    try {
      if (store.hasPlan(planId)) await work(store.plan(planId));
    } catch (error) {
      const message = `${failed}: ${messageOf(error)}`;
      engine.listen({ type: 'problem', planId, ticketId: null, message, path: null });
    }
  };
  return {
    add(planId) {
      if (waiting.has(planId)) return;
      waiting.add(planId);
      ended = ended.then(() => next(planId));
    },
    ended: () => ended,
  };
}

/** Writes the report of every plan that comes to rest in an engine without a terminal. */
export function followReports(engine: EngineContext): {
  listen(event: EngineEvent): void;
  close(): Promise<void>;
} {
  const { store } = engine;
  /** By plan, the last of its tickets that was moving. While it is, the others are not read: there may be thousands. */
  const moving = new Map<string, Ticket>();
  const plans = plansInTurn(engine, 'the report cannot be written', async (plan) => {
    // A run with a terminal writes its report itself.
    if (plan.claim !== null) return;
    const isActive = plan.status === 'active';
    const before = moving.get(plan.id);
    const known = isActive && before ? readableTicket(store, before) : undefined;
    if (known && isMoving(known)) return;
    const last = isActive ? store.tickets(plan).findLast(isMoving) : undefined;
    if (last) return void moving.set(plan.id, last);
    moving.delete(plan.id);
    await keepReport(engine, plan.id);
  });
  return {
    listen(event) {
      const isOver = event.type === 'ticket:status' ? isRest(event.status) : event.type === 'plan:status';
      if (isOver) plans.add(event.planId);
    },
    close: plans.ended,
  };
}
