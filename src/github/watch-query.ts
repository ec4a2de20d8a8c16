import { asArray, asRecord } from '../model/text/json.ts';
import { graphql, graphqlFailure, variableTypes } from './gh/graphql.ts';
import { type RepositoryName, repositoryText } from './gh/repository-name.ts';
import type { GhOptions } from './gh/run-gh.ts';
import { type Budget, readBudget } from './rate-limit.ts';
import { readTalk, readWatched, type Talk, type Watched } from './watched.ts';

/** A branch whose pull request something waits for. */
export interface Watch {
  branch: string;
  /** If it is known already: a branch alone may also have pull requests of other people's forks. */
  number: number | null;
  /** Owner of the repository that the branch is pushed to; null when its address does not tell. */
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

interface RepositoryQuery {
  /** Fields of the repository. */
  fields: string;
  variables?: Record<string, string>;
  fragments?: string;
}

/** Asks for fields of a repository. An error of a part is left to the reader of that part; any other is thrown. */
export async function askRepository(
  repository: RepositoryName,
  { fields, variables, fragments = '' }: RepositoryQuery,
  options: GhOptions,
): Promise<{ found: Record<string, unknown>; budget: Budget | null }> {
  const { host, owner, name } = repository;
  const all = { owner, name, ...variables };
  const text = `query(${variableTypes(all)}) {
  rateLimit { limit remaining cost resetAt }
  repository(owner: $owner, name: $name) {
    ${fields}
  }
}${fragments}`;
  const answer = await graphql(host, { text, variables: all }, { timeoutMs: 60_000, ...options });
  const { data, errors } = answer;
  const whole = errors.find(({ type, path }) => path.length === 0 || type === 'RATE_LIMITED');
  if (whole || Object.keys(data).length === 0) {
    const what = `the pull requests of ${repositoryText(repository)}`;
    throw graphqlFailure(answer, whole ?? errors[0], { host, what });
  }
  return { found: asRecord(data.repository), budget: readBudget(data.rateLimit) };
}

/** The pull requests of each branch, newest first, in the order of the branches, from one query. */
export async function queryWatches(
  repository: RepositoryName,
  watches: readonly Watch[],
  gh: GhOptions,
): Promise<{ pulls: Watched[][]; budget: Budget | null }> {
  const variables: Record<string, string> = {};
  const fields = watches.map(({ branch, number }, index) => {
    if (number !== null) return `p${index}: pullRequest(number: ${Math.trunc(number)}) { ...pull }`;
    variables[`b${index}`] = branch;
    const order = 'orderBy: {field: CREATED_AT, direction: DESC}';
    return `p${index}: pullRequests(headRefName: $b${index}, first: 5, ${order}) { nodes { ...pull } }`;
  });
  const query = { fields: fields.join('\n    '), variables, fragments: `\n${PULL}` };
  const { found, budget } = await askRepository(repository, query, gh);
  const pulls = watches.map(({ branch, number, owner }, index) => {
    const value = asRecord(found[`p${index}`]);
    const all = (number === null ? asArray(value.nodes) : [value]).flatMap((each) => readWatched(each) ?? []);
    const isOwn = (pull: Watched) => owner === null || pull.owner.toLowerCase() === owner.toLowerCase();
    return all.filter((pull) => pull.branch === branch && isOwn(pull));
  });
  return { pulls, budget };
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
