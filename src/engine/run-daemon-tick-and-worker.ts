import { InputError } from '../model/errors.ts';
import type { Claim } from '../model/lease-and-claim-messages.ts';
import { noFleet, type Worker } from '../model/place-tickets-on-workers.ts';
import { type EngineContext, isFatal } from './context.ts';
import { Engine, type EngineOptions } from './engine.ts';
import { FleetMembership, reposOf } from './join-fleet-and-renew-lease.ts';
import { Scheduler } from './schedule-on-fleet.ts';
import { onAborted } from './wait-until-woken-or-aborted.ts';

interface DaemonOptions extends Pick<EngineOptions, 'maxConcurrency' | 'checkEveryMs' | 'refresh'> {
  /** Aborting stops the agents; their tickets continue at the next start. */
  signal: AbortSignal;
  /** Called once this process is the daemon. */
  onClaimed?: (claim: Claim) => void;
}

/** Runs everything that no foreground run has claimed, until stopped. One per state directory. */
export async function runDaemon(engine: EngineContext, options: DaemonOptions): Promise<void> {
  const { maxConcurrency, checkEveryMs, refresh, signal } = options;
  const { fleet } = engine.store;
  // It schedules, too: a login without rights for the queue is refused here, before it takes the role from those that can.
  await fleet?.tidyQueue();
  const claim = await engine.holder.claimDaemon(engine.now());
  // On a fleet, workers drive the tickets.
  const duties = fleet ? { fleet: { scheduler: new Scheduler(engine, fleet) } } : {};
  const loop = new Engine(engine, { mode: 'forever', maxConcurrency, checkEveryMs, refresh, ...duties });
  try {
    options.onClaimed?.(claim);
    await runUntilStopped(loop, signal, 'the daemon');
  } catch (error) {
    // Without storage nothing can be released; others see that this process is gone.
    if (!isFatal(error)) await engine.holder.releaseDaemon();
    throw error;
  }
  await engine.holder.releaseDaemon();
}

async function runUntilStopped(loop: Engine, signal: AbortSignal, by: string): Promise<void> {
  const unlisten = onAborted(signal, () => void loop.stop('leave', by));
  await loop.run().finally(unlisten);
}

/** Starts what can start, waits for it, and ends. */
export async function runTick(
  engine: EngineContext,
  options: Omit<DaemonOptions, 'onClaimed'>,
): Promise<void> {
  const { maxConcurrency, checkEveryMs, signal } = options;
  await runUntilStopped(new Engine(engine, { mode: 'once', maxConcurrency, checkEveryMs }), signal, 'tick');
}

interface WorkerRun
  extends Pick<EngineOptions, 'checkEveryMs' | 'refresh'>,
    Pick<Worker, 'slots' | 'labels' | 'version'> {
  /** Aborting lets the running phases end; other workers continue the tickets. */
  drain: AbortSignal;
  /** Aborting stops the agents. */
  stop: AbortSignal;
  /** Called once tickets may come. */
  onJoined?: (id: string) => void;
}

/** Drives tickets of a fleet on this machine, until it is drained or stopped. */
export async function runWorker(engine: EngineContext, options: WorkerRun): Promise<void> {
  const { fleet } = engine.store;
  if (!fleet) throw noFleet();
  const { slots, labels, version, drain, stop, checkEveryMs, refresh, onJoined } = options;
  if (reposOf(engine.settings).length === 0)
    throw new InputError('worker/repos', 'This worker has no repositories, so it could take no ticket.', {
      hint: 'Name them in your settings, for example:\nrepos:\n  acme/api: ~/code/api',
    });
  const endJobs = () => loop.endJobs();
  const worker = new FleetMembership(engine, fleet, { slots, labels, version, endJobs });
  const scheduler = new Scheduler(engine, fleet);
  const begin = async () => {
    await worker.begin();
    onJoined?.(worker.id);
  };
  const duties = { maxConcurrency: slots, fleet: { scheduler, worker, begin } };
  const loop = new Engine(engine, { mode: 'forever', checkEveryMs, refresh, ...duties });
  const onDrain = () => {
    void worker.leave().catch((error: unknown) => {
      if (!isFatal(error)) throw error;
    });
    loop.wake();
  };
  const unlisten = onAborted(drain, onDrain);
  await runUntilStopped(loop, stop, 'the worker').finally(unlisten);
}
