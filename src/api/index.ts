export { loadSettings } from '../config/load-settings.ts';
export type { Settings } from '../config/settings-table.ts';
export type { EngineContext, OpenOptions, PlanKind } from '../engine/context.ts';
export type { PlanHooks } from '../engine/plan-hooks-interface.ts';
export {
  type RunOptions as PlanRunOptions,
  type RunResult as PlanRunResult,
  runPlan,
} from '../engine/run-plan.ts';
export type { IssueLog, RunLog } from '../features/issue-runs/logs/read-and-rotate-logs.ts';
export type { RunLogWriter } from '../features/issue-runs/logs/rewrite-run-log.ts';
export {
  checkCombination,
  parseBatches,
} from '../features/issue-runs/options/check-options-and-parse-batches.ts';
export {
  buildExecutionConfig,
  checkExecutionConfig,
} from '../features/issue-runs/options/execution-config-and-workflow-changes.ts';
export { type ConfigLayers, ConfigResolver } from '../features/issue-runs/options/resolve-options.ts';
export type {
  PhasePlanCallback,
  ProgressCallback,
  ProgressEvent,
} from '../features/issue-runs/progress-callbacks.ts';
export type {
  IssueResult,
  ManifestOfRun,
  MergedRunOptions,
  PhaseResult,
  PlannedIssue,
  RunOptions,
  RunResult,
  WorktreeInfo,
} from '../features/issue-runs/request-and-result-types.ts';
export type { IssueInfo } from '../issues/issues-and-tasks-from-caller.ts';
export { HeldError, IllegalMoveError, InputError, SignalboxError } from '../model/errors.ts';
export type { EngineEvent, StoredEvent } from '../model/events.ts';
export { extraFields } from '../model/extra-fields.ts';
export type { CommonPlan, Plan } from '../model/plan.ts';
export type { ExecutionConfig } from '../model/plan-schema.ts';
export type { Ticket } from '../model/ticket.ts';
export type { Workflow } from '../model/workflow.ts';
export { openEngine, openEngine as openParts } from './open-engine-with-features.ts';
export type { OrchestratorConfig, OrchestratorServices } from './orchestrator-arguments.ts';
export { resolveRunOptions } from './orchestrator-arguments.ts';
export type { ResumeInit, RunInit } from './run-orchestrator.ts';
export { RunOrchestrator } from './run-orchestrator.ts';
export type { SignalboxSettings } from './settings.ts';
