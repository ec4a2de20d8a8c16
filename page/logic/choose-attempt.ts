import type { TicketPage } from '../../src/web/schemas-of-api-answers-events-and-bodies.ts';

type AttemptFacts = TicketPage['attempts'][number];

/** The attempt to open first: one that was asked for, that led to the open gate, whose failure was not put right, that is open, or the last one. */
export function chooseAttempt(
  { attempts, ticket }: { attempts: AttemptFacts[]; ticket: Pick<TicketPage['ticket'], 'status' | 'hold'> },
  wanted: string | null,
): AttemptFacts | undefined {
  const isBad = ticket.status === 'failed' || ticket.status === 'needs_attention';
  const works = attempts.filter(({ attempt }) => attempt.asks === undefined && attempt.status !== 'skipped');
  const latest = new Map(attempts.map((each) => [each.attempt.phase, each]));
  return (
    attempts.find(({ key }) => key === wanted) ??
    (ticket.hold?.kind === 'gate' ? works.at(-1) : undefined) ??
    (isBad ? [...latest.values()].findLast(({ attempt }) => attempt.status === 'failure') : undefined) ??
    works.findLast(({ attempt }) => attempt.completedAt === null) ??
    attempts.findLast(({ stdoutBytes }) => stdoutBytes > 0) ??
    attempts.at(-1)
  );
}
