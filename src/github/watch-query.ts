import { asArray, asRecord } from '../model/text/json.ts';
import type { ForgeQuery } from './ask.ts';
import type { RepositoryName } from './gh/repository-name.ts';
import { readWatched, type Talk, type Watched } from './watched.ts';

/** A branch whose pull request is waited for or upon. */
export interface Watch {
  branch: string;
  /** Where it is known already: a branch alone may have pull requests of strangers' forks, too. */
  number: number | null;
  /** Owner of the repository that the branch is pushed to; null when its address does not tell. */
  owner: string | null;
}

/** So many pull requests are asked for at once; GitHub counts what a query could return, and refuses too much. */
export const MOST_AT_ONCE = 25;

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

/** One question for all of them. Names reach GitHub as variables; numbers are numbers. */
export function watchQuery({ owner, name }: RepositoryName, watches: readonly Watch[]): ForgeQuery {
  const variables: Record<string, string> = { owner, name };
  const fields = watches.map(({ branch, number }, index) => {
    if (number !== null) return `p${index}: pullRequest(number: ${Math.trunc(number)}) { ...pull }`;
    variables[`b${index}`] = branch;
    const order = 'orderBy: {field: CREATED_AT, direction: DESC}';
    return `p${index}: pullRequests(headRefName: $b${index}, first: 5, ${order}) { nodes { ...pull } }`;
  });
  const names = Object.keys(variables).map((variable) => `$${variable}: String!`);
  const text = `query(${names.join(', ')}) {
  rateLimit { limit remaining cost resetAt }
  repository(owner: $owner, name: $name) {
    ${fields.join('\n    ')}
  }
}
${PULL}`;
  return { text, variables };
}

/** What was said before the oldest that is known of one pull request. */
export function earlierQuery(
  { owner, name }: RepositoryName,
  number: number,
  cursors: Partial<Record<Talk, string>>,
): ForgeQuery {
  const variables: Record<string, string> = { owner, name };
  const fields = Object.entries(cursors).map(([talk, cursor]) => {
    variables[talk] = cursor;
    return pages[talk as Talk](`last: 50, before: $${talk}`);
  });
  const names = Object.keys(variables).map((variable) => `$${variable}: String!`);
  const text = `query(${names.join(', ')}) {
  rateLimit { limit remaining cost resetAt }
  repository(owner: $owner, name: $name) {
    pullRequest(number: ${Math.trunc(number)}) { ${fields.join(' ')} }
  }
}`;
  return { text, variables };
}

/** The pull requests of each branch, newest first, in the same order. */
export function readWatches(data: Record<string, unknown>, watches: readonly Watch[]): Watched[][] {
  const repository = asRecord(data.repository);
  return watches.map(({ branch, number, owner }, index) => {
    const value = asRecord(repository[`p${index}`]);
    const found = (number === null ? asArray(value.nodes) : [value]).flatMap(
      (each) => readWatched(each) ?? [],
    );
    return found.filter(
      (pull) =>
        pull.branch === branch && (owner === null || pull.owner.toLowerCase() === owner.toLowerCase()),
    );
  });
}
