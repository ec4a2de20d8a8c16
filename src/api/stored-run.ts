import type { Plan } from '../model/plan.ts';
import type { ExecutionConfig } from './execution-config.ts';
import type { MergedRunOptions } from './run-options.ts';
import type { ManifestOfRun } from './run-types.ts';

/** What a run leaves in its plan, so that it can go on as it began. */
export interface StoredRun {
  config: ExecutionConfig;
  /** What was asked for; missing for runs of callers that bring their own configuration. */
  options: MergedRunOptions | null;
  /** File of the JSON log. */
  log: string | null;
  /** Left to a daemon. */
  detached: boolean;
  /** Its issues came in groups. */
  batched: boolean;
  manifest: ManifestOfRun;
  /** How long its parts took so far, as far as they came to their end. */
  spentSeconds: number;
}

/** Undefined for plans that are no runs of issues. */
export function storedRun(plan: Plan): StoredRun | undefined {
  if (plan.kind !== 'run') return undefined;
  const kept = (plan.run ?? {}) as Partial<StoredRun>;
  const { config, options = null, log = null, detached = false } = kept;
  const { manifest = { stack: null, packageManager: null } } = kept;
  const { batched = Boolean(options?.batch), spentSeconds = 0 } = kept;
  return config && { config, options, log, detached, batched, manifest, spentSeconds };
}
