import { costText, countUnpriced, totalUsage } from '../model/limits/usage-cost-and-estimate.ts';
import { plural } from '../model/text/clean-escape-quote-plural.ts';
import type { Attempt, Hold, TicketStatus } from '../model/ticket.ts';

/** Colours; plain text when they are off. */
export interface Style {
  dim(text: string): string;
  bold(text: string): string;
  red(text: string): string;
  green(text: string): string;
  yellow(text: string): string;
  cyan(text: string): string;
  /** Foreground and background exchanged. */
  inverse(text: string): string;
}

/**
 * Marks Signalbox's own colours until they are printed. Random in every process, so that no other text can contain them. `node:crypto`
 * would give no more here, and costs a short command several milliseconds.
 */
export const OWN_COLOUR_MARK = Array.from({ length: 3 }, () => Math.floor(1000 + Math.random() * 9000)).join(
  ';',
);

/** Marked colours, for `printable`. */
export function style(color: boolean): Style {
  const paint = (code: number, end: number) => (text: string) =>
    color ? `\u001b[${code};${OWN_COLOUR_MARK}m${text}\u001b[${end};${OWN_COLOUR_MARK}m` : text;
  return {
    dim: paint(2, 22),
    bold: paint(1, 22),
    red: paint(31, 39),
    green: paint(32, 39),
    yellow: paint(33, 39),
    cyan: paint(36, 39),
    inverse: paint(7, 27),
  };
}

const MARKS: Record<TicketStatus, [sign: string, paint: keyof Style]> = {
  queued: ['◌', 'dim'],
  ready: ['◌', 'dim'],
  running: ['●', 'cyan'],
  paused: ['‖', 'yellow'],
  complete: ['✓', 'green'],
  failed: ['✗', 'red'],
  needs_attention: ['!', 'yellow'],
};

export function statusMark(status: TicketStatus, style: Style): string {
  const [sign, paint] = MARKS[status];
  return style[paint](sign);
}

/** `0.4s`, `45s`, `4m 6s`, `2h 3m`. */
export function duration(ms: number): string {
  return ms < 10_000 ? `${(ms / 1000).toFixed(1)}s` : wholeSeconds(ms);
}

/** `5s`, `1m 15s`, `1h 2m`. */
export function wholeSeconds(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes}m ${seconds % 60}s` : `${Math.floor(minutes / 60)}h ${minutes % 60}m`;
}

/** How long something waits, in a sentence: `20 s`, `4 m 5 s`, `1 h 6 m`. Times that work took are compact: `4m 5s`. */
export function waitTime(ms: number): string {
  return wholeSeconds(Math.max(0, ms)).replaceAll(/\d(?=[hms])/g, '$& ');
}

export function ago(from: string | null, now: number): string {
  return from === null ? '' : waitTime(now - Date.parse(from));
}

/** `until 14:03`, or with the day when it is not today. */
export function clock(iso: string, now: number): string {
  const date = new Date(iso);
  const pad = (value: number) => String(value).padStart(2, '0');
  const time = `${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())}`;
  const sameDay = new Date(now).toDateString() === date.toDateString();
  return sameDay ? time : `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())} ${time}`;
}

/** `2026-01-31T18:30:00+01:00`: for files, which may be read in another time zone. */
export function withOffset(iso: string): string {
  const minutes = -new Date(iso).getTimezoneOffset();
  const local = new Date(Date.parse(iso) + minutes * 60_000).toISOString().slice(0, 19);
  const parts = [Math.trunc(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
  return `${local}${minutes < 0 ? '-' : '+'}${parts.map((part) => String(part).padStart(2, '0')).join(':')}`;
}

/**
 * `1.2k tokens · $0.01`, `1.2k tokens · at least $0.01`, `1.2k tokens · cost unknown`; empty where nothing was used. `unpriced` is
 * the number of attempts whose cost is unknown; without it, `usage` is that of one attempt.
 */
export function usageText(
  usage: { inputTokens: number | null; outputTokens: number | null; costUsd: number | null } | null,
  unpriced = usage?.costUsd === null ? 1 : 0,
): string {
  const { inputTokens = null, outputTokens = null, costUsd = null } = usage ?? {};
  const parts: string[] = [];
  if (inputTokens !== null || outputTokens !== null)
    parts.push(`${rounded((inputTokens ?? 0) + (outputTokens ?? 0))} tokens`);
  if (costUsd !== null || unpriced > 0) parts.push(costText(costUsd, unpriced));
  return parts.join(' · ');
}

/** What attempts used together. */
export function usageOfAttempts(attempts: readonly Attempt[]): string {
  return usageText(totalUsage(attempts.map(({ usage }) => usage)), countUnpriced(attempts));
}

/** `12.3k` */
export function rounded(tokens: number): string {
  if (tokens < 1000) return String(tokens);
  return tokens < 999_950 ? `${(tokens / 1000).toFixed(1)}k` : `${(tokens / 1e6).toFixed(1)}M`;
}

/** `2 failed` for each number that is not zero, by word. */
export function counted(numbers: Readonly<Record<string, number | undefined>>): string[] {
  return Object.entries(numbers).flatMap(([word, number]) => (number ? [`${number} ${word}`] : []));
}

/** `visit 2, attempt 3`; empty for the first attempt of the first visit. */
export function whichAttempt({ visit, attempt }: { visit: number; attempt: number }, word = 'visit'): string {
  return [visit > 1 ? `${word} ${visit}` : '', attempt > 1 ? `attempt ${attempt}` : '']
    .filter(Boolean)
    .join(', ');
}

/** For terminals that may show nothing else; each as wide as the mark. */
const ASCII: Readonly<Record<string, string>> = {
  '✓': '+',
  '✗': 'x',
  '❌': '!!',
  '⏳': '..',
  '●': '*',
  '◐': '%',
  '◌': 'o',
  '○': 'o',
  '‖': '=',
  '⏸': '=',
  '→': '>',
  '←': '<',
  '↑': '^',
  '↓': 'v',
  '▸': '>',
  '▶': '>',
  '▏': '|',
  '■': '#',
  '↺': '@',
  '≤': '<',
  '─': '-',
  '│': '|',
  '·': '-',
  '–': '-',
  '—': '-',
  '…': '~',
  '’': "'",
  '“': '"',
  '”': '"',
};
const MARK = new RegExp(`[${Object.keys(ASCII).join('')}]`, 'g');

/** The same text with ASCII marks. Letters stay as they are. */
export function asciiMarks(text: string): string {
  return text.replace(MARK, (mark) => ASCII[mark] ?? mark);
}

/** Whether the locale has characters beyond ASCII. The first variable that is set decides, as in every program. */
export function isUtf8({ LC_ALL, LC_CTYPE, LANG }: Readonly<Record<string, string | undefined>>): boolean {
  return /utf-?8/i.test(LC_ALL || LC_CTYPE || LANG || '');
}

/** An error without what a failed program printed: `status` has that. */
export function withoutOutput(text: string): string {
  return text.replace(/\nIt printed:\n.*$/s, '');
}

const UTC_TIME = /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g;

/** Stored texts have times in UTC; people read those of their own clock. */
export function inLocalTime(text: string): string {
  return text.replace(UTC_TIME, (iso) => clock(iso, Date.now()));
}

/** A problem of the store with its file, unless the message names it. */
export function sayProblem({ path, message }: { path: string; message: string }): string {
  return message.includes(path) ? message : `${path}: ${message}`;
}

/** Kinds of which `until` is the next check, not the end. */
const POLLS: ReadonlySet<Hold['kind']> = new Set(['poll', 'memory']);
const NAMES_TIME = / until \S*\d\d:\d\d/;

/** ` until 14:03:00, in 1 h 6 m`, if the hold ends by itself and its reason does not name the time. */
export function untilText(hold: Hold | null, now: number): string {
  if (!hold?.until || polls(hold) || NAMES_TIME.test(hold.reason)) return '';
  const left = Date.parse(hold.until) - now;
  return ` until ${clock(hold.until, now)}${left > 0 ? `, in ${waitTime(left)}` : ''}`;
}

/** The same behind the reason why, if that is the hold's own, on a page that is printed once and also shows the next check. */
export function untilNote(hold: Hold | null, why: string, now: number): string {
  if (!hold || !why.includes(hold.reason)) return '';
  const until = untilText(hold, now).trim();
  if (until) return ` (${until})`;
  if (!hold.until || !polls(hold) || NAMES_TIME.test(hold.reason)) return '';
  return Date.parse(hold.until) > now ? ` (next check ${clock(hold.until, now)})` : '';
}

function polls(hold: Hold): boolean {
  return hold.looks === true || POLLS.has(hold.kind);
}

/** `2 engines: daemon, worker on build-2` */
export function enginesText(engines: readonly { by: string; host: string; isElsewhere: boolean }[]): string {
  if (engines.length === 0) return 'no engine is running';
  const names = engines.map(({ by, host, isElsewhere }) => `${by}${isElsewhere ? ` on ${host}` : ''}`);
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  const list = [...counts].map(([name, count]) => (count > 1 ? `${count} × ${name}` : name)).join(', ');
  return `${plural(engines.length, 'engine')}: ${list}`;
}
