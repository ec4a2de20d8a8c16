import type { EngineContext } from '../../engine/context.ts';
import { findPullRequests, mergePullRequest } from '../../github/pull-request.ts';
import { forgetPull } from '../../github/snapshot.ts';
import { IllegalMoveError, SignalboxError } from '../../model/errors.ts';
import { refKey, type TicketRef } from '../../model/ids.ts';
import type { CaughtUp, Pushed } from '../../workspaces/index.ts';
import { type ForgeWork, forgeWork, isLeftOver, localTip, pullBaseOf, ticketPull } from './context.ts';

/** Pushes a ticket's branch and nothing else. */
export async function pushTicket(parts: EngineContext, ref: TicketRef): Promise<Pushed & { branch: string }> {
  const work = await forgeWork(parts, ref);
  const { branch } = work.spec;
  return { branch, ...(await push(parts, work, true)) };
}

/** `again`: also where somebody deleted the branch. */
async function push(
  parts: EngineContext,
  { journal, spec, head }: ForgeWork,
  again: boolean,
): Promise<Pushed> {
  const wish = { ...spec, known: journal.heads().at(-1)?.commit ?? null, again };
  const pushed = await journal.record('push', { branch: spec.branch }, () => parts.workspaces.push(wish));
  await forgetPull({ cacheDir: parts.machine.githubCache, repository: head.repository }, spec.branch);
  return pushed;
}

/**
 * Takes over what people pushed to a ticket's branch, and fetches the base. What had to be merged is pushed, so that
 * the branch is the same here and there. A branch that somebody rewrote is taken only where that was asked for.
 */
export async function syncTicket(
  parts: EngineContext,
  ref: TicketRef,
  { takeTheirs }: { takeTheirs: boolean },
): Promise<CaughtUp> {
  const work = await forgeWork(parts, ref);
  const { spec, journal, head } = work;
  const known = journal.heads().at(-1)?.commit ?? null;
  parts.crash('sync:ready');
  const done = await parts.workspaces.catchUp({
    repo: spec.repo,
    path: spec.path,
    branch: spec.branch,
    known,
    base: pullBaseOf(parts, work),
    takeTheirs,
  });
  parts.crash('sync:taken');
  // From now on this is what the branch had: who takes it away rewrites the branch.
  const open = done.state === 'conflict' || done.state === 'rewritten';
  if (!open && done.there !== known) journal.note('found', { commit: done.there });
  if (done.state === 'merged') await push(parts, work, false);
  else await forgetPull({ cacheDir: parts.machine.githubCache, repository: head.repository }, spec.branch);
  return done;
}

export interface MergedPull {
  number: number;
  url: string;
  /** False when it had been merged already. */
  merged: boolean;
}

/** Merges a ticket's pull request, if it still has the very commits that are here. */
export async function mergeTicketPull(parts: EngineContext, ref: TicketRef): Promise<MergedPull> {
  const work = await forgeWork(parts, ref);
  const { head, gh, ticket, spec, journal } = work;
  const pull = await ticketPull(parts, work, await findPullRequests(head, gh));
  if (!pull)
    throw new IllegalMoveError('forge/no-pull-request', `${refKey(ticket)} has no pull request to merge.`, {
      hint: `Open it first: signalbox forge pr ${ref.planId} ${ref.ticketId}`,
    });
  const { number, url, state, headRefOid, mergedAt } = pull;
  const merged = { head: headRefOid, mergedAt };
  if (state === 'MERGED' && (await isLeftOver(parts, work, await localTip(parts, work), merged)))
    throw new SignalboxError(
      'forge/left-over',
      `Pull request #${number} was merged without the last commits of ${spec.branch} that are here.`,
      { hint: `Open another one for them: signalbox forge pr ${ref.planId} ${ref.ticketId}` },
    );
  if (state === 'MERGED') {
    journal.settle('merge', { number, url });
    return { number, url, merged: false };
  }
  if (state === 'CLOSED')
    throw new SignalboxError('forge/closed', `Pull request #${number} was closed without being merged.`, {
      hint: `Open it again: gh pr reopen ${number}`,
      details: { number, url },
    });
  const { repo, branch } = spec;
  const own = ticket.base && (await parts.workspaces.branchAhead({ repo, branch, of: ticket.base.commit }));
  if (!own)
    throw new IllegalMoveError('ticket/unstarted', `${refKey(ticket)} has no branch yet.`, {
      hint: `See: signalbox status --plan ${ref.planId}`,
    });
  const { method } = parts.settings.merge;
  await journal.record('merge', { number, commit: own.tip, method }, async () => {
    await mergePullRequest({ head, number, commit: own.tip, method }, gh);
    return { number, url };
  });
  await forgetPull({ cacheDir: parts.machine.githubCache, repository: head.repository }, branch);
  return { number, url, merged: true };
}
