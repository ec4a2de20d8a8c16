import type { EngineContext } from '../../engine/context.ts';
import { findPullRequests } from '../../github/pull-request.ts';
import { type Reviewed, readReviews } from '../../github/review.ts';
import type { TicketRef } from '../../model/ids.ts';
import { forgeWork } from './context.ts';
import { ticketPull } from './find.ts';

/** What became of a ticket's pull request, as an answer to a gate, or why there is none yet. */
export type ReviewAnswer = { decision: 'approve' | 'reject'; message: string } | { waiting: string };

const MOST = 8000;

/** Asks the forge what people said of a ticket's pull request. */
export async function reviewOf(parts: EngineContext, ref: TicketRef): Promise<ReviewAnswer> {
  const work = await forgeWork(parts, ref);
  const { head, gh, spec } = work;
  const latest = await ticketPull(parts, work, await findPullRequests(head, gh));
  if (!latest) return { waiting: `${spec.branch} has no pull request.` };
  return answer(latest.number, await readReviews(head.repository, latest.number, gh));
}

function answer(number: number, { state, verdict, reviews }: Reviewed): ReviewAnswer {
  if (state === 'MERGED') return { decision: 'approve', message: `Pull request #${number} was merged.` };
  if (state === 'CLOSED')
    return { decision: 'reject', message: `Pull request #${number} was closed without being merged.` };
  if (verdict === null) return { waiting: `Pull request #${number} waits for a review.` };
  const said = reviews.filter(({ approves }) => approves === (verdict === 'approve'));
  const verb = verdict === 'approve' ? 'approves' : 'requests changes';
  const texts = said.map(({ author, text }) => `${author} ${verb}${text ? `: ${text}` : '.'}`);
  return { decision: verdict, message: texts.join('\n\n').slice(0, MOST) };
}
