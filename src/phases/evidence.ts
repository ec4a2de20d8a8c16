import type { AttemptEnd } from '../model/state/outcome.ts';
import { plural } from '../model/text/plural.ts';
import type { Expect } from '../model/workflow.ts';
import { isShownState } from '../workspaces/index.ts';
import type { PhaseContext } from './context.ts';
import { notedTip } from './own-work.ts';

/** What the engine itself sees of an agent's work, against what the phase expects. Undefined when all is there. */
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

/** An agent that left the branch of a tree that others use, too, is brought back; undefined where it did not. */
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

/** The end of an attempt that failed by itself, with what became of a tree that it had taken to another branch. */
export async function afterStraying(context: PhaseContext, end: AttemptEnd): Promise<AttemptEnd> {
  if (end.type !== 'failed') return end;
  const strayed = await cameBack(context);
  if (!strayed) return end;
  return { ...end, error: { ...end.error, message: `${end.error.message}; ${strayed}` } };
}

/** What was there before this work is gone from the branch; where it is others' work, they get it back at once. */
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

/** `*` stays inside a directory, `**` crosses them, `?` is one character; a directory stands for all below it. */
export function matches(file: string, pattern: string): boolean {
  const body = pattern
    .replace(/[.+^${}()|[\]\\]/g, '\\$&')
    .replace(/\*\*\/|\*\*|\*|\?/g, (glob) => GLOBS[glob] ?? '');
  return new RegExp(`^${body}(?:/.*)?$`).test(file);
}
