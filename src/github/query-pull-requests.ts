import { asArray, asRecord, asText, type JsonObject } from '../model/text/values-of-unknown-type.ts';
import { askRepository, nodesOf } from './gh/graphql.ts';
import type { RepositoryName } from './gh/repository-name.ts';
import type { GhOptions } from './gh/run-gh.ts';
import { isPullState } from './pull-request.ts';
import type { RateLimit } from './remember-rate-limit.ts';

/** A pull request with everything that people and machines said of it. It is kept as JSON for all that wait. */
export type Watched = NonNullable<ReturnType<typeof readWatched>>;
export type Comment = ReturnType<typeof readSaid>;
export type Thread = ReturnType<typeof readThread>;
type CheckState = 'passed' | 'failed' | 'pending';
export type Check = ReturnType<typeof readCheck>;

/** Kinds of comments, as GitHub names them. */
type Talk = 'reviews' | 'reviewThreads' | 'comments';
const TALK: readonly Talk[] = ['reviews', 'reviewThreads', 'comments'];

const PASSED = new Set(['SUCCESS', 'NEUTRAL', 'SKIPPED', 'STALE']);

/** Undefined for anything that is not a pull request. */
export function readWatched(value: unknown) {
  const pull = asRecord(value);
  const { number, state } = pull;
  if (typeof number !== 'number' || !isPullState(state)) return undefined;
  const commit = asRecord(asRecord(nodesOf(pull.commits)[0]).commit);
  return {
    number,
    state,
    url: asText(pull.url),
    createdAt: asText(pull.createdAt),
    /** Empty unless it was merged. */
    mergedAt: asText(pull.mergedAt),
    isDraft: pull.isDraft === true,
    branch: asText(pull.headRefName),
    /** Owner of the repository that has the branch; empty when that is gone. */
    owner: asText(asRecord(pull.headRepositoryOwner).login),
    /** False once the branch was deleted. */
    hasBranch: asText(asRecord(pull.headRef).name) !== '',
    head: asText(pull.headRefOid),
    base: asText(pull.baseRefName),
    baseCommit: asText(pull.baseRefOid),
    mergeable: asText(pull.mergeable),
    /** Empty where the repository has no rule. */
    decision: asText(pull.reviewDecision),
    ...readTalk(pull),
    checks: readChecks(asRecord(commit.statusCheckRollup)),
  };
}

/** What was said, oldest first, and whether there is more of it. */
function readTalk(pull: JsonObject) {
  const earlier: Partial<Record<Talk, string>> = {};
  for (const talk of TALK) {
    const { hasPreviousPage, startCursor } = asRecord(asRecord(pull[talk]).pageInfo);
    if (hasPreviousPage === true && asText(startCursor) !== '') earlier[talk] = asText(startCursor);
  }
  const threads = nodesOf(pull.reviewThreads);
  return {
    reviews: nodesOf(pull.reviews).map(readSaid),
    threads: threads.map(readThread),
    comments: nodesOf(pull.comments).map(readSaid),
    /** Where earlier pages begin, by what there is more of. */
    earlier,
    /** Threads have older comments than were read. */
    cut: threads.some(({ comments }) => asRecord(asRecord(comments).pageInfo).hasPreviousPage === true),
  };
}

function readSaid(said: JsonObject) {
  return {
    id: asText(said.id),
    author: asText(asRecord(said.author).login) || 'ghost',
    association: asText(said.authorAssociation),
    /** By the account that asked. */
    own: said.viewerDidAuthor === true,
    text: asText(said.body).trim(),
    at: asText(said.submittedAt) || asText(said.createdAt),
    /** Of reviews: `APPROVED`, `CHANGES_REQUESTED`, `COMMENTED`, `DISMISSED`, and the commit; else empty. */
    state: asText(said.state),
    commit: asText(asRecord(said.commit).oid),
  };
}

function readThread(thread: JsonObject) {
  const { line } = thread;
  return {
    path: asText(thread.path),
    line: typeof line === 'number' ? line : null,
    resolved: thread.isResolved === true,
    comments: nodesOf(thread.comments).map(readSaid),
  };
}

/** All checks of a commit. Those that were not read are one more, with what GitHub says of the whole. */
function readChecks(rollup: JsonObject): Check[] {
  const checks = nodesOf(rollup.contexts).map(readCheck);
  const { hasNextPage } = asRecord(asRecord(rollup.contexts).pageInfo);
  if (hasNextPage !== true) return checks;
  const result = asText(rollup.state);
  const failed = result === 'FAILURE' || result === 'ERROR';
  const state: CheckState = failed ? 'failed' : result === 'SUCCESS' ? 'passed' : 'pending';
  // What one of those that were read explains says nothing of the others.
  if (checks.some((check) => check.state === state)) return checks;
  const name = `that is one of those behind the first ${checks.length}`;
  return [...checks, { id: 'others', name, state, result, url: '' }];
}

/** A check run, or a status as older services set it. */
function readCheck(check: JsonObject) {
  const name = asText(check.name) || asText(check.context);
  const url = asText(check.detailsUrl) || asText(check.targetUrl);
  const id = asText(check.id);
  const status = asText(check.status);
  const result = asText(check.conclusion) || asText(check.state) || status;
  const waits = status ? status !== 'COMPLETED' : result === 'PENDING' || result === 'EXPECTED';
  const passed = status ? PASSED.has(result) : result === 'SUCCESS';
  const state: CheckState = waits ? 'pending' : passed ? 'passed' : 'failed';
  return { id, name, url, state, result };
}

/** A branch whose pull request something waits for. */
export interface Watch {
  branch: string;
  /** If it is known already: a branch alone may also have pull requests of other people's forks. */
  number: number | null;
  /** Owner of the repository that the branch is pushed to; null when its address does not name one. */
  owner: string | null;
}

/** GitHub counts what a query could return, and refuses too much. */
export const MAX_WATCHES = 25;

const AUTHORED = 'author { login } authorAssociation viewerDidAuthor body';
const BACK = 'pageInfo { hasPreviousPage startCursor }';
const pages: Record<Talk, (page: string) => string> = {
  reviews: (page) => `reviews(${page}) { ${BACK} nodes { id ${AUTHORED} state submittedAt commit { oid } } }`,
  reviewThreads: (page) =>
    `reviewThreads(${page}) { ${BACK} nodes { isResolved path line comments(last: 50) { ${BACK} nodes { id ${AUTHORED} createdAt } } } }`,
  comments: (page) => `comments(${page}) { ${BACK} nodes { id ${AUTHORED} createdAt } }`,
};
const PULL = `fragment pull on PullRequest {
  number url state createdAt mergedAt isDraft headRefName headRefOid baseRefName baseRefOid mergeable mergeStateStatus reviewDecision
  headRef { name } headRepositoryOwner { login }
  ${pages.reviews('last: 100')}
  ${pages.reviewThreads('last: 50')}
  ${pages.comments('last: 100')}
  commits(last: 1) { nodes { commit { oid statusCheckRollup { state contexts(first: 100) { pageInfo { hasNextPage } nodes {
    ... on CheckRun { id name status conclusion detailsUrl }
    ... on StatusContext { id context state targetUrl description }
  } } } } } }
}`;

/** The pull requests of each branch, newest first, in the order of the branches, from one query. */
export async function queryWatches(
  repository: RepositoryName,
  watches: readonly Watch[],
  gh: GhOptions,
): Promise<{ pulls: Watched[][]; rateLimit: RateLimit | null }> {
  const variables: Record<string, string> = {};
  const fields = watches.map(({ branch, number }, index) => {
    if (number !== null) return `p${index}: pullRequest(number: ${Math.trunc(number)}) { ...pull }`;
    variables[`b${index}`] = branch;
    const order = 'orderBy: {field: CREATED_AT, direction: DESC}';
    return `p${index}: pullRequests(headRefName: $b${index}, first: 5, ${order}) { nodes { ...pull } }`;
  });
  const query = { fields: fields.join('\n    '), variables, fragments: `\n${PULL}` };
  const { found, rateLimit } = await askRepository(repository, query, gh);
  const pulls = watches.map(({ branch, number, owner }, index) => {
    const value = asRecord(found[`p${index}`]);
    const all = (number === null ? asArray(value.nodes) : [value]).flatMap((each) => readWatched(each) ?? []);
    const isOwn = (pull: Watched) => owner === null || pull.owner.toLowerCase() === owner.toLowerCase();
    return all.filter((pull) => pull.branch === branch && isOwn(pull));
  });
  return { pulls, rateLimit };
}

/** Only so many pages are read back; of older comments the agent gets the address alone. */
const MAX_EARLIER_PAGES = 8;

/** An open pull request with what was said before the first page. */
export async function withEarlier(
  repository: RepositoryName,
  pull: Watched,
  gh: GhOptions,
): Promise<Watched> {
  let whole = pull;
  for (let page = 0; page < MAX_EARLIER_PAGES; page++) {
    if (whole.state !== 'OPEN' || Object.keys(whole.earlier).length === 0) break;
    const talks = Object.keys(whole.earlier) as Talk[];
    const inner = talks.map((talk) => pages[talk](`last: 50, before: $${talk}`)).join(' ');
    const fields = `pullRequest(number: ${Math.trunc(whole.number)}) { ${inner} }`;
    const { found } = await askRepository(repository, { fields, variables: whole.earlier }, gh);
    const older = readTalk(asRecord(found.pullRequest));
    whole = {
      ...whole,
      reviews: [...older.reviews, ...whole.reviews],
      threads: [...older.threads, ...whole.threads],
      comments: [...older.comments, ...whole.comments],
      earlier: older.earlier,
      cut: whole.cut || older.cut,
    };
  }
  return whole;
}
