import { describe, expect, it } from 'vitest';
import {
  classify,
  classifyWords,
  errorOf,
  isEmptied,
  stderrText,
  unfinished,
  wasSignalled,
} from '../../../src/agents/reading/classify-errors.ts';
import type { ErrorClass } from '../../../src/model/ticket.ts';
import { ENDED, FAILED, readerFor } from '../support.ts';

const NOW = '2026-11-15T18:37:03.000Z';
const PER_DAY =
  'Rate limit reached for model `m` on tokens per day (TPD): Limit 100000, Used 99336, Requested 1024. ' +
  'Please try again in 5m11.04s. Need more tokens? Upgrade today at https://console.example.com/settings/billing';
const PER_MINUTE =
  'Rate limit reached for m on requests per min (RPM): Limit 3, Used 3. Please try again in 20s. ' +
  'Visit https://platform.example.com/account/billing to add a payment method.';
const DEPLETED =
  'Your prepayment credits are depleted. Go to the console to manage your project and billing.';
const QUOTA = 'You exceeded your current quota, please check your plan and billing details.';

describe('what a refusal is', () => {
  it.each<[string, number | null, ErrorClass | null]>([
    [PER_DAY, 429, 'limit'],
    [PER_DAY, null, 'limit'],
    [PER_MINUTE, 429, 'limit'],
    [PER_MINUTE, null, 'limit'],
    ['Slow down. More at https://example.com/billing', 429, 'limit'],
    [DEPLETED, 429, 'billing'],
    [`${DEPLETED} Suggested retry after 30s.`, 429, 'billing'],
    [QUOTA, 429, 'billing'],
    [`${QUOTA} Please retry in 1h0m0s.`, 429, 'limit'],
    ['insufficient_quota: try again in 20s', 429, 'billing'],
    ['Your credit balance is too low to access the API.', 400, 'billing'],
    ['Billing is not enabled for this project.', 403, 'billing'],
    ['See https://example.com/billing', 400, 'billing'],
    ['You have run out of credits.', null, 'billing'],
    ['Rate limit reached. Please try again in 20s.', 402, 'billing'],
    ['Overloaded. Please try again in 20s.', 529, 'overloaded'],
    ['Request too large for m on tokens per min (TPM): Limit 30000, Requested 50000.', 429, 'context'],
    ['no', null, null],
  ])('%s with status %s', (message, status, kind) => {
    expect(classify(message, status)).toBe(kind);
  });

  // Every row is there for a word of its own.
  it.each<[ErrorClass, string[]]>([
    [
      'billing',
      [
        'Payment Required',
        'The credit is used up.',
        'All free credits have been exhausted.',
        'Insufficient Balance',
        'Not enough credits.',
        'Your account has insufficient funds',
        'You are out of free credits',
        'Quota exceeded.',
        'billing_error',
        'billing_not_active',
        'Billing hard limit has been reached',
        'The billing account for the project is disabled.',
        'Please check your plan and billing details.',
        'Usage not included in your plan.',
        'See https://example.com/BILLING',
      ],
    ],
    [
      'limit',
      [
        "You've hit your limit",
        "You've hit your Opus limit",
        'Usage limit: 5 of 5',
        'Your session limit is near its end',
        'Over the weekly limit',
        'Over the daily limit',
        'Over the monthly limit',
        'The 5-hour limit is used',
        'rate_limit_error',
        'ratelimit',
        'Limit reached',
        'Too Many Requests',
        'You have exhausted your daily quota on this model.',
        'Quota exceeded for metric: requests per hour',
        'Quota exceeded for metric: requests per minute',
        'Quota exceeded: GenerateRequestsPerDayPerProject',
        'QUOTA exceeded, retry in 5s',
      ],
    ],
    [
      'context',
      [
        'Prompt is too long',
        'input is too large',
        'Request too large',
        'the context window is full',
        'longer than its context length',
        'over the context limit',
        'The input exceeds the maximum number of tokens allowed',
      ],
    ],
    [
      'auth',
      [
        'Incorrect API key provided',
        'authentication_error',
        'Unauthorized',
        'Not logged in',
        'Please log in again',
        'Please run /login',
        'OAuth session expired',
        'Your access token is old',
        'Your refresh token was revoked',
      ],
    ],
    [
      'overloaded',
      [
        'Overloaded',
        'We are experiencing high demand',
        'The model is at capacity',
        'Bad Gateway',
        'the server had an error: Server Error',
        'The service is currently unavailable',
        'Request timed out',
        'Gateway Timeout',
        'the stream has disconnected',
        'Connection error.',
        'Network error',
        'terminated',
        'read ECONNRESET',
        "Can't reach the API server — check your internet or DNS (ENOTFOUND)",
        'getaddrinfo EAI_AGAIN api.example.com',
      ],
    ],
    [
      'config',
      [
        'Unknown model',
        'Invalid model',
        'Model not found: a/b',
        'models/m is not available in your region',
        "There's an issue with the selected model (m). It may not exist",
        "The 'm' model is not supported when using Codex with a ChatGPT account.",
      ],
    ],
    // Nothing is waited for: the address is wrong, and only a person can put that right.
    [
      'crash',
      [
        'API Error: a firewall or proxy may be blocking it (ECONNREFUSED)',
        'Connection refused (os error 111)',
      ],
    ],
  ])('%s in words', (kind, messages) => {
    for (const message of messages) expect([message, classify(message, null)]).toEqual([message, kind]);
  });

  it.each<[number, ErrorClass | null]>([
    [400, null],
    [401, 'auth'],
    [402, 'billing'],
    [403, 'auth'],
    [404, 'config'],
    [408, 'overloaded'],
    [413, 'context'],
    [429, 'limit'],
    [499, null],
    [500, 'overloaded'],
    [529, 'overloaded'],
  ])('status %s alone is %s', (status, kind) => {
    expect(classify('no', status)).toBe(kind);
  });

  it.each([
    'billing_error',
    'billing not active',
    'Billing hard limit has been reached',
    'The billing account for the project is disabled.',
    'Please check your plan and billing details.',
  ])('is an empty account although the status is that of a limit: %s', (message) => {
    expect(classify(message, 429)).toBe('billing');
  });

  it('takes a quota without a time for an empty account', () => {
    expect(classify('Quota exceeded for metric: requests', 429)).toBe('billing');
    expect(classify('The daily report was not found', null)).toBeNull();
  });

  it('finds an empty account in the beginning of a message', () => {
    expect(isEmptied(DEPLETED)).toBe(true);
    expect(isEmptied(QUOTA)).toBe(false);
  });

  it('keeps the beginning of a long message, and no time where there is nothing to wait for', () => {
    expect(errorOf('crash', '  try again in 5s\n', NOW)).toEqual({
      class: 'crash',
      message: 'try again in 5s',
    });
    expect(errorOf('crash', `a${'b'.repeat(9000)}`, NOW).message).toBe(`a${'b'.repeat(3999)}`);
    expect(errorOf('overloaded', 'busy', NOW)).toEqual({ class: 'overloaded', message: 'busy' });
    expect(errorOf('limit', 'busy', NOW)).toEqual({
      class: 'limit',
      message: 'busy',
      resetAt: null,
      sure: false,
    });
  });

  it('reads the end of a limit of minutes and parts of seconds', () => {
    expect(errorOf('limit', PER_DAY, NOW)).toMatchObject({
      resetAt: '2026-11-15T18:42:14.040Z',
      sure: false,
    });
  });
});

describe('what a program without a protocol says', () => {
  it.each<[string, 'limit' | 'overloaded' | null]>([
    ['http 429', 'limit'],
    ['HTTP/1.1 529', 'overloaded'],
    ['status=502', 'overloaded'],
    ['"status": 503', 'overloaded'],
    ['status code: 504', 'overloaded'],
    ['error (500)', 'overloaded'],
    ['429', 'limit'],
    ['working\n  503 \nbye', 'overloaded'],
    ['500', 'overloaded'],
    ['502', 'overloaded'],
    ['504', 'overloaded'],
    ['529', 'overloaded'],
    ['429 tests failed', null],
    ['line 429', null],
    ['4290', null],
    ['501', null],
    ['exit 500', null],
    ['error 5000', null],
    ['error 501', null],
    ['HTTP 429: insufficient_quota', null],
    ['The account is at capacity', 'overloaded'],
    ['Overloaded', 'overloaded'],
    ['Internal Server Error', 'overloaded'],
    ['Service Unavailable', 'overloaded'],
    ['Bad Gateway', 'overloaded'],
    ['high demand', 'overloaded'],
    ['a server error in the tests', null],
    ['429 {"type":"error"}', 'limit'],
    ['429 of {"type":"error"}', null],
    ['try again in 20s', 'overloaded'],
    ['retry-after: 1', 'overloaded'],
    ['a server error: try again in 20s', 'overloaded'],
    ['should retry after 999 ms', null],
    ['not logged in: try again in 20s', null],
    ['Payment required, try again in 20s', null],
  ])('%s is %s', (message, kind) => {
    expect(classifyWords(message)).toBe(kind);
  });
});

describe('a CLI that ended without a result', () => {
  const ended = (stderrTail: string, code: number | null = 1) =>
    unfinished('the CLI', { ...FAILED, code, stderrTail }, NOW);

  it.each<[ErrorClass, string[]]>([
    [
      'config',
      [
        "error: unknown option '--foo'",
        'Unknown argument: foo',
        "error: unexpected argument '--foo' found",
        "error: unrecognized subcommand 'foo'",
        "error: invalid value 'x' for '--sandbox <MODE>'",
        'error: the following required arguments were not provided',
        "error: the argument '--a' cannot be used with '--b'",
        'Error loading config.toml: x',
      ],
    ],
    [
      'protocol',
      [
        'No conversation found with session ID: 1',
        'No session found matching 1',
        'No saved session found with ID 1',
        'no rollout found for thread id 1',
        'Session ID 1 is already in use.',
      ],
    ],
    ['overloaded', ['the service is unavailable']],
    ['crash', ['Segmentation fault', '', 'YOLO mode is enabled. See the API key page.']],
  ])('is %s by its last words', (kind, tails) => {
    for (const tail of tails) expect([tail, ended(tail).class]).toEqual([tail, kind]);
  });

  it('says how it ended', () => {
    expect(ended('', null).message).toBe('the CLI ended with exit code unknown and no result.');
    expect(ended('a\n', 0)).toEqual({
      class: 'protocol',
      message: 'the CLI ended with exit code 0 and no result. It said: a',
    });
    expect(ended('cannot be run', 126).class).toBe('config');
    expect(ended('nothing', 125).class).toBe('crash');
    const skipped = unfinished('the CLI', { ...ENDED, skippedIn: '/jobs/1/stdout' }, NOW);
    expect(skipped.message).toBe(
      'the CLI printed a line of more than 64 MB, which was not read: /jobs/1/stdout',
    );
  });

  it('was stopped when it got a signal, or has the exit code of one', () => {
    const exits = [129, 130, 131, 137, 143, null].map((code) => wasSignalled({ ...FAILED, code }));
    expect(exits).toEqual([true, true, false, true, true, false]);
    expect(wasSignalled({ ...ENDED, signal: 'SIGTERM' })).toBe(true);
  });

  it('has last words without the lines that are printed on every run', () => {
    const noise = [
      'Reading additional input from stdin...',
      'WARNING: proceeding, even though we could not create PATH aliases',
      'Warning: Basic terminal detected (TERM=dumb).',
      'Warning: 256-color support not detected.',
      'YOLO mode is enabled.',
      "[STARTUP] Phase 'cleanup_ops' was started but never ended.",
      'Ripgrep is not available. Falling back to GrepTool.',
    ];
    expect(stderrText([...noise, ' a', '  ', 'no YOLO mode '].join('\n'))).toBe('a\nno YOLO mode');
    expect(stderrText(`a${'b'.repeat(3000)}`)).toBe('b'.repeat(2000));
  });
});

describe('what a CLI tells on stderr while it tries again', () => {
  const log = (message: string) =>
    `level=ERROR message="stream error" small=false error.error="AI_APICallError: ${message}"`;

  it.each<[string, string, string]>([
    ['opencode', log(PER_DAY), 'limit'],
    ['opencode', log(QUOTA), 'refused'],
    ['gemini', 'Attempt 1 failed: stub error 429', 'limit'],
    ['gemini', `Attempt 1 failed: ${DEPLETED}`, 'refused'],
    [
      'gemini',
      `Attempt 1 failed with status 429. Retrying with backoff... ApiError: {"error":{"code":429,"message":"${DEPLETED}"}}`,
      'refused',
    ],
    // Only its first line; the next may say when to come back.
    ['gemini', `Attempt 1 failed: ${QUOTA}`, 'limit'],
  ])('%s: %s', (name, line, type) => {
    const reader = readerFor(name);
    expect(reader.errorLine?.(line)).toMatchObject([{ type, message: expect.any(String) }]);
    reader.errorLine?.('Suggested retry after 60s.. Retrying after 61000ms...');
    const { error } = reader.end({ code: null, signal: 'SIGTERM', stderrTail: '' });
    expect(error?.class).toBe(type === 'refused' ? 'billing' : 'limit');
  });
});
