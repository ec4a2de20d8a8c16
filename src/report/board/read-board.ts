import { existsSync } from 'node:fs';
import type { Settings } from '../../config/settings-table.ts';
import { spentAndLimits } from '../../engine/claimed-tickets-and-counted-usage.ts';
import { thisMachine } from '../../engine/work-out-workspace-and-repository.ts';
import type { Machine } from '../../machine/machine-files-and-locks.ts';
import { type Changed, refKey, type TicketRef } from '../../model/ids-and-branch-names.ts';
import { isAtWork } from '../../model/place-tickets-on-workers.ts';
import type { Plan } from '../../model/plan.ts';
import { planOf } from '../../model/plans/plans-view.ts';
import type { Redact } from '../../model/text/find-and-redact-secrets.ts';
import type { Attempt, Ticket } from '../../model/ticket.ts';
import { attemptKey, isMadeAt, noLongerAsks, openAttempt } from '../../model/ticket.ts';
import { phaseOf, type Workflow } from '../../model/workflow.ts';
import type { Holder, Store, StoreView } from '../../store/store-interface.ts';
import { readableTicket, withPlans } from '../../store/store-interface.ts';
import { enginesIn, pinnedIn } from '../engines-of-tickets.ts';
import { outputOf, outputOfPieces } from '../find-attempt-output.ts';
import type { Board, BoardRow } from '../view-schemas.ts';
import { AttemptTail } from './attempt-tail.ts';
import { boardOf, type KeptRows, type SeenOutput } from './make-board.ts';
import { refreshSoon } from './notice-lost-store.ts';

export interface BoardSource {
  store: Store;
  settings: Settings;
  machine: Machine;
  /** Takes secrets out of what agents printed. */
  redact: Redact;
  isShown(plan: Plan): boolean;
  /** Finished plans that are shown, too. */
  finished?: readonly string[];
  /** Whether plans that finished in the last day are shown, too; otherwise only those that finish while they are watched. */
  ofLastDay?: boolean;
}

const DAY_MS = 86_400_000;
const SPENT_MS = 1000;
/** Interval at which the store is asked what agents on other machines print. */
const ASK_MS = 2000;
/** More plans that finished meanwhile are not shown. */
const MAX_FINISHED = 50;

/** Reads the board again and again, and of running attempts only what they printed since the last time. */
export class BoardReader {
  readonly #source: BoardSource;
  readonly #holder: Holder;
  readonly #tails = new Map<string, AttemptTail>();
  /** What agents on other machines did last, as far as the store has said. */
  #others = new Map<string, SeenOutput>();
  #asking: Promise<void> | undefined;
  #askedAt = Number.NEGATIVE_INFINITY;
  #shownTail: string | undefined;
  #isAskingForTail = false;
  readonly #workflowOf: (hash: string | null) => Workflow | undefined;
  readonly #finished = new Map<string, StoreView>();
  readonly #rows: KeptRows = new Map();
  #spent: ReturnType<typeof spentAndLimits> | undefined;
  #spentAt = 0;
  readonly #openedAt = Date.now();

  constructor(source: BoardSource) {
    this.#source = source;
    this.#workflowOf = pinnedIn(source.store);
    this.#holder = source.store.holder('top');
  }

  read(now: number): Board {
    const { store, settings, isShown } = this.#source;
    const here = thisMachine(settings);
    const seen = new Set<string>();
    const board = boardOf({
      view: this.#view(),
      isShown,
      holder: this.#holder,
      drivers: enginesIn(store, this.#holder, this.#workflowOf),
      workers: store.fleet?.workers(),
      isHere: (ticket) => ticket.machine === undefined || isMadeAt(ticket, here),
      now,
      maximum: this.#maximum(),
      kept: this.#rows,
      ...this.#spentAndLimits(now),
      output: (ticket, attempt) => {
        seen.add(tailKey(ticket, attempt));
        const tail = this.#tail(ticket, attempt);
        if (tail.isElsewhere) return this.#others.get(tailKey(ticket, attempt));
        tail.update(attempt);
        return tail;
      },
      idleSeconds: (ticket, attempt) => this.#idleSeconds(ticket, attempt),
    });
    // A store that does not answer leaves what is known; the board says how old that is.
    if (performance.now() - this.#askedAt > ASK_MS) this.seeOthers().catch(() => undefined);
    for (const key of this.#tails.keys())
      if (!seen.has(key) && key !== this.#shownTail) this.#tails.delete(key);
    return board;
  }

  /** The rows of the last reading in the order of their plans, whatever section they are in. */
  get rowsByPlan(): BoardRow[] {
    return [...this.#rows.values()].map(({ row }) => row);
  }

  /** Asks the store what agents on other machines print, for the next reading. */
  seeOthers(): Promise<void> {
    this.#asking ??= this.#askForOthers().finally(() => {
      this.#asking = undefined;
      this.#askedAt = performance.now();
    });
    return this.#asking;
  }

  async #askForOthers(): Promise<void> {
    const { store, machine, redact, isShown } = this.#source;
    if (!store.output) return;
    const view = store.glance();
    const wanted = [...view.tickets.values()].flatMap((ticket) => {
      const attempt = ticket.claim && ticket.status === 'running' ? openAttempt(ticket) : undefined;
      const plan = planOf(view, ticket.planId);
      const isHere = !attempt || existsSync(machine.job(ticket, attempt));
      return attempt && !isHere && plan && isShown(plan) ? [{ ticket, attempt }] : [];
    });
    const byKey = new Map(wanted.map((each) => [tailKey(each.ticket, each.attempt), each]));
    this.#others = new Map([...this.#others].filter(([key]) => byKey.has(key)));
    if (wanted.length === 0) return;
    const asked = wanted.map(({ ticket: { planId, ticketId }, attempt }) => {
      const known = this.#others.get(tailKey({ planId, ticketId }, attempt));
      return { planId, ticketId, attempt: attemptKey(attempt), since: known?.printedAt ?? 0 };
    });
    for (const { since, pieces, ...end } of await store.output.ends(asked)) {
      const key = `${refKey(end)} ${end.attempt}`;
      const found = byKey.get(key);
      if (!found) continue;
      const tail = new AttemptTail(outputOfPieces(pieces), { worktree: found.ticket.worktree, redact });
      tail.update(found.attempt);
      this.#others.set(key, { action: tail.action, printedAt: since });
    }
  }

  /** The last lines of a ticket's log; of one on another machine, what is known. `onMore` is called when that has changed. */
  logTail(ref: TicketRef, onMore: () => void = () => undefined): readonly string[] {
    const ticket = readableTicket(this.#source.store, ref);
    const attempt = ticket && attemptWithLog(ticket);
    if (!ticket || !attempt) return [];
    this.#shownTail = tailKey(ticket, attempt);
    const tail = this.#tail(ticket, attempt);
    if (!tail.isElsewhere) tail.update(attempt);
    else if (tail.isDue && !this.#isAskingForTail)
      this.#askForTail(tail, attempt).then(onMore, () => undefined);
    return tail.lines;
  }

  /** Asking for a log blocks this process: only a store that has just answered is asked. */
  async #askForTail(tail: AttemptTail, attempt: Attempt): Promise<void> {
    this.#isAskingForTail = true;
    try {
      await refreshSoon(this.#source.store);
      tail.update(attempt);
    } finally {
      this.#isAskingForTail = false;
    }
  }

  /** Says who answered a gate; undefined unless it was answered. */
  whyClosed(ref: TicketRef, key: string): string | undefined {
    const ticket = readableTicket(this.#source.store, ref);
    const gate = ticket?.phaseHistory.findLast((each) => attemptKey(each) === key);
    return ticket && gate?.answeredBy ? noLongerAsks(ticket, gate) : undefined;
  }

  /** To be called with what the store reports to have changed. */
  changed(changed: Changed): void {
    if (changed === 'unknown') this.#finished.clear();
    else for (const { planId } of changed) this.#finished.delete(planId);
  }

  /** Open plans, and those that have finished lately. */
  #view(): StoreView {
    const { store, finished = [], ofLastDay = false } = this.#source;
    const open = store.glance();
    const lately = open.finished?.since(this.#openedAt - (ofLastDay ? DAY_MS : 0), MAX_FINISHED) ?? [];
    return withPlans(open, [...finished, ...lately], (id) => this.#finishedPlan(id));
  }

  #finishedPlan(id: string): StoreView {
    const view = this.#finished.get(id) ?? this.#source.store.view(id);
    this.#finished.set(id, view);
    return view;
  }

  /** On a fleet, all workers together. */
  #maximum(): number {
    const { store, settings } = this.#source;
    if (!store.fleet) return settings.maxConcurrency;
    const slots = store.fleet
      .workers()
      .filter(isAtWork)
      .map((worker) => worker.slots);
    const all = slots.reduce((sum, each) => sum + each, 0);
    return Math.min(all, settings.fleet.maxConcurrency ?? all);
  }

  #spentAndLimits(now: number): ReturnType<typeof spentAndLimits> {
    const { store, settings } = this.#source;
    if (this.#spent && Math.abs(now - this.#spentAt) < SPENT_MS) return this.#spent;
    this.#spentAt = now;
    this.#spent = spentAndLimits({ store, settings, now: () => new Date(now).toISOString() });
    return this.#spent;
  }

  #tail(ticket: Ticket, attempt: Attempt): AttemptTail {
    const { store, machine, redact } = this.#source;
    const key = tailKey(ticket, attempt);
    const known = this.#tails.get(key);
    // An attempt is recorded before its job has files.
    const isStarted = known?.isElsewhere && existsSync(machine.job(ticket, attempt));
    const tail =
      (isStarted ? undefined : known) ??
      new AttemptTail(outputOf(store, machine, ticket, attempt), { worktree: ticket.worktree, redact });
    this.#tails.set(key, tail);
    return tail;
  }

  #idleSeconds({ workflowHash }: Ticket, { phase: id, agent }: Attempt): number | null {
    const workflow = this.#workflowOf(workflowHash);
    const phase = workflow && phaseOf(workflow, id);
    const own = phase && 'idleSeconds' in phase ? phase.idleSeconds : undefined;
    return own ?? (agent === null ? null : this.#source.settings.timeouts.agentIdleSeconds);
  }
}

/** The open attempt, or the last one. An open gate prints nothing: what led to it is shown. */
function attemptWithLog({ phaseHistory }: Ticket): Attempt | undefined {
  const isWork = ({ asks, completedAt }: Attempt) => asks === undefined || completedAt !== null;
  return phaseHistory.findLast(isWork) ?? phaseHistory.at(-1);
}

function tailKey(ticket: TicketRef, attempt: Attempt): string {
  return `${refKey(ticket)} ${attemptKey(attempt)}`;
}
