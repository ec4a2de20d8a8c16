import { cleanLine } from '../model/text/clean-escape-quote-plural.ts';
import { escapeMarkdown, escapePlain, escapeProse, splitCode } from './escape-markdown.ts';
import type { RepositoryName } from './gh/repository-name.ts';
import { parseRepository, repositoryText, sameRepository } from './gh/repository-name.ts';

const MAX_TITLE_CHARS = 200;

/** What a piece of work is in its tracker. */
export interface Tracked {
  number: number | null;
  /** `owner/repo` or `host/owner/repo`; null when it has none of its own. */
  repository: string | null;
  labels: readonly string[];
}

/** `#12`, `owner/repo#12` when it belongs to another repository, null without a number. */
export function issueReference({ number, repository }: Tracked, here: RepositoryName): string | null {
  if (number === null) return null;
  const own = repository === null ? undefined : parseRepository(repository, here.host);
  return own === undefined || sameRepository(own, here) ? `#${number}` : `${repositoryText(own)}#${number}`;
}

/** One line: `feat(#12): …`, `fix(#12): …` for a bug, without the number where there is none. It closes and calls nothing. */
export function pullRequestTitle(title: string, tracked: Tracked, reference: string | null): string {
  const kind = tracked.labels.some((label) => /^bug/i.test(label.trim())) ? 'fix' : 'feat';
  // `fix: #3` would close it.
  const escaped = escapePlain(cleanLine(`${kind}: ${title}`, MAX_TITLE_CHARS)).slice(kind.length);
  return cleanLine(`${kind}${reference === null ? '' : `(${reference})`}${escaped}`, MAX_TITLE_CHARS);
}

export interface BodyFacts {
  /** `#12` or `owner/repo#12`. */
  reference: string | null;
  /** Where a ticket without a number is described. */
  link: string | null;
  /** What the ticket says; left out where an issue is named that says it. */
  description: string;
  summary: string;
  criteria: readonly Criterion[];
  verdict: string | null;
  /** Its address on the page of `signalbox web`; null: not named. */
  page: string | null;
  /** Names of the stacked work in order, `this` marked. */
  stack: readonly { name: string; self: boolean }[];
}

const BEGIN = '<!-- signalbox -->';
const END = '<!-- /signalbox -->';
const MAX_SUMMARY = 15_000;
const MAX_DESCRIPTION = 8_000;
/** GitHub takes 65,536. */
const MAX_BODY_CHARS = 60_000;

/** Signalbox's part of a pull request's text, between two hidden marks. */
export function pullRequestSection(facts: BodyFacts): string {
  const { reference, link, verdict } = facts;
  const parts = [
    reference ? `Fixes ${reference}` : link && /^https?:\/\/[^\s<>]+$/.test(link) ? `Ticket: ${link}` : '',
    reference ? '' : quotedText(facts.description),
    escapeMarkdown(facts.summary, MAX_SUMMARY),
    criteriaTable(facts.criteria),
    verdict && verdict !== 'READY_FOR_MERGE'
      ? `> **Note:** the review’s verdict is \`${cleanLine(verdict, 60).replaceAll('`', '')}\`, not \`READY_FOR_MERGE\`.`
      : '',
    stackLine(facts.stack),
    facts.page ? `Signalbox: ${facts.page}` : '',
  ].filter((part) => part !== '');
  const inside = parts.join('\n\n');
  const cut = inside.length > MAX_BODY_CHARS ? `${inside.slice(0, MAX_BODY_CHARS)}\n\n…` : inside;
  return `${BEGIN}\n${cut}\n${END}`;
}

/** Text of the ticket, shown as a quotation. */
function quotedText(text: string): string {
  const quiet = escapeMarkdown(text, MAX_DESCRIPTION);
  return quiet === '' ? '' : quiet.replace(/^/gm, '> ').replace(/ +$/gm, '');
}

function stackLine(stack: BodyFacts['stack']): string {
  if (stack.length < 2) return '';
  return `Part of stack: ${stack.map(({ name, self }) => (self ? `${name} (this)` : name)).join(' → ')}`;
}

/** An existing text with Signalbox's part updated; people's text around it is kept. */
export function mergeBody(existing: string, section: string): string {
  const text = existing.replace(/\r\n/g, '\n');
  const begin = text.indexOf(BEGIN);
  const end = text.lastIndexOf(END);
  if (begin >= 0 && end > begin) return text.slice(0, begin) + section + text.slice(end + END.length);
  return text.trim() === '' ? section : `${text.trimEnd()}\n\n${section}`;
}

export interface Criterion {
  criterion: string;
  /** Null where it was not judged. */
  met: boolean | null;
  evidence: string;
}

const MAX_ROWS = 200;
const MAX_CELL = 500;

/** Acceptance criteria as a Markdown table; empty without any. */
export function criteriaTable(criteria: readonly Criterion[]): string {
  if (criteria.length === 0) return '';
  const rows = criteria
    .slice(0, MAX_ROWS)
    .map(({ criterion, met, evidence }) => `| ${markOf(met)} | ${cell(criterion)} | ${cell(evidence)} |`);
  const more = criteria.length - rows.length;
  if (more > 0) rows.push(`|  | ${more} more |  |`);
  return ['|  | Acceptance criterion | Evidence |', '|---|---|---|', ...rows].join('\n');
}

function markOf(met: boolean | null): string {
  if (met === null) return '–';
  return met ? '✓' : '✗';
}

/** Any text as one cell: one line, and no pipe or backslash of it ends the cell. */
export function cell(text: string): string {
  return splitCode(cleanLine(text, MAX_CELL))
    .map(({ text: part, code }) => {
      // A backslash before a pipe cannot be written inside code: such code is shown as text.
      if (code && !part.includes('\\|')) return part.replaceAll('|', '\\|');
      return escapeProse(part).replace(code ? /[\\|`]/g : /[\\|]/g, '\\$&');
    })
    .join('');
}
