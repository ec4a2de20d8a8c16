import { statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { EngineContext } from '../engine/context.ts';
import { readTip } from '../engine/prepare-release-diff-workspace.ts';
import { workspaceFor } from '../engine/ticket-workspace.ts';
import { checkLogPlace } from '../features/issue-runs/logs/write-log.ts';
import { storedRun } from '../features/issue-runs/results/stored-run-time-and-issue-names.ts';
import { makeDirectory } from '../machine/files/make-directory-and-handle-storage-errors.ts';
import { writeAtomic } from '../machine/files/write-atomic-and-note-facts.ts';
import { InputError, messageOf, SignalboxError } from '../model/errors.ts';
import type { EngineEvent } from '../model/events.ts';
import { groupBy } from '../model/group-by.ts';
import { refKey } from '../model/ids-and-branch-names.ts';
import type { Plan } from '../model/plan.ts';
import { isMoving, isRest } from '../model/state/next-step-or-rest.ts';
import { type Ticket, tipOf } from '../model/ticket.ts';
import { readableTicket } from '../store/store-interface.ts';
import { type PlanStatus, statusOf } from './status-text.ts';
import { clock } from './style-and-phrases.ts';
import { reportMarkdown, type WorkReport, workReport } from './work-report.ts';

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
): Promise<WorkReport> {
  const { store, holder, machine } = engine;
  const open = store.glance();
  const ids = planId === undefined ? (open.finished?.since(since, MAX_FINISHED) ?? []) : [planId];
  const known = new Set(open.plans.map(({ id }) => id));
  const others = ids.filter((id) => !known.has(id)).map((id) => store.view(id));
  if (planId !== undefined) store.plan(planId);
  const views = [open, ...others];
  const view = {
    ...open,
    plans: views.flatMap(({ plans }) => plans),
    tickets: new Map(views.flatMap(({ tickets }) => [...tickets])),
  };
  const now = Date.parse(engine.now());
  const isIn = (plan: Plan) => (planId === undefined ? (isWanted?.(plan) ?? true) : plan.id === planId);
  const plans = statusOf({
    view,
    holder,
    daemon: holder.daemon() !== undefined,
    now,
    isWanted: (plan) => plan.status !== 'draft' && isIn(plan),
  });
  const stats = await diffstats(engine, plans, since);
  return workReport({
    plans,
    since,
    now,
    period,
    events: plans.flatMap(({ plan }) => store.events(plan.id)),
    diffstat: (ticket) => stats.get(refKey(ticket)) ?? null,
    printedAt: (ticket, attempt) =>
      statSync(join(machine.job(ticket, attempt), 'stdout'), { throwIfNoEntry: false })?.mtimeMs ?? null,
  });
}

/** What complete tickets changed, by ticket. Git is started once for each repository. */
async function diffstats(
  engine: EngineContext,
  plans: readonly PlanStatus[],
  since: number,
): Promise<Map<string, string | null>> {
  const view = engine.store.glance();
  const done: { key: string; repo: string; range: { base: string; tip: string } }[] = [];
  for (const { plan, tickets } of plans)
    for (const { ticket } of tickets) {
      const { status, base } = ticket;
      if (status !== 'complete' || !base || Date.parse(ticket.since ?? '') < since) continue;
      const workspace = workspaceFor(ticket, plan, engine.settings, view);
      // A ticket that is complete at this moment has not recorded its last commit yet.
      const tip = tipOf(ticket) ?? (await readTip(engine, workspace));
      if (tip) done.push({ key: refKey(ticket), repo: workspace.repo, range: { base: base.commit, tip } });
    }
  const found = new Map<string, string | null>();
  for (const [repo, own] of groupBy(done, (each) => each.repo))
    try {
      const ranges = own.map(({ range }) => range);
      const stats = await engine.workspaces.shortStats(repo, ranges);
      for (const [at, { key }] of own.entries()) found.set(key, stats[at] ?? null);
    } catch (error) {
      // A repository that is gone has no diffs to show.
      if (!(error instanceof SignalboxError)) throw error;
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

/** Writes the report of every plan that comes to rest in an engine without a terminal. */
export function followReports(engine: EngineContext): {
  listen(event: EngineEvent): void;
  close(): Promise<void>;
} {
  const waiting = new Set<string>();
  /** By plan, the last of its tickets that was moving. While it is, the others are not read: there may be thousands. */
  const moving = new Map<string, Ticket>();
  let work: Promise<void> = Promise.resolve();
  const keep = async (planId: string) => {
    waiting.delete(planId);
    try {
      const { store } = engine;
      const plan = store.hasPlan(planId) ? store.plan(planId) : undefined;
      // A run with a terminal writes its report itself.
      if (plan?.claim !== null) return;
      const isActive = plan.status === 'active';
      const before = moving.get(planId);
      const known = isActive && before ? readableTicket(store, before) : undefined;
      if (known && isMoving(known)) return;
      const last = isActive ? store.tickets(plan).findLast(isMoving) : undefined;
      if (last) return void moving.set(planId, last);
      moving.delete(planId);
      await keepReport(engine, planId);
    } catch (error) {
      const message = `the report cannot be written: ${messageOf(error)}`;
      engine.listen({ type: 'problem', planId, ticketId: null, message, path: null });
    }
  };
  return {
    listen(event) {
      const isOver = event.type === 'ticket:status' ? isRest(event.status) : event.type === 'plan:status';
      if (!isOver || !('planId' in event) || waiting.has(event.planId)) return;
      waiting.add(event.planId);
      work = work.then(() => keep(event.planId));
    },
    close: () => work,
  };
}
