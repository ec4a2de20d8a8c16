import { cleanLine } from '../model/text/clean.ts';
import { inertProse, splitCode } from './escape-markdown.ts';

export interface Criterion {
  criterion: string;
  /** Null where nobody judged it. */
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
      return inertProse(part).replace(code ? /[\\|`]/g : /[\\|]/g, '\\$&');
    })
    .join('');
}
