import type { EngineEvent } from '../model/events.ts';
import { lineOf } from '../report/lines.ts';
import { style } from '../report/style.ts';
import type { Io } from './io.ts';

/** Shows events as they come: one line each, or one JSON object each. */
export function eventPrinter(
  io: Io,
  options: { json?: boolean; verbose?: boolean; withPlan: boolean },
): (event: EngineEvent) => void {
  const look = style(io.color);
  return (event) => {
    if (options.json) {
      io.out(JSON.stringify({ ...event, at: new Date().toISOString() }));
      return;
    }
    const line = lineOf(event, {
      style: look,
      withPlan: options.withPlan,
      verbose: options.verbose === true,
      now: Date.now(),
    });
    if (line !== undefined) io.out(line);
  };
}

/** Two Ctrl-C: the first asks to stop, the second ends at once. */
export function stopOnSignals(io: Io, abort: AbortController, what: string): () => void {
  let asked = false;
  const onSignal = (signal: NodeJS.Signals) => {
    if (asked) process.exit(signal === 'SIGINT' ? 130 : 143);
    asked = true;
    io.err(`\nStopping ${what}… (again to leave at once)`);
    abort.abort(signal);
  };
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
  return () => void process.off('SIGINT', onSignal).off('SIGTERM', onSignal);
}
