import { dirname, join } from 'node:path';
import { readText } from '../machine/files/read-and-remove-files.ts';
import type { AttemptEnd } from '../model/state/outcome.ts';
import { plural } from '../model/text/plural.ts';
import { attemptKey } from '../model/ticket.ts';
import type { Expect, PhaseOf } from '../model/workflow.ts';
import { isShownState } from '../workspaces/workspaces.ts';
import type { PhaseContext } from './phase-context.ts';

/** Compares the agent's work in the tree with what the phase expects. Undefined when nothing is missing. */
export async function missingEvidence(context: PhaseContext, expect: Expect): Promise<string | undefined> {
  const { worktree, base } = context.place;
  const free = context.rules?.notWork === null;
  const commits = free ? 0 : expect.commits === true ? 1 : (expect.commits ?? 0);
  const notWork = commits > 0 ? context.rules?.notWork : null;
  const wish = {
    dirty: expect.clean === true,
    files: expect.files !== undefined,
    committed: notWork !== null && notWork !== undefined,
  };
  const seen = await context.workspaces.evidence(worktree, base.commit, wish);
  if (seen.lost) return lost(context);
  if (seen.ahead < commits) {
    const all = await context.workspaces.evidence(worktree, base.commit);
    const dirty = all.dirty.length > 0 ? ` (${all.dirty.length} uncommitted files)` : '';
    return `expected at least ${plural(commits, 'commit')} ahead of its base (${base.commit.slice(0, 7)}), found ${seen.ahead}${dirty}`;
  }
  const tip = expect.own ? notedTip(context) : undefined;
  if (tip !== undefined && seen.head === tip)
    return `expected a commit of its own on top of ${tip.slice(0, 7)}, which was there before, found none`;
  if (notWork && !seen.committed?.some((file) => !notWork.files.includes(file) && !isShownState(file))) {
    return `expected a commit that changes something besides ${notWork.called}, found none`;
  }
  if (expect.clean && seen.dirty.length > 0) {
    return `expected a clean tree, found uncommitted: ${seen.dirty.slice(0, 5).join(', ')}${seen.dirty.length > 5 ? ', …' : ''}`;
  }
  for (const pattern of expect.files ?? []) {
    if (!seen.files.some((file) => matches(file, pattern)))
      return `expected a change in ${pattern}, found none`;
  }
  return undefined;
}

/** Returns a shared tree to its branch after an agent left it; undefined where it did not. */
export async function cameBack({
  place,
  rules,
  workspaces,
  ticket,
}: PhaseContext): Promise<string | undefined> {
  if (!rules) return undefined;
  const { keptAt, from } = await workspaces.comeBack({
    repo: place.repo,
    path: place.worktree,
    branch: place.branch,
    to: place.base.commit,
    keepAt: rules.keepAt,
    message: `What ${ticket.planId}/${ticket.ticketId} left on another branch`,
  });
  if (from === null) return undefined;
  const kept = keptAt ? `, and what you left there is kept at ${keptAt}` : '';
  return `expected the tree to be on ${place.branch}, found it on ${from}; it is back there now${kept}. Stay on ${place.branch}`;
}

/** The end of a failed attempt, with a note where its tree had to be returned to its branch. */
export async function afterStraying(context: PhaseContext, end: AttemptEnd): Promise<AttemptEnd> {
  if (end.type !== 'failed') return end;
  const strayed = await cameBack(context);
  if (!strayed) return end;
  return { ...end, error: { ...end.error, message: `${end.error.message}; ${strayed}` } };
}

/** The branch lost what was there before this work; the work of other tickets is restored at once. */
async function lost({ place, rules, workspaces, ticket }: PhaseContext): Promise<string> {
  const { repo, branch, worktree: path, base } = place;
  const gone = `the branch no longer contains ${base.commit.slice(0, 12)}, which the work began from`;
  if (!rules) return gone;
  const message = `What ${ticket.planId}/${ticket.ticketId} made of a branch that it cut`;
  const { keptAt } = await workspaces.rewind({
    repo,
    path,
    branch,
    to: base.commit,
    keepAt: rules.keepAt,
    message,
  });
  return `${gone}; it is back there now, and what it had become is kept at ${keptAt}. Only add commits`;
}

const GLOBS: Record<string, string> = { '**/': '(?:.*/)?', '**': '.*', '*': '[^/]*', '?': '[^/]' };

/** `*` stays inside a directory, `**` crosses them, `?` is one character; a directory includes all below it. */
function matches(file: string, pattern: string): boolean {
  const body = pattern
    .replace(/[.+^${}()|[\]\\]/g, '\\$&')
    .replace(/\*\*\/|\*\*|\*|\?/g, (glob) => GLOBS[glob] ?? '');
  return new RegExp(`^${body}(?:/.*)?$`).test(file);
}

/** Stored beside the job of a phase whose own commits count: the branch's commit at its first attempt. */
export const TIP_BEFORE = 'tip.txt';

/** Undefined where no earlier phase commits: then everything ahead of the base counts. */
export async function tipBefore(context: PhaseContext<PhaseOf<'agent'>>): Promise<string | undefined> {
  const { ticket, phase, pinned, place, workspaces } = context;
  if (!phase.expect?.own) return undefined;
  const writers = pinned.workflow.phases.flatMap((each) =>
    each.type === 'agent' && each.expect?.commits && each.id !== phase.id ? [each.id] : [],
  );
  if (!ticket.phaseHistory.some((entry) => entry.status === 'success' && writers.includes(entry.phase)))
    return undefined;
  return (
    notedTip(context) ??
    (await workspaces.evidence(place.worktree, place.base.commit, { dirty: false, files: false })).head
  );
}

/** The commit that the first attempt stored. */
function notedTip({ ticket, phase, jobDir }: PhaseContext): string | undefined {
  for (const entry of ticket.phaseHistory) {
    if (entry.phase !== phase.id) continue;
    const dir = join(dirname(jobDir), attemptKey(entry).replaceAll('#', '.'));
    const noted = readText(join(dir, TIP_BEFORE));
    if (noted !== undefined) return noted.trim();
  }
  return undefined;
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
export async function takenOut(context: PhaseContext, end: AttemptEnd): Promise<AttemptEnd> {
  const to = readText(join(context.jobDir, HEAD_BEFORE));
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
