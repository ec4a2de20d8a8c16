import {
  type GraphqlAnswer,
  type GraphqlError,
  type GraphqlQuery,
  graphql,
  graphqlFailure,
  variableTypes,
} from '../../github/gh/graphql.ts';
import { parseRepository, type RepositoryName, repositoryText } from '../../github/gh/repository-name.ts';
import { SignalboxError } from '../../model/errors.ts';
import { groupBy } from '../../model/group-by.ts';
import { asRecord, asText } from '../../model/text/json.ts';
import type { SourceContext } from '../item.ts';
import { issueKeys, labelNames, type RawIssue, rawIssue } from './issue.ts';

/** One issue to ask for. */
export interface Wanted {
  repository: RepositoryName;
  number: number;
}

/** Fields that older servers do not have. */
const OPTIONAL = ['blockedBy', 'parent', 'subIssues'] as const;
export type OptionalField = (typeof OPTIONAL)[number];

const PAGED = ['labels', 'blockedBy', 'subIssues'] as const;
type PagedField = (typeof PAGED)[number];

const PAGE = 'pageInfo { hasNextPage endCursor }';
const PLACE = 'number repository { nameWithOwner }';
const NODES: Record<PagedField, string> = { labels: 'name', blockedBy: PLACE, subIssues: PLACE };
const SIZES: Record<PagedField, number> = { labels: 100, blockedBy: 50, subIssues: 50 };

/** One query for many issues of one host. `r0` is the first repository, `i12` issue 12 in it. */
function issuesQuery(wanted: readonly Wanted[], without: ReadonlySet<OptionalField>): GraphqlQuery {
  const optional: Record<OptionalField, string> = {
    blockedBy: connection('blockedBy'),
    parent: `parent { ${PLACE} }`,
    subIssues: connection('subIssues'),
  };
  const more = OPTIONAL.flatMap((field) => (without.has(field) ? [] : [optional[field]])).join(' ');
  const fields = `fragment F on Issue { number title body state url milestone { title } ${connection('labels')} ${more} }`;
  const issue = ({ number }: Wanted) =>
    `i${number}: issueOrPullRequest(number: ${number}) { __typename ... on Issue { ...F } }`;
  const query = byRepository(wanted, issue);
  return { ...query, text: `${query.text} ${fields}` };
}

/** What is missing of one issue. */
interface Rest extends Wanted {
  field: PagedField;
  after: string;
}

/** One query for the next pages of many issues; `p0` is the first of them. */
function pagesQuery(rests: readonly Rest[]): GraphqlQuery {
  const number = new Map(rests.map((rest, index) => [rest, index]));
  const page = (rest: Rest) => {
    const index = number.get(rest) ?? 0;
    return `p${index}: issue(number: ${rest.number}) { ${connection(rest.field, `$c${index}`)} }`;
  };
  const cursors = Object.fromEntries(rests.map(({ after }, index) => [`c${index}`, after]));
  return byRepository(rests, page, cursors);
}

function connection(field: PagedField, after?: string): string {
  const cursor = after === undefined ? '' : `, after: ${after}`;
  return `${field}(first: ${SIZES[field]}${cursor}) { nodes { ${NODES[field]} } ${PAGE} }`;
}

function byRepository<T extends Wanted>(
  wanted: readonly T[],
  one: (each: T) => string,
  more: Record<string, string> = {},
): GraphqlQuery {
  const variables: Record<string, string> = { ...more };
  const parts = repositories(wanted).map((group, index) => {
    const { owner, name } = group[0]?.repository ?? { owner: '', name: '' };
    variables[`o${index}`] = owner;
    variables[`n${index}`] = name;
    const inside = group.map(one).join(' ');
    return `r${index}: repository(owner: $o${index}, name: $n${index}) { nameWithOwner ${inside} }`;
  });
  return { text: `query(${variableTypes(variables)}) { ${parts.join(' ')} }`, variables };
}

/** Groups in the order of the aliases `r0`, `r1`… */
function repositories<T extends Wanted>(wanted: readonly T[]): T[][] {
  const groups = groupBy(wanted, ({ repository: { owner, name } }) => `${owner}/${name}`.toLowerCase());
  return [...groups.values()];
}

/** The aliases of one issue in an answer to `issuesQuery`. */
function aliases(wanted: readonly Wanted[], one: Wanted): [repository: string, issue: string] {
  const index = repositories(wanted).findIndex((group) => group.includes(one));
  return [`r${index}`, `i${one.number}`];
}

/** Optional fields that the server says it does not have. */
function unknownFields(errors: readonly GraphqlError[]): OptionalField[] {
  const named = errors.map(
    ({ message }) => /Field ['"](\w+)['"] (?:doesn't|does not) exist/.exec(message)?.[1],
  );
  return OPTIONAL.filter((field) => named.includes(field));
}

export type Outcome = { wanted: Wanted } & (
  | { issue: RawIssue; repository: RepositoryName; error?: undefined }
  | { error: SignalboxError }
);

const MAX_PAGES = 20;

/**
 * Asks for issues of one host in one query. `without` remembers, for the calls that follow, which fields the server
 * does not have. Throws a GhError when there is no answer at all.
 */
export async function askIssues(
  host: string,
  wanted: readonly Wanted[],
  context: SourceContext,
  without: Set<OptionalField>,
): Promise<Outcome[]> {
  let answer = await ask(host, issuesQuery(wanted, without), context);
  const unknown = unknownFields(answer.errors).filter((field) => !without.has(field));
  if (unknown.length > 0) {
    for (const field of unknown) without.add(field);
    answer = await ask(host, issuesQuery(wanted, without), context);
  }
  const [first] = answer.errors;
  if (first && Object.keys(answer.data).length === 0)
    throw graphqlFailure(answer, first, { host, what: 'the issues' });
  const outcomes = wanted.map((one) => outcome(one, aliases(wanted, one), answer, host));
  await readOn(host, outcomes, rests(outcomes, answer, wanted), context);
  return outcomes;
}

export async function ask(host: string, query: GraphqlQuery, context: SourceContext): Promise<GraphqlAnswer> {
  const answer = await graphql(host, query, context);
  if (answer.errors.length === 0 && (answer.result.code !== 0 || !answer.hasData))
    throw graphqlFailure(answer, undefined, { host, what: 'the issues' });
  return answer;
}

function outcome(
  wanted: Wanted,
  [repo, alias]: [string, string],
  answer: GraphqlAnswer,
  host: string,
): Outcome {
  const text = repositoryText(wanted.repository);
  const repository = asRecord(answer.data[repo]);
  const issue = asRecord(repository[alias]);
  const error = answer.errors.find(({ path }) => concerns(path, repo, alias));
  if (error || issue.__typename === undefined) {
    const what = error?.path.length === 1 ? `the repository ${text}` : `#${wanted.number} of ${text}`;
    const cause = error ?? answer.errors[0] ?? { message: '', type: 'NOT_FOUND', path: [] };
    return { wanted, error: graphqlFailure(answer, cause, { host, what }) };
  }
  if (issue.__typename !== 'Issue') return { wanted, error: pullRequest(wanted) };
  const name = parseRepository(asText(repository.nameWithOwner), host) ?? wanted.repository;
  return { wanted, issue: rawIssue(issue, host), repository: name };
}

/** Blockers and sub-issues that the user may not see leave an empty place in the list, and the issue is still good. */
function concerns(path: readonly string[], repo: string, alias: string): boolean {
  if (path[0] !== repo || (path.length > 1 && path[1] !== alias)) return false;
  const isList = path[2] === 'blockedBy' || path[2] === 'subIssues';
  return !(isList && path[3] === 'nodes') && path[2] !== 'parent';
}

export function pullRequest({ repository, number }: Wanted): SignalboxError {
  const text = `#${number} of ${repositoryText(repository)}`;
  return new SignalboxError('source/pull-request', `${text} is a pull request; an issue is wanted.`, {
    hint: 'Name the issue that the pull request is about.',
  });
}

/** Lists of which more pages exist. */
function rests(outcomes: readonly Outcome[], answer: GraphqlAnswer, wanted: readonly Wanted[]): Rest[] {
  return outcomes.flatMap(({ wanted: one, error }) => {
    const [repo, alias] = aliases(wanted, one);
    const issue = asRecord(asRecord(answer.data[repo])[alias]);
    return error ? [] : PAGED.flatMap((field) => next({ ...one, field, after: '' }, issue) ?? []);
  });
}

function next(rest: Rest, issue: Record<string, unknown>): Rest | undefined {
  const { hasNextPage, endCursor } = asRecord(asRecord(issue[rest.field]).pageInfo);
  const more = hasNextPage === true && typeof endCursor === 'string' && endCursor !== rest.after;
  return more ? { ...rest, after: endCursor } : undefined;
}

/** Fetches the pages that are missing, those of all issues together. */
async function readOn(
  host: string,
  outcomes: Outcome[],
  first: Rest[],
  context: SourceContext,
): Promise<void> {
  let open = first;
  for (let round = 1; open.length > 0 && round < MAX_PAGES; round += 1) {
    const answer = await ask(host, pagesQuery(open), context);
    const [error] = answer.errors;
    if (error) throw graphqlFailure(answer, error, { host, what: 'the issues' });
    const groups = repositories(open);
    open = open.flatMap((rest, index) => {
      const repo = `r${groups.findIndex((group) => group.includes(rest))}`;
      const page = asRecord(asRecord(answer.data[repo])[`p${index}`]);
      add(outcomes, rest, page, host);
      return next(rest, page) ?? [];
    });
  }
}

function add(outcomes: readonly Outcome[], rest: Rest, page: Record<string, unknown>, host: string): void {
  const same = outcomes.find(
    ({ wanted }) => wanted.repository === rest.repository && wanted.number === rest.number,
  );
  if (!same || same.error) return;
  if (rest.field === 'labels') same.issue.labels.push(...labelNames(page.labels));
  else same.issue[rest.field].push(...issueKeys(page[rest.field], host));
}
