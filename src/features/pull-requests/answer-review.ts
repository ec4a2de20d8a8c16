import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { EngineContext } from '../../engine/context.ts';
import { escapeMarkdown } from '../../github/escape-markdown.ts';
import { commentOnce, findComment, markOf } from '../../github/pull-request.ts';
import type { Standing } from '../../github/pull-request-state-and-feedback.ts';
import { unlessCode } from '../../machine/files/read-and-remove-files.ts';
import { writeAtomic } from '../../machine/files/write-atomic-and-note-facts.ts';
import { digest, refKey, type TicketRef } from '../../model/ids-and-branch-names.ts';
import { openPullRequest } from './push-and-open-pull-request.ts';
import { livePull } from './push-and-sync-branch-merge-pull-request.ts';
import { type ForgeWork, forgeWork, localTip } from './ticket-on-github.ts';

/** What an agent may say in a comment; the rest is in the ticket's log. */
const MAX_COMMENT_CHARS = 10_000;
/** After this time, a comment of a killed gh has arrived or never will. */
const ARRIVAL_MS = 5_000;
const POLL_MS = 500;

/**
 * Pushes what was done about the feedback that the workflow captured, says so in a comment, and records that it was
 * answered. Repeating it after a crash pushes nothing twice and makes no second comment. `comment` is the address of the
 * comment, null when there was nothing to say.
 */
export async function answerReview(engine: EngineContext, ref: TicketRef) {
  const work = await forgeWork(engine, ref);
  const known = await livePull(work, 'to answer on');
  // A merged pull request takes no more commits: the next poll checks whether any are left here.
  const isOver = known.state === 'MERGED';
  if (isOver && known.headRefOid !== (await localTip(work)))
    return { number: known.number, url: known.url, pushed: false, comment: null };
  const { number, url, pushed } = isOver
    ? { ...known, pushed: false }
    : await openPullRequest(engine, ref, { again: false });
  const ids = capturedFeedback(work);
  // What the agent said at the end, as the workflow captured it.
  const { review_answer: answer } = work.ticket.context;
  const text = typeof answer === 'string' ? answer.trim() : '';
  let comment: string | null = null;
  if (ids && text !== '') {
    const key = `${refKey(ref)}:${digest([...ids].sort().join('\n'), 12)}`;
    comment = (await postComment(work, number, { key, text })).url;
  }
  const answered = work.journal.answered();
  if (ids?.some((id) => !answered.has(id))) work.journal.note('answered', { ids });
  await work.forget();
  return { number, url, pushed, comment };
}

interface CommentWish {
  key: string;
  text: string;
}

/** Comments on a ticket's pull request, once per key. */
export async function commentOnPull(
  engine: EngineContext,
  ref: TicketRef,
  wish: CommentWish,
): Promise<{ number: number; url: string; posted: boolean }> {
  const work = await forgeWork(engine, ref);
  const { number } = await livePull(work, 'to answer on');
  return { number, ...(await postComment(work, number, wish)) };
}

async function postComment(
  { dir, head: { repository }, gh, journal }: ForgeWork,
  number: number,
  { key, text }: CommentWish,
): Promise<{ url: string; posted: boolean }> {
  // A comment that a crash cut off may still arrive at GitHub; then it is found, and not made again.
  const open = journal.unsettled().find(({ what, facts }) => what === 'comment' && facts.key === key);
  if (open) {
    const end = Math.min(Date.parse(open.at), Date.now()) + ARRIVAL_MS;
    while (Date.now() < end && (await findComment({ repository, number, key }, gh)) === undefined)
      await delay(Math.max(0, Math.min(POLL_MS, end - Date.now())), undefined, { signal: gh.signal });
  }
  const bodyFile = join(dir, 'comment.md');
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  writeFileSync(bodyFile, `${markOf(key)}\n${escapeMarkdown(text, MAX_COMMENT_CHARS)}\n`, { mode: 0o600 });
  return journal.record('comment', { number, key }, () =>
    commentOnce({ repository, number, key, bodyFile }, gh),
  );
}

/**
 * Records what a text of feedback is about, in a file named after the text: another poll in between finds another text
 * and overwrites nothing. This alone answers nothing.
 */
export function keepFeedback({ engine, dir }: ForgeWork, { message, ids, outcome }: Standing): void {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  // The workflow captures the redacted text.
  writeAtomic(feedbackFile(dir, engine.redact(message)), `${JSON.stringify({ outcome, ids })}\n`);
}

/** Ids of the feedback that the workflow captured and the agent got. */
function capturedFeedback({ dir, ticket }: ForgeWork): string[] | undefined {
  const { review_feedback: text } = ticket.context;
  if (typeof text !== 'string' || text === '') return undefined;
  const kept = unlessCode(['ENOENT'], () => readFileSync(feedbackFile(dir, text), 'utf8'));
  return kept === undefined ? undefined : (JSON.parse(kept) as { ids: unknown[] }).ids.map(String);
}

function feedbackFile(dir: string, text: string): string {
  return join(dir, `feedback-${digest(text.trim(), 16)}.json`);
}
