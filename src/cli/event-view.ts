import { killFollowed } from '../machine/jobs/stop.ts';
import type { EngineEvent } from '../model/events.ts';
import { lineOf } from '../report/lines.ts';
import type { Live } from '../report/live/live.ts';
import type { Naming } from '../report/names.ts';
import { style } from '../report/style.ts';
import type { Store } from '../store/port.ts';
import type { Io } from './io.ts';
import { forTerminal } from './output.ts';

/** Where events are shown, and everything else that is said while they come. */
export interface EventView {
  /** It has a block that is drawn anew, and begins with a header. */
  readonly live: boolean;
  listen(event: EngineEvent): void;
  /** Tells the view which tickets there are; without a scope it is those of all active plans. */
  watch(store: Store, scope?: { planId: string; ticketIds?: readonly string[] }): void;
  out(text: string): void;
  err(text: string): void;
  /** After this, only `out` and `err` show anything. May be called again. */
  close(): void;
}

interface ViewOptions extends Naming {
  json?: boolean;
  plain?: boolean;
  verbose?: boolean;
}

/** Shows events as they come: on a terminal above a live block, elsewhere one line or one JSON object each. */
export async function eventView(io: Io, options: ViewOptions): Promise<EventView> {
  const live = io.tty && io.env.TERM !== 'dumb' && !options.json && !options.plain;
  return live ? liveView(io, options) : lineView(io, options);
}

function lineView(io: Io, options: ViewOptions): EventView {
  const look = style(io.color);
  const { withPlan, verbose = false } = options;
  const listen = (event: EngineEvent) => {
    const now = Date.now();
    const line = options.json
      ? JSON.stringify({ ...event, at: new Date(now).toISOString() })
      : lineOf(event, { style: look, withPlan, verbose, now });
    if (line !== undefined) io.out(line);
  };
  return { live: false, listen, watch: () => undefined, out: io.out, err: io.err, close: () => undefined };
}

async function liveView(io: Io, { withPlan, called, verbose = false }: ViewOptions): Promise<EventView> {
  const [{ Live: LiveBlock }, { ticketsIn }] = await Promise.all([
    import('../report/live/live.ts'),
    import('../report/live/state.ts'),
  ]);
  const { stdout } = process;
  let tickets: () => ReturnType<typeof ticketsIn> = () => [];
  let watch: (() => () => void) | undefined;
  let unwatch: (() => void) | undefined;
  const live: Live = new LiveBlock({
    screen: {
      columns: () => stdout.columns || 80,
      rows: () => stdout.rows || 24,
      write: (text) => void stdout.write(text),
    },
    style: style(io.color),
    withPlan,
    ...(called ? { called } : {}),
    safe: (line) => forTerminal(line, io.color),
    verbose,
    tickets: () => tickets(),
  });
  const onResize = () => live.resized();
  stdout.on('resize', onResize);
  const unstop = makeWayOnStop(live);
  return {
    live: true,
    listen(event) {
      unwatch ??= watch?.();
      live.event(event);
    },
    watch(store, scope) {
      tickets = () => ticketsIn(store.view(), scope ?? null);
      watch = () => store.watch(() => live.changed());
    },
    out: (text) => live.print(text),
    err: (text) => live.print(text.trimStart()),
    close() {
      unwatch?.();
      watch = undefined;
      stdout.off('resize', onResize);
      unstop();
      live.close();
    },
  };
}

/** Longer than a process needs to stop; while it is stopped, no time passes for it. */
const STOPPED_BY_MS = 50;

/** Ctrl-Z: the block goes before the shell writes there, and comes back with `fg`. Agents are not stopped. */
function makeWayOnStop(live: Pick<Live, 'leave' | 'back'>): () => void {
  let timer: NodeJS.Timeout | undefined;
  const onStop = () => {
    live.leave();
    // Without a listener the signal does what it does to every program, also nothing where no shell could go on with it.
    process.off('SIGTSTP', onStop);
    process.kill(process.pid, 'SIGTSTP');
    timer = setTimeout(() => {
      process.on('SIGTSTP', onStop);
      live.back();
    }, STOPPED_BY_MS);
  };
  process.on('SIGTSTP', onStop);
  return () => {
    clearTimeout(timer);
    process.off('SIGTSTP', onStop);
  };
}

/** What a shell says of a process that a signal ended. */
export function signalCode(signal: unknown): number {
  return signal === 'SIGTERM' ? 143 : 130;
}

/** `run | head` ends the showing, not the work. */
export const goOnUnread = (): void => undefined;

/** What is left to do after the second Ctrl-C is writing down how things are. */
const LAST_WORDS_MS = 2_000;

/** Two Ctrl-C: the first asks to stop, the second kills what does not listen and ends at once. */
export function stopOnSignals(
  view: Pick<EventView, 'err' | 'close'>,
  abort: AbortController,
  what: string | (() => string),
): () => void {
  let asked = false;
  const onSignal = (signal: NodeJS.Signals) => {
    if (asked) {
      killFollowed();
      view.close();
      setTimeout(() => process.exit(signalCode(signal)), LAST_WORDS_MS).unref();
      return;
    }
    asked = true;
    view.err(`\nStopping ${typeof what === 'string' ? what : what()}… (again to leave at once)`);
    abort.abort(signal);
  };
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
  return () => void process.off('SIGINT', onSignal).off('SIGTERM', onSignal);
}
