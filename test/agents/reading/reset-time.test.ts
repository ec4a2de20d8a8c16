import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isoFromEpoch, namesWait, resetFromProse } from '../../../src/agents/reading/reset-time.ts';

const NOW = '2026-11-15T18:37:03.000Z';

describe('resetFromProse', () => {
  it.each([
    // The minute that is named has to be over.
    ['resets 8:07pm (UTC)', '2026-11-15T20:08:00.000Z'],
    ['resets 6:37pm (UTC)', '2026-11-15T18:38:00.000Z'],
    ['resets 6:36pm (UTC)', '2026-11-16T18:37:00.000Z'],
    ['resets at 3pm (Europe/Madrid)', '2026-11-16T14:01:00.000Z'],
    ['resets 12am (America/New_York)', '2026-11-16T05:01:00.000Z'],
    ['resets 12pm (Nowhere/Land)', '2026-11-16T12:01:00.000Z'],
    ['resets 15:00', '2026-11-16T15:01:00.000Z'],
    ['resets Nov 20, 5pm (UTC)', '2026-11-20T17:01:00.000Z'],
    ['resets Nov 20 at 5:30pm (UTC)', '2026-11-20T17:31:00.000Z'],
    ['resets Jan 2, 5pm (UTC)', '2027-01-02T17:01:00.000Z'],
    ['or try again at 8:07 PM.', '2026-11-15T20:08:00.000Z'],
    ['or try again at Nov 20th, 2026 3:39 AM.', '2026-11-20T03:40:00.000Z'],
    ['try again at Nov 10th, 2026 3:39 AM.', null],
    ['Please try again in 17.5s.', '2026-11-15T18:37:20.500Z'],
    ['try again in 3 days 4 hours 5 minutes', '2026-11-18T22:42:03.000Z'],
    ['limit resets in 2h 30m', '2026-11-15T21:07:03.000Z'],
    ['Claude AI usage limit reached|1794773222', '2026-11-15T20:07:02.000Z'],
    ['retry-after: 20', '2026-11-15T18:37:23.000Z'],
    ['HTTP 429 (Retry-After: 90)', '2026-11-15T18:38:33.000Z'],
    ['{"retry-after":"20"}', '2026-11-15T18:37:23.000Z'],
    ['{"retryDelay": "34.5s"}', '2026-11-15T18:37:37.500Z'],
    ['retry_after=2m', '2026-11-15T18:39:03.000Z'],
    ['retry-after-ms: 1500', '2026-11-15T18:37:04.500Z'],
    ['retry after 20', '2026-11-15T18:37:23.000Z'],
    ['gave up: retry after 3 attempts', null],
    ['try again in 900 ms', '2026-11-15T18:37:03.900Z'],
    ['retry after 18:40', null],
    ['retry-after: soon', null],
    ['retry-after: 0', null],
    ['retry-after: -1', null],
    ['retry-after: 0.5', '2026-11-15T18:37:03.500Z'],
    ['retry after 12 seconds: 429', '2026-11-15T18:37:15.000Z'],
    ['HTTP 429\nRetry-After: Sun, 15 Nov 2026 18:40:00 GMT', '2026-11-15T18:40:00.000Z'],
    ['{"retry-after":"Sun, 15 Nov 2026 18:37:04 GMT"}', '2026-11-15T18:37:04.000Z'],
    // It is over, or the clocks differ: not a reason to try again at once.
    ['Retry-After: Sun, 15 Nov 2026 18:37:03 GMT', null],
    ['Retry-After: Sun, 15 Nov 2026', null],
    ['Retry-After: Sun, 15 Foo 2026 18:40:00 GMT', null],
    ['x-ratelimit-reset-requests: 6s', '2026-11-15T18:37:09.000Z'],
    [
      'x-ratelimit-reset-requests: 120ms\nx-ratelimit-reset-tokens: 1m30.5s\nx-ratelimit-reset-days: 6s',
      '2026-11-15T18:38:33.500Z',
    ],
    ["{'retry-after': 'Sun, 15 Nov 2026 18:40:00 GMT'}", '2026-11-15T18:40:00.000Z'],
    ['retry-after=Sun, 15 Nov 2026 18:40:00 GMT', '2026-11-15T18:40:00.000Z'],
    ['{"X-RateLimit-Reset-Tokens":"1h2m"}', '2026-11-15T19:39:03.000Z'],
    ["{'x-ratelimit-reset-tokens': '1d'}", '2026-11-16T18:37:03.000Z'],
    ['x-ratelimit-reset-tokens=1.25s', '2026-11-15T18:37:04.250Z'],
    ['x-ratelimit-reset-requests: 6s\nretry-after: 20', '2026-11-15T18:37:23.000Z'],
    ['x-ratelimit-reset-requests: 1794773222', null],
    // The words behind it are no unit.
    ['HTTP/2 429\r\nretry-after: 20\r\ndate: Sun, 15 Nov 2026 18:37:00 GMT', '2026-11-15T18:37:23.000Z'],
    ['HTTP 429\nRetry-After: 20\nToo Many Requests', '2026-11-15T18:37:23.000Z'],
    ['429 retry-after: 20 maximum', '2026-11-15T18:37:23.000Z'],
    ['retry after 20 seconds and 3 more attempts', '2026-11-15T18:37:23.000Z'],
    ['try again in 20s\n30 minutes of work were lost', '2026-11-15T18:37:23.000Z'],
    ['wait 20 s, 5 min build lost', '2026-11-15T18:37:23.000Z'],
    ['try again in 2 months', null],
    ['try again in 250 milliseconds', '2026-11-15T18:37:03.250Z'],
    ['"Retry-After": ["20"]', '2026-11-15T18:37:23.000Z'],
    ['"resets_in_seconds": 20', '2026-11-15T18:37:23.000Z'],
    ['RETRY AFTER 2026-11-15T18:40:00Z.', '2026-11-15T18:40:00.000Z'],
    ['Usage limit reached, resets at 2026-11-15T20:07:00+01:00', '2026-11-15T19:07:00.000Z'],
    ['try again on 2026-11-15T20:07:00-01:00', '2026-11-15T21:07:00.000Z'],
    ['until 2026-11-15 20:07 UTC', '2026-11-15T20:07:00.000Z'],
    ['"resets_at":"2026-11-15T20:07:00.5Z"', '2026-11-15T20:07:00.500Z'],
    ["{'resetat': '2026-11-15T20:07:00Z'}", '2026-11-15T20:07:00.000Z'],
    ['reset=2026-11-15T20:07:00Z', '2026-11-15T20:07:00.000Z'],
    ['anthropic-ratelimit-requests-reset: 2026-11-15T20:07:00Z', '2026-11-15T20:07:00.000Z'],
    ['anthropic-ratelimit-requests-reset: 2026-11-15T20:07:00Z\nretry-after: 20', '2026-11-15T18:37:23.000Z'],
    ['resets at 2026-11-15T18:37:03Z', null],
    ['x-ratelimit-reset: 1794773222', '2026-11-15T20:07:02.000Z'],
    ["{'x-ratelimit-reset': '1794773222'}", '2026-11-15T20:07:02.000Z'],
    ['{"X-RateLimit-Reset":"1794773222"}', '2026-11-15T20:07:02.000Z'],
    ['x-ratelimit-reset=1794773222', '2026-11-15T20:07:02.000Z'],
    ['usage limit reached|1794773222000', '2026-11-15T20:07:02.000Z'],
    ['usage limit reached|17947732220', null],
    ['retry after 3 a', null],
    ['retry after\t20\tSeconds', '2026-11-15T18:37:23.000Z'],
    ['retry after 1 Minute', '2026-11-15T18:38:03.000Z'],
    ['reset_in: 20', '2026-11-15T18:37:23.000Z'],
    ['retry after\t1\tminute', '2026-11-15T18:38:03.000Z'],
    ['retry-after: 1 Minute', '2026-11-15T18:38:03.000Z'],
    ['wait 20 s 30 s', '2026-11-15T18:37:23.000Z'],
    ['wait 1\tm', '2026-11-15T18:38:03.000Z'],
    ['Try Again In 20 SECONDS', '2026-11-15T18:37:23.000Z'],
    ['try again after 5 minutes', '2026-11-15T18:42:03.000Z'],
    ['resets in 1 day, 2 hours and 3 minutes', '2026-11-16T20:40:03.000Z'],
    ['the reset is in 5m', '2026-11-15T18:42:03.000Z'],
    ['No retry. Look in 5 minutes.', null],
    ['No retry\nlook in 5 minutes', null],
    ['retry within 5 minutes', null],
    ["{'retry-after': '20.25'}", '2026-11-15T18:37:23.250Z'],
    ['retryDelayMs: 1500', '2026-11-15T18:37:04.500Z'],
    ['retry-after: 2 minutes', '2026-11-15T18:39:03.000Z'],
    ['retry-after: 1.2.3', null],
    ['retry-after-ms: 1', '2026-11-15T18:37:03.001Z'],
    ['usage limit reached|17947732229', null],
    ['you are limited until 8:07pm', '2026-11-15T20:08:00.000Z'],
    ['your limit will reset at 8:07pm', '2026-11-15T20:08:00.000Z'],
    ['resets on November 20, 5pm', '2026-11-20T17:01:00.000Z'],
    ['resets Dec 1, 5pm', '2026-12-01T17:01:00.000Z'],
    ['try again at Jan 5th, 2028 3:39 AM', '2028-01-05T03:40:00.000Z'],
    ['resets Nov 15, 6:37pm', '2026-11-15T18:38:00.000Z'],
    ['resets 1am', '2026-11-16T01:01:00.000Z'],
    ['resets 0am', null],
    ['resets 8:60pm', null],
    ['resets 24:00', null],
    ['resets 8 amps', null],
    ['try again in about 20 minutes', '2026-11-15T18:57:03.000Z'],
    ['try again in around an hour', '2026-11-15T19:37:03.000Z'],
    ['busy for a day: Try Again In An Hour', '2026-11-15T19:37:03.000Z'],
    ['retry in a secondary region', null],
    ['retry in a minute', '2026-11-15T18:38:03.000Z'],
    ['it resets in a day', '2026-11-16T18:37:03.000Z'],
    ['try again in a second', '2026-11-15T18:37:04.000Z'],
    ['Please wait 45 seconds.', '2026-11-15T18:37:48.000Z'],
    ['wait for 2m', '2026-11-15T18:39:03.000Z'],
    ['Please come back in 10 minutes.', '2026-11-15T18:47:03.000Z'],
    ['back off for 15 seconds', '2026-11-15T18:37:18.000Z'],
    ['await 45 seconds', null],
    ['waited 45 seconds', null],
    ['retry_after_seconds: 12', '2026-11-15T18:37:15.000Z'],
    ['{"retryAfterSecs":12}', '2026-11-15T18:37:15.000Z'],
    ['retry-after-sec=12', '2026-11-15T18:37:15.000Z'],
    ['try again later', null],
    ['try again in a moment', null],
    ['resets 3', null],
    ['resets 13pm', null],
    ['resets 8:99pm', null],
    ['resets Foo 3, 5pm', null],
    ['', null],
  ])('%j', (text, at) => {
    expect(resetFromProse(text, NOW, 'UTC')).toBe(at);
  });

  it('takes a minute that is just over for the next one', () => {
    const now = '2026-11-15T18:37:00.000Z';
    expect(resetFromProse('resets 6:36pm', now, 'UTC')).toBe('2026-11-16T18:37:00.000Z');
    expect(resetFromProse('resets Nov 15, 6:36pm', now, 'UTC')).toBe('2027-11-15T18:37:00.000Z');
  });

  it('gives no time where now is none', () => {
    expect(resetFromProse('resets 5pm', 'soon', 'UTC')).toBeNull();
  });

  it('reads a time without a zone in the zone of the machine', () => {
    expect(resetFromProse('try again at 8:07 PM', NOW, 'America/Los_Angeles')).toBe(
      '2026-11-16T04:08:00.000Z',
    );
    expect(resetFromProse('try again at 8:07 PM', NOW)).toMatch(
      /:08:00\.000Z$|:38:00\.000Z$|:23:00\.000Z$|:53:00\.000Z$/,
    );
  });

  it('survives a change of the clocks', () => {
    const before = '2026-03-29T00:30:00.000Z';
    expect(resetFromProse('resets 3:30am (Europe/Berlin)', before, 'UTC')).toBe('2026-03-29T01:31:00.000Z');
    const inAmerica = resetFromProse('resets 3:30am (America/New_York)', '2026-03-08T06:00:00.000Z', 'UTC');
    expect(inAmerica).toBe('2026-03-08T07:31:00.000Z');
    expect(resetFromProse('resets 4pm (Europe/Berlin)', before, 'UTC')).toBe('2026-03-29T14:01:00.000Z');
  });

  it('gives a time after now, within a day and a minute, for every clock time', () => {
    fc.assert(
      fc.property(
        fc.date({ min: new Date('2020-01-01'), max: new Date('2040-01-01'), noInvalidDate: true }),
        fc.integer({ min: 0, max: 23 }),
        fc.integer({ min: 0, max: 59 }),
        (now, hour, minute) => {
          const text = `resets ${hour}:${String(minute).padStart(2, '0')} (UTC)`;
          const wait = Date.parse(resetFromProse(text, now.toISOString()) ?? '') - now.getTime();
          expect(wait).toBeGreaterThan(0);
          expect(wait).toBeLessThanOrEqual(24 * 3600_000);
        },
      ),
    );
  });

  it('never throws', () => {
    const words = fc.constantFrom(
      'resets ',
      'again ',
      'at ',
      'in ',
      '99',
      '12',
      ':',
      '07',
      'pm',
      ' (UTC)',
      ' (x)',
      'Feb 31, ',
      'h ',
      '|9999999999',
    );
    fc.assert(
      fc.property(fc.array(fc.oneof(words, fc.string())), fc.string(), (all, now) => {
        resetFromProse(all.join(''), now);
        resetFromProse(all.join(''), NOW);
      }),
    );
  });
});

describe('isoFromEpoch', () => {
  it('takes seconds and milliseconds', () => {
    expect(isoFromEpoch(1794773222)).toBe('2026-11-15T20:07:02.000Z');
    expect(isoFromEpoch(1794773222000)).toBe('2026-11-15T20:07:02.000Z');
    expect(isoFromEpoch(1e11)).toBe('5138-11-16T09:46:40.000Z');
    expect(isoFromEpoch(1e11 + 1)).toBe('1973-03-03T09:46:40.001Z');
    expect(isoFromEpoch(1e300)).toBeNull();
  });
});

describe('a wait', () => {
  it('is named from the first millisecond on', () => {
    expect(namesWait('retry-after-ms: 1')).toBe(true);
    expect(namesWait('retry-after: 0')).toBe(false);
    expect(namesWait('retry-after: Sun, 15 Nov 2026 18:40:00 GMT')).toBe(true);
  });
});
