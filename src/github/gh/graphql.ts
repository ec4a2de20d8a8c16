import { asArray, asRecord, asText, parseJson } from '../../model/text/json.ts';
import { type FailureContext, ghFailure, type HttpAnswer, splitAnswer } from './failure.ts';
import type { GhError } from './run-gh.ts';
import { type GhOptions, type GhResult, runGh } from './run-gh.ts';

export interface GraphqlQuery {
  text: string;
  /** Strings only: they reach the query as variables, whatever is in them. */
  variables: Record<string, string>;
}

export interface GraphqlError {
  message: string;
  type: string;
  path: string[];
}

export interface GraphqlAnswer {
  /** Empty where there is none. */
  data: Record<string, unknown>;
  hasData: boolean;
  errors: GraphqlError[];
  /** What a server that did not take the query said. */
  message: string | undefined;
  result: GhResult;
  http: HttpAnswer;
}

/** Sends one query through gh. The caller decides which errors leave an answer that can be used. */
export async function graphql(
  host: string,
  { text, variables }: GraphqlQuery,
  options: GhOptions,
): Promise<GraphqlAnswer> {
  const fields = Object.entries(variables).flatMap(([name, value]) => ['-f', `${name}=${value}`]);
  const args = ['api', 'graphql', '--hostname', host, '--include', '-f', `query=${text}`, ...fields];
  const result = await runGh(args, options);
  const http = splitAnswer(result.stdout);
  const { data, errors, message } = asRecord(parseJson(http.body));
  return {
    data: asRecord(data),
    hasData: typeof data === 'object' && data !== null,
    errors: asArray(errors).map(readError),
    message: asText(message) || undefined,
    result,
    http,
  };
}

function readError(value: unknown): GraphqlError {
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
  const said = error?.message ?? message;
  return ghFailure(result, { ...context, answer: http, message: said, type: error?.type });
}

/** The types of a query's variables, all of which are texts. */
export function variableTypes(variables: Record<string, string>): string {
  return Object.keys(variables)
    .map((name) => `$${name}: String!`)
    .join(', ');
}
