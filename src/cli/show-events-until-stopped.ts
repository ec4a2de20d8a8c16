import type { EngineContext } from '../engine/context.ts';
import { killFollowed } from '../machine/jobs/stop-job.ts';
import { isInForeground } from '../machine/process-identity-and-signals.ts';
import type { EngineEvent } from '../model/events.ts';
import { howToAnswer, type Naming } from '../model/state/explain-ticket.ts';
import { lineOf, ReportedWaits } from '../report/event-line.ts';
import type { Answer } from '../report/live/answer-box.ts';
import type { Live, LiveOptions } from '../report/live/live-view.ts';
import { type Lines, printable, safeJson } from '../report/printable-text.ts';
import type { Style } from '../report/style-and-phrases.ts';
import { readableTicket, type Store } from '../store/store-interface.ts';
import { type Io, type Signals, saySoon, type Terminal } from './io.ts';
import type { GlobalOptions } from './open-settings-store-and-engine.ts';

/** Shows events, and other messages between them. */
export interface EventView {
  /** Has a block that is redrawn; a header comes first. */
  readonly live: boolean;
  listen(event: EngineEvent): void;
  /** Sets the tickets to show; without a scope those of all active plans. */
  watch(engine: Watched, scope?: { planId: string; ticketIds?: readonly string[] }): void;
  out(lines: Lines): void;
  err(lines: Lines): void;
  /** Waits while a person is writing an answer; true if one was sent. */
  answered(signal: AbortSignal): Promise<boolean>;
  /** After this, only `out` and `err` show anything. May be called again. */
  close(): void;
}

/** What the view reads: tickets, and what was spent of budgets. */
type Watched = Pick<EngineContext, 'store' | 'settings' | 'now'>;

interface ViewOptions extends Naming, GlobalOptions {
  plain?: boolean;
  quiet?: boolean;
  verbose?: boolean;
  /** The caller prints the lines above a live block itself. */
  silent?: boolean;
}

/** Shows events as they come: on a terminal above a live block, elsewhere one line or one JSON object each. */
export async function eventView(io: Io, options: ViewOptions): Promise<EventView> {
  // `run | head` ends the output, not the work.
  io.onUnread = () => undefined;
  const { terminal } = io.stdout;
  const live = terminal && io.env.TERM !== 'dumb' && !options.json && !options.plain;
  const view = live ? await liveView(io, terminal, options) : lineView(io, options);
  if (options.withPlan || options.quiet) return view;
  const said = saySoon({ ...io, err: view.out }, options, 'Preparing the run…');
  const before =
    <T extends unknown[]>(show: (...args: T) => void) =>
    (...args: T) => {
      said();
      show(...args);
    };
  return {
    ...view,
    listen: before(view.listen),
    out: before(view.out),
    err: before(view.err),
    close: before(view.close),
  };
}

function lineView(io: Io, options: ViewOptions): EventView {
  const { withPlan, verbose = false } = options;
  const waits = new ReportedWaits();
  let watched: Watched | undefined;
  const listen = (event: EngineEvent) => {
    const now = Date.now();
    if (!options.json && waits.repeats(event)) return;
    const line = options.json
      ? safeJson({ ...event, at: new Date(now).toISOString() })
      : lineOf(event, { style: io.style, withPlan, verbose, now });
    if (line !== undefined) io.out(line);
    for (const answer of options.json ? [] : answerLines(event, watched, io.style)) io.out(answer);
  };
  return {
    live: false,
    listen,
    watch(engine) {
      watched = engine;
    },
    out: io.out,
    err: io.err,
    answered: async () => false,
    close: () => undefined,
  };
}

async function liveView(io: Io, terminal: Terminal, options: ViewOptions): Promise<EventView> {
  const { withPlan, called, verbose = false, silent = false } = options;
  const [{ Live: LiveBlock }, { ticketsIn }, { spentOfBudgets }, { pinnedIn, withMissingWorkers }] =
    await Promise.all([
      import('../report/live/live-view.ts'),
      import('../report/live/live-state.ts'),
      import('../engine/claimed-tickets-and-counted-usage.ts'),
      import('../report/engines-of-tickets.ts'),
    ]);
  let tickets: LiveOptions['tickets'] = () => [];
  let spent: LiveOptions['spent'];
  let watched: Watched | undefined;
  let watch: (() => () => void) | undefined;
  let unwatch: (() => void) | undefined;
  const keys = keyReader(io, (typed) => live.keys(typed));
  const live: Live = new LiveBlock({
    screen: { columns: terminal.columns, rows: terminal.rows, write: (text) => io.stdout.write(text) },
    style: io.style,
    withPlan,
    ...(called ? { called } : {}),
    safe: (line) => printable(line, io.color),
    verbose,
    silent,
    tickets: () => tickets(),
    refresh: async () => watched?.store.refresh(),
    spent: () => spent?.() ?? [],
    answer: (answer) => answerGate(io, options, answer, watched?.store),
    readKeys: (wanted) => keys.read(wanted),
  });
  const suspended = {
    leave() {
      keys.stop();
      live.leave();
    },
    back() {
      readSizeAgain(io.signals);
      live.back();
    },
  };
  const unhooks = [
    terminal.onResize(() => live.resized()),
    hideWhileSuspended(suspended, io.signals),
    keys.stop,
  ];
  return {
    live: true,
    listen(event) {
      unwatch ??= watch?.();
      live.event(event);
      if (!silent) live.print(answerLines(event, watched, io.style));
    },
    watch(engine, scope) {
      const { store } = engine;
      watched = engine;
      spent = () => spentOfBudgets(engine, scope?.planId ?? null);
      const pinned = pinnedIn(store);
      tickets = () => withMissingWorkers(store, ticketsIn(store.glance(), scope ?? null), pinned);
      watch = () => store.watch(() => live.changed());
    },
    answered: (signal) => live.answered(signal),
    out: (lines) => live.print(lines),
    err: (lines) => live.print([lines].flat().filter(Boolean)),
    close() {
      unwatch?.();
      watch = undefined;
      for (const unhook of unhooks) unhook();
      live.close();
    },
  };
}

/** Answers a gate as `signalbox respond` does. */
async function answerGate(
  io: Io,
  options: GlobalOptions,
  { decision, message, attempt, ...ref }: Answer,
  opened: Store | undefined,
) {
  const [{ openEngine }, { carryOutCommand }] = await Promise.all([
    import('./open-settings-store-and-engine.ts'),
    import('../engine/control-tickets-and-plans.ts'),
  ]);
  const engine = await openEngine(io, options, 'respond', { opened });
  await carryOutCommand(engine, ref, { type: 'respond', decision, message, attempt }, 'a person');
}

/** How to answer the gate that an event is about, a line each. */
function answerLines(event: EngineEvent, watched: Watched | undefined, style: Style): string[] {
  if (event.type !== 'ticket:status' || event.hold?.kind !== 'gate' || !watched) return [];
  const { store } = watched;
  const ticket = readableTicket(store, event);
  return ticket ? howToAnswer(ticket, store.plan(event.planId)).map((line) => style.dim(`  ${line}`)) : [];
}

/** Reads keys only while they are wanted, and only in the foreground: elsewhere the terminal stays as it is. */
export function keyReader({ stdin }: Io, listener: (keys: string) => void) {
  let end: ((isInForeground: boolean) => void) | undefined;
  const stop = () => {
    end?.(isInForeground());
    end = undefined;
  };
  const read = (wanted: boolean): boolean => {
    if (!wanted) stop();
    else if (!end && stdin.isTTY() && isInForeground()) end = stdin.readKeys?.(listener);
    return end !== undefined;
  };
  return { read, stop };
}

/** Longer than a process needs to stop. Its timers do not run while it is stopped. */
const STOPPED_BY_MS = 50;

/** Ctrl-Z: removes the block before the shell writes there, and draws it again after `fg`. Agents are not stopped. */
export function hideWhileSuspended(live: Pick<Live, 'leave' | 'back'>, signals: Signals): () => void {
  let timer: NodeJS.Timeout | undefined;
  let unhook = listen();
  function listen(): () => void {
    return signals.on(['SIGTSTP'], () => {
      live.leave();
      // Without a listener the signal stops this process, or does nothing if no shell could continue it.
      unhook();
      signals.raise('SIGTSTP');
      timer = setTimeout(() => {
        unhook = listen();
        live.back();
      }, STOPPED_BY_MS);
    });
  }
  return () => {
    clearTimeout(timer);
    unhook();
  };
}

/** A terminal reports another size only to the processes in its foreground. */
export function readSizeAgain(signals: Signals): void {
  signals.raise('SIGWINCH');
}

/** The exit code that shells report for a process that a signal ended. */
export function signalCode(signal: unknown): number {
  if (signal === 'SIGHUP') return 129;
  if (signal === 'SIGQUIT') return 131;
  return signal === 'SIGTERM' ? 143 : 130;
}

/** Time to record the state after the second Ctrl-C. */
const LAST_WORDS_MS = 2_000;

interface Stoppable {
  view: Pick<EventView, 'err' | 'close'>;
  /** What is stopped, for the message. */
  what: string | (() => string);
  /** Jobs in it are killed at the second Ctrl-C. */
  stateDir: string;
}

/** Does work until its end, then closes the view. The first Ctrl-C aborts the signal, the second kills the jobs and exits. */
export async function untilStopped<T>(
  { signals, leave }: Pick<Io, 'signals' | 'leave'>,
  { view, what, stateDir }: Stoppable,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const abort = new AbortController();
  const unhook = signals.on(['SIGINT', 'SIGTERM'], (signal) => {
    if (abort.signal.aborted) {
      killFollowed(stateDir);
      view.close();
      setTimeout(() => leave(signalCode(signal)), LAST_WORDS_MS).unref();
      return;
    }
    view.err([
      '',
      `Stopping ${typeof what === 'string' ? what : what()}… (press Ctrl-C again to leave at once)`,
    ]);
    abort.abort(signal);
  });
  try {
    return await work(abort.signal);
  } finally {
    view.close();
    unhook();
  }
}
