import { defaultHost } from '../../github/find-own-repository.ts';
import type { GraphqlAnswer, GraphqlQuery } from '../../github/gh/graphql.ts';
import { graphql, graphqlFailure, nextCursor } from '../../github/gh/graphql.ts';
import {
  githubKey,
  parseRepository,
  type RepositoryName,
  repositoryName,
  repositoryText,
  sameRepository,
} from '../../github/gh/repository-name.ts';
import { GhError, ghFailure, runGh } from '../../github/gh/run-gh.ts';
import { orError, SignalboxError } from '../../model/errors.ts';
import { groupBy } from '../../model/group-and-remember.ts';
import { parseJson } from '../../model/text/parse-json-and-find-places.ts';
import { asRecord, asText, type JsonObject } from '../../model/text/values-of-unknown-type.ts';
import type { GithubReference } from '../issue-references.ts';
import { type Fetched, problemOf, type SourceContext } from '../work-item.ts';
import { githubItem, issueKeys, labelNames, type RawIssue, rawIssue } from './issue-from-answer.ts';

const ISSUES_PER_QUERY = 50;

/** One issue, and everything that was typed for it. */
interface Asked {
  repository: RepositoryName;
  number: number;
  references: GithubReference[];
}

type Outcome = { issue: RawIssue; repository: RepositoryName } | SignalboxError;

/** Issues through the GitHub CLI, up to fifty of a host in one query. */
export async function fetchGithub(
  references: readonly GithubReference[],
  context: SourceContext,
): Promise<Fetched> {
  const fetched: Fetched = { found: [], problems: [] };
  const answer = await orError(SignalboxError, context.ownRepository);
  const own = answer instanceof SignalboxError ? null : answer;
  const all = new Map<string, Asked>();
  for (const reference of references) {
    const { host, owner, repo, number } = reference;
    const repository =
      owner === undefined ? own : repositoryName(host ?? own?.host ?? defaultHost(context), owner, repo);
    if (!repository) {
      if (answer instanceof SignalboxError) fetched.problems.push(problemOf(reference.text, answer));
      continue;
    }
    const key = githubKey(repository, number);
    const asked = all.get(key) ?? { references: [], repository, number };
    asked.references.push(reference);
    all.set(key, asked);
  }
  for (const [host, asked] of groupBy(all.values(), ({ repository }) => repository.host)) {
    const outcomes = await outcomesOf(host, asked, context);
    for (const [index, { references: typed, repository: named }] of asked.entries()) {
      const outcome = outcomes[index] as Outcome;
      const item = await orError(SignalboxError, () => {
        if (outcome instanceof SignalboxError) throw outcome;
        const { issue, repository } = outcome;
        // A renamed repository answers to the name that origin still has.
        const isOwn = own !== null && (sameRepository(own, named) || sameRepository(own, repository));
        return githubItem(issue, repository, isOwn);
      });
      if (item instanceof SignalboxError)
        fetched.problems.push(...typed.slice(0, 1).map(({ text }) => problemOf(text, item)));
      else fetched.found.push(...typed.map((reference) => ({ reference, item })));
    }
  }
  return fetched;
}

async function outcomesOf(host: string, all: readonly Asked[], context: SourceContext): Promise<Outcome[]> {
  const without = new Set<OptionalField>();
  const outcomes: Outcome[] = [];
  while (outcomes.length < all.length) {
    const part = all.slice(outcomes.length, outcomes.length + ISSUES_PER_QUERY);
    const answers = await orError(GhError, () => askIssues(host, part, context, without));
    if (!(answers instanceof GhError)) outcomes.push(...answers);
    // A gh or a server without GraphQL queries: the plain commands may still work.
    else if (answers.failure === 'unknown' || answers.failure === 'not-found')
      outcomes.push(...(await viewIssues(part, context)));
    else outcomes.push(...part.map(() => answers));
  }
  return outcomes;
}

/** Fields that older servers do not have. */
const OPTIONAL = ['blockedBy', 'parent', 'subIssues'] as const;
type OptionalField = (typeof OPTIONAL)[number];

const ISSUE = 'number repository { nameWithOwner }';
const LISTS = {
  labels: { size: 100, node: 'name' },
  blockedBy: { size: 50, node: ISSUE },
  subIssues: { size: 50, node: ISSUE },
};
type List = keyof typeof LISTS;
const MAX_PAGES = 20;

function listFields(list: List, after = ''): string {
  const { size, node } = LISTS[list];
  return `${list}(first: ${size}${after}) { nodes { ${node} } pageInfo { hasNextPage endCursor } }`;
}

/** One query for many issues of one host. `r0` is the repository of the first, with that issue in it. */
function issuesQuery<T extends Pick<Asked, 'repository' | 'number'>>(
  asked: readonly T[],
  issueFields: (one: T, index: number) => string,
): GraphqlQuery {
  const variables: Record<string, string> = {};
  const fields = asked.map((one, index) => {
    variables[`o${index}`] = one.repository.owner;
    variables[`n${index}`] = one.repository.name;
    const inside = `nameWithOwner issue: ${issueFields(one, index)}`;
    return `r${index}: repository(owner: $o${index}, name: $n${index}) { ${inside} }`;
  });
  return { fields: fields.join(' '), variables };
}

function issueAt({ data }: GraphqlAnswer, index: number): JsonObject {
  return asRecord(asRecord(data[`r${index}`]).issue);
}

/**
 * Asks for issues of one host in one query. `without` remembers, for the calls that follow, which fields the server
 * does not have. Throws a GhError when there is no answer at all.
 */
async function askIssues(
  host: string,
  asked: readonly Asked[],
  context: SourceContext,
  without: Set<OptionalField>,
): Promise<Outcome[]> {
  const first = async () => {
    const known = OPTIONAL.filter((field) => !without.has(field));
    const optional = known.map((field) => (field === 'parent' ? `parent { ${ISSUE} }` : listFields(field)));
    const fields = `number title body state url milestone { title } ${listFields('labels')} ${optional.join(' ')}`;
    const query = issuesQuery(
      asked,
      ({ number }) => `issueOrPullRequest(number: ${number}) { __typename ... on Issue { ...F } }`,
    );
    return ask(host, { ...query, fragments: ` fragment F on Issue { ${fields} }` }, context);
  };
  let answer = await first();
  const unknown = unknownFields(answer).filter((field) => !without.has(field));
  if (unknown.length > 0) {
    for (const field of unknown) without.add(field);
    answer = await first();
  }
  const [error] = answer.errors;
  if (error && Object.keys(answer.data).length === 0)
    throw graphqlFailure(answer, error, { host, what: 'the issues' });
  const outcomes = asked.map((one, index) => outcomeOf(one, index, answer));
  await completeLists(host, asked, outcomes, answer, context);
  return outcomes;
}

export async function ask(host: string, query: GraphqlQuery, context: SourceContext): Promise<GraphqlAnswer> {
  const answer = await graphql(host, query, context);
  if (answer.errors.length === 0 && (answer.result.code !== 0 || !answer.hasData))
    throw graphqlFailure(answer, undefined, { host, what: 'the issues' });
  return answer;
}

/** Optional fields that the server says it does not have. */
function unknownFields({ errors }: GraphqlAnswer): OptionalField[] {
  const named = errors.map(
    ({ message }) => /Field ['"](\w+)['"] (?:doesn't|does not) exist/.exec(message)?.[1],
  );
  return OPTIONAL.filter((field) => named.includes(field));
}

function outcomeOf(asked: Asked, index: number, answer: GraphqlAnswer): Outcome {
  const { host } = asked.repository;
  const text = repositoryText(asked.repository);
  const issue = issueAt(answer, index);
  const error = answer.errors.find(({ path }) => path[0] === `r${index}` && !isOfHiddenIssue(path));
  if (error || issue.__typename === undefined) {
    const what = error?.path.length === 1 ? `the repository ${text}` : `#${asked.number} of ${text}`;
    const cause = error ?? answer.errors[0] ?? { message: '', type: 'NOT_FOUND', path: [] };
    return graphqlFailure(answer, cause, { host, what });
  }
  if (issue.__typename !== 'Issue') return isPullRequest(asked);
  const name = parseRepository(asText(asRecord(answer.data[`r${index}`]).nameWithOwner), host);
  return { issue: rawIssue(issue, host), repository: name ?? asked.repository };
}

/** Blockers and sub-issues that the user may not see leave an empty place in the list, and the issue is still good. */
function isOfHiddenIssue([, , field, nodes]: readonly string[]): boolean {
  return field === 'parent' || ((field === 'blockedBy' || field === 'subIssues') && nodes === 'nodes');
}

function isPullRequest({ repository, number }: Asked): SignalboxError {
  const text = `#${number} of ${repositoryText(repository)}`;
  return new SignalboxError('source/pull-request', `${text} is a pull request; an issue is wanted.`, {
    hint: 'Name the issue that the pull request is about.',
  });
}

/** Fetches the further pages of lists inside issues, those of all issues together. */
async function completeLists(
  host: string,
  asked: readonly Asked[],
  outcomes: readonly Outcome[],
  first: GraphqlAnswer,
  context: SourceContext,
): Promise<void> {
  let open = asked.flatMap(({ repository, number }, index) => {
    const outcome = outcomes[index];
    if (!outcome || outcome instanceof SignalboxError) return [];
    return (Object.keys(LISTS) as List[]).flatMap((list) => {
      const after = nextCursor(issueAt(first, index)[list], null);
      return after === null ? [] : [{ repository, number, list, after, issue: outcome.issue }];
    });
  });
  for (let round = 1; open.length > 0 && round < MAX_PAGES; round += 1) {
    const query = issuesQuery(
      open,
      ({ number, list }, index) => `issue(number: ${number}) { ${listFields(list, `, after: $c${index}`)} }`,
    );
    const cursors = Object.fromEntries(open.map(({ after }, index) => [`c${index}`, after]));
    const answer = await ask(host, { ...query, variables: { ...query.variables, ...cursors } }, context);
    const [error] = answer.errors;
    if (error) throw graphqlFailure(answer, error, { host, what: 'the issues' });
    open = open.flatMap((rest, index) => {
      const page = issueAt(answer, index)[rest.list];
      rest.issue[rest.list].push(...(rest.list === 'labels' ? labelNames(page) : issueKeys(page, host)));
      const after = nextCursor(page, rest.after);
      return after === null ? [] : [{ ...rest, after }];
    });
  }
}

const VIEWS_AT_ONCE = 4;
const FIELDS = 'number,title,body,labels,state,url,milestone';

/** One call for each issue, for when GraphQL queries cannot be made. It does not give native dependencies. */
async function viewIssues(wanted: readonly Asked[], context: SourceContext): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  const queue = [...wanted.entries()];
  const worker = async () => {
    for (let next = queue.shift(); next; next = queue.shift())
      outcomes[next[0]] = await viewIssue(next[1], context);
  };
  await Promise.all(Array.from({ length: Math.min(VIEWS_AT_ONCE, wanted.length) }, worker));
  return outcomes;
}

async function viewIssue(asked: Asked, context: SourceContext): Promise<Outcome> {
  const { repository, number } = asked;
  const text = repositoryText(repository);
  const args = ['issue', 'view', String(number), '--repo', text, '--json', FIELDS];
  return orError(SignalboxError, async () => {
    const result = await runGh(args, context);
    const issue = asRecord(parseJson(result.stdout));
    if (result.code !== 0 || issue.number !== number)
      throw ghFailure(result, { host: repository.host, what: `#${number} of ${text}` });
    const raw = rawIssue(issue, repository.host);
    if (/\/pull\/\d+$/.test(raw.url)) throw isPullRequest(asked);
    return { issue: raw, repository };
  });
}
