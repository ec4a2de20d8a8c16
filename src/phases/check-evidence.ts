import { dirname, join } from 'node:path';
import { readText } from '../machine/files/read-and-remove-files.ts';
import { plural } from '../model/text/clean-escape-quote-plural.ts';
import { attemptKey } from '../model/ticket.ts';
import type { Expect, PhaseOf } from '../model/workflow.ts';
import { isSpecStateFile } from '../workspaces/workspaces.ts';
import type { PhaseContext } from './phase-context.ts';
import { restoreLostWork } from './restore-shared-tree.ts';

const NO_FILES = { dirty: false, files: false };

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
  if (seen.lost) return restoreLostWork(context);
  if (seen.ahead < commits) {
    const all = await context.workspaces.evidence(worktree, base.commit);
    const dirty = all.dirty.length > 0 ? ` (${all.dirty.length} uncommitted files)` : '';
    return `expected at least ${plural(commits, 'commit')} ahead of its base (${base.commit.slice(0, 7)}), found ${seen.ahead}${dirty}`;
  }
  const tip = expect.own ? notedTip(context) : undefined;
  if (tip !== undefined && seen.head === tip)
    return `expected a commit of its own on top of ${tip.slice(0, 7)}, which was there before, found none`;
  if (notWork && !seen.committed?.some((file) => !notWork.files.includes(file) && !isSpecStateFile(file))) {
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

/**
 * Whether an attempt without a record of its end may have done its work. A phase that expects commits has not if it made none.
 * Actions and polls check before they act.
 */
export async function mayBeDone(context: PhaseContext): Promise<boolean> {
  const { phase } = context;
  if (phase.type !== 'agent' || !phase.expect?.commits)
    return phase.type === 'agent' || phase.type === 'script';
  return hasCommitted(context);
}

/** Whether the branch has commits that it did not have before the attempt. */
export async function hasCommitted({ place, attempt, workspaces }: PhaseContext): Promise<boolean> {
  const { head, ahead } = await workspaces.evidence(place.worktree, place.base.commit, NO_FILES);
  // Git's log has whole seconds.
  const before = new Date(Math.floor(Date.parse(attempt.startedAt) / 1000) * 1000 - 1000);
  return ahead > 0 && head !== (await workspaces.headAt(place.worktree, before));
}

const GLOBS: Record<string, string> = { '**/': '(?:.*/)?', '**': '.*', '*': '[^/]*', '?': '[^/]' };

/** `*` matches inside one directory, `**` across directories, `?` one character; a directory matches all files below it. */
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
  return notedTip(context) ?? (await workspaces.evidence(place.worktree, place.base.commit, NO_FILES)).head;
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
