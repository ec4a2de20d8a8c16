import { GITHUB, githubKey } from '../github/gh/repository-name.ts';
import { headingAt, visibleLines } from '../model/text/markdown-lines.ts';
import { type IssueMention, issueNumber, LINEAR_KEY, readIssue } from './issue-references.ts';
import type { WorkItem } from './work-item.ts';

type Mention = ({ kind: 'issue' } & IssueMention) | { kind: 'linear'; key: string };

interface MentionOptions {
  /** Host of `owner/repo#12` in this text. */
  host?: string;
  /** Addresses on other hosts count, too. Not for text of strangers: fetching them would send a token there. */
  anyHost?: boolean;
  /** Keys such as ENG-12 count too. They would make `SHA-256` one, so only where they belong. */
  linear?: boolean;
}

const MAX_MENTIONS = 100;
/** The words at the start of a line, behind a list mark, a checkbox, heading marks and emphasis. */
const LEAD =
  /^ {0,3}(?:(?:[-*+]|\d{1,9}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?|#{1,6}[ \t]+)?[*_]{0,3}(?:depends[ -]on|blocked[ -]by)(?![A-Za-z0-9-])[*_]{0,3}[ \t]*:?[*_]{0,3}/i;
const ITEM = /^[ \t]{0,8}(?:[-*+]|\d{1,9}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?/;
/** What may be between two references. */
const JOINT = /(?:[\s,;&+*_<>]|and\b|\([^()\n]{0,300}\))*/iy;
const LINK = /\[([^[\]\n]{1,200})\]\(([^()\s]{1,2000})\)/y;
/** Followed by another reference or nothing, since `UTF-8 support` is no issue. */
const LINEAR_HERE = new RegExp(`${LINEAR_KEY}(?=[ \\t]*(?:$|[,;&+(*_.]|and\\b))`, 'y');
const LABEL = /^depends-on[/-]#?(\d+)$/i;

/**
 * What a text says it waits for: lines such as `Depends on: #12, #13` or `Blocked by owner/repo#4`, and lists below
 * such a line. A reference counts while only commas, "and" and remarks in parentheses are before it.
 */
export function dependencyMentions(body: string, options: MentionOptions = {}): Mention[] {
  const lines = visibleLines(body, { inline: true });
  const found: Mention[] = [];
  for (let index = 0; index < lines.length && found.length < MAX_MENTIONS; index += 1) {
    const line = lines[index] ?? '';
    const lead = LEAD.exec(line)?.[0];
    if (lead === undefined) continue;
    const rest = line.slice(lead.length);
    if (rest.trim() !== '') found.push(...readList(rest, options));
    else found.push(...below(lines, index + 1, options));
  }
  return found.slice(0, MAX_MENTIONS);
}

/** Labels `depends-on/12` and `depends-on-12`. */
export function labelMentions(labels: readonly string[]): number[] {
  return labels.flatMap((label) => issueNumber(LABEL.exec(label.trim())?.[1] ?? '') ?? []);
}

function below(lines: readonly string[], from: number, options: MentionOptions): Mention[] {
  const found: Mention[] = [];
  for (let index = from; index < lines.length && found.length < MAX_MENTIONS; index += 1) {
    const line = lines[index] ?? '';
    if (line.trim() === '') continue;
    const item = ITEM.exec(line)?.[0];
    const read = readList(line.slice(item?.length ?? 0), options);
    if (headingAt(lines, index) !== undefined || (item === undefined && read.length === 0)) break;
    found.push(...read);
  }
  return found;
}

function readList(text: string, options: MentionOptions): Mention[] {
  const found: Mention[] = [];
  for (let at = skip(text, 0); at < text.length; ) {
    const read = readOne(text, at, options);
    if (!read) break;
    if (isNear(read.mention, options)) found.push(read.mention);
    at = skip(text, read.end);
  }
  return found;
}

function isNear(mention: Mention, { host = GITHUB, anyHost = false }: MentionOptions): boolean {
  if (anyHost || mention.kind !== 'issue' || !mention.repository) return true;
  return mention.repository.host === GITHUB || mention.repository.host === host.toLowerCase();
}

function skip(text: string, at: number): number {
  JOINT.lastIndex = at;
  JOINT.exec(text);
  return Math.max(at, JOINT.lastIndex);
}

function readOne(
  text: string,
  at: number,
  options: MentionOptions,
): { mention: Mention; end: number } | undefined {
  LINK.lastIndex = at;
  const [whole, label = '', address = ''] = LINK.exec(text) ?? [];
  if (whole !== undefined) {
    const inside = readOne(address, 0, options) ?? readOne(label, 0, options);
    return inside && { mention: inside.mention, end: at + whole.length };
  }
  const issue = readIssue(text, at, options.host);
  if (issue) return { mention: { kind: 'issue', ...issue.mention }, end: issue.end };
  if (!options.linear) return undefined;
  LINEAR_HERE.lastIndex = at;
  const key = LINEAR_HERE.exec(text)?.[0];
  return key === undefined ? undefined : { mention: { kind: 'linear', key }, end: at + key.length };
}

/** Dependencies in text and labels; `ownKey` makes the key of a number without a repository. */
export function mentionedDependencies(
  { body, labels }: Pick<WorkItem, 'body' | 'labels'>,
  ownKey: (number: number) => string,
  host?: string,
): string[] {
  const mentions = dependencyMentions(body, host ? { host } : {}).flatMap((mention) => {
    if (mention.kind !== 'issue') return [];
    return mention.repository ? githubKey(mention.repository, mention.number) : ownKey(mention.number);
  });
  return [...mentions, ...labelMentions(labels).map(ownKey)];
}
