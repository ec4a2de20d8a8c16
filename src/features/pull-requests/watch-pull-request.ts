import type { EngineContext } from '../../engine/context.ts';
import { branchOf, repoOf } from '../../engine/work-out-workspace-and-repository.ts';
import { repositoryText } from '../../github/gh/repository-name.ts';
import { headText, ownPullRequest } from '../../github/pull-request.ts';
import { readPullRequests } from '../../github/pull-request-cache.ts';
import { decidingReviews, type Standing, standingOf } from '../../github/pull-request-state-and-feedback.ts';
import { queryWatches, type Watch, withEarlier } from '../../github/query-pull-requests.ts';
import type { PullWait } from '../../model/actions.ts';
import { ifUsable } from '../../model/errors.ts';
import { refKey, type TicketRef } from '../../model/ids-and-branch-names.ts';
import { planOf } from '../../model/plans/plans-view.ts';
import { shellWord } from '../../model/text/quote-values-for-shell.ts';
import type { Ticket } from '../../model/ticket.ts';
import { keepFeedback } from './answer-review.ts';
import { temporaryTroubleOf } from './temporary-and-final-errors.ts';
import {
  type ForgeWork,
  forgeWork,
  isLeftOver,
  localTip,
  ownBaseOf,
  ownWork,
  pullNumberOf,
  ticketPull,
} from './ticket-on-github.ts';

/** `unsolved`: answered several times without a change. */
type Watching =
  | (Standing & { unsolved?: string })
  /** `unseen`: GitHub could not be asked just now, so that nothing is known. */
  | { waiting: string; unseen?: true };

const MAX_CONFLICT_ANSWERS = 2;

/** The state of a ticket's pull request for a phase that waits. Asks GitHub at most once per interval for all phases. */
export async function watchPull(engine: EngineContext, ref: TicketRef, awaited: PullWait): Promise<Watching> {
  try {
    return await poll(await forgeWork(engine, ref), awaited);
  } catch (error) {
    const trouble = await temporaryTroubleOf(engine, error);
    if (trouble) return { waiting: trouble.reason, unseen: true };
    throw error;
  }
}

async function poll(work: ForgeWork, awaited: PullWait): Promise<Watching> {
  const { engine, head, gh, spec, journal } = work;
  const { forge } = engine.settings;
  const { repo, branch } = spec;
  const tip = await localTip(work);
  const ours = ownWork(work, tip, awaited);
  const options = {
    cacheDir: engine.machine.githubCache,
    repository: head.repository,
    maxAgeSeconds: forge.cacheSeconds,
    reserve: forge.reserve,
    gh,
    now: () => engine.now(),
  };
  const watch = { branch, number: ours.number, owner: head.owner };
  const seen = await readPullRequests(watch, options, () => othersWaiting(work));
  if ('later' in seen) return { waiting: seen.later, unseen: true };
  const pull = ownPullRequest(seen.pulls, ours, (each) => each.head) ?? null;
  if (pull?.state === 'MERGED') {
    // Records a merge from here whose answer was lost in a crash.
    const meant = journal.unsettled().find(({ what }) => what === 'merge')?.facts;
    const { number, url } = pull;
    if (meant?.number === number && meant.commit === pull.head) journal.settle('merge', { number, url });
  }
  const known = work.known();
  const heads = [known, tip].filter((commit) => typeof commit === 'string');
  const onOrigin = async () => (await engine.workspaces.remoteTips({ repo, branches: [branch] })).get(branch);
  const answered = journal.answered();
  const standing = standingOf(pull, awaited, {
    heads,
    lags: pull?.state === 'OPEN' && !heads.includes(pull.head) && heads.includes((await onOrigin()) ?? ''),
    gone: pull === null && known !== null && (await onOrigin()) === undefined,
    left:
      pull?.state === 'MERGED' &&
      (await isLeftOver(work, { headRefOid: pull.head, mergedAt: pull.mergedAt })),
    answered,
    reviewers: forge.reviewers,
    opening: openingOf(work),
  });
  if ('waiting' in standing) return standing;
  if (standing.ids.length > 0) keepFeedback(work, standing);
  if (!pull || standing.outcome !== 'conflict') return standing;
  // Answers to conflicts with the base as it is now.
  const suffix = `:${pull.baseCommit}`;
  const times = [...answered].filter((id) => id.startsWith('conflict:') && id.endsWith(suffix)).length;
  const unsolved = `Pull request #${pull.number} still conflicts with ${pull.base} after ${times} answers.`;
  return times >= MAX_CONFLICT_ANSWERS ? { ...standing, unsolved } : standing;
}

/** The command that opens the pull request from any directory. */
function openingOf(work: ForgeWork): string {
  const base = ownBaseOf(work);
  const { head } = work;
  const words = ['--repo', repositoryText(head.repository), ...(base ? ['--base', base] : [])];
  return `gh pr create ${[...words, '--head', headText(head)].map(shellWord).join(' ')}`;
}

/** Other tickets that wait in the same repository: one query asks for all. */
function othersWaiting({ engine, ticket, spec, head }: ForgeWork): Watch[] {
  const view = engine.store.glance();
  return [...view.tickets.values()].flatMap((other) => {
    if (refKey(other) === refKey(ticket) || !waitsOutside(other)) return [];
    const plan = planOf(view, other.planId);
    const isHere = () => plan !== undefined && repoOf(other, plan, engine.settings) === spec.repo;
    // A ticket without a repository has no pull request.
    const branch = ifUsable(() => (isHere() ? branchOf(other) : undefined));
    return branch === undefined ? [] : [{ branch, number: pullNumberOf(other), owner: head.owner }];
  });
}

/** Whether a ticket is in a poll or in a gate that polls, or about to be; not one that only a person can continue. */
function waitsOutside(ticket: Ticket): boolean {
  if (ticket.base === null) return false;
  const { kind } = ticket.hold ?? {};
  if (kind === 'poll') return true;
  return pullNumberOf(ticket) !== null && (kind === 'gate' || ticket.status === 'running');
}

/** The reviews of a ticket's pull request as an answer to a gate, or why there is none yet. */
export type ReviewAnswer = { decision: 'approve' | 'reject'; message: string } | { waiting: string };

const MAX_REVIEW_CHARS = 8000;

export async function reviewOf(engine: EngineContext, ref: TicketRef): Promise<ReviewAnswer> {
  const work = await forgeWork(engine, ref);
  const { head, gh, spec } = work;
  const latest = await ticketPull(work);
  if (!latest) return { waiting: `${spec.branch} has no pull request.` };
  const { number, state } = latest;
  const name = `Pull request #${number}`;
  if (state === 'MERGED') return { decision: 'approve', message: `${name} was merged.` };
  if (state === 'CLOSED') return { decision: 'reject', message: `${name} was closed without being merged.` };
  const watch = { branch: spec.branch, number, owner: head.owner };
  const [pull] = (await queryWatches(head.repository, [watch], gh)).pulls.flat();
  const reviews = pull ? decidingReviews(await withEarlier(head.repository, pull, gh)) : [];
  if (reviews.length === 0) return { waiting: `${name} waits for a review.` };
  const approves = reviews[0]?.state === 'APPROVED';
  const verb = approves ? 'approves' : 'requests changes';
  const texts = reviews.map(({ author, text }) => `${author} ${verb}${text ? `: ${text}` : '.'}`);
  const message = texts.join('\n\n').slice(0, MAX_REVIEW_CHARS);
  return { decision: approves ? 'approve' : 'reject', message };
}
