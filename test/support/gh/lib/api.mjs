import { Exit } from './arguments.mjs';
import { execute } from './graphql.mjs';
import { repositoryView } from './schema.mjs';
import { findRepository } from './state.mjs';

/** `gh api graphql` and `gh api rate_limit`, with the headers that --include shows. */
export function api(state, call, input) {
  const { rateLimit } = state;
  const resource = { limit: 5_000, remaining: rateLimit.remaining ?? 5_000, reset: epoch(rateLimit.resetAt) };
  if (call.kind === 'api rate_limit') return answer(state, call, 200, { resources: { graphql: resource } });
  if (rateLimit.remaining === 0) {
    const message = 'API rate limit exceeded for user ID 1.';
    throw new Exit(1, `gh: ${message} (HTTP 403)\n`, answer(state, call, 403, { message }));
  }
  const { query, ...fields } = call.flags.input ? flat(JSON.parse(input)) : call.fields;
  const result = answerQuery(state, query, fields);
  const body = answer(state, call, 200, result);
  if (result.errors)
    throw new Exit(1, `gh: ${result.errors.map(({ message }) => message).join('\n')}\n`, body);
  return body;
}

/** What GitHub would answer to a query, and one point less in the budget. */
export function answerQuery(state, query, variables) {
  if (state.rateLimit.remaining !== null) state.rateLimit.remaining -= 1;
  return execute(query, { ...variables }, root(state), state.unknownFields);
}

function flat({ query, variables }) {
  return { ...variables, query };
}

function answer(state, { flags }, status, body) {
  const text = `${JSON.stringify(body)}\n`;
  if (!flags.include) return text;
  const { remaining, resetAt } = state.rateLimit;
  const headers = {
    'Content-Type': 'application/json; charset=utf-8',
    'X-Ratelimit-Remaining': remaining ?? 5_000,
    'X-Ratelimit-Reset': epoch(resetAt),
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/2.0 ${status} ${status === 200 ? 'OK' : 'Forbidden'}\n${lines.join('')}\r\n${text}`;
}

function epoch(time) {
  return Math.floor(Date.parse(time) / 1000);
}

function root(state) {
  return {
    __typename: 'Query',
    viewer: { __typename: 'User', login: state.user },
    rateLimit: {
      limit: 5_000,
      cost: 1,
      remaining: state.rateLimit.remaining ?? 5_000,
      resetAt: state.rateLimit.resetAt,
    },
    repository: ({ owner, name }) => {
      const found = findRepository(state, `${owner}/${name}`);
      if (found) return repositoryView(state, found);
      const message = `Could not resolve to a Repository with the name '${owner}/${name}'.`;
      throw Object.assign(new Error(message), { type: 'NOT_FOUND' });
    },
  };
}
