import { z } from 'zod';

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
