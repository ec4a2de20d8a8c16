import type { EngineEvent } from '../../model/events.ts';
import { isSuccess } from '../../model/verdict-criteria-and-missing-checks.ts';
import type { PreparedRun } from './plan-issues.ts';

export type ProgressEvent = 'start' | 'complete' | 'failed';

/** `issue` is the number, or the id of work that has none. Results and errors of the callback are ignored, also of promises. */
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
  const call = ignoringErrors(callback);
  return (event) => {
    if (event.type !== 'attempt:start' && event.type !== 'attempt:end') return;
    const issue = numberOf(event.ticketId) ?? event.ticketId;
    if (event.type === 'attempt:start')
      return void call(issue, event.phase, 'start', { iteration: event.visit });
    const ok = isSuccess(event);
    const error = event.error?.message ?? (ok ? undefined : `ended with ${event.outcome ?? event.status}`);
    call(issue, event.phase, ok ? 'complete' : 'failed', {
      durationSeconds: event.ms / 1000,
      iteration: event.visit,
      ...(error ? { error } : {}),
    });
  };
}

/** Called with an issue and the phases ahead of it when all goes well. What it throws is ignored. */
export type PhasePlanCallback = (issue: number | string, phases: readonly string[]) => void;

/** Reports the phases ahead of each issue of the run. */
export function reportPhases({ items }: PreparedRun, callback: PhasePlanCallback): void {
  const call = ignoringErrors(callback);
  for (const { id, number, done, ahead } of items) if (!done) call(number ?? id, ahead);
}

/** Wraps a caller's function so that its errors cannot stop the work: they only go to `report`. */
export function ignoringErrors<A extends unknown[]>(
  callback: (...args: A) => unknown,
  report: (error: unknown) => void = () => undefined,
): (...args: A) => void {
  return (...args) => {
    try {
      Promise.resolve(callback(...args)).catch(report);
    } catch (error) {
      report(error);
    }
  };
}
