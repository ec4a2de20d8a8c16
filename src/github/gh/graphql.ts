import { parseJson } from '../../model/text/parse-json-and-find-places.ts';
import type { JsonObject } from '../../model/text/values-of-unknown-type.ts';
import { asArray, asRecord, asText } from '../../model/text/values-of-unknown-type.ts';
import { type RateLimit, readRateLimit } from '../remember-rate-limit.ts';
import { type RepositoryName, repositoryText } from './repository-name.ts';
import type { GhError } from './run-gh.ts';
import { type FailureContext, type GhOptions, ghFailure, runGh, splitAnswer } from './run-gh.ts';

export interface GraphqlQuery {
  /** Fields of the query. */
  fields: string;
  /** Strings only: they reach the query as variables, whatever is in them. */
  variables: Record<string, string>;
  fragments?: string;
}

type GraphqlError = ReturnType<typeof readError>;
export type GraphqlAnswer = Awaited<ReturnType<typeof graphql>>;

/** Sends one query through gh. The caller decides which errors leave an answer that can be used. */
export async function graphql(
  host: string,
  { fields, variables, fragments = '' }: GraphqlQuery,
  options: GhOptions,
) {
  const types = Object.keys(variables).map((name) => `$${name}: String!`);
  const query = `query(${types.join(', ')}) { ${fields} }${fragments}`;
  const values = Object.entries(variables).flatMap(([name, value]) => ['-f', `${name}=${value}`]);
  const args = ['api', 'graphql', '--hostname', host, '--include', '-f', `query=${query}`, ...values];
  const result = await runGh(args, options);
  const http = splitAnswer(result.stdout);
  const { data, errors, message } = asRecord(parseJson(http.body));
  return {
    /** Empty where there is none. */
    data: asRecord(data),
    hasData: typeof data === 'object' && data !== null,
    errors: asArray(errors).map(readError),
    /** The message of a server that refused the query. */
    message: asText(message) || undefined,
    result,
    http,
  };
}

function readError(value: unknown) {
  const { message, type, path, extensions } = asRecord(value);
  const code = asText(asRecord(extensions).code);
  return { message: asText(message), type: asText(type) || code, path: asArray(path).map(String) };
}

/** Why an answer cannot be used: one of its errors, else what the server or gh said. */
export function graphqlFailure(
  { result, http, message }: GraphqlAnswer,
  error: GraphqlError | undefined,
  context: FailureContext,
): GhError {
  const reason = error?.message ?? message;
  return ghFailure(result, { ...context, answer: http, message: reason, type: error?.type });
}

/** The objects of a list. */
export function nodesOf(connection: unknown): JsonObject[] {
  return asArray(asRecord(connection).nodes).map(asRecord);
}

/** Where the next page of a list begins; null at the end, or when the server gives the same page again. */
export function nextCursor(connection: unknown, before: string | null): string | null {
  const { hasNextPage, endCursor } = asRecord(asRecord(connection).pageInfo);
  return hasNextPage === true && typeof endCursor === 'string' && endCursor !== before ? endCursor : null;
}

/** Asks for fields of a repository. An error of a part is left to the reader of that part; any other is thrown. */
export async function askRepository(
  repository: RepositoryName,
  { fields, variables = {}, fragments }: Partial<GraphqlQuery>,
  options: GhOptions,
): Promise<{ found: Record<string, unknown>; rateLimit: RateLimit | null }> {
  const { host, owner, name } = repository;
  const query = {
    fields: `rateLimit { limit remaining cost resetAt } repository(owner: $owner, name: $name) { ${fields} }`,
    variables: { owner, name, ...variables },
    ...(fragments ? { fragments } : {}),
  };
  const answer = await graphql(host, query, { timeoutMs: 60_000, ...options });
  const { data, errors } = answer;
  const whole = errors.find(({ type, path }) => path.length === 0 || type === 'RATE_LIMITED');
  if (whole || Object.keys(data).length === 0) {
    const what = `the pull requests of ${repositoryText(repository)}`;
    throw graphqlFailure(answer, whole ?? errors[0], { host, what });
  }
  return { found: asRecord(data.repository), rateLimit: readRateLimit(data.rateLimit) };
}
