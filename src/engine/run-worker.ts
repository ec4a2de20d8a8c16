import { InputError } from '../model/errors.ts';
import type { Fleet } from '../store/store-interface.ts';
import { type EngineContext, isFatal } from './context.ts';
import { Engine, type EngineOptions } from './engine.ts';
import { FleetMembership, reposOf } from './join-fleet-and-renew-lease.ts';
import { Scheduler } from './schedule-on-fleet.ts';

interface WorkerRun extends Pick<EngineOptions, 'checkEveryMs' | 'refresh'> {
  slots: number;
  labels: readonly string[];
  version: string;
  /** Aborting lets the running phases end; other workers continue the tickets. */
  drain: AbortSignal;
  /** Aborting stops the agents. */
  stop: AbortSignal;
  /** Called once tickets may come. */
  onJoined?: (id: string) => void;
}

/** The part of the store that workers need. */
function requireFleet({ store }: EngineContext): Fleet {
  if (store.fleet) return store.fleet;
  throw new InputError(
    'fleet/none',
    'A worker needs a store that machines share, and plans are files here.',
    {
      hint: 'Name the store with SIGNALBOX_STORE or --store; how to make one: signalbox fleet init --help',
    },
  );
}

/** Drives tickets of a fleet on this machine, until it is drained or stopped. */
export async function runWorker(engine: EngineContext, options: WorkerRun): Promise<void> {
  const fleet = requireFleet(engine);
  const { slots, labels, version, drain, stop, checkEveryMs, refresh, onJoined } = options;
  if (reposOf(engine.settings).length === 0)
    throw new InputError('worker/repos', 'This worker has no repositories, so it could take no ticket.', {
      hint: 'Name them in your settings, for example:\nrepos:\n  acme/api: ~/code/api',
    });
  const worker = new FleetMembership(engine, fleet, {
    slots,
    labels,
    version,
    endJobs: () => loop.endJobs(),
  });
  const scheduler = new Scheduler(engine, fleet);
  const begin = async () => {
    await worker.begin();
    onJoined?.(worker.id);
  };
  const duties = { scheduler, worker, begin };
  const loop = new Engine(engine, {
    mode: 'forever',
    maxConcurrency: slots,
    checkEveryMs,
    refresh,
    fleet: duties,
  });
  const onDrain = () => {
    void worker.leave().catch((error: unknown) => {
      if (!isFatal(error)) throw error;
    });
    loop.wake();
  };
  const onStop = () => void loop.stop('leave', 'the worker');
  drain.addEventListener('abort', onDrain);
  stop.addEventListener('abort', onStop);
  try {
    if (drain.aborted) onDrain();
    if (stop.aborted) onStop();
    await loop.run();
  } finally {
    drain.removeEventListener('abort', onDrain);
    stop.removeEventListener('abort', onStop);
  }
}
