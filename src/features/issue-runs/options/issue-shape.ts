import type { IssuePlace } from '../../../issues/checkouts.ts';
import type { WorkItem } from '../../../issues/item.ts';
import type { Wishes } from '../../../model/variant.ts';
import type { RunMode } from '../plan.ts';
import type { ExecutionConfig } from './execution-config.ts';
import { applyRules } from './phases.ts';

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
export function wishesOf(config: ExecutionConfig, item: WorkItem, place: IssuePlace): Wishes {
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
    looks: opensPullRequest(config, phases, place),
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
