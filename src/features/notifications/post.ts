import { setTimeout as delay } from 'node:timers/promises';

export interface HttpOptions {
  signal: AbortSignal;
  /** Of one try. */
  timeoutMs?: number;
  /** Waits between tries; one try more than there are waits. */
  waitsMs?: readonly number[];
}

const LONGEST_WAIT_MS = 5_000;

type Answer = { ok: true } | { ok: false; said: string; again: boolean; afterMs: number };

/** Posts JSON, a few times where it may help. Errors never name the address: it may hold a key. */
export async function postJson(
  url: string,
  body: unknown,
  { signal, timeoutMs = 5_000, waitsMs = [500, 2_000] }: HttpOptions,
): Promise<void> {
  const text = JSON.stringify(body);
  for (let tries = 0; ; tries++) {
    const answer = await post(url, text, AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]));
    if (answer.ok) return;
    const wait = waitsMs[tries];
    if (!answer.again || wait === undefined || signal.aborted)
      throw new Error(`${answer.said}${tries > 0 ? ` (${tries + 1} tries)` : ''}`);
    await delay(Math.min(Math.max(wait, answer.afterMs), LONGEST_WAIT_MS), undefined, { signal });
  }
}

async function post(url: string, body: string, signal: AbortSignal): Promise<Answer> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'user-agent': 'signalbox' },
      body,
      signal,
      // Where it leads elsewhere, somebody has to look: keys are not sent after it.
      redirect: 'manual',
    });
    await response.body?.cancel();
    if (response.ok) return { ok: true };
    const { status } = response;
    const again = status === 429 || status >= 500;
    const after = Number(response.headers.get('retry-after'));
    return { ok: false, said: `it answered ${status}`, again, afterMs: after > 0 ? after * 1000 : 0 };
  } catch (error) {
    return { ok: false, said: sayNetwork(error), again: true, afterMs: 0 };
  }
}

function sayNetwork(error: unknown): string {
  const { name, cause } = error as { name?: string; cause?: { code?: string; message?: string } };
  if (name === 'TimeoutError') return 'it did not answer in time';
  return cause?.code ?? cause?.message ?? name ?? 'the connection failed';
}
