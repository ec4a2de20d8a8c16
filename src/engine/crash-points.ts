/** Places where a test can end the process as a power cut would. Named after what has just become true. */
export const CRASH_POINTS = [
  'ticket:claimed',
  'workspace:ready',
  'attempt:recorded',
  'attempt:running',
  'attempt:performed',
  'attempt:closed',
  'workspace:released',
] as const;
export type CrashPoint = (typeof CRASH_POINTS)[number];

export type Crash = (point: CrashPoint) => void;

export function crashPoints(env: Record<string, string | undefined>): Crash {
  const wanted = env.SIGNALBOX_CRASH_AT;
  if (!wanted) return () => undefined;
  return (point) => {
    if (point === wanted) process.kill(process.pid, 'SIGKILL');
  };
}
