import { z } from 'zod';
import { PLAN_STATUSES, PlanBase } from '../model/plan-schema.ts';
import { Attempt, Hold, TICKET_STATUSES, TicketBase, Usage } from '../model/ticket-schema.ts';
import { BOARD_SECTIONS } from '../report/board/board.ts';

// What the server of `signalbox web` answers and takes. The OpenAPI file and the page's types are made from these schemas.

const Time = z.string().describe('ISO 8601');

export const Problem = z.object({
  planId: z.string(),
  ticketId: z.string().nullable(),
  path: z.string(),
  message: z.string(),
});

const COMMAND_NAMES = ['respond', 'retry', 'skip', 'pause', 'resume', 'stop', 'cancel'] as const;

export const BoardRow = z
  .object({
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
  })
  .meta({ id: 'BoardRow' });

export const PlanRow = z
  .object({
    id: z.string(),
    name: z.string(),
    status: z.enum(PLAN_STATUSES),
    kind: z.string().nullable(),
    repo: z.string().nullable(),
    workflow: z.string().nullable(),
    createdAt: Time.nullable(),
    tickets: z.number(),
    complete: z.number(),
  })
  .meta({ id: 'PlanRow' });

export const BoardHead = z
  .object({
    engines: z
      .array(z.object({ by: z.string(), pid: z.number(), host: z.string(), isElsewhere: z.boolean() }))
      .describe('Processes that drive tickets'),
    running: z.number(),
    maximum: z
      .number()
      .describe('Maximum number of tickets that run at once: on this machine, or on all workers of a fleet'),
    today: z.object({
      usd: z.number().nullable(),
      unpriced: z.number(),
      budgetUsd: z.number().nullable(),
    }),
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
  })
  .meta({ id: 'BoardHead' });

/** `event: snapshot` of the stream: what `signalbox top --json` prints. */
export const Board = BoardHead.extend({
  at: Time,
  plans: z.array(PlanRow).describe('The newest first'),
  rows: z.array(BoardRow).describe('Ordered by section, in each by plan, the newest first'),
}).meta({ id: 'Board' });

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
export const Change = z
  .object({
    at: Time,
    head: BoardHead.optional(),
    plans: z.array(PlanRow),
    rows: z.array(BoardRow),
    gone: z.array(z.string()).describe('`plan` or `plan/ticket`'),
    events: z.array(StoredEvent).describe('What happened, in the order in which it was stored'),
  })
  .meta({ id: 'Change' });

/** `event: reset` of the stream; a snapshot follows. */
export const Reset = z.object({ reason: z.enum(['restarted', 'too old']) }).meta({ id: 'Reset' });

export const TicketStatus = TicketBase.loose()
  .extend({ why: z.string(), next: z.string() })
  .meta({ id: 'TicketStatus' });

export const PlanStatus = z
  .object({
    plan: PlanBase.loose().nullable(),
    tickets: z.array(TicketStatus),
    problems: z.array(Problem),
  })
  .meta({ id: 'PlanStatus' });

const Copied = z.object({
  about: z.string(),
  command: z.string(),
});

/** Everything that the page of a ticket shows but its logs. */
export const TicketPage = z
  .object({
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
  })
  .meta({ id: 'TicketPage' });

export const PlanPage = z
  .object({
    status: PlanStatus,
    rows: z.array(BoardRow),
    legal: z.array(z.enum(['approve', 'pause', 'resume', 'cancel'])),
    commands: z.array(Copied),
  })
  .meta({ id: 'PlanPage' });

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
export const TextWindow = z
  .object({
    from: z.number().describe('Offset of the first byte'),
    to: z.number().describe('Offset behind the last byte'),
    size: z.number().describe('Of the whole file now'),
    text: z.string().describe('Whole lines, except where one is longer than the window'),
  })
  .meta({ id: 'TextWindow' });

const Entry = z
  .object({
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
    cut: z.number().describe('Number of characters that were left out at the end'),
  })
  .meta({ id: 'TranscriptEntry' });

export const Transcript = z
  .object({
    from: z
      .number()
      .describe('Ask with `before` of this offset for the page above; 0: this is the beginning'),
    to: z.number().describe('Ask with `after` of this offset for what comes next'),
    size: z.number(),
    ended: z.boolean().describe('Whether the attempt has ended'),
    entries: z.array(Entry),
  })
  .meta({ id: 'Transcript' });

export const Diff = z
  .object({
    base: z.string(),
    branch: z.string(),
    text: z.string(),
    cut: z.number().describe('Number of characters that were left out at the end'),
  })
  .meta({ id: 'Diff' });

export const Costs = z
  .object({
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
  })
  .meta({ id: 'Costs' });

export const Report = z
  .object({
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
  })
  .meta({ id: 'Report' });

export const Session = z
  .object({
    version: z.string(),
    host: z.string().describe('Name of the machine'),
    user: z.string().nullable().describe('The account that decisions are recorded with'),
    readOnly: z.boolean(),
    stateDir: z.string(),
    publicUrl: z.string().nullable(),
    pid: z.number(),
  })
  .meta({ id: 'Session' });

export const ErrorBody = z
  .object({
    error: z.object({ code: z.string(), message: z.string(), hint: z.string().nullable() }),
  })
  .meta({ id: 'Error' });

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

export type BoardRow = z.infer<typeof BoardRow>;
export type PlanRow = z.infer<typeof PlanRow>;
export type BoardHead = z.infer<typeof BoardHead>;
export type Board = z.infer<typeof Board>;
export type Change = z.infer<typeof Change>;
export type TicketPage = z.infer<typeof TicketPage>;
export type PlanPage = z.infer<typeof PlanPage>;
export type TextWindow = z.infer<typeof TextWindow>;
export type Transcript = z.infer<typeof Transcript>;
export type TranscriptEntry = z.infer<typeof Entry>;
export type Costs = z.infer<typeof Costs>;
export type Diff = z.infer<typeof Diff>;
export type Report = z.infer<typeof Report>;
export type Session = z.infer<typeof Session>;
