import type { EngineContext } from '../../engine/context.ts';
import { InputError } from '../../model/errors.ts';
import { noFleet } from '../../model/place-tickets-on-workers.ts';
import { plural } from '../../model/text/clean-escape-quote-plural.ts';
import { safeJson } from '../../report/printable-text.ts';
import { positiveInteger } from '../check-option-values.ts';
import type { OptionsOf } from '../definitions/commands-and-their-options.ts';
import { answer, type Io } from '../io.ts';
import { limitsOf, openRunner, storeAddress } from '../open-settings-store-and-engine.ts';
import { eventView } from '../show-events-until-stopped.ts';
import { settingsRefresher, startInBackground } from './daemon-and-tick.ts';

type Options = OptionsOf<'worker'>;

declare const __VERSION__: string;

const LABEL = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** Drives tickets of a fleet on this machine. */
export async function worker(io: Io, options: Options): Promise<void> {
  const slots = positiveInteger('--slots', options.slots);
  const labels = labelsOf(options.labels);
  if (!storeAddress(io, options)) throw noFleet();
  if (options.detach) return detach(io, options);
  const { runWorker } = await import('../../engine/run-daemon-tick-and-worker.ts');
  io.keepHeapSmall();
  const view = await eventView(io, { ...options, withPlan: true });
  const engine = await openRunner(io, options, 'worker', { listen: view.listen });
  view.watch(engine);
  const { maxConcurrency, checkEveryMs } = limitsOf(engine.settings);
  const most = slots ?? maxConcurrency;
  await untilDrained(io, view, async ({ drain, stop }) => {
    const refresh = settingsRefresher(io, options, engine, view, {});
    const onJoined = (id: string) => view.out(joined(engine, { id, slots: most, labels }, options));
    await runWorker(engine, {
      slots: most,
      labels,
      version: __VERSION__,
      drain,
      stop,
      checkEveryMs,
      refresh,
      onJoined,
    });
  });
  if (!options.json) io.out('The worker has stopped.');
}

function joined(
  { settings }: EngineContext,
  { id, slots, labels }: { id: string; slots: number; labels: readonly string[] },
  { json }: Options,
): string {
  const { pid } = process;
  if (json) return safeJson({ type: 'worker:start', id, pid, slots, labels, stateDir: settings.stateDir });
  const more = labels.length > 0 ? `, labels ${labels.join(', ')}` : '';
  return `Worker ${id} takes tickets: ${plural(slots, 'slot')}${more}. Ctrl-C lets running phases end; again stops them.`;
}

function labelsOf(text: string | undefined): string[] {
  const labels = (text ?? '')
    .split(',')
    .map((each) => each.trim())
    .filter(Boolean);
  const bad = labels.find((label) => !LABEL.test(label));
  if (bad !== undefined)
    throw new InputError(
      'usage',
      `Invalid --labels value: ${bad}. A label has letters, digits, ".", "_" and "-".`,
      { hint: 'For example: --labels linux,gpu' },
    );
  return [...new Set(labels)];
}

/** The first signal drains, the second stops. */
async function untilDrained(
  { signals }: Io,
  view: { err(lines: string[]): void; close(): void },
  work: (on: { drain: AbortSignal; stop: AbortSignal }) => Promise<void>,
): Promise<void> {
  const [drain, stop] = [new AbortController(), new AbortController()];
  const unhook = signals.on(['SIGINT', 'SIGTERM'], (signal) => {
    if (drain.signal.aborted) {
      view.err(['', 'Stopping the agents…']);
      return stop.abort(signal);
    }
    view.err(['', 'No more tickets are taken; running phases end first… (press Ctrl-C again to stop them)']);
    drain.abort(signal);
  });
  try {
    await work({ drain: drain.signal, stop: stop.signal });
  } finally {
    view.close();
    unhook();
  }
}

async function detach(io: Io, options: Options): Promise<void> {
  const { workerId } = await import('../../engine/join-fleet-and-renew-lease.ts');
  const { settings, store: opened } = await openRunner(io, options, 'worker');
  // A command has few connections to the store of a fleet.
  await opened.close();
  const started = await startInBackground(io, options, {
    name: 'worker',
    // Not one that was running before, or was killed a moment ago.
    find: (store, started) =>
      store.fleet?.workers().find(({ id, pid }) => id === workerId(settings) && pid === started)?.id,
  });
  if (!started) return;
  const { found: id, log } = started;
  answer(io, options, { id, log }, `Worker ${id} is running in the background; its log is ${log}`);
}
