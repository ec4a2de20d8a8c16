import { setTimeout as delay } from 'node:timers/promises';
import { within } from './within.ts';

const LOOK_MS = 15;
const TIMEOUT_MS = 30_000;

/** Waits until `look` gives something truthy, and gives that back; after the deadline the error says what was there instead. */
export async function waitFor<T>(
  what: string,
  look: () => T,
  options: { timeoutMs?: number; state?: () => string } = {},
): Promise<NonNullable<T>> {
  const began = performance.now();
  for (;;) {
    const found = look();
    if (found) return found;
    // The machine may have become busy meanwhile, so the deadline is made anew.
    if (performance.now() - began > within(options.timeoutMs ?? TIMEOUT_MS)) {
      throw new Error(`still waiting for ${what}\n${options.state?.() ?? ''}`);
    }
    await delay(LOOK_MS);
  }
}
