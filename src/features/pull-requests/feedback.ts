import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { EngineContext } from '../../engine/context.ts';
import type { Standing } from '../../github/pull-request-state.ts';
import { writeAtomic } from '../../machine/files/atomic.ts';
import type { ForgeWork } from './context.ts';

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
export function capturedFeedback({ dir, ticket }: ForgeWork): Feedback | undefined {
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
