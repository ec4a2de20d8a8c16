export { type BodyFacts, mergeBody, pullRequestSection } from './body.ts';
export { ForgeJournal } from './journal.ts';
export {
  createPullRequest,
  editPullRequest,
  findPullRequests,
  type Head,
  type PullRequest,
} from './pull-request.ts';
export { type Review, type Reviewed, readReviews } from './review.ts';
export type { Criterion } from './table.ts';
export { issueReference, pullRequestTitle, type Tracked } from './title.ts';
