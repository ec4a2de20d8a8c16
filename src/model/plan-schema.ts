import { z } from 'zod';
import { EFFORTS } from './agent-and-adapter-types.ts';
import { SCHEMA_VERSION } from './extra-fields.ts';
import { ISSUE_PHASES, OPTIONAL_PHASES } from './issue-phases.ts';
import { asRecord } from './text/values-of-unknown-type.ts';
import {
  BranchOrNull,
  Budget,
  ClaimOrNull,
  type Every,
  Id,
  OptionalCount,
  OptionalFlag,
  OptionalText,
  OptionalTextByText,
  OptionalTextOrNull,
  OptionalTexts,
  TextOrNull,
  Texts,
  UnitTicket,
} from './ticket-schema.ts';

export const PLAN_STATUSES = ['draft', 'active', 'paused', 'complete', 'archived'] as const;

/** Where tickets of a plan work. */
const WORKSPACES = ['own', 'shared', 'checkout'] as const;

export const PlanEntry = z.object({
  ticketId: Id.describe('The ticket file tickets/<ticketId>.json'),
  order: z.number().default(0).describe('Lower starts first among tickets that are ready at the same time'),
  blockedBy: Texts.describe('Tickets that must be complete first: `ticket` or `plan/ticket`'),
  group: z
    .number()
    .int()
    .default(0)
    .describe('Starts only when nothing of a lower group will move any more, complete or not'),
  paths: OptionalTexts.describe(
    'Files, directories or patterns that the work will change, in addition to the ticket’s own',
  ),
});
export type PlanEntry = z.infer<typeof PlanEntry>;

/** What every plan has; a kind of plan adds its own fields. */
export const PlanBase = z.object({
  schema: z.number().int().default(SCHEMA_VERSION).describe('Schema version of this file'),
  rev: z.number().int().default(0).describe('Counts writes; owned by the runner'),
  id: Id.describe('Same as the directory name'),
  name: z.string().default('').describe('For people'),
  createdAt: TextOrNull.describe('ISO time'),
  createdBy: z.string().default('unknown').describe('Who or what wrote the plan'),
  repo: TextOrNull.describe('Path of the git repository; tickets may name their own'),
  repositories: OptionalTextByText.describe(
    'On a fleet: names or addresses of repositories, by their path on the machine that made the plan. Owned by the runner',
  ),
  workflow: TextOrNull.describe('Workflow of tickets that name none'),
  agent: TextOrNull.describe('Agent of tickets and phases that name none'),
  workerLabels: OptionalTexts.describe('On a fleet: labels that the workers of its tickets must have'),
  worktreeRoot: TextOrNull.describe('Where worktrees go; default ../worktrees beside the repository'),
  base: BranchOrNull.describe(
    'Branch that work starts from; default the remote default branch, else the current one',
  ),
  concurrency: z
    .number()
    .int()
    .positive()
    .nullable()
    .default(null)
    .describe('At most this many tickets of the plan at once'),
  stopOnFailure: z.boolean().default(false).describe('Start nothing more after the first failed ticket'),
  workspace: z
    .enum(WORKSPACES)
    .optional()
    .describe(
      '`own`: a worktree for each ticket, the default; `shared`: one for all of them; `checkout`: the repository’s own checkout',
    ),
  delaySeconds: z.number().min(0).optional().describe('Approximate wait between two tickets; default 0'),
  starts: z
    .object({ max: z.number().int().positive(), since: z.string() })
    .optional()
    .describe('At most `max` tickets begin after `since`. Owned by the runner'),
  budget: Budget.optional().describe(
    'What the agents of all its tickets may use together; overrides the setting budgets.plan',
  ),
  install: OptionalFlag.describe(
    'False: new worktrees do not get the packages that the project’s lock file lists',
  ),
  packageManager: OptionalTextOrNull.describe(
    'What installs them where there are several lock files; null: the project’s files decide',
  ),
  baseCheck: OptionalFlag.describe(
    'False: the checks do not run on the base before work starts, whatever the setting says',
  ),
  status: z.enum(PLAN_STATUSES).default('draft').describe('Only active plans are dispatched'),
  tickets: z.array(PlanEntry).default([]).describe('The tickets and their order'),
  claim: ClaimOrNull.describe('The foreground run that holds this plan; owned by the runner'),
  pausedBy: OptionalTextOrNull.describe('Who or what paused it; owned by the runner'),
  pausedAt: OptionalText.describe('When it was last paused; owned by the runner'),
  completedAt: OptionalTextOrNull.describe('When it was complete; owned by the runner'),
  movedTo: OptionalText.describe(
    'Where an archived plan was moved to, by `fleet import` or `fleet export`; owned by the runner',
  ),
});

/** A plan of tickets that a person or a planner wrote. */
export const TicketPlan = PlanBase.extend({ kind: z.never().optional() });

const PhasePolicy = z.object({ model: OptionalText, effort: z.enum(EFFORTS).optional() });
export type PhasePolicy = z.infer<typeof PhasePolicy>;

const LabelRule = z.object({
  labels: z.array(z.string()),
  phases: z.array(z.enum([...OPTIONAL_PHASES, 'security-review'])).optional(),
  qualityLoop: OptionalFlag,
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
  agent: OptionalText,
  /** Missing: the default branch. */
  base: OptionalText,
  pr: flag,
  integrate: flag,
  phasePolicies: z.partialRecord(z.enum(ISSUE_PHASES), PhasePolicy).default({}),
  autoDetectPhases: flag,
  rules: z.array(LabelRule).default([]),
});
export type ExecutionConfig = z.infer<typeof ExecutionConfig>;

/** The merged options of an issue run, by their names in the table of settings. */
const RunOptions = z
  .object({
    concurrency: z.number(),
    sequential: z.boolean(),
    timeout: z.number(),
    qualityLoop: z.boolean(),
    maxIterations: z.number(),
    retry: z.boolean(),
    smartTests: z.boolean(),
    testgen: z.boolean(),
    securityReview: z.boolean(),
    autoDetectPhases: z.boolean(),
    rules: z.array(LabelRule),
    phasePolicies: z.record(z.string(), PhasePolicy),
    agent: z.string().nullable(),
    base: z.string().nullable(),
    pr: z.boolean(),
    integrate: z.boolean(),
    logJson: z.boolean(),
    logPath: z.string(),
    rotation: z.object({ maxSizeMB: z.number(), maxFiles: z.number() }),
    task: z.array(z.string()),
    phases: z.string(),
    chain: z.boolean(),
    qaGate: z.boolean(),
    batch: z.array(z.string()),
    models: z.string(),
    efforts: z.string(),
    detach: z.boolean(),
    dryRun: z.boolean(),
    force: z.boolean(),
    verbose: z.boolean(),
    quiet: z.boolean(),
  })
  .partial();

/** What an issue run keeps in its plan, so that it can be resumed as it began. */
export const IssueRun = z.object({
  config: ExecutionConfig.optional(),
  options: RunOptions.nullable()
    .default(null)
    .describe('The merged options; null for callers that bring their own configuration'),
  log: TextOrNull.describe('File of the JSON log'),
  detached: flag.describe('Left to a daemon'),
  batched: OptionalFlag.describe('Its issues came in groups'),
  manifest: z
    .object({ stack: TextOrNull, packageManager: OptionalTextOrNull })
    .default({ stack: null, packageManager: null }),
  spentSeconds: z.number().default(0).describe('How long its earlier parts took'),
  mode: z.enum(['parallel', 'sequential', 'chain']).optional(),
  missing: z
    .array(z.object({ key: z.string(), on: z.string() }))
    .optional()
    .describe('Dependencies on issues that the run does not have'),
});
export type IssueRun = z.infer<typeof IssueRun>;

export const IssueRunPlan = PlanBase.extend({
  kind: z.literal('run').describe('A run of issues'),
  run: IssueRun.prefault({}),
});

/** What a plan keeps of its spec. Paths are those of the user's own files. */
export const PlanSpec = z.object({
  name: z.string(),
  dir: z.string().describe('Real path of the directory'),
  beside: OptionalText.describe('Where the two files are that show its runs, if not beside the directory'),
  inTree: z.string().describe('Where its files are in the worktree, from the top'),
  tracked: z
    .boolean()
    .describe(
      'False: git does not have it, so it is copied into the worktree and ticked at its own place too',
    ),
  files: z
    .object({ tasks: z.string(), others: z.array(z.string()) })
    .describe('Names of tasks.md and of the other files that exist'),
  list: OptionalText.describe('Where tasks.md is in the worktree, if it is a link'),
  brought: OptionalTextByText.describe('Sums of the other files as they were last copied into the worktree'),
  text: z.string().describe('tasks.md as it was when the plan was last brought up to date'),
  pending: OptionalText.describe(
    'An edited tasks.md that is committed when the unit in the worktree is done',
  ),
  carried: OptionalTextByText.describe(
    'On a fleet: the other files, until a worker has brought them into its worktree',
  ),
  base: z.string().nullable().describe('Where the spec’s branch began'),
  startedAt: z.string(),
  aside: z
    .array(UnitTicket)
    .optional()
    .describe('Begun in earlier runs and not selected in this one; their work is on refs'),
  gone: OptionalTexts.describe(
    'Ids of tickets that the plan once had; the worktree may still be noted as theirs',
  ),
  parents: z
    .record(z.string(), z.array(z.string()))
    .optional()
    .describe('Parents that are ticked with their children, by the ids of those that were open at the start'),
  unselected: OptionalCount.describe('Open units that this run was not asked for'),
});
export type PlanSpec = z.infer<typeof PlanSpec>;

export const SpecRunPlan = PlanBase.extend({
  kind: z.literal('spec').describe('A run of a spec'),
  spec: PlanSpec,
  run: z.object({ detached: z.boolean().default(false).describe('Left to a daemon') }).prefault({}),
  windows: z
    .object({
      session: z.string(),
      cwd: z.string(),
      env: z.object({ TMUX: OptionalText, TMUX_TMPDIR: OptionalText }),
    })
    .nullable()
    .optional()
    .describe('The tmux windows that an engine without a terminal opens for it'),
  shown: z
    .object({ tmux: z.boolean(), session: z.string().nullable() })
    .optional()
    .describe('How its run is shown, for resuming it'),
  ended: z
    .object({ at: z.string(), lines: z.array(z.string()) })
    .optional()
    .describe('What its last run came to'),
});

export const Plan = z.union([TicketPlan, IssueRunPlan, SpecRunPlan]);
export type Plan = Every<z.infer<typeof Plan>>;
/** What plans of every kind have, also of kinds that another program registers: those may add fields of their own. */
export type CommonPlan = z.infer<typeof PlanBase> & { kind?: string | undefined };
export type IssueRunPlan = Extract<Plan, { kind: 'run' }>;
export type SpecRunPlan = Extract<Plan, { kind: 'spec' }>;

export interface SchemaError {
  issues: readonly { path: readonly PropertyKey[]; message: string }[];
}
export type SafeParsed<T> = { success: true; data: T } | { success: false; error: SchemaError };

/**
 * Checks the fields that plans of one kind have in addition to those of every plan. A zod schema is one. Where it returns data,
 * other fields are extra ones.
 */
export interface PlanSchema {
  safeParse(data: unknown): { success: true; data?: unknown } | { success: false; error: SchemaError };
}

/**
 * The schema of a plan as it was read from a file; undefined for kinds that Signalbox does not have. A `kind` that names none, such as null,
 * is an extra field.
 */
export function planSchemaFor(data: unknown): z.ZodType<Plan> | undefined {
  const { kind } = asRecord(data);
  switch (kind) {
    case 'run':
      return IssueRunPlan;
    case 'spec':
      return SpecRunPlan;
    case undefined:
      return TicketPlan;
    default:
      return typeof kind === 'string' && kind !== '' ? undefined : PlanBase;
  }
}

/** Checks a plan of any kind; `added` is the schema for the fields of registered kinds. */
export function safeParsePlan(data: unknown, added: PlanSchema | null): SafeParsed<Plan> {
  const own = planSchemaFor(data);
  if (own) return own.safeParse(data);
  const common = PlanBase.extend({ kind: z.string() }).safeParse(data);
  if (!common.success) return common;
  const more = added?.safeParse(data) ?? { success: true, data: {} };
  if (!more.success) return more;
  // Only the program that registered the kind knows the type.
  return { success: true, data: { ...asRecord(more.data ?? data), ...common.data } as unknown as Plan };
}
