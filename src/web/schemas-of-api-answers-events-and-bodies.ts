import { z } from 'zod';
import { PLAN_STATUSES, PlanBase } from '../model/plan-schema.ts';
import { Attempt, TICKET_STATUSES, TicketBase, Usage } from '../model/ticket-schema.ts';
import { BoardHead, BoardRow, COMMAND_NAMES, named, PlanRow, Problem, Time } from '../report/view-schemas.ts';

export * from '../report/view-schemas.ts';

// What the server of `signalbox web` answers and takes. The OpenAPI file and the page's types are made from these schemas.

export const StoredEvent = z
  .looseObject({
    v: z.literal(1),
    at: Time,
    type: z.string(),
    planId: z.string(),
    ticketId: z.string().nullable().optional(),
  })
  .meta({ id: 'StoredEvent' });

/** `event: change` of the stream: rows that are new or have changed, and the keys of those that are gone. */
export const Change = named('Change', {
  at: Time,
  head: BoardHead.optional(),
  plans: z.array(PlanRow),
  rows: z.array(BoardRow),
  gone: z.array(z.string()).describe('`plan` or `plan/ticket`'),
  events: z.array(StoredEvent).describe('What happened, in the order in which it was stored'),
});

/** `event: reset` of the stream; a snapshot follows. */
export const Reset = named('Reset', { reason: z.enum(['restarted', 'too old']) });

export const TicketStatus = TicketBase.loose()
  .extend({ why: z.string(), next: z.string() })
  .meta({ id: 'TicketStatus' });

export const PlanStatus = named('PlanStatus', {
  plan: PlanBase.loose().nullable(),
  tickets: z.array(TicketStatus),
  problems: z.array(Problem),
});

const Copied = z.object({
  about: z.string(),
  command: z.string(),
});

/** Everything that the page of a ticket shows but its logs. */
export const TicketPage = named('TicketPage', {
  plan: z.object({ id: z.string(), name: z.string(), status: z.enum(PLAN_STATUSES) }),
  ticket: TicketStatus,
  row: BoardRow,
  phases: z
    .array(z.object({ id: z.string(), type: z.string(), attempts: z.array(z.string()) }))
    .describe('Phases of its workflow in their order, with the keys of their attempts'),
  attempts: z.array(
    z.object({
      key: z.string().describe('`phase#visit#attempt`'),
      attempt: Attempt,
      stdoutBytes: z.number(),
      stderrBytes: z.number(),
      hasPrompt: z.boolean(),
    }),
  ),
  legal: z.array(z.enum(COMMAND_NAMES)).describe('What can be done with it now'),
  gate: z
    .object({
      key: z.string().describe('The attempt to name in the answer'),
      asks: z.string(),
      decisions: z.array(z.string()),
    })
    .nullable(),
  commands: z.array(Copied).describe('What is done on the command line only'),
});

export const PlanPage = named('PlanPage', {
  status: PlanStatus,
  rows: z.array(BoardRow),
  legal: z.array(z.enum(['approve', 'pause', 'resume', 'cancel'])),
  commands: z.array(Copied),
});

export const PlanList = z
  .array(
    z.object({
      id: z.string(),
      name: z.string(),
      status: z.enum(PLAN_STATUSES),
      complete: z.number(),
      tickets: z.number(),
      createdAt: Time.nullable(),
      repo: z.string().nullable(),
    }),
  )
  .meta({ id: 'PlanList' });

/** A piece of a file, by byte offsets. */
export const TextWindow = named('TextWindow', {
  from: z.number().describe('Offset of the first byte'),
  to: z.number().describe('Offset behind the last byte'),
  size: z.number().describe('Of the whole file now'),
  text: z.string().describe('Whole lines, except where one is longer than the window'),
});

const Entry = named('TranscriptEntry', {
  at: z.number().describe('Offset of its first byte; with `part`, its name for ever'),
  part: z.number().describe('Its number among the entries of one line'),
  kind: z.enum(['text', 'tool', 'session', 'limit', 'refused', 'warning', 'raw']),
  text: z.string().describe('May have ANSI colours; everything else is plain text'),
  tool: z
    .object({
      name: z.string(),
      done: z.boolean(),
      failed: z.boolean(),
      output: z.string().nullable(),
    })
    .nullable(),
  cut: z.number().describe('Number of characters that were left out in the middle, where the text says so'),
});

export const Transcript = named('Transcript', {
  from: z.number().describe('Ask with `before` of this offset for the page above; 0: this is the beginning'),
  to: z.number().describe('Ask with `after` of this offset for what comes next'),
  size: z.number(),
  ended: z.boolean().describe('Whether the attempt has ended'),
  entries: z.array(Entry),
});

export const Diff = named('Diff', {
  base: z.string(),
  branch: z.string(),
  text: z.string(),
  cut: z.number().describe('Number of characters that were left out at the end'),
});

export const Costs = named('Costs', {
  since: Time.nullable(),
  rows: z.array(
    z.object({
      day: z.string().describe('YYYY-MM-DD, in the time zone of the server'),
      planId: z.string(),
      phase: z.string(),
      agent: z.string(),
      attempts: z.number(),
      unpriced: z.number().describe('Number of attempts whose cost is unknown'),
      seconds: z.number(),
      usage: Usage,
    }),
  ),
});

export const Session = named('Session', {
  version: z.string(),
  host: z.string().describe('Name of the machine'),
  user: z.string().nullable().describe('The account that decisions are recorded with'),
  readOnly: z.boolean(),
  stateDir: z.string(),
  publicUrl: z.string().nullable(),
  pid: z.number(),
});

export const ErrorBody = named('Error', {
  error: z.object({ code: z.string(), message: z.string(), hint: z.string().nullable() }),
});

const By = z
  .string()
  .max(80)
  .optional()
  .describe('Name of the person, as they gave it; recorded with the decision');
const message = z.string().max(20_000);

export const BODIES = {
  session: z.strictObject({ token: z.string().max(200) }),
  respond: z.strictObject({
    decision: z.string().min(1).max(200),
    message: message.default(''),
    attempt: z
      .string()
      .max(400)
      .describe('`gate.key` of the ticket page: another gate is not answered by mistake'),
    by: By,
  }),
  retry: z.strictObject({
    phase: z.string().max(200).optional().describe('Continue at this phase, as `skip` does'),
    latest: z.boolean().optional().describe('With the workflow as it is now'),
    by: By,
  }),
  skip: z.strictObject({ phase: z.string().min(1).max(200), by: By }),
  plain: z.strictObject({ by: By }),
} as const;

/** What became of a ticket, and the sentence that the command line prints. */
export const TicketDone = z
  .object({ ticket: z.looseObject({ status: z.enum(TICKET_STATUSES) }), text: z.string() })
  .meta({ id: 'TicketDone' });
export const PlanDone = z
  .object({ plan: z.looseObject({ status: z.enum(PLAN_STATUSES) }), text: z.string() })
  .meta({ id: 'PlanDone' });

export type Change = z.infer<typeof Change>;
export type TicketPage = z.infer<typeof TicketPage>;
export type PlanPage = z.infer<typeof PlanPage>;
export type TextWindow = z.infer<typeof TextWindow>;
export type Transcript = z.infer<typeof Transcript>;
export type TranscriptEntry = z.infer<typeof Entry>;
export type Costs = z.infer<typeof Costs>;
export type Diff = z.infer<typeof Diff>;
export type Session = z.infer<typeof Session>;
