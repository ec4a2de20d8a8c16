export { commentOnce, findComment, markOf } from './comment.ts';
export { inert } from './escape-markdown.ts';
export { ForgeJournal } from './journal.ts';
export { KnownRepositories } from './known-repositories.ts';
export {
  createPullRequest,
  editPullRequest,
  findPullRequests,
  type Head,
  mergePullRequest,
  type OurWork,
  ourPull,
  type PullRequest,
} from './pull-request.ts';
export {
  objectionTo,
  pendingChecks,
  type Standing,
  standingOf,
} from './pull-request-state.ts';
export {
  type BodyFacts,
  type Criterion,
  issueReference,
  mergeBody,
  pullRequestSection,
  pullRequestTitle,
  type Tracked,
} from './pull-request-text.ts';
export { BudgetBook, limitEnd } from './rate-limit.ts';
export { type Reviewed, readReviews } from './review.ts';
export { forgetPull, lastSeen, seePull } from './snapshot.ts';
export type { Watch } from './watch-query.ts';
export type { Watched } from './watched.ts';
