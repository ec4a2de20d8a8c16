/** An agent's process at work. */
export interface AtWork {
  /** Megabytes that agents of its name came to use. */
  expected: number;
  /** Megabytes that it uses now; null when nobody measures it. */
  now: number | null;
  /** Milliseconds since it began. */
  age: number;
}

/** By then a process that nobody measures has what it needs, and what is free does not count it any more. */
const GROWN_MS = 60_000;

export interface Room {
  agent: string;
  /** Megabytes that one more would need; 0 turns the question off. */
  need: number;
  free: number;
  atWork: readonly AtWork[];
}

/** Why one more agent would not fit into memory, or null. One may always run. What has just begun will still grow. */
export function crowded({ agent, need, free, atWork }: Room): string | null {
  if (need <= 0 || atWork.length === 0) return null;
  const promised = atWork.reduce((sum, { expected, now, age }) => {
    if (now === null) return sum + (age < GROWN_MS ? expected : 0);
    return sum + Math.max(0, expected - now);
  }, 0);
  const left = Math.max(0, Math.round(free - promised));
  if (left >= need) return null;
  return `not enough free memory for one more agent: ${agent} needs about ${Math.round(need)} MB, ${left} MB are left`;
}
