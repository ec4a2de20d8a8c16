import { setTimeout as delay } from 'node:timers/promises';
import { within } from './within.ts';

/** Between two looks: a twentieth of the time that was waited so far, so that long waits take little of the machine. */
const lookAgainAfter = (waitedMs: number) => Math.min(150, Math.max(15, waitedMs / 20));
const TIMEOUT_MS = 30_000;

/**
 * Waits until `look` returns something truthy, and returns that. A look that throws is one at something that is not there yet,
 * such as a file or a tmux session. After the deadline the error says what was there instead.
 */
export async function waitFor<T>(
  what: string,
  look: () => T | Promise<T>,
  options: { timeoutMs?: number; state?: () => string } = {},
): Promise<NonNullable<T>> {
  const began = performance.now();
  for (;;) {
    let problem: unknown;
    try {
      const found = await look();
      if (found) return found;
    } catch (error) {
      problem = error;
    }
    // The machine may have become busy meanwhile, so the deadline is made anew.
    if (performance.now() - began > within(options.timeoutMs ?? TIMEOUT_MS)) {
      throw new Error(`still waiting for ${what}\n${stateOf(options.state)}`, { cause: problem });
    }
    await delay(lookAgainAfter(performance.now() - began));
  }
}

function stateOf(state: () => string = () => ''): string {
  try {
    return state();
  } catch (error) {
    return String(error);
  }
}
