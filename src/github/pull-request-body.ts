import { cleanLine } from '../model/text/clean.ts';
import { type Criterion, criteriaTable } from './criteria-table.ts';
import { inert } from './escape-markdown.ts';

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
  /** Names of the stacked work in order, `this` marked. */
  stack: readonly { name: string; self: boolean }[];
}

const BEGIN = '<!-- signalbox -->';
const END = '<!-- /signalbox -->';
const MAX_SUMMARY = 15_000;
const MAX_DESCRIPTION = 8_000;
/** GitHub takes 65,536. */
const MAX_BODY = 60_000;

/** The part of a pull request's text that is ours, between two marks that nobody sees. */
export function pullRequestSection(facts: BodyFacts): string {
  const { reference, link, verdict } = facts;
  const parts = [
    reference ? `Fixes ${reference}` : link && /^https?:\/\/[^\s<>]+$/.test(link) ? `Ticket: ${link}` : '',
    reference ? '' : quotedText(facts.description),
    inert(facts.summary, MAX_SUMMARY),
    criteriaTable(facts.criteria),
    verdict && verdict !== 'READY_FOR_MERGE'
      ? `> **Note:** the review’s verdict is \`${cleanLine(verdict, 60).replaceAll('`', '')}\`, not \`READY_FOR_MERGE\`.`
      : '',
    stackLine(facts.stack),
  ].filter((part) => part !== '');
  const inside = parts.join('\n\n');
  const cut = inside.length > MAX_BODY ? `${inside.slice(0, MAX_BODY)}\n\n…` : inside;
  return `${BEGIN}\n${cut}\n${END}`;
}

/** Somebody else's words, shown as such. */
function quotedText(text: string): string {
  const quiet = inert(text, MAX_DESCRIPTION);
  return quiet === '' ? '' : quiet.replace(/^/gm, '> ').replace(/ +$/gm, '');
}

function stackLine(stack: BodyFacts['stack']): string {
  if (stack.length < 2) return '';
  return `Part of stack: ${stack.map(({ name, self }) => (self ? `${name} (this)` : name)).join(' → ')}`;
}

/** An existing text with our part brought up to date; what people wrote around it stays. */
export function mergeBody(existing: string, section: string): string {
  const text = existing.replace(/\r\n/g, '\n');
  const begin = text.indexOf(BEGIN);
  const end = text.lastIndexOf(END);
  if (begin >= 0 && end > begin) return text.slice(0, begin) + section + text.slice(end + END.length);
  return text.trim() === '' ? section : `${text.trimEnd()}\n\n${section}`;
}
