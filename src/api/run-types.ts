import type { Settings as SignalboxSettings } from '../config/table.ts';
import type { PhasePlanCallback, ProgressCallback } from '../features/issue-runs/callbacks.ts';
import type { RunLogWriter } from '../features/issue-runs/logs/run-log.ts';
import type { RunOptions, WorktreeInfo } from '../features/issue-runs/types.ts';
import type { IssueInfo } from '../issues/github/issue.ts';
import type { Env } from '../machine/environment.ts';
import type { EngineEvent } from '../model/events.ts';
import type { ExecutionConfig } from '../model/issue-run-schema.ts';

/** Surroundings of a run; each has the process's own as its default, at the time of the call. */
export interface RunSurroundings {
  cwd?: string;
  env?: Env;
  /** Aborting stops all agents and leaves the work so that it can be resumed. */
  signal?: AbortSignal;
  /** Called in order for every phase of every issue; may throw. */
  onProgress?: ProgressCallback;
  /** Called in order with every event; may throw. */
  onEvent?: (event: EngineEvent) => void;
}

export interface OrchestratorServices {
  logWriter?: RunLogWriter | null;
  /** null: state is kept in a temporary directory and forgotten. */
  stateManager?: { stateDir: string } | null;
  /** Stops the run as `signal` does, for programs with one shutdown signal for everything. */
  shutdownManager?: { readonly signal: AbortSignal } | null | undefined;
}

export interface OrchestratorConfig extends RunSurroundings {
  config: ExecutionConfig;
  /** The options that `config` was made of. Its `batch` has the groups; a mode that `config` does not have is refused. */
  options?: RunOptions;
  /** Dependencies are read from labels and bodies, as for GitHub issues. */
  issueInfoMap: ReadonlyMap<number, IssueInfo>;
  worktreeMap?: ReadonlyMap<number | string, WorktreeInfo>;
  services?: OrchestratorServices;
  settings?: SignalboxSettings;
  /** Overrides what is detected from the project's files. */
  packageManager?: string | null;
  /** Goes before `config.base`. */
  baseBranch?: string;
  onPhasePlan?: PhasePlanCallback;
}
