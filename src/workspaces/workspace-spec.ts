/** A branch and the base that it is for. */
export interface BranchSpec {
  repo: string;
  branch: string;
  base: string | null;
  recordedBase: { ref: string; commit: string } | null;
}

/** A prerequisite's branch as origin has it. */
export interface StackedThere {
  commit: string;
  /** It replaces the branch here; else both are built upon. */
  instead: boolean;
}

/** Everything that decides what a ticket's workspace is. */
export interface WorkspaceSpec {
  /** Any directory of the user's checkout. */
  repo: string;
  branch: string;
  /** Where the worktree must be. */
  path: string;
  /** The plan's base branch; null: origin's default branch, else the current one. */
  base: string | null;
  /** Branches of finished prerequisites; those that the base does not contain are built upon. */
  stackOn: string[];
  /** What prerequisites had in the end, by branch: they count where the branch is gone. */
  stackTips?: Record<string, string>;
  /** Prerequisites that have something else on origin than here, by branch. */
  stackThere?: Record<string, StackedThere>;
  /** Branches of prerequisites that came into the base on the forge, squashed maybe: the base as origin has it now counts for them. */
  mergedOn?: string[];
  /** `<planId>/<ticketId>`; written beside the worktree so that no other ticket takes it. */
  owner: string;
  /** Earlier owners whose worktree and branch this one continues. */
  takesOver?: string[];
  /** Work happens in the repository's own checkout: nothing is created or released. */
  inPlace?: boolean;
  /** Shell commands run in a worktree that was made or reused. */
  hooks: string[];
  /** Installs what the worktree's lock file says, as often as that changes; of several that of the named manager counts. */
  install?: { packageManager: string | null } | undefined;
  /** Globs of untracked files copied from the checkout, such as `.env`. */
  copy: string[];
  /** Directories that a warm worktree keeps, such as `node_modules`. */
  caches: string[];
  /** Maximum number of warm worktrees of one repository under a worktree root; 0 turns them off. */
  slots: number;
  worktreeRoot: string;
  /** What the ticket recorded when it started. */
  recordedBase: { ref: string; commit: string } | null;
  /** What its branch began at, where that is to be found anew. */
  formerBase?: { ref: string; commit: string } | null;
  /** Aborting ends the hooks that run; the next call runs them again. */
  signal?: AbortSignal;
}
