import { epochOf, type Refusal, retryAfter, STATUS } from './protocol.ts';
import type { Failure } from './scenario.ts';

const TYPES: Record<Failure['kind'], [type: string, code: string | null, message: string]> = {
  auth: ['invalid_request_error', 'invalid_api_key', 'Incorrect API key provided.'],
  limit: ['requests', 'rate_limit_exceeded', 'Rate limit reached.'],
  overloaded: ['server_error', 'server_error', 'The server is currently overloaded.'],
  context: [
    'invalid_request_error',
    'context_length_exceeded',
    "This model's maximum context length is 128000 tokens. Your messages resulted in 250000 tokens.",
  ],
  billing: [
    'insufficient_quota',
    'insufficient_quota',
    'You exceeded your current quota, please check your plan and billing details.',
  ],
  server: ['server_error', null, 'The server had an error while processing your request.'],
};

/** Both of OpenAI's protocols refuse alike; a limit with an end is the usage limit of a subscription. */
export function refuseAsOpenAi(failure: Failure, now: Date): Refusal {
  const [type, code, message] = TYPES[failure.kind];
  const reset = failure.kind === 'limit' ? epochOf(failure, now) : undefined;
  const limit =
    reset === undefined
      ? {}
      : {
          type: 'usage_limit_reached',
          message: `${message} Please try again in ${failure.resetInSeconds}s.`,
          plan_type: 'plus',
          resets_at: reset,
          resets_in_seconds: failure.resetInSeconds,
        };
  return {
    status: STATUS[failure.kind],
    headers: retryAfter(failure),
    body: { error: { message, type, param: null, code, ...limit } },
  };
}
