import type { WorkItem } from '../../../issues/index.ts';
import type { Wishes } from '../../../model/variant.ts';
import type { IssueRunRequest } from '../run.ts';
import type { ExecutionConfig } from './execution-config.ts';
import { applyRules } from './phases.ts';

/** Phases of the workflow that options switch, beside those that `phases` names. */
const SWITCHED = ['testgen', 'security_review', 'smart_tests', 'qa_gate', 'pull_request', 'integrate'];
const NAMED = ['spec', 'testgen', 'exec', 'security_review', 'qa'];

export interface RequestInput {
  cwd: string;
  config: ExecutionConfig;
  references: readonly string[];
  batches: readonly (readonly string[])[] | null;
  known?: readonly WorkItem[];
  packageManager: string | null;
  /** Kept with the plan, for `resume` and for logs. */
  run: Record<string, unknown>;
  signal?: AbortSignal;
}

/** What the engine is asked to do, out of the configuration of a run. */
export function issueRequest(input: RequestInput): IssueRunRequest {
  const { config } = input;
  const shapeOf = (item: WorkItem) => applyRules(config, item.labels);
  return {
    cwd: input.cwd,
    references: input.references,
    batches: input.batches,
    ...(input.known ? { known: input.known } : {}),
    ...(input.signal ? { signal: input.signal } : {}),
    mode: config.chain ? 'chain' : config.sequential ? 'sequential' : 'parallel',
    concurrency: config.concurrency,
    workflow: 'issue',
    wishes: (item, { hasRemote }) => ({
      ...wishesOf(config, shapeOf(item).qualityLoop),
      // Without a pull request there is nothing to look at.
      looks: opensPullRequest(config, shapeOf(item).phases, hasRemote),
    }),
    agent: config.agent ?? null,
    base: config.base ?? null,
    packageManager: input.packageManager,
    force: config.force,
    skipPhases: (item, { hasRemote }) => skipped(config, shapeOf(item).phases, hasRemote),
    run: input.run,
  };
}

function wishesOf(config: ExecutionConfig, qualityLoop: boolean): Wishes {
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
  };
}

function opensPullRequest(config: ExecutionConfig, phases: readonly string[], hasRemote: boolean): boolean {
  return config.pr && hasRemote && phases.includes('exec');
}

function skipped(config: ExecutionConfig, phases: readonly string[], hasRemote: boolean): string[] {
  const wanted = new Set<string>(phases);
  if (!config.noSmartTests && wanted.has('exec')) wanted.add('smart_tests');
  if (config.qaGate) wanted.add('qa_gate');
  if (opensPullRequest(config, phases, hasRemote)) wanted.add('pull_request');
  if (config.integrate && (wanted.has('exec') || wanted.has('qa'))) wanted.add('integrate');
  if (wanted.has('exec') || wanted.has('qa')) wanted.add('checks');
  return [...new Set([...NAMED, ...SWITCHED, 'checks'])].filter((phase) => !wanted.has(phase));
}
