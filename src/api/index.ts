export type { Settings } from '../config/index.ts';
export { loadSettings } from '../config/index.ts';
export { openEngine as openParts } from '../engine/open.ts';
export {
  type RunOptions as PlanRunOptions,
  type RunResult as PlanRunResult,
  runPlan,
} from '../engine/run-plan.ts';
export type { IssueInfo } from '../issues/index.ts';
export { HeldError, IllegalMoveError, InputError, SignalboxError } from '../model/errors.ts';
export type { EngineEvent, StoredEvent } from '../model/events.ts';
export type { Plan } from '../model/plan.ts';
export type { Ticket } from '../model/ticket.ts';
export type { Workflow } from '../model/workflow.ts';
export { parseBatches } from './batches.ts';
export { checkCombination } from './combinations.ts';
export { type ConfigLayers, ConfigResolver } from './config-resolver.ts';
export { buildExecutionConfig, checkExecutionConfig, type ExecutionConfig } from './execution-config.ts';
export type { IssueResult, PhaseResult } from './issue-result.ts';
export type { PlannedIssue } from './preview.ts';
export type { PhasePlanCallback, ProgressCallback, ProgressEvent } from './progress.ts';
export type { IssueLog, RunLog, RunLogWriter } from './run-log.ts';
export { type MergedRunOptions, type RunOptions, resolveRunOptions } from './run-options.ts';
export { RunOrchestrator } from './run-orchestrator.ts';
export type {
  ManifestOfRun,
  OrchestratorConfig,
  OrchestratorServices,
  ResumeInit,
  RunInit,
  RunResult,
  WorktreeInfo,
} from './run-types.ts';
export type { SignalboxSettings } from './settings.ts';
