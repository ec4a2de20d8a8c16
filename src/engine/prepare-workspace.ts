import { existsSync } from 'node:fs';
import { withPrerequisitesNow } from '../features/issue-runs/prerequisites.ts';
import { beginWithPushed } from '../features/issue-runs/pushed-commits.ts';
import { handOver, isStillNeeded, putBack } from '../features/spec-runs/shared-tree.ts';
import { readJob } from '../machine/jobs/job.ts';
import { messageOf } from '../model/errors.ts';
import type { Plan } from '../model/plan.ts';
import { isShared } from '../model/state/turns.ts';
import { openAttempt, type Ticket } from '../model/ticket.ts';
import type { Place } from '../phases/index.ts';
import type { WorkspaceSpec } from '../workspaces/index.ts';
import { type EngineContext, emit, isFatal } from './context.ts';
import { refOf } from './status-events.ts';

/**
 * Where a process that an earlier engine started already is, or was. Its tree is looked at when it has ended:
 * in the middle of a rebase, say, it is on no branch, and refusing it now would leave it running unwatched.
 */
export function adoptedPlace(parts: EngineContext, ticket: Ticket, spec: WorkspaceSpec): Place | undefined {
  const open = openAttempt(ticket);
  if (!open || !ticket.base || ticket.worktree !== spec.path) return undefined;
  const { state } = readJob(parts.machine.job(ticket, open));
  if (state !== 'running' && state !== 'ended') return undefined;
  const { repo, branch, path: worktree, inPlace } = spec;
  return { repo, branch, worktree, inPlace, base: ticket.base };
}

/** The directory is the expected worktree on the expected branch, or nothing runs. */
export async function preparePlace(
  parts: EngineContext,
  plan: Plan,
  ticket: Ticket,
  spec: WorkspaceSpec,
): Promise<Place> {
  const { repo, branch, path: worktree, inPlace } = spec;
  const place = { repo, branch, worktree, inPlace };
  if (isShared(plan) && parts.workspaces.isReady(spec.path)) await putBack(parts, ticket, spec);
  const now = inPlace ? { spec, changed: false } : await withPrerequisitesNow(parts, plan, ticket, spec);
  const known = !now.changed && ticket.worktree === spec.path ? ticket.base : null;
  if (known && (await parts.workspaces.verifyReady(spec))) {
    await beginAsPushed(parts, plan, ticket, spec);
    return { ...place, base: known };
  }
  if (inPlace) {
    await parts.workspaces.verify(spec);
    return { ...place, base: await handOver(parts, plan, ticket, spec) };
  }
  const made = await parts.workspaces.ensure({
    ...now.spec,
    ...(now.changed ? { recordedBase: null, formerBase: ticket.base } : { recordedBase: ticket.base }),
  });
  await parts.workspaces.verify(spec);
  const about = { ...refOf(ticket), path: made.path, branch: made.branch };
  if (made.created || made.reused) emit(parts, { type: 'workspace:ready', reused: made.reused, ...about });
  for (const message of made.notes) emit(parts, { type: 'problem', message, path: null, ...refOf(ticket) });
  await beginAsPushed(parts, plan, ticket, spec);
  const base = isShared(plan) ? await handOver(parts, plan, ticket, spec) : made.base;
  return { ...place, base };
}

/** Once work has been done, what it needs is installed by whoever does it. */
async function beginAsPushed(
  parts: EngineContext,
  plan: Plan,
  ticket: Ticket,
  spec: WorkspaceSpec,
): Promise<void> {
  await beginWithPushed(parts, plan, ticket, spec);
  if (ticket.phaseHistory.some(({ status }) => status === 'success')) return;
  await parts.workspaces.refresh(spec);
}

/** Gives a finished ticket's worktree back; what would be lost with it stays where it is and is named. */
export async function releaseWorkspace(
  parts: EngineContext,
  ticket: Ticket,
  spec: WorkspaceSpec,
): Promise<void> {
  if (!existsSync(spec.path) || isStillNeeded(parts, ticket)) return;
  let kept: string | undefined;
  try {
    const released = await parts.workspaces.release(spec);
    kept = released.released ? undefined : released.reason;
  } catch (error) {
    if (isFatal(error)) throw error;
    kept = messageOf(error);
  }
  parts.crash('workspace:released');
  const about = { ...refOf(ticket), path: spec.path };
  if (kept === undefined) emit(parts, { type: 'workspace:release', ...about });
  else emit(parts, { type: 'workspace:keep', reason: kept, ...about });
}
