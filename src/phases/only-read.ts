import type { AttemptEnd } from '../model/state/outcome.ts';
import type { PhaseContext } from './context.ts';
import { cameBack } from './evidence.ts';
import { readNote } from './turn.ts';

/** Kept beside the job of a phase that may only read in a tree of others: the commit that it was clean at. */
export const HEAD_BEFORE = 'head.txt';

/** The commit of a tree that others use, too; undefined where it is nobody else's, or holds work that is not committed. */
export async function cleanHead({
  rules,
  workspaces,
  place,
  jobDir,
}: PhaseContext): Promise<string | undefined> {
  const noted = readNote(jobDir, HEAD_BEFORE);
  if (!rules || noted !== undefined) return noted;
  const { head, dirty } = await workspaces.evidence(place.worktree, place.base.commit, { files: false });
  return dirty.length === 0 ? head : undefined;
}

/**
 * Takes out of a tree of others what an attempt left there that may only read, however it ended: it would be taken for
 * the work of whoever comes next. It is kept on a ref, and told.
 */
export async function takenOut(context: PhaseContext, end: AttemptEnd): Promise<AttemptEnd> {
  const to = readNote(context.jobDir, HEAD_BEFORE);
  if (!context.rules || to === undefined || end.type === 'waiting') return end;
  const strayed = await cameBack(context);
  const { repo, branch, worktree: path } = context.place;
  const { planId, ticketId } = context.ticket;
  const { keptAt } = await context.workspaces.rewind({
    repo,
    path,
    branch,
    to,
    keepAt: context.rules.keepAt,
    message: `What ${context.phase.id} of ${planId}/${ticketId} left, which may only read`,
  });
  const put = keptAt ? `the tree is as it was, and what was done to it is kept at ${keptAt}` : null;
  const said = [strayed, put].filter(Boolean).join('; ');
  if (said === '') return end;
  if (end.type === 'failed') {
    const { message } = end.error;
    return { ...end, error: { ...end.error, message: `${message}; ${put ?? strayed}` } };
  }
  context.onText(said);
  return end;
}
