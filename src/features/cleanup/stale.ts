/** Something that nobody needs any more. */
export interface Stale {
  kind: 'worktree' | 'slot' | 'branch' | 'output' | 'log';
  /** Path, or the name of a branch. */
  name: string;
  repo: string | null;
  /** Why it counts as left behind. */
  why: string;
  /** What would be gone for good. */
  loses: { files: number; commits: number };
  bytes: number | null;
  /** Ignored files and directories that go with it. */
  ignored: string[];
  /** Why it is kept; null when removing it loses nothing. */
  keep: string | null;
  removed: boolean;
}

/** A stale thing and how to get rid of it. */
export interface Found {
  item: Stale;
  /** Removes it after another look, or says why not. */
  remove(): Promise<string | null>;
}

export function stale(kind: Stale['kind'], name: string, repo: string | null, why: string): Stale {
  const loses = { files: 0, commits: 0 };
  return { kind, name, repo, why, loses, bytes: null, ignored: [], keep: null, removed: false };
}
