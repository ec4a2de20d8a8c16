import { z } from 'zod';

/** What may be spent on agents. What is left out is not limited. */
export const Budget = z.strictObject({
  usd: z.number().min(0).optional().describe('Dollars'),
  tokens: z.number().int().min(0).optional().describe('Tokens in and out, without those read from a cache'),
  seconds: z.number().min(0).optional().describe('Time that agents are at work, in seconds'),
  launches: z.number().int().min(0).optional().describe('How often an agent is started'),
});
export type Budget = z.infer<typeof Budget>;
