/** What is known of our own work on a branch, to tell its pull request from others of the same name. */
export interface OurWork {
  /** Where the pull request is known already. */
  number: number | null;
  /** Commits that we pushed or have. */
  commits: readonly string[];
  /** When we pushed; null before that. */
  since: string | null;
}

interface Candidate {
  number: number;
  state: 'OPEN' | 'CLOSED' | 'MERGED';
  createdAt: string;
}

/**
 * Which pull request of a branch is about our work; `pulls` has the newest first. An open one is: it has whatever the
 * branch has. One that is over is only when it ended with a commit of ours, or was opened after our push: an older one
 * may merely have had a branch of the same name.
 */
export function ourPull<T extends Candidate>(
  pulls: readonly T[],
  { number, commits, since }: OurWork,
  headOf: (pull: T) => string,
): T | undefined {
  if (number !== null) return pulls.find((pull) => pull.number === number);
  const isOurs = (pull: T) =>
    commits.includes(headOf(pull)) ||
    (since !== null && Date.parse(pull.createdAt) >= Math.floor(Date.parse(since) / 1000) * 1000);
  return pulls.find(({ state }) => state === 'OPEN') ?? pulls.find(isOurs);
}
