const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const MINUTE = 60_000;
const UNITS = new Map(
  Object.entries({
    'd day days': 24 * 60 * MINUTE,
    'h hr hrs hour hours': 60 * MINUTE,
    'm min mins minute minutes': MINUTE,
    's sec secs second seconds': 1000,
    'ms millisecond milliseconds': 1,
  }).flatMap(([words, ms]) => words.split(' ').map((word) => [word, ms] as const)),
);

/** `usage limit reached|1794773222`, `x-ratelimit-reset: 1794773222`; some give milliseconds. */
const EPOCH = /(?:\||ratelimit-reset[\s"':=]+)(\d{10}|\d{13})\b/i;
const AFTER =
  /(?:(?:again|back|retry|reset)[^.\n]{0,40}?\b(?:in|after)|\b(?:wait|back off)(?: for)?) (?:about |around )?((?:\d+(?:\.\d+)?[ \t]*[a-z]+[ ,]*(?:and )?){1,4})/i;
const ONE = /an? /gi;
/** As a header or field: `retry-after: 20`, `retry_after_ms=900`, `"retryDelay": "20s"`. */
const FIELD =
  /(?:retry|resets?)[-_ ]?(?:after|delay|in)(?:(.?ms)|[-_]?sec(?:ond)?s?)?[\s"'[:=]+(\d+(?:\.\d+)?)(?!\d|[:.-]\d)[ \t]*([a-z]*)/i;
/** The other form of that header: `retry-after: Sun, 15 Nov 2026 18:40:00 GMT`. */
const DATE = /retry-after[\s"':=]+([a-z]{3}, \d{1,2} [a-z]{3} \d{4} \d\d:\d\d:\d\d GMT)/i;
/** `resets at 2026-11-15T20:07:00Z`, `"resets_at":"…"`. */
const TIME =
  /(?:after|again|resets?|until)(?:[ _]?(?:at|on))?[\s"':=]+(\d{4}-\d\d-\d\d[T ][\d:.]+(?:Z| UTC|[+-][\d:]+))/i;
/** `x-ratelimit-reset-requests: 6s`. Several may be there, and which of them is used up is not said. */
const RATE_LIMIT = /ratelimit-reset-[a-z]+[\s"':=]+((?:\d+(?:\.\d+)?(?:ms|[dhms]))+)/gi;
const AMOUNT = /(\d+(?:\.\d+)?)[ \t]*([a-z]+)/gi;
const CLOCK =
  /(?:again|resets?|until) (?:(?:at|on) )?(?:([a-z]{3,9}) (\d{1,2})(?:[a-z]{2})?(?:, (\d{4}))?,? (?:at )?)?(\d{1,2})(?::(\d{2}))? ?([ap]m)?\b(?: \((\S{1,40})\))?/i;

/**
 * Finds the end of a limit in a CLI's prose. A clock time without a zone is in the machine's zone, as CLIs print it. It
 * names a minute, so the end of that minute counts: waking at its start would be too early.
 */
export function resetFromProse(
  text: string,
  now: string,
  zone: string = new Intl.DateTimeFormat().resolvedOptions().timeZone,
): string | null {
  const start = Date.parse(now);
  if (Number.isNaN(start)) return null;
  const epoch = EPOCH.exec(text)?.[1];
  if (epoch) return isoFromEpoch(Number(epoch));
  const date = Date.parse(DATE.exec(text)?.[1] ?? '');
  if (date > start) return toIso(date);
  const wait = waitIn(text);
  if (wait > 0) return toIso(start + wait);
  const time = Date.parse(TIME.exec(text)?.[1] ?? '');
  if (time > start) return toIso(time);
  const clock = CLOCK.exec(text);
  return clock ? nextClock(clock, start, zone) : null;
}

/** Whether a text says how long to wait, and that for at least so long. */
export function namesWait(text: string, leastMs = 1): boolean {
  return waitIn(text) >= leastMs || DATE.test(text);
}

/** The wait that a text names, in milliseconds; 0 when it names none. */
function waitIn(text: string): number {
  const after = AFTER.exec(text.replace(ONE, '1 '))?.[1];
  if (after) return duration(after);
  const [, isMs, amount, word = ''] = FIELD.exec(text) ?? [];
  // Behind `retry-after: 20` anything may follow.
  const isUnit = UNITS.has(word.toLowerCase());
  if (amount) return duration(`${amount} ${isMs ? 'ms' : isUnit ? word : 's'}`);
  return Math.max(0, ...[...text.matchAll(RATE_LIMIT)].map(([, amounts = '']) => duration(amounts)));
}

/** A time in epoch seconds (or milliseconds) as ISO text; null when it is not a time. */
export function isoFromEpoch(value: number): string | null {
  return toIso(value > 1e11 ? value : value * 1000);
}

function nextClock(match: RegExpExecArray, start: number, zone: string): string | null {
  const [, monthName, day, year, hourText, minuteText, half, zoneName] = match;
  // "resets 3" is not a time: minutes or am/pm are needed.
  if (minuteText === undefined && half === undefined) return null;
  const hour = hourOf(Number(hourText), half);
  const minute = Number(minuteText ?? 0);
  if (hour === null || minute > 59) return null;
  const at = zoneName && isZone(zoneName) ? zoneName : zone;
  const today = wallClock(start, at);
  const ends = (y: number, m: number, d: number) => fromWallClock([y, m, d, hour, minute], at) + MINUTE;
  if (monthName === undefined) {
    const end = ends(today[0], today[1], today[2]);
    return toIso(end > start ? end : ends(today[0], today[1], today[2] + 1));
  }
  const month = MONTHS.indexOf(monthName.slice(0, 3).toLowerCase());
  if (month < 0) return null;
  const end = ends(year ? Number(year) : today[0], month, Number(day));
  if (end > start) return toIso(end);
  return year ? null : toIso(ends(today[0] + 1, month, Number(day)));
}

function hourOf(hour: number, half: string | undefined): number | null {
  if (half === undefined) return hour < 24 ? hour : null;
  if (hour < 1 || hour > 12) return null;
  return (hour % 12) + (half.toLowerCase() === 'pm' ? 12 : 0);
}

/** `1 h 20 m`; what follows with another word, or with the same or a larger unit, is about something else. */
function duration(text: string): number {
  let total = 0;
  let last = Number.POSITIVE_INFINITY;
  for (const [, amount, word = ''] of text.matchAll(AMOUNT)) {
    const size = UNITS.get(word.toLowerCase());
    if (size === undefined || size >= last) break;
    total += Number(amount) * size;
    last = size;
  }
  return total;
}

type WallClock = [year: number, month: number, day: number, hour: number, minute: number];

function wallClock(time: number, zone: string): WallClock {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
  });
  const parts = new Map(format.formatToParts(time).map((part) => [part.type, Number(part.value)]));
  const get = (type: Intl.DateTimeFormatPartTypes) => parts.get(type) ?? 0;
  return [get('year'), get('month') - 1, get('day'), get('hour'), get('minute')];
}

// Twice: the first guess may have the offset from the other side of a clock change.
function fromWallClock(wall: WallClock, zone: string): number {
  const wanted = Date.UTC(...wall);
  const corrected = (time: number) => time - (Date.UTC(...wallClock(time, zone)) - wanted);
  return corrected(corrected(wanted));
}

function isZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en-US', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

/** Null for an invalid time. */
export function toIso(time: number): string | null {
  const date = new Date(time);
  return Number.isNaN(date.getTime()) ? null : date.toISOString();
}
