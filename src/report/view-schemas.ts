import { z } from 'zod';
import { PLAN_STATUSES } from '../model/plan-schema.ts';
import { Hold, TICKET_STATUSES, Usage } from '../model/ticket-schema.ts';
import { BOARD_SECTIONS } from './plan-and-ticket-status.ts';

// What the live views and the report are made of. `top --json`, `report --json` and the page of `web` have it as it is.

/** An object that has this name in the OpenAPI file. */
export const named = <const S extends z.ZodRawShape>(id: string, shape: S) => z.object(shape).meta({ id });

export const Time = z.string().describe('ISO 8601');

export const Problem = z.object({
  planId: z.string(),
  ticketId: z.string().nullable(),
  path: z.string(),
  message: z.string(),
});

export const COMMAND_NAMES = ['respond', 'retry', 'skip', 'pause', 'resume', 'stop', 'cancel'] as const;

export const BoardRow = named('BoardRow', {
  planId: z.string(),
  ticketId: z.string(),
  section: z.enum(BOARD_SECTIONS),
  status: z.enum(TICKET_STATUSES),
  title: z.string(),
  planName: z.string(),
  why: z.string().describe('Why it is where it is'),
  next: z.string().describe('What happens next: a sentence or a command'),
  hold: Hold.nullable(),
  phase: z.string().nullable().describe('Where it is in its workflow'),
  visit: z.number(),
  attempt: z.number(),
  since: Time.nullable().describe('When it entered the phase, or came to rest'),
  agent: z.string().nullable(),
  action: z.string().nullable().describe('The last thing its agent said or did; null unless it runs'),
  printedAt: Time.nullable().describe('When its running attempt last printed something'),
  idleSeconds: z.number().nullable().describe('It is stopped when it prints nothing for this long'),
  usage: Usage.nullable().describe('Of all attempts'),
  unpriced: z.number().describe('Number of attempts whose cost is unknown'),
  machine: z.string().nullable().describe('The machine that it is on, if that is not this one'),
  pullRequest: z.string().nullable(),
  decisions: z.array(z.string()).describe('What a person may answer; empty unless it asks'),
  legal: z.array(z.enum(COMMAND_NAMES)).describe('What a person may do to it now'),
});

export const PlanRow = named('PlanRow', {
  id: z.string(),
  name: z.string(),
  status: z.enum(PLAN_STATUSES),
  kind: z.string().nullable(),
  repo: z.string().nullable(),
  workflow: z.string().nullable(),
  createdAt: Time.nullable(),
  tickets: z.number(),
  complete: z.number(),
});

export const BoardHead = named('BoardHead', {
  engines: z
    .array(z.object({ by: z.string(), pid: z.number(), host: z.string(), isElsewhere: z.boolean() }))
    .describe('Processes that drive tickets'),
  running: z.number(),
  maximum: z
    .number()
    .describe('Maximum number of tickets that run at once: on this machine, or on all workers of a fleet'),
  today: z.object({ usd: z.number().nullable(), unpriced: z.number(), budgetUsd: z.number().nullable() }),
  limits: z
    .array(z.object({ account: z.string(), until: Time, reason: z.string(), by: z.string() }))
    .describe('Accounts that have met a usage limit which is not over'),
  counts: z.object({
    'need you': z.number(),
    running: z.number(),
    waiting: z.number(),
    done: z.number(),
  }),
  problems: z.array(Problem).describe('Plans and tickets that cannot be read'),
});

/** `event: snapshot` of the stream: what `signalbox top --json` prints. */
export const Board = BoardHead.extend({
  at: Time,
  plans: z.array(PlanRow).describe('The newest first'),
  rows: z.array(BoardRow).describe('Ordered by section, in each by plan, the newest first'),
}).meta({ id: 'Board' });

export const Report = named('Report', {
  since: Time,
  until: Time,
  period: z.string(),
  sentence: z.string(),
  sections: z.array(
    z.object({
      name: z.string(),
      heading: z.string(),
      items: z.array(
        z.object({
          text: z.string(),
          details: z.array(z.string()),
          commands: z.array(z.string()),
          tickets: z.array(z.string()),
        }),
      ),
    }),
  ),
});

export type BoardRow = z.infer<typeof BoardRow>;
export type PlanRow = z.infer<typeof PlanRow>;
export type BoardHead = z.infer<typeof BoardHead>;
export type Board = z.infer<typeof Board>;
export type Report = z.infer<typeof Report>;
