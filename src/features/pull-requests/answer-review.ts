import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { EngineContext } from '../../engine/context.ts';
import { inert } from '../../github/escape-markdown.ts';
import {
  commentOnce,
  findComment,
  findPullRequests,
  markOf,
  type PullRequest,
} from '../../github/pull-request.ts';
import type { Standing } from '../../github/pull-request-state.ts';
import { forgetPull } from '../../github/snapshot.ts';
import { writeAtomic } from '../../machine/files/atomic.ts';
import { IllegalMoveError, SignalboxError } from '../../model/errors.ts';
import { refKey, type TicketRef } from '../../model/ids.ts';
import { type ForgeWork, forgeWork, localTip, ticketPull } from './context.ts';
import { openPullRequest } from './open.ts';

export interface AnsweredReview {
  number: number;
  url: string;
  pushed: boolean;
  /** Address of the comment; null when there was nothing to say. */
  comment: string | null;
}

/** What an agent may say in a comment; the rest is in the ticket's log. */
const MOST_COMMENT = 10_000;
/** A comment whose gh is gone has arrived by then, or never will. */
const ARRIVAL_MS = 5_000;
const LOOK_MS = 500;

/**
 * Pushes what was done about the feedback that the workflow captured, says so in a comment, and remembers that it was
 * answered. Doing it again after a crash pushes nothing twice and makes no second comment.
 */
export async function answerReview(parts: EngineContext, ref: TicketRef): Promise<AnsweredReview> {
  const work = await forgeWork(parts, ref);
  const known = await knownPull(parts, work);
  // What was merged takes no more commits: the next look sees whether any are left here.
  const isOver = known.state === 'MERGED';
  if (isOver && known.headRefOid !== (await localTip(parts, work)))
    return { number: known.number, url: known.url, pushed: false, comment: null };
  const { number, url, pushed } = isOver
    ? { ...known, pushed: false }
    : await openPullRequest(parts, ref, { again: false });
  const feedback = capturedFeedback(work);
  const text = answerText(work);
  let comment: string | null = null;
  if (feedback && text !== '') {
    const key = `${refKey(ref)}:${digest(feedback.ids)}`;
    comment = (await postComment(work, { number, key, text })).url;
  }
  const answered = work.journal.answered();
  if (feedback?.ids.some((id) => !answered.has(id))) work.journal.note('answered', { ids: feedback.ids });
  await forgetPull(
    { cacheDir: parts.machine.githubCache, repository: work.head.repository },
    work.spec.branch,
  );
  return { number, url, pushed, comment };
}

/** A closed pull request is not opened a second time behind the back of whoever closed it. */
async function knownPull(parts: EngineContext, work: ForgeWork): Promise<PullRequest> {
  const { head, gh, ticket } = work;
  const pull = await ticketPull(parts, work, await findPullRequests(head, gh));
  if (!pull)
    throw new IllegalMoveError(
      'forge/no-pull-request',
      `${refKey(ticket)} has no pull request to answer on.`,
      {
        hint: `Open it first: signalbox forge pr ${ticket.planId} ${ticket.ticketId}`,
      },
    );
  if (pull.state === 'CLOSED')
    throw new SignalboxError(
      'forge/closed',
      `Pull request #${pull.number} was closed without being merged.`,
      {
        hint: `Open it again (gh pr reopen ${pull.number}) to go on with it.`,
        details: { number: pull.number, url: pull.url },
      },
    );
  return pull;
}

interface CommentWish {
  key: string;
  text: string;
}

/** Comments on a ticket's pull request, once per key. */
export async function commentOnPull(
  parts: EngineContext,
  ref: TicketRef,
  wish: CommentWish,
): Promise<{ number: number; url: string; posted: boolean }> {
  const work = await forgeWork(parts, ref);
  const { number } = await knownPull(parts, work);
  return { number, ...(await postComment(work, { ...wish, number })) };
}

async function postComment(
  { dir, head, gh, journal }: ForgeWork,
  { number, key, text }: CommentWish & { number: number },
): Promise<{ url: string; posted: boolean }> {
  const { repository } = head;
  // One that was cut off may still arrive at GitHub; then it is found, and not made again.
  const open = journal.unsettled().find(({ what, facts }) => what === 'comment' && facts.key === key);
  if (open) await arrival(Date.parse(open.at), gh.signal, () => findComment({ repository, number, key }, gh));
  const bodyFile = join(dir, 'comment.md');
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  writeFileSync(bodyFile, `${markOf(key)}\n${inert(text, MOST_COMMENT)}\n`, { mode: 0o600 });
  return journal.record('comment', { number, key }, () =>
    commentOnce({ repository, number, key, bodyFile }, gh),
  );
}

/** Ends as soon as a comment is found that was begun then, or when it will not come any more. */
async function arrival(
  begun: number,
  signal: AbortSignal | undefined,
  find: () => Promise<string | undefined>,
): Promise<void> {
  const end = Math.min(begun, Date.now()) + ARRIVAL_MS;
  while (Date.now() < end && (await find()) === undefined)
    await delay(Math.max(0, Math.min(LOOK_MS, end - Date.now())), undefined, { signal });
}

/** What the agent said at the end, as the workflow captured it. */
function answerText({ ticket }: ForgeWork): string {
  const { review_answer: text } = ticket.context;
  return typeof text === 'string' ? text.trim() : '';
}

function digest(ids: readonly string[]): string {
  return createHash('sha256')
    .update([...ids].sort().join('\n'))
    .digest('hex')
    .slice(0, 12);
}

/** What a look found to be answered. */
interface Feedback {
  ids: string[];
}

/**
 * Remembers what a text of feedback is about, under the text itself: whoever looks meanwhile, by hand or not, finds
 * something else and takes nothing away. The look itself answers nothing.
 */
export function keepFeedback(
  parts: EngineContext,
  { dir }: ForgeWork,
  { message, ids, outcome }: Standing,
): void {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  // As it will be captured.
  const file = fileOf(dir, parts.redact(message));
  writeAtomic(file, `${JSON.stringify({ outcome, ids })}\n`);
}

/** What the feedback that the workflow captured, and the agent got, is about. */
function capturedFeedback({ dir, ticket }: ForgeWork): Feedback | undefined {
  const { review_feedback: text } = ticket.context;
  if (typeof text !== 'string' || text === '') return undefined;
  try {
    const { ids } = JSON.parse(readFileSync(fileOf(dir, text), 'utf8')) as Feedback;
    return { ids: ids.map(String) };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

function fileOf(dir: string, text: string): string {
  const digest = createHash('sha256').update(text.trim()).digest('hex').slice(0, 16);
  return join(dir, `feedback-${digest}.json`);
}
