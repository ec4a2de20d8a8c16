import type { Parts } from '../engine/parts.ts';

/** Somebody has to run it: the daemon that is there, or a command. */
export async function wayOn(parts: Parts, planId: string): Promise<string> {
  const { readDaemon } = await import('../engine/seat.ts');
  const { kind, claim, status } = parts.store.plan(planId);
  if (status === 'paused') return ` Its plan is paused. Go on with: signalbox resume ${planId}`;
  if (claim && parts.holder.isLive(claim)) return ` Its run (pid ${claim.pid}) goes on with it.`;
  const daemon = readDaemon(parts.store.layout, parts.holder);
  if (daemon) return ` Daemon ${daemon.pid} goes on with it.`;
  return kind === 'run' || kind === 'spec'
    ? ` Go on with: signalbox resume ${planId}`
    : ` Run it with: signalbox run ${planId}`;
}
