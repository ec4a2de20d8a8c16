import type { EngineEvent } from '../model/events.ts';

export type ProgressEvent = 'start' | 'complete' | 'failed';

/** `issue` is the number, or the id of work that has none. What the callback returns is ignored, and so is what it throws. */
export type ProgressCallback = (
  issue: number | string,
  phase: string,
  event: ProgressEvent,
  extra?: { durationSeconds?: number; error?: string; iteration?: number },
) => void;

/** Feeds a progress callback from the run's events: every phase of every issue starts once and ends once. */
export function progressFeed(
  callback: ProgressCallback,
  numberOf: (ticketId: string) => number | null,
): (event: EngineEvent) => void {
  const call: ProgressCallback = (...args) => {
    try {
      callback(...args);
    } catch {
      // A caller's mistake must not stop the work.
      return;
    }
  };
  return (event) => {
    if (event.type !== 'attempt:start' && event.type !== 'attempt:end') return;
    const issue = numberOf(event.ticketId) ?? event.ticketId;
    if (event.type === 'attempt:start')
      return void call(issue, event.phase, 'start', { iteration: event.visit });
    const negative =
      event.outcome === 'AC_NOT_MET' || event.outcome === 'fail' || event.outcome === 'failure';
    const ok = event.status === 'success' && !negative;
    const error = event.error?.message ?? (ok ? undefined : `ended with ${event.outcome ?? event.status}`);
    call(issue, event.phase, ok ? 'complete' : 'failed', {
      durationSeconds: event.ms / 1000,
      iteration: event.visit,
      ...(error ? { error } : {}),
    });
  };
}
