/**
 * The time, for one process. Never goes back when the wall clock is set back (then the monotonic clock leads),
 * and goes on after the machine slept (then the wall clock leads).
 */
export function steadyClock(
  wall: () => number = Date.now,
  monotonic: () => number = () => performance.now(),
): () => string {
  const began = wall() - monotonic();
  return () => new Date(Math.max(wall(), began + monotonic())).toISOString();
}
