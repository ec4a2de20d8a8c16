import type { GhOptions } from '../../github/gh/run-gh.ts';
import { SignalboxError } from '../../model/errors.ts';
import { cleanLine } from '../../model/text/clean-escape-quote-plural.ts';
import { parseJson } from '../../model/text/parse-json-and-find-places.ts';
import { asArray, asRecord, asText } from '../../model/text/values-of-unknown-type.ts';

const DEFAULT_URL = 'https://api.linear.app/graphql';
const MAX_BYTES = 16 * 1024 * 1024;
const TIMEOUT_MS = 30_000;
const RESETS = ['requests', 'complexity', 'endpoint-requests'].map((name) => `x-ratelimit-${name}-reset`);

/** A request to Linear that gave no answer; `code` says why: auth, key, url, rate-limited, network, server, query. */
export class LinearError extends SignalboxError {}

/** Sends one GraphQL query to Linear. The key travels in a header only, and never to another host. */
export async function askLinear(
  query: string,
  variables: Record<string, unknown>,
  options: GhOptions,
): Promise<Record<string, unknown>> {
  const key = apiKey(options);
  const url = apiUrl(options);
  const answer = await send(url, key, JSON.stringify({ query, variables }), options);
  const body = asRecord(parseJson(answer.text));
  const errors = asArray(body.errors).map(asRecord);
  const codes = errors.map(({ extensions }) => {
    const { code, type } = asRecord(extensions);
    return `${asText(code)} ${asText(type)}`.toLowerCase();
  });
  const message = cleanLine(
    errors.map(({ message }) => asText(message)).join('; ') || `HTTP ${answer.status}`,
  );
  if (answer.status === 429 || codes.some((code) => code.includes('ratelimited'))) throw limited(answer);
  if (answer.status === 401 || codes.some((code) => code.includes('authentication')))
    throw new LinearError('linear/auth', 'Linear does not accept the key in LINEAR_API_KEY.', {
      hint: 'Make a new key in Linear under Settings, Security & access, and export it as LINEAR_API_KEY.',
    });
  if (answer.status === 403 || codes.some((code) => code.includes('forbidden')))
    throw new LinearError('linear/forbidden', `Linear refuses access: ${hide(message, key)}`, {
      hint: 'The key needs read access to the team of the issue.',
    });
  if (answer.status >= 500)
    throw new LinearError('linear/server', `Linear failed to answer (HTTP ${answer.status}).`, {
      hint: 'Try again in a moment; https://linearstatus.com shows outages.',
    });
  if (answer.status !== 200 || errors.length > 0 || body.data === undefined)
    throw new LinearError('linear/query', `Linear could not answer: ${hide(message, key)}`, {
      hint: 'Try again. If the error stays, the API may have changed.',
    });
  return asRecord(body.data);
}

interface Answer {
  status: number;
  headers: Headers;
  text: string;
}

async function send(url: string, key: string, body: string, options: GhOptions): Promise<Answer> {
  const timeout = AbortSignal.timeout(options.timeoutMs ?? TIMEOUT_MS);
  const signal = options.signal ? AbortSignal.any([options.signal, timeout]) : timeout;
  try {
    const response = await fetch(url, {
      method: 'POST',
      // A redirect would take the key along.
      redirect: 'error',
      headers: { 'content-type': 'application/json', authorization: key },
      body,
      signal,
    });
    return { status: response.status, headers: response.headers, text: await bounded(response) };
  } catch (error) {
    options.signal?.throwIfAborted();
    if (error instanceof LinearError) throw error;
    const late = timeout.aborted;
    const why = late ? 'no answer in time' : hide(cleanLine(networkReason(error)), key);
    throw new LinearError(late ? 'linear/timeout' : 'linear/network', `Linear cannot be reached: ${why}.`, {
      hint: 'Check the network, proxy and VPN, or https://linearstatus.com.',
    });
  }
}

function networkReason(error: unknown): string {
  const cause = (error as { cause?: { code?: unknown; message?: unknown } }).cause;
  return asText(cause?.code) || asText(cause?.message) || 'the request failed';
}

async function bounded(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += (chunk as Uint8Array).length;
    if (size > MAX_BYTES)
      throw new LinearError('linear/query', "Linear's answer is larger than 16 MB.", {
        hint: 'Ask for fewer issues at once.',
      });
    chunks.push(chunk as Uint8Array);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function limited({ headers }: Answer): LinearError {
  const at = resetTime(headers, Date.now());
  return new LinearError(
    'linear/rate-limited',
    `Linear accepts no more requests${at ? ` until ${at}` : ' for now'}: rate limit.`,
    { hint: at ? `Try again after ${at}.` : 'Try again later.', details: at ? { resetAt: at } : {} },
  );
}

/** Retry-After in seconds, else the latest end of the limits that are used up (epoch milliseconds). */
function resetTime(headers: Headers, now: number): string | undefined {
  const after = Number(headers.get('retry-after') ?? Number.NaN);
  if (Number.isFinite(after)) return new Date(now + after * 1000).toISOString();
  const times = RESETS.flatMap((name) => {
    const left = headers.get(name.replace(/reset$/, 'remaining'));
    const time = Number(headers.get(name) ?? Number.NaN);
    const millis = time < 1e11 ? time * 1000 : time;
    return Number.isFinite(time) && Math.abs(millis) < 8e15 && Number(left ?? 0) <= 0 ? [millis] : [];
  });
  return times.length > 0 ? new Date(Math.max(...times)).toISOString() : undefined;
}

function apiKey({ env }: GhOptions): string {
  const key = (env.LINEAR_API_KEY ?? '').trim();
  const hint = 'Make a key in Linear under Settings, Security & access, and export it as LINEAR_API_KEY.';
  if (key === '')
    throw new LinearError('linear/key', 'Linear issues need a key, and LINEAR_API_KEY is not set.', { hint });
  // A header with other characters makes an error message that repeats them.
  if (!/^[\x21-\x7e]+( [\x21-\x7e]+)?$/.test(key))
    throw new LinearError('linear/key', 'LINEAR_API_KEY holds characters that a key cannot have.', { hint });
  return key;
}

/** Only Linear itself, or this machine: an environment must not be able to send the key anywhere else. */
function apiUrl({ env }: GhOptions): string {
  const given = env.SIGNALBOX_LINEAR_URL;
  if (!given) return DEFAULT_URL;
  if (URL.canParse(given)) {
    const { protocol, hostname, username } = new URL(given);
    const loopback = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(hostname);
    const web = protocol === 'http:' || protocol === 'https:';
    if (username === '' && ((loopback && web) || (hostname === 'api.linear.app' && protocol === 'https:')))
      return given;
  }
  throw new LinearError(
    'linear/url',
    'SIGNALBOX_LINEAR_URL must be https://api.linear.app or an address of this machine.',
    { hint: 'Remove SIGNALBOX_LINEAR_URL from the environment.' },
  );
}

function hide(text: string, key: string): string {
  return text.replaceAll(key, '***');
}
