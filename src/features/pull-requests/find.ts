import type { EngineContext } from '../../engine/context.ts';
import { type OurWork, ourPull, type PullRequest } from '../../github/pull-request.ts';
import type { PullWait } from '../../model/actions.ts';
import { type ForgeWork, pullNumberOf } from './context.ts';

/** The commit that a ticket's branch has here; undefined before there is one. */
export async function localTip(
  parts: EngineContext,
  { ticket, spec }: ForgeWork,
): Promise<string | undefined> {
  if (!ticket.base) return undefined;
  const { repo, branch } = spec;
  return (await parts.workspaces.branchAhead({ repo, branch, of: ticket.base.commit }))?.tip;
}

/** What tells a ticket's pull request from others. Who waits for one to be opened means the work as it is now. */
export function ourWork(
  { ticket, journal }: ForgeWork,
  tip: string | undefined,
  awaited?: PullWait,
): OurWork {
  const heads = journal.heads();
  const counted = awaited === 'open' ? heads.slice(-1) : heads;
  return {
    number: awaited === 'open' ? null : pullNumberOf(ticket),
    commits: [...counted.map(({ commit }) => commit), ...(tip === undefined ? [] : [tip])],
    since: counted[0]?.at ?? null,
  };
}

/** A ticket's own pull request among those of its branch. */
export async function ticketPull(
  parts: EngineContext,
  work: ForgeWork,
  found: readonly PullRequest[],
): Promise<PullRequest | undefined> {
  return ourPull(found, ourWork(work, await localTip(parts, work)), ({ headRefOid }) => headRefOid);
}

/** The ticket's pull request among those of its branch, where it was merged with all that is here. */
export async function mergedPull(
  parts: EngineContext,
  work: ForgeWork,
  found: readonly PullRequest[],
): Promise<PullRequest | undefined> {
  const pull = await ticketPull(parts, work, found);
  if (pull?.state !== 'MERGED') return undefined;
  const merged = { head: pull.headRefOid, mergedAt: pull.mergedAt };
  return (await isLeftOver(parts, work, await localTip(parts, work), merged)) ? undefined : pull;
}

/** Whether commits are here that were not in a pull request when it was merged. */
export async function isLeftOver(
  parts: EngineContext,
  { spec, journal }: ForgeWork,
  tip: string | undefined,
  { head, mergedAt }: { head: string; mergedAt: string },
): Promise<boolean> {
  if (tip === undefined || tip === head) return false;
  if (await parts.workspaces.contains({ repo: spec.repo, commit: head, ancestor: tip })) return false;
  // What people saw on the branch and took out of it before they merged is theirs to decide.
  return !journal.heads().some(({ commit, at }) => commit === tip && Date.parse(at) <= Date.parse(mergedAt));
}
