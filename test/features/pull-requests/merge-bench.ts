import type { TrainResult } from '../../../src/features/merge-train/run-merge-train.ts';
import type { World } from '../../support/index.ts';
import { Bench, issue } from './bench.ts';

const BUILD = { id: 'build', type: 'agent', prompt: 'x', maxVisits: 2, onSuccess: 'verify' };
const PHASES = [
  BUILD,
  { id: 'verify', type: 'script', command: 'verify.sh', onSuccess: 'done', onFailure: 'build' },
  { id: 'done', type: 'terminal' },
];

/** Complete tickets whose branches have pull requests. */
export async function prepare(
  world: World,
  files: Record<string, Record<string, string>>,
  blockedBy: Record<string, string[]> = {},
): Promise<Bench> {
  const bench = new Bench(world);
  world.workflow('work', PHASES);
  world.script('verify.sh', 'true');
  world.config({ checks: ['test ! -f bad'] });
  const entries = Object.keys(files).map((id) => [
    id,
    { ...issue(Number(id)), blockedBy: blockedBy[id] ?? [] },
  ]);
  world.plan('p', { tickets: Object.fromEntries(entries) });
  const parts = await bench.parts();
  for (const [ticketId, work] of Object.entries(files)) {
    await bench.work(ticketId, work);
    const at = '2026-01-01T00:00:00.000Z';
    await parts.store.updateTicket({ planId: 'p', ticketId }, (ticket) => ({
      ...ticket,
      status: 'complete',
      currentPhase: 'done',
      phaseHistory: ['build', 'verify'].map((phase) => ({
        ...{ phase, visit: 1, attempt: 1, status: 'success' as const, startedAt: at, completedAt: at },
        ...{ outcome: 'success', output: null, agent: null, sessionId: null, usage: null, error: null },
      })),
    }));
    await bench.open(ticketId);
  }
  return bench;
}

export async function merge(world: World, bench: Bench, ...args: string[]): Promise<TrainResult> {
  const { out, err } = await world.invoke(['merge', 'p', '--pr', '--json', ...args], bench.env).ended;
  if (out === '') throw new Error(err);
  return (JSON.parse(out) as { trains: TrainResult[] }).trains[0] as TrainResult;
}

export const states = (bench: Bench) => bench.pulls().map(({ state }) => state);
