import { setTimeout as delay } from 'node:timers/promises';
import type { EngineContext } from '../../engine/context.ts';
import { SignalboxError } from '../../model/errors.ts';
import { refKey } from '../../model/ids.ts';
import { troubleOf } from '../pull-requests/errors.ts';
import { type Candidate, type Destination, type Objection, objections } from './objections.ts';

/** How long a train waits for checks that still run on GitHub. */
export interface Patience {
  seconds: number;
  signal: AbortSignal;
  say(line: string): void;
}

/** Somebody may sit in front of it: so often is looked at least, one question for all of them. */
const EVERY_SECONDS = 15;

export function patienceOf(
  { settings }: EngineContext,
  { signal, say }: Omit<Patience, 'seconds'>,
): Patience {
  return { seconds: settings.merge.waitSeconds, signal, say };
}

/** What stands against merging these once their checks have ended, or when the time is over. */
export async function lastObjections(
  parts: EngineContext,
  candidates: readonly Candidate[],
  to: Destination,
  patience: Patience | null,
): Promise<Map<string, Objection>> {
  let found = await objections(parts, candidates, to);
  if (!patience) return found;
  const end = Date.parse(parts.now()) + patience.seconds * 1000;
  const every = Math.min(parts.settings.forge.cacheSeconds, EVERY_SECONDS) * 1000;
  for (let told = ''; ; ) {
    const running = candidates.filter(({ car }) => found.get(car.key)?.passing === 'checks');
    const left = end - Date.parse(parts.now());
    if (running.length === 0 || left <= 0) return found;
    const waiting = running.map(({ car, number }) => `${refKey(car.ref)} (#${number})`).join(', ');
    if (waiting !== told)
      patience.say(`Waiting for checks of ${waiting}, ${inMinutes(left)} at most; Ctrl-C merges nothing.`);
    told = waiting;
    await pause(Math.min(Math.max(every, 100), left), patience.signal);
    found = await lookAgain(parts, candidates, to, found);
  }
}

/** A limit or an outage during the wait says nothing new. */
async function lookAgain(
  parts: EngineContext,
  candidates: readonly Candidate[],
  to: Destination,
  before: Map<string, Objection>,
): Promise<Map<string, Objection>> {
  try {
    const now = await objections(parts, candidates, to);
    return [...now.values()].some(({ passing }) => passing === 'later') ? before : now;
  } catch (error) {
    if (await troubleOf(parts, error)) return before;
    throw error;
  }
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
  if (signal.aborted) throw new SignalboxError('merge/stopped', 'The merge was stopped; nothing was moved.');
}

function inMinutes(ms: number): string {
  return ms < 90_000 ? `${Math.ceil(ms / 1000)} s` : `${Math.round(ms / 60_000)} min`;
}
