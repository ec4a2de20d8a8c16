import type { EngineContext } from '../../engine/context.ts';
import { mergePullRequest, type PullRequest } from '../../github/pull-request.ts';
import { lastSeen } from '../../github/pull-request-cache.ts';
import { IllegalMoveError, SignalboxError } from '../../model/errors.ts';
import { refKey, type TicketRef } from '../../model/ids-and-branch-names.ts';
import type { CaughtUp, Pushed } from '../../workspaces/workspaces.ts';
import type { ForgeWork } from './ticket-on-github.ts';
import { forgeWork, isLeftOver, localTip, ownBaseOf, ticketPull } from './ticket-on-github.ts';

/** Pushes a ticket's branch and nothing else. */
export async function pushTicket(
  engine: EngineContext,
  ref: TicketRef,
): Promise<Pushed & { branch: string }> {
  const work = await forgeWork(engine, ref);
  const pushed = await push(work, { again: true });
  await work.forget();
  return { branch: work.spec.branch, ...pushed };
}

/** `again`: also push a branch that was deleted on origin. `from`: the base that must be on origin. */
export function push(
  { engine, journal, spec, known }: ForgeWork,
  wish: { again: boolean; from?: string | null },
): Promise<Pushed> {
  return journal.record('push', { branch: spec.branch }, () =>
    engine.workspaces.push({ ...spec, known: known(), ...wish }),
  );
}

/**
 * Takes over what people pushed to a ticket's branch, and fetches the base. What had to be merged is pushed, so that
 * the branch is the same here and there. A rewritten branch is taken over only where that was asked for.
 */
export async function syncTicket(
  engine: EngineContext,
  ref: TicketRef,
  takeTheirs: boolean,
): Promise<CaughtUp> {
  const work = await forgeWork(engine, ref);
  const { repo, path, branch } = work.spec;
  const { repository } = work.head;
  const known = work.known();
  const base =
    lastSeen({ cacheDir: engine.machine.githubCache, repository }, branch)?.base || ownBaseOf(work);
  engine.crash('sync:ready');
  const done = await engine.workspaces.catchUp({ repo, path, branch, known, base, takeTheirs });
  engine.crash('sync:taken');
  // Records the commit: if origin's branch lacks it later, the branch was rewritten.
  const open = done.state === 'conflict' || done.state === 'rewritten';
  if (!open && done.there !== known) work.journal.note('found', { commit: done.there });
  if (done.state === 'merged') await push(work, { again: false });
  await work.forget();
  return done;
}

/** The ticket's pull request; throws where there is none, or where it was closed. */
export async function livePull(work: ForgeWork, purpose: string): Promise<PullRequest> {
  const { planId, ticketId } = work.ticket;
  const pull = await ticketPull(work);
  if (!pull)
    throw new IllegalMoveError(
      'forge/no-pull-request',
      `${refKey(work.ticket)} has no pull request ${purpose}.`,
      { hint: `Open it first: signalbox forge pr ${planId} ${ticketId}` },
    );
  const { number, url, state } = pull;
  if (state === 'CLOSED')
    throw new SignalboxError('forge/closed', `Pull request #${number} was closed without being merged.`, {
      hint: `Open it again: gh pr reopen ${number}`,
      details: { number, url },
    });
  return pull;
}

/** Merges a ticket's pull request, if it still has the very commits that are here. `merged` is false when it was merged already. */
export async function mergeTicketPull(
  engine: EngineContext,
  ref: TicketRef,
): Promise<{ number: number; url: string; merged: boolean }> {
  const work = await forgeWork(engine, ref);
  const { head, gh, ticket, spec, journal } = work;
  const pull = await livePull(work, 'to merge');
  const { number, url } = pull;
  if (pull.state === 'MERGED') {
    if (await isLeftOver(work, pull))
      throw new SignalboxError(
        'forge/left-over',
        `Pull request #${number} was merged without the last commits of ${spec.branch} that are here.`,
        { hint: `Open another one for them: signalbox forge pr ${ref.planId} ${ref.ticketId}` },
      );
    journal.settle('merge', { number, url });
    return { number, url, merged: false };
  }
  const commit = await localTip(work);
  if (commit === undefined)
    throw new IllegalMoveError('ticket/unstarted', `${refKey(ticket)} has no branch yet.`, {
      hint: `See: signalbox status --plan ${ref.planId}`,
    });
  const { method } = engine.settings.merge;
  await journal.record('merge', { number, commit, method }, async () => {
    await mergePullRequest({ head, number, commit, method }, gh);
    return { number, url };
  });
  await work.forget();
  return { number, url, merged: true };
}
