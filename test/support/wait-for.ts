import { setTimeout as delay } from 'node:timers/promises';

const LOOK_MS = 15;

/** Waits until `look` gives something truthy, and gives that back; after the deadline the error says what was there instead. */
export async function waitFor<T>(
  what: string,
  look: () => T,
  options: { timeoutMs?: number; state?: () => string } = {},
): Promise<NonNullable<T>> {
  const deadline = performance.now() + (options.timeoutMs ?? 20_000);
  for (;;) {
    const found = look();
    if (found) return found;
    if (performance.now() > deadline) {
      throw new Error(`still waiting for ${what}\n${options.state?.() ?? ''}`);
    }
    await delay(LOOK_MS);
  }
}
