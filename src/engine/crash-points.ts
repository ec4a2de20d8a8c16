import type { ForgeCrashPoint } from '../github/journal-of-changes-on-github.ts';

/** Points at which a test can kill the process. Named after what has just become true. */
export const CRASH_POINTS = [
  'ticket:claimed',
  'workspace:ready',
  'attempt:recorded',
  'attempt:running',
  'attempt:performed',
  'attempt:closed',
  'workspace:released',
] as const;
/** The same for merges. */
export const MERGE_CRASH_POINTS = ['merge:checked', 'merge:landed', 'merge:returned'] as const;
/** And for actions: before and after each effect that is not on a forge. */
export const ACTION_CRASH_POINTS = [
  'integrate:ready',
  'integrate:done',
  'sync:ready',
  'sync:taken',
  'tick:ready',
  'tick:written',
  'tick:done',
  'action:done',
] as const;
/** And for a person who gives work up. */
export const CANCEL_CRASH_POINTS = [
  'cancel:stopped',
  'cancel:saved',
  'cancel:recorded',
  'cancel:released',
] as const;
/** A person's agent waits until its process is recorded. */
type SessionCrashPoint = 'session:waits';
type CrashPoint =
  | (typeof CRASH_POINTS)[number]
  | (typeof MERGE_CRASH_POINTS)[number]
  | (typeof ACTION_CRASH_POINTS)[number]
  | (typeof CANCEL_CRASH_POINTS)[number]
  | SessionCrashPoint
  | ForgeCrashPoint;

export type Crash = (point: CrashPoint) => void;

export function crashPoints(env: Record<string, string | undefined>): Crash {
  const wanted = env.SIGNALBOX_CRASH_AT;
  if (!wanted) return () => undefined;
  return (point) => {
    if (point === wanted) process.kill(process.pid, 'SIGKILL');
  };
}
