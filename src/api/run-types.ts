import type { IssueInfo } from '../issues/index.ts';
import type { Env } from '../machine/environment.ts';
import type { EngineEvent } from '../model/events.ts';
import type { ExecutionConfig } from './execution-config.ts';
import type { IssueResult } from './issue-result.ts';
import type { PlannedIssue } from './preview.ts';
import type { PhasePlanCallback, ProgressCallback } from './progress.ts';
import type { RunLogWriter } from './run-log.ts';
import type { MergedRunOptions, RunOptions } from './run-options.ts';
import type { RunOrchestrator } from './run-orchestrator.ts';
import type { SignalboxSettings } from './settings.ts';

export interface WorktreeInfo {
  /** The number, or the id of work that has none. */
  issue: number | string;
  path: string;
  branch: string;
}

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

/** What it takes to go on with a run; its options are known. */
export interface ResumeInit extends RunSurroundings {
  settings: SignalboxSettings;
  /** Called with every line that the command line would print, without colours; may throw. Nothing is printed without it. */
  output?: (line: string) => void;
  /** Called once, before the first phase, with the run that has begun; may throw. */
  onOrchestratorReady?: (orchestrator: RunOrchestrator) => void;
}

export interface RunInit extends ResumeInit {
  options: RunOptions;
  /** What the project is, as `getManifest()` tells it; missing: as it stands in the project. */
  manifest?: ManifestOfRun;
  baseBranch?: string;
  /** Called once for each issue that is run, before its first phase, with the phases ahead when all goes well; may throw. */
  onPhasePlan?: PhasePlanCallback;
  /** How errors name an option: as a property, or as the flag it is on a command line. */
  named?: 'option' | 'flag';
}

export interface ManifestOfRun {
  /** Kept in the log of the run. */
  stack: string | null;
  /** Installs the dependencies of new worktrees where the project has a lock file of it; otherwise that of another decides. */
  packageManager?: string | null | undefined;
}

export interface RunResult {
  results: IssueResult[];
  logPath: string | null;
  /** 0 when every issue is done, 1 otherwise; 130 when the signal stopped it. */
  exitCode: number;
  /** Worktrees that are still there, by number, or by id for work that has none. */
  worktreeMap: Map<number | string, WorktreeInfo>;
  /** By number, or by id for work that has none. */
  issueInfoMap: Map<number | string, { title: string; labels: string[] }>;
  config: ExecutionConfig;
  mergedOptions: MergedRunOptions;
  /** Of a resumed run, that of all its parts. */
  wallClockDurationSeconds: number;
  /** Id of the plan that the run made; null for a dry run and when there was nothing to run. */
  planId: string | null;
  /** What would be done, for a dry run. */
  dryRun?: PlannedIssue[];
  /** It was left to a daemon, which may have begun already; `results` are as things were then. */
  detached?: boolean;
}

export interface OrchestratorServices {
  logWriter?: RunLogWriter | null;
  /** null: state is kept in a temporary directory and forgotten. */
  stateManager?: { stateDir: string } | null;
  /** Stops the run as `signal` does: whoever shuts the program down has one signal for all of it. */
  shutdownManager?: { readonly signal: AbortSignal } | null | undefined;
}

export interface OrchestratorConfig extends RunSurroundings {
  config: ExecutionConfig;
  /** What `config` was made of. Its `batch` says the groups; a mode in it that `config` does not have is refused. */
  options?: RunOptions;
  /** Labels and texts say what an issue depends on, as those of GitHub do. */
  issueInfoMap: ReadonlyMap<number, IssueInfo>;
  worktreeMap?: ReadonlyMap<number | string, WorktreeInfo>;
  services?: OrchestratorServices;
  settings?: SignalboxSettings;
  /** Goes before what the project's files tell. */
  packageManager?: string | null;
  /** Goes before `config.base`. */
  baseBranch?: string;
  onPhasePlan?: PhasePlanCallback;
}
