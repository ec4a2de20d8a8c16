import type { EngineContext, Notifications } from '../../engine/context.ts';
import { messageOf } from '../../model/errors.ts';
import type { Plan } from '../../model/plan.ts';
import type { StoreView, Wanted } from '../../store/port.ts';
import { type Keyed, type Notice, noticesIn } from './notices.ts';
import { type NotifyPlace, type PlaceOptions, placesOf, sayFailure } from './places.ts';

/** What is not told by then, the next engine tells. */
const PATIENCE_MS = 20_000;

/** Tells people when they are needed, each thing once at each place, behind the engine's back. */
export class Notifier implements Notifications {
  readonly #parts: EngineContext;
  readonly #places: NotifyPlace[];
  readonly #start: string;
  readonly #seen = new Set<string>();
  readonly #failed = new Set<string>();
  readonly #abort = new AbortController();
  #tails = new Map<string, Promise<void>>();

  constructor(parts: EngineContext, options: PlaceOptions = {}) {
    this.#parts = parts;
    this.#places = placesOf(parts, options);
    this.#start = this.#places.length > 0 ? parts.now() : '';
  }

  /** Sees what is new. Returns at once and never throws. */
  look(view: StoreView, mine: (plan: Plan) => boolean): void {
    if (this.#places.length === 0) return;
    const news = noticesIn(view, mine, this.#parts.settings.notify.on);
    for (const { id } of view.plans.filter(mine)) {
      const fresh = news.filter(({ key, notice }) => notice.plan === id && !this.#seen.has(`${id} ${key}`));
      // Of each plan it is noted at once since when it is watched: what happens later is told even after a crash.
      if (fresh.length === 0 && this.#seen.has(id)) continue;
      this.#seen.add(id);
      for (const { key } of fresh) this.#seen.add(`${id} ${key}`);
      this.#later('', () => this.#claim(id, fresh));
    }
  }

  /** Resolves when everything is told, or has been tried for long enough. */
  async settled(): Promise<void> {
    const timer = setTimeout(() => this.#abort.abort(), PATIENCE_MS);
    while (this.#tails.size > 0) await Promise.all(this.#tails.values());
    clearTimeout(timer);
  }

  async #claim(planId: string, news: readonly Keyed[]): Promise<void> {
    const places = this.#places.map(({ name }) => name);
    const wanted = news.flatMap(({ key, since }) => places.map((place) => ({ key, place, since })));
    const mine = await this.#parts.store.claimNotices(planId, {
      places,
      wanted,
      start: this.#start,
      now: this.#parts.now(),
    });
    for (const each of mine) {
      const place = this.#places.find(({ name }) => name === each.place);
      const notice = news.find(({ key }) => key === each.key)?.notice;
      if (place && notice) this.#later(place.name, () => this.#send(place, notice, each));
    }
  }

  async #send(place: NotifyPlace, notice: Notice, wanted: Wanted): Promise<void> {
    if (this.#abort.signal.aborted) return;
    let state: 'sent' | 'failed' = 'sent';
    try {
      await place.send(notice, this.#abort.signal);
    } catch (error) {
      if (this.#abort.signal.aborted) return;
      state = 'failed';
      this.#problem(place.name, notice, sayFailure(place, error, this.#parts.settings));
    }
    await this.#parts.store.endNotice(notice.plan, wanted, { state, now: this.#parts.now() });
  }

  /** One after the other at each place; places do not wait for each other. */
  #later(queue: string, work: () => Promise<void>): void {
    const before = this.#tails.get(queue) ?? Promise.resolve();
    const tail = before.then(work).catch((error: unknown) => {
      this.#problem('store', null, `notifications cannot be remembered: ${messageOf(error)}`);
    });
    this.#tails.set(queue, tail);
    void tail.then(() => {
      if (this.#tails.get(queue) === tail) this.#tails.delete(queue);
    });
  }

  /** Each place's trouble is told once. */
  #problem(what: string, notice: Notice | null, message: string): void {
    if (this.#failed.has(what)) return;
    this.#failed.add(what);
    const { plan: planId = '', ticket: ticketId = null } = notice ?? {};
    this.#parts.listen({ type: 'problem', planId, ticketId, message, path: null });
  }
}

/** What came of telling something at one place. */
interface Told {
  place: string;
  label: string;
  ok: boolean;
  error: string | null;
}

/** Sends one notice to every place, to see whether they are reached. Nothing is remembered of it. */
export async function tryPlaces(parts: EngineContext, options: PlaceOptions = {}): Promise<Told[]> {
  const text = 'Signalbox can reach you here.';
  const about = { plan: 'test', ticket: null, title: text, phase: null, reason: null };
  const notice: Notice = { event: 'test', text, ...about, at: parts.now() };
  const signal = AbortSignal.timeout(PATIENCE_MS);
  return Promise.all(
    placesOf(parts, options).map(async (place) => {
      const { name, label } = place;
      try {
        await place.send(notice, signal);
        return { place: name, label, ok: true, error: null };
      } catch (error) {
        return { place: name, label, ok: false, error: sayFailure(place, error, parts.settings) };
      }
    }),
  );
}
