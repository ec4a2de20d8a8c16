import type { EngineContext, Notifications } from '../../engine/context.ts';
import { messageOf } from '../../model/errors.ts';
import { groupBy } from '../../model/group-and-remember.ts';
import { type Changed, pageAddress, refKey } from '../../model/ids-and-branch-names.ts';
import { costText, countUnpriced, totalUsage } from '../../model/limits/usage-cost-and-estimate.ts';
import type { Plan } from '../../model/plan.ts';
import { ticketsOf } from '../../model/plans/plans-view.ts';
import { answerCommands, sayOutcome } from '../../model/state/explain-ticket.ts';
import { cleanLine } from '../../model/text/clean-escape-quote-plural.ts';
import { type Attempt, attemptKey, isCancelled, openAttempt, type Ticket } from '../../model/ticket.ts';
import type { StoreView, Wanted } from '../../store/store-interface.ts';
import type { Notice, NotifyPlace, Occasion } from './destinations.ts';
import { placesOf, sayFailure } from './destinations.ts';

/** Completed plans are reported for 7 days, at most 100 of them. */
const MAX_FINISHED_AGE_MS = 7 * 86_400_000;
const MAX_FINISHED_PLANS = 100;
/** How long the end of an engine waits for notices to be sent. The next engine sends the others. */
const MAX_SEND_WAIT_MS = 20_000;

/** Notifies people when they are needed: each notice once at each place, without holding up the engine. */
export class Notifier implements Notifications {
  readonly #engine: EngineContext;
  readonly #places: NotifyPlace[];
  readonly #start: string;
  readonly #seen = new Set<string>();
  readonly #failed = new Set<string>();
  /** Finished plans that were already checked. */
  readonly #checkedFinished = new Set<string>();
  readonly #abort = new AbortController();
  #tails = new Map<string, Promise<void>>();

  constructor(engine: EngineContext) {
    this.#engine = engine;
    this.#places = placesOf(engine);
    this.#start = this.#places.length > 0 ? engine.now() : '';
  }

  /** Queues notices that are new. Returns at once and never throws. */
  queueNewNotices(view: StoreView, mine: (plan: Plan) => boolean, changed: Changed = 'unknown'): void {
    if (this.#places.length === 0) return;
    const byPlan = changed === 'unknown' ? undefined : groupBy(changed, ({ planId }) => planId);
    const open = view.plans.filter(({ id }) => !byPlan || byPlan.has(id) || !this.#seen.has(id));
    const seen = { ...view, plans: [...open, ...this.#finished(view)] };
    // A plan may have thousands of tickets that have not changed.
    const toCheck = (plan: Plan) => {
      const refs = this.#seen.has(plan.id) ? byPlan?.get(plan.id) : undefined;
      if (!refs || refs.some(({ ticketId }) => ticketId === null)) return ticketsOf(view, plan);
      return refs.flatMap(({ ticketId }) =>
        ticketId === null ? [] : (view.tickets.get(refKey({ planId: plan.id, ticketId })) ?? []),
      );
    };
    const all = noticesIn(seen, mine, this.#engine.settings.notify.on, toCheck);
    const news = groupBy(all, ({ notice }) => notice.plan);
    for (const { id } of seen.plans.filter(mine)) {
      const fresh = (news.get(id) ?? []).filter(({ key }) => !this.#seen.has(`${id} ${key}`));
      // The start of watching is recorded per plan at once: what happens later is reported even after a crash.
      if (fresh.length === 0 && this.#seen.has(id)) continue;
      this.#seen.add(id);
      for (const { key } of fresh) this.#seen.add(`${id} ${key}`);
      this.#later('', () => this.#claim(id, fresh));
    }
  }

  /** Finished plans that were not checked yet, also those of an engine that was killed before it could notify. */
  #finished({ plans, finished }: StoreView): Plan[] {
    for (const { id } of plans) this.#checkedFinished.delete(id);
    const since = Date.parse(this.#engine.now()) - MAX_FINISHED_AGE_MS;
    const fresh = finished?.since(since, MAX_FINISHED_PLANS) ?? [];
    return fresh.flatMap((id) => {
      if (this.#checkedFinished.has(id)) return [];
      this.#checkedFinished.add(id);
      return finished?.plan(id) ?? [];
    });
  }

  /** Resolves when everything is sent, or has been tried for long enough. */
  async settled(): Promise<void> {
    const timer = setTimeout(() => this.#abort.abort(), MAX_SEND_WAIT_MS);
    while (this.#tails.size > 0) await Promise.all(this.#tails.values());
    clearTimeout(timer);
  }

  async #claim(planId: string, news: readonly Keyed[]): Promise<void> {
    const places = this.#places.map(({ name }) => name);
    const wanted = news.flatMap(({ key, since }) => places.map((place) => ({ key, place, since })));
    const mine = await this.#engine.store.claimNotices(planId, {
      places,
      wanted,
      start: this.#start,
      now: this.#engine.now(),
    });
    const tickets = mine.length > 0 ? this.#engine.store.tickets(planId) : [];
    for (const each of mine) {
      const place = this.#places.find(({ name }) => name === each.place);
      const found = news.find(({ key }) => key === each.key)?.notice;
      const notice = found && withOutcome(found, tickets);
      if (place && notice) this.#later(place.name, () => this.#send(place, notice, each));
    }
  }

  async #send(place: NotifyPlace, notice: Notice, wanted: Wanted): Promise<void> {
    if (this.#abort.signal.aborted) return;
    let state: 'sent' | 'failed' = 'sent';
    try {
      await place.send(withLink(notice, this.#engine.settings.web.publicUrl), this.#abort.signal);
    } catch (error) {
      if (this.#abort.signal.aborted) return;
      state = 'failed';
      this.#problem(place.name, notice, sayFailure(place, error, this.#engine.settings));
    }
    await this.#engine.store.endNotice(notice.plan, wanted, { state, now: this.#engine.now() });
  }

  /** One after the other at each place; places do not wait for each other. */
  #later(queue: string, work: () => Promise<void>): void {
    const before = this.#tails.get(queue) ?? Promise.resolve();
    const tail = before.then(work).catch((error: unknown) => {
      this.#problem('store', null, `sent notifications cannot be recorded: ${messageOf(error)}`);
    });
    this.#tails.set(queue, tail);
    void tail.then(() => {
      if (this.#tails.get(queue) === tail) this.#tails.delete(queue);
    });
  }

  /** Each place reports its first failure only. */
  #problem(what: string, notice: Notice | null, message: string): void {
    if (this.#failed.has(what)) return;
    this.#failed.add(what);
    const { plan: planId = '', ticket: ticketId = null } = notice ?? {};
    this.#engine.listen({ type: 'problem', planId, ticketId, message, path: null });
  }
}

/** Adds the address of what it is about on the page, where that has one for people. */
function withLink(notice: Notice, publicUrl: string | null): Notice {
  if (publicUrl === null) return notice;
  const url = pageAddress(publicUrl, notice.plan, notice.ticket);
  return { ...notice, text: `${notice.text} ${url}`, url };
}

/** Sends one notice to every place, to see whether they are reached. Nothing is remembered of it. */
export async function tryPlaces(engine: EngineContext) {
  const text = 'Signalbox can reach you here.';
  const about = { plan: 'test', ticket: null, title: text, phase: null, reason: null };
  const notice: Notice = { event: 'test', text, ...about, at: engine.now() };
  const signal = AbortSignal.timeout(MAX_SEND_WAIT_MS);
  return Promise.all(
    placesOf(engine).map(async (place) => {
      const { name, label } = place;
      try {
        await place.send(notice, signal);
        return { place: name, label, ok: true, error: null };
      } catch (error) {
        return { place: name, label, ok: false, error: sayFailure(place, error, engine.settings) };
      }
    }),
  );
}

/** A notice with the name under which it is remembered. */
export interface Keyed {
  key: string;
  since: string;
  notice: Notice;
}

const MAX_REASON_CHARS = 500;
const NEEDS = ' needs attention';
/** What an agent or program printed, at the end of an error: places outside get no transcripts. */
const PRINTED = /(?:\nIt printed:\n| It said: ).*$/s;

/** Everything in these plans that a person should know, as things are now. */
export function noticesIn(
  view: StoreView,
  mine: (plan: Plan) => boolean,
  on: readonly Occasion[],
  toCheck = (plan: Plan) => ticketsOf(view, plan),
): Keyed[] {
  const plans = view.plans.filter(
    (plan) => plan.status !== 'draft' && plan.status !== 'archived' && mine(plan),
  );
  return plans.flatMap((plan) => [
    ...toCheck(plan).flatMap((ticket) => ticketNotice(ticket, plan, on)),
    ...(on.includes('complete') ? planNotice(view, plan) : []),
  ]);
}

function ticketNotice(ticket: Ticket, plan: Plan, on: readonly Occasion[]): Keyed[] {
  const { since, hold, error, planId, ticketId, title, currentPhase: phase } = ticket;
  // The person who gave it up knows.
  if (isCancelled(ticket)) return [];
  const waits = hold?.person === true && on.includes('needs_attention');
  const event = waits ? 'needs_attention' : ticket.status;
  if ((event !== 'needs_attention' && event !== 'failed') || !on.includes(event)) return [];
  const open = openAttempt(ticket);
  // A wait is reported when it begins. A gate that polls is the same gate, however often its status changes.
  const attempt =
    open && (waits ? firstAttemptOfWait(ticket, open) : hold?.kind === 'gate' ? open : undefined);
  const at = waits ? (hold.since ?? attempt?.startedAt) : (attempt?.startedAt ?? since);
  if (!at) return [];
  const isAsked = event === 'needs_attention' && hold?.kind === 'gate';
  const why = hold?.reason ?? error ?? '';
  const reason = cleanLine(isAsked ? why : why.replace(PRINTED, ''), MAX_REASON_CHARS) || null;
  const what = event === 'failed' ? ' has failed' : NEEDS;
  const answer = isAsked ? ` Answer: ${answerCommands(ticket, plan).join(', or: ')}` : '';
  const text = `${refKey(ticket)}${what}${reason ? `: ${reason}` : '.'}${answer}`;
  const key = `${ticketId} ${waits ? 'waits' : event} ${attempt ? attemptKey(attempt) : at}`;
  // A shortage is reported only after a while, in which the engine may have been restarted.
  const from = hold?.since !== undefined ? (hold.until ?? at) : at;
  return [
    { key, since: from, notice: { event, text, plan: planId, ticket: ticketId, title, phase, reason, at } },
  ];
}

/** The first attempt of this wait. Failed or interrupted polls add more attempts to it. */
function firstAttemptOfWait({ phaseHistory, retries }: Ticket, open: Attempt): Attempt {
  let failures = retries[open.phase] ?? 0;
  let first = open;
  for (const entry of phaseHistory.slice(0, -1).reverse()) {
    if (entry.phase !== open.phase || entry.visit !== open.visit) break;
    if (entry.status !== 'interrupted' && failures-- <= 0) break;
    first = entry;
  }
  return first;
}

function planNotice(view: StoreView, plan: Plan): Keyed[] {
  const { completedAt } = plan;
  if (plan.status !== 'complete' || !completedAt) return [];
  const text = `${plan.id} is complete: ${outcomeOf(ticketsOf(view, plan))}.`;
  const about = { plan: plan.id, ticket: null, title: plan.name || plan.id, phase: null, reason: null };
  const notice = { event: 'complete' as const, text, ...about, at: completedAt };
  return [{ key: `complete ${completedAt}`, since: completedAt, notice }];
}

/** Adds how far the plan is to the notice of a ticket that needs a person. */
export function withOutcome(notice: Notice, tickets: readonly Ticket[]): Notice {
  if (notice.event !== 'needs_attention') return notice;
  return { ...notice, text: notice.text.replace(NEEDS, () => `${NEEDS} (${outcomeOf(tickets)})`) };
}

/** The first sentence of the report: `1 of 3 done, 2 need you · $1.20`. */
function outcomeOf(tickets: readonly Ticket[]): string {
  const attempts = tickets.flatMap(({ phaseHistory }) => phaseHistory);
  const usd = totalUsage(attempts.map(({ usage }) => usage))?.costUsd ?? null;
  const unpriced = countUnpriced(attempts);
  return `${sayOutcome(tickets)}${usd !== null || unpriced > 0 ? ` · ${costText(usd, unpriced)}` : ''}`;
}
