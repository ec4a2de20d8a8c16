import { z } from 'zod';
import { SCHEMA_VERSION } from './extra-fields.ts';
import { BRANCH_PATTERN, branchProblem, ID_PATTERN, idProblem } from './ids-and-branch-names.ts';
import { asRecord } from './text/values-of-unknown-type.ts';

/** Types of fields that many schemas have. */
export const OptionalText = z.string().optional();
export const TextOrNull = z.string().nullable().default(null);
export const OptionalTexts = z.array(z.string()).optional();
export const OptionalFlag = z.boolean().optional();
export const OptionalTextByText = z.record(z.string(), z.string()).optional();
export const OptionalCount = z.number().int().optional();
export const OptionalTextOrNull = z.string().nullable().optional();
export const Texts = z.array(z.string()).default([]);
const OptionalAmount = z.number().int().min(0).optional();
const Counts = z.record(z.string(), z.number().int());

export const Id = named('id', idProblem, ID_PATTERN);
export const Branch = named('branch', branchProblem, BRANCH_PATTERN);
export const BranchOrNull = Branch.nullable().default(null);

function named(what: string, problemOf: (text: string) => string | undefined, pattern: string) {
  const text = z.string().superRefine((text, ctx) => {
    const problem = problemOf(text);
    if (problem)
      ctx.addIssue({ code: 'custom', message: `${what} ${JSON.stringify(text.slice(0, 60))} ${problem}` });
  });
  return text.meta({ pattern });
}

/** The right of one engine process to drive a ticket or a plan, or to be the daemon. */
export const Claim = z.object({
  /** Unique for every engine process; fences writes of one that lost its claim. */
  token: z.string(),
  /** Name of the computer, for people. */
  host: z.string(),
  /** Identifies the computer, also after its name changed; records of version 0.1 have none. */
  machine: OptionalText,
  /** Changes at reboot, so that a reused pid of an earlier boot is never believed. */
  boot: z.string().default(''),
  /** The namespace in which the pid counts; records of version 0.1 have none. */
  pids: OptionalText,
  pid: z.number().int(),
  /** Process start time as the platform reports it; a reused pid has another one. */
  started: z.string(),
  /** What the holder is: `run`, `daemon`, `tick`, `session`. */
  by: z.string(),
  renewedAt: z.string(),
  /** A program of the holder that may outlive it: it keeps the claim alive. */
  agent: z.object({ pid: z.number().int(), started: z.string() }).optional(),
  /** Of a worker: its state directory, which has the jobs of the ticket. */
  state: OptionalText,
});
export type Claim = z.infer<typeof Claim>;
export const ClaimOrNull = Claim.nullable().default(null);

/** What may be spent on agents. What is left out is not limited. */
export const Budget = z.strictObject({
  usd: z.number().min(0).optional().describe('Dollars'),
  tokens: OptionalAmount.describe('Tokens in and out, without those read from a cache'),
  seconds: z.number().min(0).optional().describe('Time that agents are at work, in seconds'),
  launches: OptionalAmount.describe('How often an agent is started'),
});
export type Budget = z.infer<typeof Budget>;

export const TICKET_STATUSES = [
  'queued',
  'ready',
  'running',
  'paused',
  'complete',
  'failed',
  'needs_attention',
] as const;

export const HOLD_KINDS = [
  'blocked',
  'poll',
  'limit',
  'overload',
  'backoff',
  'gate',
  'delay',
  'starts',
  'budget',
  'memory',
  'shortage',
  'stopped',
  'broken',
] as const;

/** `limit` and `interrupted` attempts consumed nothing: the phase runs again as if they had not been. */
export const ATTEMPT_STATUSES = ['running', 'success', 'failure', 'skipped', 'interrupted', 'limit'] as const;

export const Hold = z.object({
  kind: z.enum(HOLD_KINDS),
  reason: z.string(),
  until: TextOrNull,
  lock: OptionalFlag.describe('Another run has the spec; `until` is the next check'),
  looks: OptionalFlag.describe('A gate: `until` is the next check of its script or action, not its deadline'),
  goesOnBy: OptionalText.describe('A pause that is only a step of another command, which is done by then'),
  since: OptionalText.describe('A shortage: when it began'),
  person: OptionalFlag.describe('What it waits for is for a person to do'),
  supersededBy: OptionalText.describe(
    'The newer run that has its issue, or the issue of a ticket that it waits for',
  ),
  unpriced: OptionalFlag.describe(
    'A budget: the cost of an attempt is unknown, and a person has to accept that',
  ),
});
export type Hold = z.infer<typeof Hold>;

export const Usage = z.object({
  inputTokens: z.number().nullable().default(null),
  outputTokens: z.number().nullable().default(null),
  cacheReadTokens: z.number().nullable().default(null),
  cacheWriteTokens: z.number().nullable().default(null),
  costUsd: z.number().nullable().default(null),
});
export type Usage = z.infer<typeof Usage>;

export const Attempt = z.object({
  phase: z.string(),
  visit: z.number().int().default(1),
  attempt: z.number().int().default(1),
  status: z.enum(ATTEMPT_STATUSES),
  startedAt: z.string(),
  completedAt: TextOrNull,
  /** The edge that was taken; null while running or when the phase is tried again. */
  outcome: TextOrNull,
  output: TextOrNull,
  agent: TextOrNull,
  /** On a fleet: the account of its agent, by the settings of the machine that ran it. */
  account: OptionalText,
  sessionId: TextOrNull,
  usage: Usage.nullable().default(null),
  error: z.object({ class: z.string(), message: z.string() }).nullable().default(null),
  /** How often its agent was started, where that is more than once. */
  launches: OptionalCount,
  /** How often a poll has checked. */
  checks: OptionalCount,
  /** What a gate has asked. */
  asks: OptionalText,
  /** What a person may answer to it. */
  decisions: OptionalTexts,
  /** Who answered it, and through which door. */
  answeredBy: z.object({ by: OptionalText, door: OptionalText }).optional(),
  /** How it judged the acceptance criteria. */
  criteria: z.array(z.object({ criterion: z.string(), met: z.boolean(), evidence: z.string() })).optional(),
  /** What became of it while it runs, such as a budget that is used up. */
  note: OptionalText,
  /** The last warning of its agent, such as a usage limit that is nearly reached. */
  warning: OptionalText,
  /** When the limit or overload that it met is over, or is expected to be. */
  resetAt: OptionalText,
});
export type Attempt = z.infer<typeof Attempt>;

export const Json = z.json();
export type Json = z.infer<typeof Json>;

/** How a ticket left a tree that people work in, too. */
export const CheckoutState = z.object({
  head: z.string(),
  files: z.record(z.string(), z.string()).describe('What was not committed, with a sum of its content each'),
  after: OptionalText.describe('The attempt that left it so; set where that was found out later'),
});
export type CheckoutState = z.infer<typeof CheckoutState>;

/** Where a ticket's worktree is. Two state directories on one computer count as two machines. */
export const WorkPlace = z.object({
  host: z.string().describe('Name of the computer'),
  state: z.string().describe('Its state directory'),
});
export type WorkPlace = z.infer<typeof WorkPlace>;

/** What other machines of a fleet can continue from. */
export const HandedOver = z.object({
  commits: z
    .string()
    .nullable()
    .describe('Last commit of the branch on origin, at refs/signalbox/<plan>/<ticket>'),
  wip: z.string().nullable().describe('The uncommitted work on origin, as a commit'),
  onlyHere: OptionalText.describe('Why no other machine can continue the ticket'),
});
export type HandedOver = z.infer<typeof HandedOver>;

/** On a fleet: the last time that a ticket was given to a worker. */
const Dispatch = z.object({
  number: z.number().int().describe('Counts drives; a job of the queue with another number is dropped'),
  at: z.string().nullable().describe('Since when it waits for the worker; null: the worker has taken it'),
  to: z.string().describe('The worker'),
  slot: z.boolean().describe('False for a poll that only checks again'),
});

/** What every ticket has. One that a person or a planner wrote has no more; other origins add fields. */
export const TicketBase = z.object({
  schema: z.number().int().default(SCHEMA_VERSION).describe('Schema version of this file'),
  rev: z.number().int().default(0).describe('Counts writes; owned by the runner'),
  planId: Id.describe('The plan this ticket belongs to'),
  ticketId: Id.describe('Same as the file name'),
  title: z.string().describe('One line'),
  description: z.string().default('').describe('What is to be done'),
  acceptanceCriteria: Texts.describe('How to see that it is done'),
  paths: OptionalTexts.describe(
    'Files, directories or patterns that the work will change; for the check of the plan',
  ),
  linearUrl: TextOrNull.describe('Link to the tracker, any tracker'),
  repo: TextOrNull.describe('Path of the git repository; default the plan’s'),
  workflow: TextOrNull.describe('Workflow name; default the plan’s'),
  branch: BranchOrNull.describe('Default ticket/<planId>/<ticketId>'),
  worktree: TextOrNull.describe('Path of the worktree; default <worktreeRoot>/<branch>'),
  agent: TextOrNull.describe('Agent of phases that name none; default the plan’s'),
  workerLabels: OptionalTexts.describe('On a fleet: labels that its worker must have'),
  status: z
    .enum(TICKET_STATUSES)
    .default('queued')
    .describe('Owned by the runner; a planner writes queued or nothing'),
  hold: Hold.nullable().default(null).describe('Why it is not moving'),
  since: TextOrNull.describe('When status or hold last changed'),
  currentPhase: TextOrNull.describe('Default the first phase of the workflow'),
  phaseHistory: z.array(Attempt).default([]).describe('Every attempt, the open one last'),
  context: z.record(z.string(), Json).default({}).describe('What phases captured, for templates'),
  retries: Counts.default({}).describe('Failed attempts of the present visit, by phase'),
  visits: Counts.default({}).describe('How often each phase was entered'),
  tries: Counts.optional().describe('Attempts in all visits together, of phases that have a maxAttempts'),
  skipPhases: Texts.describe('Phases that are recorded as skipped and follow their success edge'),
  budget: Budget.optional().describe('What its agents may use in all; overrides the setting budgets.ticket'),
  goAhead: OptionalText.describe(
    'Limits met before this time do not keep it waiting: a person said to try. Owned by the runner',
  ),
  lookedAt: OptionalText.describe(
    'Unknown costs from before this time do not hold work back: a person accepted them. Owned by the runner',
  ),
  error: TextOrNull.describe('The last error, in one sentence'),
  base: z
    .object({ ref: z.string(), commit: z.string() })
    .nullable()
    .default(null)
    .describe('What the branch started from'),
  workflowHash: TextOrNull.describe('Content hash of the workflow it started with'),
  claim: ClaimOrNull.describe('The engine that drives it'),
  left: CheckoutState.optional().describe('How it left a checkout that people work in, too'),
  rewound: z
    .object({
      at: z.string(),
      ref: OptionalTextOrNull,
      moved: OptionalFlag.describe(
        'It is with another machine since then, where earlier sessions are only if they were carried there',
      ),
      sessions: OptionalTexts.describe('Sessions that were carried to that machine'),
    })
    .nullable()
    .optional()
    .describe('When its work was taken out of the worktree, and the ref that keeps it'),
  unseen: OptionalText.describe(
    'Why a person has to say, by `retry`, that an earlier process of it has ended. Owned by the runner',
  ),
  machine: WorkPlace.optional().describe('On a fleet: where its worktree is. Owned by the runner'),
  handOver: HandedOver.optional().describe(
    'On a fleet: what other machines can continue from. Owned by the runner',
  ),
  dispatch: Dispatch.optional().describe('On a fleet: which worker it was given to. Owned by the runner'),
  tip: OptionalTextOrNull.describe('The last commit of its work, once it is complete'),
  landed: z
    .object({ into: z.string(), tip: z.string().nullable() })
    .optional()
    .describe(
      'The branch that Signalbox merged its work into, and the `tip` at that time. Owned by the runner',
    ),
  cancelledAt: OptionalText.describe(
    'When a person gave it up; `retry` with its name brings it back. Owned by the runner',
  ),
});

/** The issue that a ticket was made from. */
const IssueSource = z.object({
  key: OptionalText.describe('Names the issue among all sources'),
  number: z.number().int().positive().nullable().optional().describe('Null for an issue without a number'),
  labels: OptionalTexts,
  url: OptionalTextOrNull,
  repository: OptionalTextOrNull.describe('`owner/name`'),
  already: OptionalFlag.describe('It was complete before the run'),
});

/** A ticket made from an issue. */
export const IssueTicket = TicketBase.extend({
  source: IssueSource,
  supersedes: OptionalTexts.describe('Tickets of earlier runs that this one replaces'),
  supersededBy: OptionalText.describe('The newer run that has its issue'),
});

const TaskIdentity = z.object({
  id: z.string(),
  title: z.string(),
  numbered: z.boolean(),
  hash: OptionalText.describe('Of its own text; where it is known, another text is another task'),
});

/** What a ticket keeps of its unit. */
export const TicketUnit = z.object({
  id: z.string(),
  tasks: z.array(TaskIdentity).describe('The tasks that are to be ticked'),
  done: z
    .array(TaskIdentity)
    .optional()
    .describe('Its tasks that the engine ticked before, when the unit was cut otherwise'),
  ids: z
    .array(z.string())
    .describe('All ids that are done with the unit, its own first unless a part of it was left out'),
  leftOut: OptionalTexts.describe('Its open tasks that were not selected'),
  unticked: OptionalTexts.describe(
    'Its tasks that are not ticked and count as done, since a parent is ticked',
  ),
  work: z.string(),
  context: z.string(),
  requirements: z.string(),
  design: z.string(),
  verify: z.array(z.string()),
  checkpoint: z.boolean(),
  together: OptionalTexts.describe('Units that are to be assigned with it'),
  asked: OptionalTextByText.describe('The hash that each of those had when it was asked for'),
  hash: z.string().describe('Changes when the wanted work changes'),
});
export type TicketUnit = z.infer<typeof TicketUnit>;

/** A unit of a spec. */
export const UnitTicket = TicketBase.extend({
  unit: TicketUnit,
  retold: OptionalText.describe('When its text changed while it was under way'),
});

export const Ticket = z.union([UnitTicket, IssueTicket, TicketBase]);
export type Ticket = Every<z.infer<typeof Ticket>>;
export type UnitTicket = Extract<Ticket, { unit: TicketUnit }>;

/** The schema of a ticket as it was read from a file. Fields of people that only look like an origin are extra fields. */
export function ticketSchemaFor(data: unknown): z.ZodType<Ticket> {
  const { unit, source } = asRecord(data);
  if (Array.isArray(asRecord(unit).tasks)) return UnitTicket;
  return IssueSource.safeParse(source).success ? IssueTicket : TicketBase;
}

/** A union whose members can all be asked for the fields of the others: those are undefined. */
export type Every<U, K extends PropertyKey = KeyOf<U>> = U extends unknown
  ? U & { [P in Exclude<K, keyof U>]?: undefined }
  : never;
type KeyOf<U> = U extends unknown ? keyof U : never;

/**
 * Refuses fields that `T` does not have, also inside it. The compiler itself does that only where an object is not returned from a
 * function.
 */
export type Exact<R, T> = R & (Exclude<R, object> | Known<Extract<R, object>, Extract<T, object>>);
type Known<R, T> = [R] extends [readonly unknown[]]
  ? readonly Exact<ItemOf<R>, ItemOf<T>>[]
  : string extends KeyOf<T>
    ? R
    : { [K in KeyOf<R>]?: K extends KeyOf<T> ? Exact<FieldOf<R, K>, FieldOf<T, K>> : never };
type ItemOf<L> = L extends readonly (infer E)[] ? E : never;
type FieldOf<U, K extends PropertyKey> = U extends unknown ? (K extends keyof U ? U[K] : never) : never;
