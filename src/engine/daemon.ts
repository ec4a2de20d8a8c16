import type { Claim } from '../model/claim.ts';
import type { EngineContext } from './context.ts';
import { Engine } from './engine.ts';

interface DaemonOptions {
  maxConcurrency: number;
  lookEveryMs: number;
  /** Aborting stops the agents; their tickets continue at the next start. */
  signal: AbortSignal;
  /** Called once this process is the daemon. */
  onSeat?: (claim: Claim) => void;
}

/** Runs everything that no foreground run has claimed, until stopped. One per state directory. */
export async function runDaemon(parts: EngineContext, options: DaemonOptions): Promise<void> {
  const { maxConcurrency, lookEveryMs, signal } = options;
  const claim = await parts.holder.claimDaemon(parts.now());
  const engine = new Engine(parts, { mode: 'forever', maxConcurrency, lookEveryMs });
  const stop = () => void engine.stop('leave', 'the daemon');
  signal.addEventListener('abort', stop);
  try {
    options.onSeat?.(claim);
    if (signal.aborted) stop();
    await engine.run();
  } finally {
    signal.removeEventListener('abort', stop);
    await parts.holder.releaseDaemon();
  }
}

/** Starts what can start, waits for it, and ends. */
export async function runTick(parts: EngineContext, options: Omit<DaemonOptions, 'onSeat'>): Promise<void> {
  const { maxConcurrency, lookEveryMs, signal } = options;
  const engine = new Engine(parts, { mode: 'once', maxConcurrency, lookEveryMs });
  const stop = () => void engine.stop('leave', 'tick');
  signal.addEventListener('abort', stop);
  try {
    await engine.run();
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
