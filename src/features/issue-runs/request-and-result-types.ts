import type { RUN_ONLY } from '../../config/run-settings-table.ts';
import type { RunSettings } from '../../config/settings-table.ts';
import type { ValueOf } from '../../config/value-kinds.ts';
import type { WorkItem } from '../../issues/work-item.ts';
import type { AgentConfig } from '../../model/agent-and-adapter-types.ts';
import type { Forecast } from '../../model/limits/usage-cost-and-estimate.ts';
import type { ExecutionConfig, IssueRun } from '../../model/plan-schema.ts';
import type { Usage } from '../../model/ticket.ts';
import type { Judged } from '../../model/verdict-criteria-and-missing-checks.ts';

export interface PhaseResult {
  phase: string;
  success: boolean;
  durationSeconds: number;
  error?: string;
  /** Class of the error: auth, limit, timeout, evidence… */
  failureCategory?: string;
  output?: string;
  /** What the phase decided, where it decides: qa's verdict. */
  verdict?: string;
  /** How qa judged the acceptance criteria: each with its evidence. */
  criteria?: Judged[];
  /** The same in numbers, with the criteria that are not met. */
  summary?: { acMet: number; acTotal: number; gaps: string[] };
  usage: Usage | null;
}

export interface IssueResult {
  /** 0 for work that has no number; `id` names it then. */
  issueNumber: number;
  id: string;
  title: string;
  success: boolean;
  phaseResults: PhaseResult[];
  durationSeconds: number;
  abortReason?: string;
  /** First line of what went wrong: the error, the verdict, or what a reviewer wrote. */
  cause?: string;
  loopTriggered: boolean;
  /** How qa judged the work that is done. */
  verdict?: string;
  /** Where the verdict is not READY_FOR_MERGE: the criteria that are not met or not verified. */
  reservation?: string;
  /** Why work that was to be merged was left on its branch, and the command that merges it. */
  notMerged?: string;
  branch: string | null;
  prNumber?: number;
  prUrl?: string;
  /** Why the work is done and its pull request could not be opened; the issue has failed then. */
  prCreationError?: string;
  /** Why there is none, although nothing is wrong. */
  prSkippedReason?: string;
  /** The command that brings merged work into the checkout of the base, if that could not be updated. */
  fastForward?: string;
  failureCategory?: string;
  /** It was complete before this run and was not run again. */
  skipped?: boolean;
  locked?: { pid: number; hostname: string; startedAt: string; command: string };
  /** None of its phases has begun. */
  notStarted?: boolean;
  /** It waits for approval; nothing has failed. */
  waiting?: boolean;
  /** It was stopped; nothing has failed. */
  stopped?: boolean;
  /** A newer run has replaced it; nothing has failed here. */
  superseded?: boolean;
  /** It waits for its turn: nothing has failed. Only where a run was left to a daemon. */
  pending?: boolean;
  /** How to continue: a command, or what to change. */
  next?: string;
  /** If it waits for approval: a command for each decision. */
  answers?: string[];
  usage: Usage | null;
  /** How many of its attempts have an unknown cost. */
  unpriced?: number;
}

/** What a run would do with one issue. */
export interface PlannedIssue {
  /** Id of the issue; `issueNumber` is 0 if it has no number. */
  issue: string;
  issueNumber: number;
  title: string;
  /** It was complete before and would not be run again. */
  done: boolean;
  /** Phases it would go through when all goes well; none when it is done. */
  phases: string[];
  /** Ids of the issues that it would wait for. */
  after: string[];
  /** The same as people read them: `#12`. */
  afterNames: string[];
  /** Which group it is in, from 1; null without batches. */
  batch: number | null;
  branch: string;
  worktree: string;
  /** A note before the run, such as that its branch started elsewhere. */
  note?: string;
  /** Labels that add something, and what: phases, or the quality loop. */
  added?: { labels: string[]; phases: string[] };
}

export interface WorktreeInfo {
  /** The number, or the id of work that has none. */
  issue: number | string;
  path: string;
  branch: string;
}

export interface ManifestOfRun {
  /** Kept in the log of the run. */
  stack: string | null;
  /** Installs the dependencies of new worktrees if the project has its lock file; otherwise another lock file decides. */
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
  /** What it would need and take, for a dry run. */
  forecast?: Forecast;
  /** It was left to a daemon, which may have begun already; `results` are as things were then. */
  detached?: boolean;
  /** A person cancelled it while it ran. */
  cancelled?: boolean;
}

export interface IssueRunRequest {
  cwd: string;
  references: readonly string[];
  /** References by group. */
  batches: readonly (readonly string[])[] | null;
  /** Work that is described in words and is in no tracker. */
  tasks?: readonly string[] | undefined;
  /** Items that the caller has already: they are not fetched. */
  known?: readonly WorkItem[] | undefined;
  config: ExecutionConfig;
  /** Installs the dependencies of worktrees; null: the lock files decide. */
  packageManager: string | null;
  /** Stored with the plan, for `resume` and for logs. */
  run: Partial<IssueRun>;
  signal?: AbortSignal | undefined;
}

/** Why an issue is not run, though it was asked for. */
export interface Refused {
  reference: string;
  item: WorkItem | null;
  reason: string;
  hint?: string | undefined;
  /** Who has it, when another engine does. */
  locked?: { pid: number; hostname: string; startedAt: string; command: string };
  /** It waits for approval in an earlier run. */
  waiting?: boolean;
  /** It could be run, but an issue before it cannot. */
  notStarted?: boolean;
}

interface OfSettings extends Omit<RunSettings, 'phases' | 'defaultBase'> {
  base: RunSettings['defaultBase'];
  phasePolicies: RunSettings['phases'];
}
type OfRun = { [K in keyof typeof RUN_ONLY]: ValueOf<(typeof RUN_ONLY)[K]['kind']> };

export type Given<T> = { [K in keyof T]?: T[K] | undefined };

/** Options of one run. A key that is missing or undefined comes from variables, settings or defaults. */
export interface RunOptions extends Given<Omit<OfSettings, 'rotation'>>, Given<Omit<OfRun, 'phases'>> {
  /** `spec,exec,qa`, or a list. */
  phases?: string | readonly string[] | undefined;
  rotation?: Given<OfSettings['rotation']> | undefined;
  /** The same as `logJson: false`, `smartTests: false`, `retry: false` and `pr: false`. */
  noLog?: boolean | undefined;
  noSmartTests?: boolean | undefined;
  noRetry?: boolean | undefined;
  noPr?: boolean | undefined;
}

/** Options after merging: every setting has a value. */
export interface MergedRunOptions extends OfSettings, Partial<Omit<OfRun, 'phases'>> {
  phases?: string;
}

/** What is needed of SignalboxSettings; what is missing has its default. */
export interface SettingsOfRuns {
  run?: Partial<RunSettings>;
  agents?: Record<string, AgentConfig>;
}
