import { z } from 'zod';

const TaskIdentity = z.object({
  id: z.string(),
  title: z.string(),
  numbered: z.boolean(),
  hash: z.string().optional().describe('Of its own text; where it is known, another text is another task'),
});

/** What a ticket keeps of the unit that it stands for. */
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
  leftOut: z.array(z.string()).optional().describe('Its open tasks that were not selected'),
  work: z.string(),
  context: z.string(),
  requirements: z.string(),
  design: z.string(),
  verify: z.array(z.string()),
  checkpoint: z.boolean(),
  together: z.array(z.string()).optional().describe('Units that are to be assigned with it'),
  asked: z
    .record(z.string(), z.string())
    .optional()
    .describe('The hash that each of those had when it was asked for'),
  hash: z.string().describe('Changes when the wanted work changes'),
});
export type TicketUnit = z.infer<typeof TicketUnit>;
