import { existsSync } from 'node:fs';
import type { Settings } from '../../config/settings-table.ts';
import { spentAndLimits } from '../../engine/claimed-tickets-and-counted-usage.ts';
import { isMadeAt, thisMachine } from '../../engine/ticket-workspace.ts';
import type { Machine } from '../../machine/machine.ts';
import { ifUsable } from '../../model/errors.ts';
import { isAtWork } from '../../model/fleet.ts';
import { type Changed, refKey, type TicketRef } from '../../model/ids-and-branch-names.ts';
import type { Plan } from '../../model/plan.ts';
import type { Redact } from '../../model/text/find-and-redact-secrets.ts';
import { type Attempt, attemptKey, noLongerAsks, openAttempt, type Ticket } from '../../model/ticket.ts';
import { phaseOf, type Workflow } from '../../model/workflow.ts';
import { type Holder, readableTicket, type Store, type StoreView } from '../../store/store-interface.ts';
import { readPinned } from '../../workflows/pin-workflow-and-render-prompts.ts';
import { outputOf } from '../plan-and-ticket-log.ts';
import { AttemptTail } from './attempt-tail.ts';
import { type Board, boardOf, type KeptRows } from './board.ts';

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
/** More plans that finished meanwhile are not shown. */
const MAX_FINISHED = 50;

/** Reads the board again and again, and of running attempts only what they printed since the last time. */
export class BoardReader {
  readonly #source: BoardSource;
  readonly #holder: Holder;
  readonly #tails = new Map<string, AttemptTail>();
  #shownTail: string | undefined;
  readonly #workflows = new Map<string, Workflow | undefined>();
  readonly #finished = new Map<string, StoreView>();
  readonly #rows: KeptRows = new Map();
  #spent: ReturnType<typeof spentAndLimits> | undefined;
  #spentAt = 0;
  readonly #openedAt = Date.now();

  constructor(source: BoardSource) {
    this.#source = source;
    this.#holder = source.store.holder('top');
  }

  read(now: number): Board {
    const { settings, isShown } = this.#source;
    const here = thisMachine(settings);
    const seen = new Set<string>();
    const board = boardOf({
      view: this.#view(),
      isShown,
      holder: this.#holder,
      isHere: (ticket) => ticket.machine === undefined || isMadeAt(ticket, here),
      now,
      maximum: this.#maximum(),
      kept: this.#rows,
      ...this.#spentAndLimits(now),
      output: (ticket, attempt) => {
        seen.add(tailKey(ticket, attempt));
        const tail = this.#tail(ticket, attempt);
        if (tail.isElsewhere) return undefined;
        tail.update(attempt);
        return tail;
      },
      idleSeconds: (ticket, attempt) => this.#idleSeconds(ticket, attempt),
    });
    if (this.#rows.size > 2 * board.rows.length) this.#rows.clear();
    for (const key of this.#tails.keys())
      if (!seen.has(key) && key !== this.#shownTail) this.#tails.delete(key);
    return board;
  }

  /** The last lines of a ticket's log. */
  logTail(ref: TicketRef): readonly string[] {
    const ticket = readableTicket(this.#source.store, ref);
    const attempt = ticket && (openAttempt(ticket) ?? ticket.phaseHistory.at(-1));
    if (!ticket || !attempt) return [];
    this.#shownTail = tailKey(ticket, attempt);
    const tail = this.#tail(ticket, attempt);
    tail.update(attempt);
    return tail.lines;
  }

  /** Says who answered a gate; undefined unless someone did. */
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
    const known = new Set(open.plans.map(({ id }) => id));
    const ids = new Set([
      ...finished,
      ...(open.finished?.since(this.#openedAt - (ofLastDay ? DAY_MS : 0), MAX_FINISHED) ?? []),
    ]);
    const others = [...ids].filter((id) => !known.has(id)).map((id) => this.#finishedPlan(id));
    if (others.length === 0) return open;
    return {
      ...open,
      plans: [open, ...others].flatMap(({ plans }) => plans),
      tickets: new Map([open, ...others].flatMap(({ tickets }) => [...tickets])),
    };
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
    const workflow = this.#workflow(workflowHash ?? '');
    const phase = workflow && phaseOf(workflow, id);
    const own = phase && 'idleSeconds' in phase ? phase.idleSeconds : undefined;
    return own ?? (agent === null ? null : this.#source.settings.timeouts.agentIdleSeconds);
  }

  #workflow(hash: string): Workflow | undefined {
    if (this.#workflows.has(hash)) return this.#workflows.get(hash);
    const text = this.#source.store.pinned(hash);
    const workflow = text === undefined ? undefined : ifUsable(() => readPinned(text).workflow);
    this.#workflows.set(hash, workflow);
    return workflow;
  }
}

function tailKey(ticket: TicketRef, attempt: Attempt): string {
  return `${refKey(ticket)} ${attemptKey(attempt)}`;
}
