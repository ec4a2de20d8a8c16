export { commentOnce, findComment, markOf } from './comment.ts';
export type { Criterion } from './criteria-table.ts';
export { inert } from './escape-markdown.ts';
export { ForgeJournal, type JournalLine } from './journal.ts';
export { KnownRepositories } from './known-repositories.ts';
export { limitEnd } from './limit-end.ts';
export { type MergeWish, mergePullRequest } from './merge.ts';
export { type OurWork, ourPull } from './own-pull-requests.ts';
export {
  createPullRequest,
  editPullRequest,
  findPullRequests,
  type Head,
  type PullRequest,
} from './pull-request.ts';
export { type BodyFacts, mergeBody, pullRequestSection } from './pull-request-body.ts';
export {
  objectionTo,
  PULL_WAITS,
  type PullOutcome,
  type PullWait,
  pendingChecks,
  type Standing,
  standingOf,
} from './pull-request-state.ts';
export { issueReference, pullRequestTitle, type Tracked } from './pull-request-title.ts';
export { type Budget, BudgetBook, type KnownBudget } from './rate-limit.ts';
export { type Review, type Reviewed, readReviews } from './review.ts';
export { forgetPull, lastSeen, type Seen, seePull } from './snapshot.ts';
export type { Watch } from './watch-query.ts';
export type { Watched } from './watched.ts';
