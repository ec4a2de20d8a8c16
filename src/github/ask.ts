import { asRecord, asText, parseJson } from '../model/text/json.ts';
import { ghFailure, splitAnswer } from './gh/failure.ts';
import { type RepositoryName, repositoryText } from './gh/repository-name.ts';
import { type GhOptions, runGh } from './gh/run-gh.ts';
import { type GraphqlError, graphqlErrors } from './issue-query.ts';
import { type Budget, readBudget } from './rate-limit.ts';

export interface ForgeQuery {
  text: string;
  /** Strings only: they reach the query as variables, whatever is in them. */
  variables: Record<string, string>;
}

export interface ForgeAnswer {
  data: Record<string, unknown>;
  errors: GraphqlError[];
  budget: Budget | null;
}

/** One GraphQL query through gh. Errors that concern a part of it are given back; anything else is thrown. */
export async function askForge(
  repository: RepositoryName,
  { text, variables }: ForgeQuery,
  options: GhOptions,
): Promise<ForgeAnswer> {
  const { host } = repository;
  const fields = Object.entries(variables).flatMap(([name, value]) => ['-f', `${name}=${value}`]);
  const args = ['api', 'graphql', '--hostname', host, '--include', '-f', `query=${text}`, ...fields];
  const result = await runGh(args, { timeoutMs: 60_000, ...options });
  const answer = splitAnswer(result.stdout);
  const body = asRecord(parseJson(answer.body));
  const errors = graphqlErrors(body);
  const data = asRecord(body.data);
  const whole = errors.find(({ type, path }) => path.length === 0 || type === 'RATE_LIMITED');
  const nothing = Object.keys(data).length === 0;
  if (nothing || whole) {
    const [first] = whole ? [whole] : errors;
    const what = `the pull requests of ${repositoryText(repository)}`;
    const message = first?.message ?? (asText(body.message) || undefined);
    throw ghFailure(result, { host, what, answer, message, type: first?.type });
  }
  return { data, errors, budget: readBudget(data.rateLimit) };
}
