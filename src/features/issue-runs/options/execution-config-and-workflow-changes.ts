import { checkGiven } from '../../../config/read-setting-layers.ts';
import { findAgent } from '../../../config/resolve-agents.ts';
import { TABLE } from '../../../config/settings-table.ts';
import type { IssuePlace } from '../../../issues/find-issue-checkouts.ts';
import type { WorkItem } from '../../../issues/work-item.ts';
import type { WorkflowChanges } from '../../../model/apply-changes-of-run-to-workflow.ts';
import { InputError } from '../../../model/errors.ts';
import { DEFAULT_PHASES, type IssuePhase, inWorkflowOrder, issuePhase } from '../../../model/issue-phases.ts';
import type { Plan } from '../../../model/plan.ts';
import type { ExecutionConfig } from '../../../model/plan-schema.ts';
import type { RunMode } from '../plan-issues.ts';
import type { RunOptions, SettingsOfRuns } from '../request-and-result-types.ts';
import { storedRun } from '../results/stored-run-time-and-issue-names.ts';
import { checkMerged } from './check-options-and-parse-batches.ts';
import { applyRules, parsePhases, phasePolicies } from './phases-models-and-label-rules.ts';
import { completeOptions } from './resolve-options.ts';

/** The configuration of a run of `issueCount` issues. Throws an InputError for values that contradict each other. */
export function buildExecutionConfig(
  mergedOptions: RunOptions,
  settings: SettingsOfRuns,
  issueCount: number,
): ExecutionConfig {
  const options = completeOptions(mergedOptions, settings);
  checkMerged(options);
  const sequential = options.sequential || options.chain === true;
  if (options.agent !== null && settings.agents) findAgent(settings.agents, options.agent, '--agent');
  return {
    phases: phasesOf(options),
    phaseTimeout: options.timeout,
    qualityLoop: options.qualityLoop,
    maxIterations: options.maxIterations,
    sequential,
    chain: options.chain ?? false,
    qaGate: options.qaGate ?? false,
    concurrency: sequential ? 1 : options.concurrency,
    parallel: !sequential && issueCount > 1,
    verbose: options.verbose ?? false,
    quiet: options.quiet ?? false,
    noSmartTests: !options.smartTests,
    dryRun: options.dryRun ?? false,
    detach: options.detach ?? false,
    force: options.force ?? false,
    retry: options.retry,
    ...(options.agent === null ? {} : { agent: options.agent }),
    ...(options.base === null ? {} : { base: options.base }),
    pr: options.pr,
    integrate: options.integrate,
    phasePolicies: phasePolicies(options.phasePolicies, options),
    autoDetectPhases: options.autoDetectPhases,
    rules: options.rules,
  };
}

/** The requested phases, with those that options add in their place in the workflow. */
function phasesOf(options: { phases?: string; testgen: boolean; securityReview: boolean }): IssuePhase[] {
  const asked = options.phases === undefined ? DEFAULT_PHASES : parsePhases(options.phases);
  if (!asked.includes('exec')) return [...asked];
  const added: IssuePhase[] = [];
  if (options.testgen) added.push('testgen');
  if (options.securityReview) added.push('security_review');
  return inWorkflowOrder([...asked, ...added]);
}

/** Refuses a configuration that was made by hand and cannot be run. */
export function checkExecutionConfig(config: ExecutionConfig): void {
  const bad = (text: string) =>
    new InputError('run/config', text, {
      hint: 'Make it with buildExecutionConfig(options, settings, count).',
    });
  if (typeof config !== 'object' || config === null) throw bad('There is no config.');
  const { phases } = config;
  if (!Array.isArray(phases) || phases.length === 0)
    throw bad('config.phases is not a list with phases in it.');
  const unknown = phases.find((phase) => issuePhase(String(phase)) === undefined);
  if (unknown !== undefined) throw bad(`config.phases: there is no phase ${JSON.stringify(unknown)}.`);
  for (const [name, key] of [
    ['concurrency', 'concurrency'],
    ['maxIterations', 'maxIterations'],
    ['phaseTimeout', 'timeout'],
  ] as const)
    checkGiven(TABLE[`run.${key}`].kind, `config.${name}`, config[name] ?? null, { base: '', userHome: '' });
}

/** Phases of the `issue` workflow that a run may leave out. */
const OPTIONAL = [
  'spec',
  'testgen',
  'exec',
  'security_review',
  'qa',
  'smart_tests',
  'qa_gate',
  'pull_request',
  'integrate',
  'checks',
];

export function runMode(config: ExecutionConfig): RunMode {
  return config.chain ? 'chain' : config.sequential ? 'sequential' : 'parallel';
}

/** How the workflow of this issue differs from its file. */
export function workflowChangesOf(
  config: ExecutionConfig,
  item: WorkItem,
  place: IssuePlace,
): WorkflowChanges {
  const { phases, qualityLoop } = applyRules(config, item.labels);
  const policies = Object.entries(config.phasePolicies);
  return {
    models: Object.fromEntries(
      policies.flatMap(([phase, policy]) => (policy?.model ? [[phase, policy.model]] : [])),
    ),
    efforts: Object.fromEntries(
      policies.flatMap(([phase, policy]) => (policy?.effort ? [[phase, policy.effort]] : [])),
    ),
    timeoutSeconds: config.phaseTimeout,
    retry: config.retry,
    loops: { phase: 'exec', visits: qualityLoop ? config.maxIterations : 1 },
    gatesPoll: opensPullRequest(config, phases, place),
  };
}

/** Phases of the workflow that this issue does not go through. */
export function skippedPhases(config: ExecutionConfig, item: WorkItem, place: IssuePlace): string[] {
  const { phases } = applyRules(config, item.labels);
  const wanted = new Set<string>(phases);
  if (!config.noSmartTests && wanted.has('exec')) wanted.add('smart_tests');
  if (config.qaGate) wanted.add('qa_gate');
  if (opensPullRequest(config, phases, place)) wanted.add('pull_request');
  if (config.integrate && (wanted.has('exec') || wanted.has('qa'))) wanted.add('integrate');
  if (wanted.has('exec') || wanted.has('qa')) wanted.add('checks');
  return OPTIONAL.filter((phase) => !wanted.has(phase));
}

function opensPullRequest(
  config: ExecutionConfig,
  phases: readonly string[],
  { hasRemote }: IssuePlace,
): boolean {
  return config.pr && hasRemote && phases.includes('exec');
}

/** The mode's name in every report. */
export function modeOf(plan: Plan, config: ExecutionConfig): RunMode | 'batch' {
  return storedRun(plan)?.batched ? 'batch' : runMode(config);
}
