import { findAgent } from '../../../config/builtin-agents.ts';
import { checkGiven } from '../../../config/layers.ts';
import { TABLE } from '../../../config/table.ts';
import { InputError } from '../../../model/errors.ts';
import { DEFAULT_PHASES, type IssuePhase, inWorkflowOrder, issuePhase } from '../../../model/issue-phases.ts';
import type { ExecutionConfig } from '../../../model/issue-run-schema.ts';
import { checkMerged } from './combinations.ts';
import { parsePhases, phasePolicies } from './phases.ts';
import { completeOptions } from './run-options.ts';
import type { RunOptions, SettingsOfRuns } from './types.ts';

export type { ExecutionConfig };

/** The configuration of a run of `issueCount` issues. Throws an InputError for anything that cannot be meant. */
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
  const check = (
    name: 'concurrency' | 'maxIterations' | 'phaseTimeout',
    key: 'concurrency' | 'maxIterations' | 'timeout',
  ) =>
    checkGiven(TABLE[`run.${key}`].kind, `config.${name}`, config[name] ?? null, { base: '', userHome: '' });
  check('concurrency', 'concurrency');
  check('maxIterations', 'maxIterations');
  check('phaseTimeout', 'timeout');
}
