import { join } from 'node:path';
import { readText } from '../machine/files/read-and-remove-files.ts';
import { refKey } from '../model/ids-and-branch-names.ts';
import type { AttemptEnd } from '../model/state/attempt-end-types-and-waits.ts';
import type { EvidenceRules, PhaseContext, Place } from './phase-context.ts';

/** How a tree goes back to where the work began. */
function rewindOf({ repo, branch, worktree: path, base }: Place, { keepAt }: EvidenceRules) {
  return { repo, path, branch, to: base.commit, keepAt };
}

/** Returns a shared tree to its branch after an agent left it; undefined where it did not. */
export async function returnToBranch(context: PhaseContext): Promise<string | undefined> {
  const { place, rules, workspaces, ticket } = context;
  if (!rules) return undefined;
  const message = `What ${refKey(ticket)} left on another branch`;
  const { keptAt, from } = await workspaces.returnToBranch({ ...rewindOf(place, rules), message });
  if (from === null) return undefined;
  const kept = keptAt ? `, and what you left there is kept at ${keptAt}` : '';
  return `expected the tree to be on ${place.branch}, found it on ${from}; it is back there now${kept}. Stay on ${place.branch}`;
}

/** The end of a failed attempt, with a note where its tree had to be returned to its branch. */
export async function endAfterReturn(context: PhaseContext, end: AttemptEnd): Promise<AttemptEnd> {
  if (end.type !== 'failed') return end;
  const strayed = await returnToBranch(context);
  if (!strayed) return end;
  return { ...end, error: { ...end.error, message: `${end.error.message}; ${strayed}` } };
}

/** The branch lost what was there before this work; the work of other tickets is restored at once. */
export async function restoreLostWork({ place, rules, workspaces, ticket }: PhaseContext): Promise<string> {
  const gone = `the branch no longer contains ${place.base.commit.slice(0, 12)}, which the work began from`;
  if (!rules) return gone;
  const message = `What ${refKey(ticket)} made of a branch that it cut`;
  const { keptAt } = await workspaces.rewind({ ...rewindOf(place, rules), message });
  return `${gone}; it is back there now, and what it had become is kept at ${keptAt}. Only add commits`;
}

/** Stored beside the job of a phase that may only read in a shared tree: the commit of the clean tree. */
export const HEAD_BEFORE = 'head.txt';

/** The commit of a shared tree; undefined for a tree that is not shared or has uncommitted work. */
export async function cleanHead({
  rules,
  workspaces,
  place,
  jobDir,
}: PhaseContext): Promise<string | undefined> {
  const noted = readText(join(jobDir, HEAD_BEFORE));
  if (!rules || noted !== undefined) return noted;
  const { head, dirty } = await workspaces.evidence(place.worktree, place.base.commit, { files: false });
  return dirty.length === 0 ? head : undefined;
}

/**
 * Removes from a shared tree what an attempt that may only read left there, however it ended: the next ticket would
 * include it. It is kept on a ref and reported.
 */
export async function removeChanges(context: PhaseContext, end: AttemptEnd): Promise<AttemptEnd> {
  const to = readText(join(context.jobDir, HEAD_BEFORE));
  if (!context.rules || to === undefined || end.type === 'waiting') return end;
  const strayed = await returnToBranch(context);
  const message = `What ${context.phase.id} of ${refKey(context.ticket)} left, which may only read`;
  const { keptAt } = await context.workspaces.rewind({
    ...rewindOf(context.place, context.rules),
    to,
    message,
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
