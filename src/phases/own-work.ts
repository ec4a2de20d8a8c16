import { dirname, join } from 'node:path';
import { attemptKey } from '../model/ticket.ts';
import type { PhaseOf } from '../model/workflow.ts';
import type { PhaseContext } from './context.ts';
import { readNote } from './turn.ts';

/** Kept beside the job of a phase whose own commits count: where the branch was when it was entered first. */
export const TIP_BEFORE = 'tip.txt';

/** Undefined where no phase before it was to commit anything: then all that is ahead of the base counts. */
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

/** What the first attempt of all noted. */
export function notedTip({ ticket, phase, jobDir }: PhaseContext): string | undefined {
  for (const entry of ticket.phaseHistory) {
    if (entry.phase !== phase.id) continue;
    const dir = join(dirname(jobDir), attemptKey(entry).replaceAll('#', '.'));
    const noted = readNote(dir, TIP_BEFORE);
    if (noted !== undefined) return noted.trim();
  }
  return undefined;
}
