export { type BodyFacts, mergeBody, pullRequestSection } from './body.ts';
export { type Budget, BudgetBook, type KnownBudget } from './budget.ts';
export { commentOnce, findComment, markOf } from './comment.ts';
export { inert } from './inert.ts';
export { ForgeJournal, type JournalLine } from './journal.ts';
export {
  objectionTo,
  PULL_WAITS,
  type PullOutcome,
  type PullWait,
  pendingChecks,
  type Standing,
  standingOf,
} from './judge.ts';
export { KnownRepositories } from './known-repositories.ts';
export { limitEnd } from './limit.ts';
export { type MergeWish, mergePullRequest } from './merge.ts';
export { type OurWork, ourPull } from './ours.ts';
export {
  createPullRequest,
  editPullRequest,
  findPullRequests,
  type Head,
  type PullRequest,
} from './pull-request.ts';
export { type Review, type Reviewed, readReviews } from './review.ts';
export { forgetPull, lastSeen, type Seen, seePull } from './snapshot.ts';
export type { Criterion } from './table.ts';
export { issueReference, pullRequestTitle, type Tracked } from './title.ts';
export type { Watch } from './watch-query.ts';
export type { Watched } from './watched.ts';
