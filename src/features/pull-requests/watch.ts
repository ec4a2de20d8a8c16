import type { EngineContext } from '../../engine/context.ts';
import { branchOf, repoOf } from '../../engine/ticket-defaults.ts';
import { repositoryText } from '../../github/gh/repository-name.ts';
import type { ForgeJournal } from '../../github/journal.ts';
import { findPullRequests, ourPull, type Reviewed, readReviews } from '../../github/pull-request.ts';
import { type Standing, standingOf } from '../../github/pull-request-state.ts';
import { seePull } from '../../github/snapshot.ts';
import type { Watch, Watched } from '../../github/watched.ts';
import type { PullWait } from '../../model/actions.ts';
import { InputError } from '../../model/errors.ts';
import { refKey, type TicketRef } from '../../model/ids.ts';
import { planOf } from '../../model/plans/view.ts';
import { shellWord } from '../../model/text/shell-quote.ts';
import type { Ticket } from '../../model/ticket.ts';
import { keepFeedback } from './answer-review.ts';
import {
  type ForgeWork,
  forgeWork,
  isLeftOver,
  localTip,
  ourWork,
  ownBaseOf,
  pullNumberOf,
  ticketPull,
  troubleOf,
} from './context.ts';

/** `unsolved`: answered again and again, and it is still the same. */
type Watching =
  | (Standing & { unsolved?: string })
  /** `unseen`: GitHub could not be asked just now, so that nothing is known. */
  | { waiting: string; unseen?: true };

const MOST_CONFLICTS = 2;

/** Where a ticket's pull request stands for somebody who waits. Asks GitHub at most once per interval for all who do. */
export async function watchPull(parts: EngineContext, ref: TicketRef, awaited: PullWait): Promise<Watching> {
  try {
    return await look(parts, ref, awaited);
  } catch (error) {
    const trouble = await troubleOf(parts, error);
    if (trouble) return { waiting: trouble.reason, unseen: true };
    throw error;
  }
}

async function look(parts: EngineContext, ref: TicketRef, awaited: PullWait): Promise<Watching> {
  const work = await forgeWork(parts, ref);
  const { head, gh, spec, journal } = work;
  const { forge } = parts.settings;
  const tip = await localTip(parts, work);
  const ours = ourWork(work, tip, awaited);
  const watch: Watch = { branch: spec.branch, number: ours.number, owner: head.owner };
  const options = {
    cacheDir: parts.machine.githubCache,
    repository: head.repository,
    maxAgeSeconds: forge.cacheSeconds,
    reserve: forge.reserve,
    gh,
    now: () => parts.now(),
  };
  const seen = await seePull(watch, options, () => othersWaiting(parts, work));
  if ('later' in seen) return { waiting: seen.later, unseen: true };
  const pull = ourPull(seen.pulls, ours, (each) => each.head) ?? null;
  if (pull?.state === 'MERGED') settleMerge(journal, pull);
  const known = journal.heads().at(-1)?.commit;
  const heads = [known, tip].filter((commit) => commit !== undefined);
  const standing = standingOf(pull, awaited, {
    heads,
    lags: pull?.state === 'OPEN' && !heads.includes(pull.head) && (await originHas(parts, work, heads)),
    gone: pull === null && known !== undefined && !(await isOnOrigin(parts, work)),
    left: pull?.state === 'MERGED' && (await isLeftOver(parts, work, tip, pull)),
    answered: journal.answered(),
    reviewers: forge.reviewers,
    opening: openingOf(work),
  });
  if ('outcome' in standing && standing.ids.length > 0) keepFeedback(parts, work, standing);
  const times = pull && timesAnswered(pull, journal.answered());
  return pull && 'outcome' in standing && standing.outcome === 'conflict' && times && times >= MOST_CONFLICTS
    ? {
        ...standing,
        unsolved: `Pull request #${pull.number} still conflicts with ${pull.base} after ${times} answers.`,
      }
    : standing;
}

/** A merge from here that a crash cut off is done after all. */
function settleMerge(journal: ForgeJournal, { number, url, head }: Watched): void {
  const meant = journal.unsettled().find(({ what }) => what === 'merge')?.facts;
  if (meant?.number === number && meant.commit === head) journal.settle('merge', { number, url });
}

/** How a person opens the pull request from anywhere. */
function openingOf({ head, ticket, spec }: ForgeWork): string {
  const { repository, branch, owner } = head;
  const base = ownBaseOf(ticket, spec);
  const foreign = owner !== null && owner.toLowerCase() !== repository.owner.toLowerCase();
  const from = foreign ? `${owner}:${branch}` : branch;
  const words = ['--repo', repositoryText(repository), ...(base ? ['--base', base] : []), '--head', from];
  return `gh pr create ${words.map(shellWord).join(' ')}`;
}

/** How often a conflict with the base as it is now was answered. */
function timesAnswered({ baseCommit }: { baseCommit: string }, answered: ReadonlySet<string>): number {
  return [...answered].filter((id) => id.startsWith('conflict:') && id.endsWith(`:${baseCommit}`)).length;
}

async function isOnOrigin(parts: EngineContext, { spec: { repo, branch } }: ForgeWork): Promise<boolean> {
  return (await parts.workspaces.remoteTips({ repo, branches: [branch] })).has(branch);
}

/** The branch itself tells what a pull request will show in a moment. */
async function originHas(
  parts: EngineContext,
  { spec }: ForgeWork,
  heads: readonly string[],
): Promise<boolean> {
  const { repo, branch } = spec;
  const there = (await parts.workspaces.remoteTips({ repo, branches: [branch] })).get(branch);
  return there !== undefined && heads.includes(there);
}

/** Everybody else who waits in the same repository, asked for along the way. */
function othersWaiting(parts: EngineContext, { ref, spec, head }: ForgeWork): Watch[] {
  const view = parts.store.view();
  return [...view.tickets.values()].flatMap((other) => {
    if (refKey(other) === refKey(ref) || !waitsOutside(other)) return [];
    const plan = planOf(view, other.planId);
    try {
      if (!plan || repoOf(other, plan, parts.settings) !== spec.repo) return [];
      return [{ branch: branchOf(other), number: pullNumberOf(other), owner: head.owner }];
    } catch (error) {
      // A ticket that names no repository waits nowhere.
      if (error instanceof InputError) return [];
      throw error;
    }
  });
}

/** In a poll or a gate that looks, or at one of them right now. What a person has to see to is not asked for. */
function waitsOutside(ticket: Ticket): boolean {
  if (ticket.base === null) return false;
  const { kind } = ticket.hold ?? {};
  if (kind === 'poll') return true;
  return pullNumberOf(ticket) !== null && (kind === 'gate' || ticket.status === 'running');
}

/** What became of a ticket's pull request, as an answer to a gate, or why there is none yet. */
export type ReviewAnswer = { decision: 'approve' | 'reject'; message: string } | { waiting: string };

const MAX_REVIEW_CHARS = 8000;

/** Asks the forge what people said of a ticket's pull request. */
export async function reviewOf(parts: EngineContext, ref: TicketRef): Promise<ReviewAnswer> {
  const work = await forgeWork(parts, ref);
  const { head, gh, spec } = work;
  const latest = await ticketPull(parts, work, await findPullRequests(head, gh));
  if (!latest) return { waiting: `${spec.branch} has no pull request.` };
  return reviewAnswer(latest.number, await readReviews(head.repository, latest.number, gh));
}

function reviewAnswer(number: number, { state, verdict, reviews }: Reviewed): ReviewAnswer {
  if (state === 'MERGED') return { decision: 'approve', message: `Pull request #${number} was merged.` };
  if (state === 'CLOSED')
    return { decision: 'reject', message: `Pull request #${number} was closed without being merged.` };
  if (verdict === null) return { waiting: `Pull request #${number} waits for a review.` };
  const said = reviews.filter(({ approves }) => approves === (verdict === 'approve'));
  const verb = verdict === 'approve' ? 'approves' : 'requests changes';
  const texts = said.map(({ author, text }) => `${author} ${verb}${text ? `: ${text}` : '.'}`);
  return { decision: verdict, message: texts.join('\n\n').slice(0, MAX_REVIEW_CHARS) };
}
