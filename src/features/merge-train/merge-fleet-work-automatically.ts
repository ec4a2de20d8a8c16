import type { EngineContext } from '../../engine/context.ts';
import { explained, HeldError, SignalboxError } from '../../model/errors.ts';
import type { Plan } from '../../model/plan.ts';
import { latestFinished } from '../../model/plans/latest-plans-and-unknown-name-errors.ts';
import { loadTrains } from './collect-branches.ts';
import { runTrain } from './run-merge-train.ts';

/** Finished plans that are checked, the latest first: those of long ago were merged or left on purpose. */
const MAX_FINISHED = 20;
const PAUSE_MS = 2_000;

/** Merges the work of a fleet as it is finished, while a daemon runs. */
export class FinishedWork {
  readonly #engine: EngineContext;
  readonly #signal: AbortSignal;
  /** What was tried: the complete tickets of each plan. */
  readonly #tried = new Map<string, string>();
  #work: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  readonly #unwatch: () => void;

  constructor(engine: EngineContext, signal: AbortSignal) {
    this.#engine = engine;
    this.#signal = signal;
    this.#unwatch = engine.store.watch(() => this.#soon());
    this.#soon();
  }

  async close(): Promise<void> {
    this.#unwatch();
    clearTimeout(this.#timer);
    await this.#work;
  }

  /** Changes come in groups. */
  #soon(): void {
    if (!this.#engine.settings.fleet.merge || this.#signal.aborted) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#work = this.#work.then(() => this.#mergeAll());
    }, PAUSE_MS);
  }

  async #mergeAll(): Promise<void> {
    const view = this.#engine.store.glance();
    const plans = [...view.plans, ...latestFinished(view, () => true).slice(0, MAX_FINISHED)];
    for (const plan of plans) {
      if (this.#signal.aborted) return;
      await this.#merge(plan).catch((error: unknown) => {
        if (!(error instanceof SignalboxError)) throw error;
        // It is tried again with the next change.
        if (error instanceof HeldError) this.#tried.delete(plan.id);
        const message = `Its work was not merged: ${explained(error)}`;
        this.#engine.listen({ type: 'problem', planId: plan.id, ticketId: null, message, path: null });
      });
    }
  }

  async #merge(plan: Plan): Promise<void> {
    const engine = this.#engine;
    if (plan.status !== 'active' && plan.status !== 'complete') return;
    const tickets = engine.store.tickets(plan);
    const ready = tickets.filter(({ status, landed, base }) => status === 'complete' && !landed && base);
    const key = ready.map(({ ticketId, rev }) => `${ticketId} ${rev}`).join(',');
    if (ready.length === 0 || this.#tried.get(plan.id) === key) return;
    this.#tried.set(plan.id, key);
    const say = (line: string) => {
      const message = line.replace(/^✗ /, '');
      const about = { planId: plan.id, message };
      if (message === line) engine.listen({ type: 'preflight', ...about });
      else engine.listen({ type: 'problem', ticketId: null, path: null, ...about });
    };
    for (const load of await loadTrains(engine, { named: { planId: plan.id }, cwd: '/' })) {
      const { pr } = engine.settings.merge;
      if (load.cars.length > 0) await runTrain(engine, load, { pr, signal: this.#signal, say });
    }
  }
}
