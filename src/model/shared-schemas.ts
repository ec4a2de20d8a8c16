import { z } from 'zod';
import { BRANCH_PATTERN, branchProblem, ID_PATTERN, idProblem } from './ids.ts';

export const Id = named('id', idProblem, ID_PATTERN);
export const Branch = named('branch', branchProblem, BRANCH_PATTERN);

function named(what: string, problemOf: (text: string) => string | undefined, pattern: string) {
  const text = z.string().superRefine((text, ctx) => {
    const problem = problemOf(text);
    if (problem)
      ctx.addIssue({ code: 'custom', message: `${what} ${JSON.stringify(text.slice(0, 60))} ${problem}` });
  });
  return text.meta({ pattern });
}

/** The right of one engine process to drive a ticket, a plan or the daemon's seat. */
export const Claim = z.object({
  /** Unique for every engine process; fences writes of one that lost its claim. */
  token: z.string(),
  host: z.string(),
  /** Changes at reboot, so that a reused pid of an earlier boot is never believed. */
  boot: z.string().default(''),
  pid: z.number().int(),
  /** Process start time as the platform tells it; a reused pid has another one. */
  started: z.string(),
  /** What the holder is: `run`, `daemon`, `tick`, `session`. */
  by: z.string(),
  renewedAt: z.string(),
  /** A program that the holder has started and that goes on should the holder die: it keeps the claim alive. */
  agent: z.object({ pid: z.number().int(), started: z.string() }).optional(),
});
export type Claim = z.infer<typeof Claim>;

/** What may be spent on agents. What is left out is not limited. */
export const Budget = z.strictObject({
  usd: z.number().min(0).optional().describe('Dollars'),
  tokens: z.number().int().min(0).optional().describe('Tokens in and out, without those read from a cache'),
  seconds: z.number().min(0).optional().describe('Time that agents are at work, in seconds'),
  launches: z.number().int().min(0).optional().describe('How often an agent is started'),
});
export type Budget = z.infer<typeof Budget>;
