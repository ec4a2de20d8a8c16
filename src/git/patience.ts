/** How long git calls may take that are made on somebody's behalf. */
export interface Patience {
  /** Once aborted, calls have a moment to end. */
  signal?: AbortSignal | undefined;
  timeoutMs?: number | undefined;
  /** That moment. */
  graceMs?: number | undefined;
}

/** What a call that works is given after a stop; one that hangs is not waited for. */
const GRACE_MS = 2_000;

/** Calls back a moment after the stop, if it comes; the returned function forgets about it. */
export function afterStop({ signal, graceMs = GRACE_MS }: Patience, fn: () => void): () => void {
  if (!signal) return () => undefined;
  let timer: NodeJS.Timeout | undefined;
  const begin = () => {
    timer = setTimeout(fn, graceMs);
  };
  if (signal.aborted) begin();
  else signal.addEventListener('abort', begin, { once: true });
  return () => {
    clearTimeout(timer);
    signal.removeEventListener('abort', begin);
  };
}
