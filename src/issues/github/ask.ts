import type { GhError } from '../../github/gh/error.ts';
import { type FailureContext, ghFailure, type HttpAnswer, splitAnswer } from '../../github/gh/failure.ts';
import { parseRepository, type RepositoryName, repositoryText } from '../../github/gh/repository-name.ts';
import { type GhResult, runGh } from '../../github/gh/run-gh.ts';
import {
  aliases,
  type GraphqlError,
  graphqlErrors,
  issuesQuery,
  type OptionalField,
  PAGED,
  pagesQuery,
  type Query,
  type Rest,
  repositories,
  unknownFields,
  type Wanted,
} from '../../github/issue-query.ts';
import { SignalboxError } from '../../model/errors.ts';
import { asRecord, asText, parseJson } from '../../model/text/json.ts';
import type { SourceContext } from '../item.ts';
import { issueKeys, labelNames, type RawIssue, rawIssue } from './issue.ts';

export type Outcome = { wanted: Wanted } & (
  | { issue: RawIssue; repository: RepositoryName; error?: undefined }
  | { error: SignalboxError }
);

export interface Answer {
  data: Record<string, unknown>;
  errors: GraphqlError[];
  result: GhResult;
  http: HttpAnswer;
}

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
    throw failed(answer, first, { host, what: 'the issues' });
  const outcomes = wanted.map((one) => outcome(one, aliases(wanted, one), answer, host));
  await readOn(host, outcomes, rests(outcomes, answer, wanted), context);
  return outcomes;
}

export async function ask(host: string, query: Query, context: SourceContext): Promise<Answer> {
  const variables = Object.entries(query.variables).flatMap(([name, value]) => ['-f', `${name}=${value}`]);
  const args = ['api', 'graphql', '--hostname', host, '--include', '-f', `query=${query.text}`, ...variables];
  const result = await runGh(args, context);
  const http = splitAnswer(result.stdout);
  const body = parseJson(http.body);
  const errors = graphqlErrors(body);
  const { data } = asRecord(body);
  if (errors.length === 0 && (result.code !== 0 || typeof data !== 'object' || data === null)) {
    const message = asText(asRecord(body).message) || undefined;
    throw ghFailure(result, { host, what: 'the issues', answer: http, message, now: context.now });
  }
  return { data: asRecord(data), errors, result, http };
}

export function failed({ result, http }: Answer, error: GraphqlError, context: FailureContext): GhError {
  return ghFailure(result, { ...context, answer: http, message: error.message, type: error.type });
}

function outcome(wanted: Wanted, [repo, alias]: [string, string], answer: Answer, host: string): Outcome {
  const text = repositoryText(wanted.repository);
  const repository = asRecord(answer.data[repo]);
  const issue = asRecord(repository[alias]);
  const error = answer.errors.find(({ path }) => concerns(path, repo, alias));
  if (error || issue.__typename === undefined) {
    const what = error?.path.length === 1 ? `the repository ${text}` : `#${wanted.number} of ${text}`;
    const cause = error ?? answer.errors[0] ?? { message: '', type: 'NOT_FOUND', path: [] };
    return { wanted, error: failed(answer, cause, { host, what }) };
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
function rests(outcomes: readonly Outcome[], answer: Answer, wanted: readonly Wanted[]): Rest[] {
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
    if (error) throw failed(answer, error, { host, what: 'the issues' });
    const groups = [...repositories(open).values()];
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
