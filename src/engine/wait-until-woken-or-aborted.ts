/** A sleep that ends when its time is over, or when it is woken. */
export function wakeableSleep() {
  let end = (): void => undefined;
  return {
    wake: () => end(),
    sleep: (ms: number) =>
      new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms);
        end = () => {
          clearTimeout(timer);
          resolve();
        };
      }),
  };
}

/** Calls back when a signal is aborted, at once where it is already. Returns the function that ends that. */
export function onAborted(signal: AbortSignal, callback: () => void): () => void {
  if (signal.aborted) callback();
  signal.addEventListener('abort', callback);
  return () => signal.removeEventListener('abort', callback);
}
