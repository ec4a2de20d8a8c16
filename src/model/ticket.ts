import { z } from 'zod';
import { Claim } from './claim.ts';
import { Branch, Id } from './ids.ts';
import { SCHEMA_VERSION } from './plan.ts';

export const TICKET_STATUSES = [
  'queued',
  'ready',
  'running',
  'paused',
  'complete',
  'failed',
  'needs_attention',
] as const;
export type TicketStatus = (typeof TICKET_STATUSES)[number];

export const HOLD_KINDS = [
  'blocked',
  'poll',
  'limit',
  'backoff',
  'gate',
  'budget',
  'memory',
  'stopped',
  'broken',
] as const;

export const Hold = z.looseObject({
  kind: z.enum(HOLD_KINDS),
  reason: z.string(),
  until: z.string().nullable().default(null),
});
export type Hold = z.infer<typeof Hold>;

/** Classes of what can go wrong in an attempt; they decide whether trying again makes sense. */
export const ERROR_CLASSES = [
  'auth',
  'billing',
  'limit',
  'overloaded',
  'context',
  'turns',
  'budget',
  'timeout',
  'idle',
  'interrupted',
  'stopped',
  'config',
  'protocol',
  'crash',
  'evidence',
  'exit',
  'workspace',
  'visits',
] as const;
export type ErrorClass = (typeof ERROR_CLASSES)[number];

export const Usage = z.looseObject({
  inputTokens: z.number().nullable().default(null),
  outputTokens: z.number().nullable().default(null),
  cacheReadTokens: z.number().nullable().default(null),
  cacheWriteTokens: z.number().nullable().default(null),
  costUsd: z.number().nullable().default(null),
});
export type Usage = z.infer<typeof Usage>;

/** `limit` and `interrupted` attempts consumed nothing: the phase runs again as if they had not been. */
export const ATTEMPT_STATUSES = ['running', 'success', 'failure', 'skipped', 'interrupted', 'limit'] as const;

export const Attempt = z.looseObject({
  phase: z.string(),
  visit: z.number().int().default(1),
  attempt: z.number().int().default(1),
  status: z.enum(ATTEMPT_STATUSES),
  startedAt: z.string(),
  completedAt: z.string().nullable().default(null),
  /** The edge that was taken; null while running or when the phase is tried again. */
  outcome: z.string().nullable().default(null),
  output: z.string().nullable().default(null),
  agent: z.string().nullable().default(null),
  sessionId: z.string().nullable().default(null),
  usage: Usage.nullable().default(null),
  error: z.looseObject({ class: z.string(), message: z.string() }).nullable().default(null),
  /** How often a poll has looked. */
  checks: z.number().int().optional(),
});
export type Attempt = z.infer<typeof Attempt>;

export const Json = z.json();
export type Json = z.infer<typeof Json>;

export const Ticket = z.looseObject({
  schema: z.number().int().default(SCHEMA_VERSION).describe('Schema version of this file'),
  rev: z.number().int().default(0).describe('Counts writes; owned by the runner'),
  planId: Id.describe('The plan this ticket belongs to'),
  ticketId: Id.describe('Same as the file name'),
  title: z.string().describe('One line'),
  description: z.string().default('').describe('What is to be done'),
  acceptanceCriteria: z.array(z.string()).default([]).describe('How one can tell that it is done'),
  linearUrl: z.string().nullable().default(null).describe('Link to the tracker, any tracker'),
  repo: z.string().nullable().default(null).describe('Path of the git repository; default the plan’s'),
  workflow: z.string().nullable().default(null).describe('Workflow name; default the plan’s'),
  branch: Branch.nullable().default(null).describe('Default ticket/<planId>/<ticketId>'),
  worktree: z
    .string()
    .nullable()
    .default(null)
    .describe('Path of the worktree; default <worktreeRoot>/<branch>'),
  agent: z.string().nullable().default(null).describe('Agent of phases that name none; default the plan’s'),
  status: z
    .enum(TICKET_STATUSES)
    .default('queued')
    .describe('Owned by the runner; a planner writes queued or nothing'),
  hold: Hold.nullable().default(null).describe('Why it is not moving'),
  since: z.string().nullable().default(null).describe('When status or hold last changed'),
  currentPhase: z.string().nullable().default(null).describe('Default the first phase of the workflow'),
  phaseHistory: z.array(Attempt).default([]).describe('Every attempt, the open one last'),
  context: z.record(z.string(), Json).default({}).describe('What phases captured, for templates'),
  retries: z
    .record(z.string(), z.number().int())
    .default({})
    .describe('Failed attempts of the present visit, by phase'),
  visits: z.record(z.string(), z.number().int()).default({}).describe('How often each phase was entered'),
  skipPhases: z
    .array(z.string())
    .default([])
    .describe('Phases that are recorded as skipped and follow their success edge'),
  error: z.string().nullable().default(null).describe('The last error, in one sentence'),
  base: z
    .looseObject({ ref: z.string(), commit: z.string() })
    .nullable()
    .default(null)
    .describe('What the branch started from'),
  workflowHash: z.string().nullable().default(null).describe('Content hash of the workflow it started with'),
  claim: Claim.nullable().default(null).describe('The engine that drives it'),
});
export type Ticket = z.infer<typeof Ticket>;

export function openAttempt(ticket: Ticket): Attempt | undefined {
  const last = ticket.phaseHistory.at(-1);
  return last?.status === 'running' ? last : undefined;
}

/** Names one attempt for ever: its job directory, its journal entry, its log. */
export function attemptKey(attempt: Pick<Attempt, 'phase' | 'visit' | 'attempt'>): string {
  return `${attempt.phase}#${attempt.visit}#${attempt.attempt}`;
}

/** Number of the last attempt at one visit of a phase; the next one is one more, so that keys never repeat. */
export function lastAttemptOf(ticket: Ticket, phase: string, visit: number): number {
  let last = 0;
  for (const entry of ticket.phaseHistory) {
    if (entry.phase === phase && entry.visit === visit) last = Math.max(last, entry.attempt);
  }
  return last;
}

export function isOver(ticket: Ticket): boolean {
  return ticket.status === 'complete' || ticket.status === 'failed';
}
