import { z } from 'zod';
import { EFFORTS } from './agent.ts';
import { ISSUE_PHASES, OPTIONAL_PHASES } from './issue-phases.ts';

const PhasePolicy = z.object({ model: z.string().optional(), effort: z.enum(EFFORTS).optional() });
export type PhasePolicy = z.infer<typeof PhasePolicy>;

const LabelRule = z.object({
  labels: z.array(z.string()),
  phases: z.array(z.enum([...OPTIONAL_PHASES, 'security-review'])).optional(),
  qualityLoop: z.boolean().optional(),
});

const flag = z.boolean().default(false);

/** How the phases of a run are executed. */
export const ExecutionConfig = z.object({
  /** In the order of the workflow; labels may add to them, by `rules`. */
  phases: z.array(z.enum(ISSUE_PHASES)),
  /** Seconds one phase may take. */
  phaseTimeout: z.number(),
  qualityLoop: flag,
  maxIterations: z.number(),
  /** One issue at a time, and none after the first failure. True for chains. */
  sequential: flag,
  chain: flag,
  qaGate: flag,
  /** Issues at once; 1 when `sequential`. */
  concurrency: z.number(),
  /** Several issues, not sequential. With a concurrency of 1 they run one by one, and the others continue after a failure. */
  parallel: flag,
  verbose: flag,
  quiet: flag,
  noSmartTests: flag,
  dryRun: flag,
  /** A daemon runs it; the caller has to see that there is one. */
  detach: flag,
  force: flag,
  retry: flag,
  /** Missing: the default agent. */
  agent: z.string().optional(),
  /** Missing: the default branch. */
  base: z.string().optional(),
  pr: flag,
  integrate: flag,
  phasePolicies: z.partialRecord(z.enum(ISSUE_PHASES), PhasePolicy).default({}),
  autoDetectPhases: flag,
  rules: z.array(LabelRule).default([]),
});
export type ExecutionConfig = z.infer<typeof ExecutionConfig>;

/** What an issue run keeps in its plan, so that it can be resumed as it began. */
export const IssueRun = z.object({
  config: ExecutionConfig.optional(),
  options: z
    .looseObject({})
    .nullable()
    .default(null)
    .describe('The merged options; null for callers that bring their own configuration'),
  log: z.string().nullable().default(null).describe('File of the JSON log'),
  detached: flag.describe('Left to a daemon'),
  batched: z.boolean().optional().describe('Its issues came in groups'),
  manifest: z
    .object({ stack: z.string().nullable().default(null), packageManager: z.string().nullable().optional() })
    .default({ stack: null, packageManager: null }),
  spentSeconds: z.number().default(0).describe('How long its earlier parts took'),
  mode: z.enum(['parallel', 'sequential', 'chain']).optional(),
  missing: z
    .array(z.object({ key: z.string(), on: z.string() }))
    .optional()
    .describe('Dependencies on issues that the run does not have'),
});
export type IssueRun = z.infer<typeof IssueRun>;
