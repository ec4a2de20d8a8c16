/** A branch and the base that it is for. */
export type BranchSpec = Pick<WorkspaceSpec, 'repo' | 'branch' | 'base' | 'recordedBase'>;

/** A worktree on its branch. */
export type TreeSpec = Pick<WorkspaceSpec, 'repo' | 'path' | 'branch'>;

/** A prerequisite's branch as origin has it. */
export interface PrerequisiteOnOrigin {
  commit: string;
  /** It replaces the local branch; else the work starts from both. */
  replacesLocal: boolean;
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
  /** Branches of finished prerequisites. The work starts from those that the base does not contain. */
  stackOn: string[];
  /** Last commits of prerequisites by branch, used if the branch is gone. */
  stackTips?: Record<string, string>;
  /** Prerequisites whose branch differs on origin, by branch. */
  prerequisitesOnOrigin?: Record<string, PrerequisiteOnOrigin>;
  /** Branches of prerequisites that were merged on the forge, maybe squashed: origin's current base is used for them. */
  mergedOn?: string[];
  /** `<planId>/<ticketId>`; written beside the worktree so that no other ticket takes it. */
  owner: string;
  /** Earlier owners whose worktree and branch this one continues. */
  takesOver?: string[];
  /** Work happens in the repository's own checkout: nothing is created or released. */
  inPlace?: boolean;
  /** Shell commands run in a worktree that was made or reused. */
  hooks: string[];
  /** Installs what the worktree's lock file lists, again after each change of it. `packageManager` chooses among several. */
  install?: { packageManager: string | null } | undefined;
  /** Called with the command before packages are installed, which may take minutes. */
  onInstall?: (command: string) => void;
  /** Globs of untracked files copied from the checkout, such as `.env`. */
  copy: string[];
  /** Directories that a warm worktree keeps, such as `node_modules`. */
  caches: string[];
  /** Maximum number of warm worktrees of one repository under a worktree root; 0 turns them off. */
  slots: number;
  worktreeRoot: string;
  /** What the ticket recorded when it started. */
  recordedBase: { ref: string; commit: string } | null;
  /** The earlier base of its branch, if the base has to be determined again. */
  formerBase?: { ref: string; commit: string } | null;
  /** Aborting ends the hooks that run; the next call runs them again. */
  signal?: AbortSignal;
}
