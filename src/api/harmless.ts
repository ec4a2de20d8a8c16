/** A caller's function that cannot stop the work: what it throws, now or later, goes to `tell` and no further. */
export function harmless<A extends unknown[]>(
  callback: (...args: A) => unknown,
  tell: (error: unknown) => void = () => undefined,
): (...args: A) => void {
  return (...args) => {
    try {
      const result = callback(...args);
      if (result instanceof Promise || isThenable(result)) Promise.resolve(result).catch(tell);
    } catch (error) {
      tell(error);
    }
  };
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as PromiseLike<unknown> | null | undefined)?.then === 'function';
}
