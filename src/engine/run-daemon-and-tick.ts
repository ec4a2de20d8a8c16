import type { Claim } from '../model/claim.ts';
import { type EngineContext, isFatal } from './context.ts';
import { Engine, type EngineOptions } from './engine.ts';
import { Scheduler } from './schedule-on-fleet.ts';

interface DaemonOptions extends Pick<EngineOptions, 'maxConcurrency' | 'checkEveryMs' | 'refresh'> {
  /** Aborting stops the agents; their tickets continue at the next start. */
  signal: AbortSignal;
  /** Called once this process is the daemon. */
  onClaimed?: (claim: Claim) => void;
}

/** Runs everything that no foreground run has claimed, until stopped. One per state directory. */
export async function runDaemon(engine: EngineContext, options: DaemonOptions): Promise<void> {
  const { maxConcurrency, checkEveryMs, refresh, signal } = options;
  const claim = await engine.holder.claimDaemon(engine.now());
  const { fleet } = engine.store;
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
  const stop = () => void loop.stop('leave', by);
  signal.addEventListener('abort', stop);
  try {
    if (signal.aborted) stop();
    await loop.run();
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/** Starts what can start, waits for it, and ends. */
export async function runTick(
  engine: EngineContext,
  options: Omit<DaemonOptions, 'onClaimed'>,
): Promise<void> {
  const { maxConcurrency, checkEveryMs, signal } = options;
  await runUntilStopped(new Engine(engine, { mode: 'once', maxConcurrency, checkEveryMs }), signal, 'tick');
}
