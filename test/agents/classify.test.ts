import { describe, expect, it } from 'vitest';
import { classify, errorOf } from '../../src/agents/reading/classify-errors.ts';
import type { ErrorClass } from '../../src/model/ticket.ts';
import { readerFor } from './support.ts';

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

  it('reads the end of a limit of minutes and parts of seconds', () => {
    expect(errorOf('limit', PER_DAY, NOW)).toMatchObject({
      resetAt: '2026-11-15T18:42:14.040Z',
      sure: false,
    });
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
    expect(reader.errorLine?.(line)).toMatchObject([{ type }]);
    reader.errorLine?.('Suggested retry after 60s.. Retrying after 61000ms...');
    const { error } = reader.end({ code: null, signal: 'SIGTERM', stderrTail: '' });
    expect(error?.class).toBe(type === 'refused' ? 'billing' : 'limit');
  });
});
