import { z } from 'zod';
import { Claim } from './claim-schema.ts';
import { Branch, Id } from './id-schemas.ts';
import { Budget } from './limits/budget-schema.ts';
import { PLAN_STATUSES, WORKSPACES } from './plan.ts';
import { SCHEMA_VERSION } from './version.ts';

export const PlanEntry = z.looseObject({
  ticketId: Id.describe('The ticket file tickets/<ticketId>.json'),
  order: z.number().default(0).describe('Lower starts first among tickets that are ready at the same time'),
  blockedBy: z
    .array(z.string())
    .default([])
    .describe('Tickets that must be complete first: `ticket` or `plan/ticket`'),
  group: z
    .number()
    .int()
    .default(0)
    .describe('Starts only when nothing of a lower group will move any more, complete or not'),
  paths: z
    .array(z.string())
    .optional()
    .describe('Files, directories or patterns that the work will change, in addition to the ticket’s own'),
});
export type PlanEntry = z.infer<typeof PlanEntry>;

export const Plan = z.looseObject({
  schema: z.number().int().default(SCHEMA_VERSION).describe('Schema version of this file'),
  rev: z.number().int().default(0).describe('Counts writes; owned by the runner'),
  id: Id.describe('Same as the directory name'),
  name: z.string().default('').describe('For people'),
  createdAt: z.string().nullable().default(null).describe('ISO time'),
  createdBy: z.string().default('unknown').describe('Who or what wrote the plan'),
  repo: z
    .string()
    .nullable()
    .default(null)
    .describe('Path of the git repository; tickets may name their own'),
  workflow: z.string().nullable().default(null).describe('Workflow of tickets that name none'),
  agent: z.string().nullable().default(null).describe('Agent of tickets and phases that name none'),
  worktreeRoot: z
    .string()
    .nullable()
    .default(null)
    .describe('Where worktrees go; default ../worktrees beside the repository'),
  base: Branch.nullable()
    .default(null)
    .describe('Branch that work starts from; default the remote default branch, else the current one'),
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
  delaySeconds: z.number().min(0).optional().describe('Wait between two tickets, more or less; default 0'),
  starts: z
    .looseObject({ max: z.number().int().positive(), since: z.string() })
    .optional()
    .describe('At most `max` tickets begin after `since`. Owned by the runner'),
  budget: Budget.optional().describe(
    'What the agents of all its tickets may use together; goes before the setting budgets.plan',
  ),
  status: z.enum(PLAN_STATUSES).default('draft').describe('Only active plans are dispatched'),
  tickets: z.array(PlanEntry).default([]).describe('The tickets and their order'),
  claim: Claim.nullable()
    .default(null)
    .describe('The foreground run that holds this plan; owned by the runner'),
});
export type Plan = z.infer<typeof Plan>;
