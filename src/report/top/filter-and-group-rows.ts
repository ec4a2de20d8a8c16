import { groupBy } from '../../model/group-and-remember.ts';
import { refKey, type TicketRef } from '../../model/ids-and-branch-names.ts';
import { BOARD_SECTIONS, type BoardSection, SECTION_NAMES } from '../plan-and-ticket-status.ts';
import type { Board, BoardRow } from '../view-schemas.ts';

export const GROUPINGS = ['section', 'plan', 'agent'] as const;
type Grouping = (typeof GROUPINGS)[number];

/** What a person has chosen to see. */
export interface Shown {
  /** Words that the rows must have; empty: all rows. */
  filter: string;
  failuresOnly: boolean;
  grouping: Grouping;
}

export type ListEntry = { heading: string; section: BoardSection | null; count: number } | { row: BoardRow };

/** What follows the number of tickets in a section. */
export function sectionWords(section: BoardSection, count: number): string {
  return section === 'need you' && count === 1 ? 'needs you' : section;
}

/** The rows that are shown, below their headings. */
export function listEntries({ rows }: Pick<Board, 'rows'>, shown: Shown): ListEntry[] {
  const found = rows.filter((row) => isShown(row, shown));
  const groups = groupBy(found, (row) => groupOf(row, shown.grouping));
  return [...groups].flatMap(([key, own]) => {
    const section = BOARD_SECTIONS.find((each) => shown.grouping === 'section' && each === key) ?? null;
    const heading = section ? SECTION_NAMES[section] : key;
    return [{ heading, section, count: own.length }, ...own.map((row) => ({ row }))];
  });
}

function groupOf({ section, planId, planName, agent }: BoardRow, grouping: Grouping): string {
  switch (grouping) {
    case 'section':
      return section;
    case 'plan':
      return planName === planId ? planId : `${planName} (${planId})`;
    case 'agent':
      return agent ?? 'No agent yet';
  }
}

function isShown(row: BoardRow, { filter, failuresOnly }: Shown): boolean {
  if (failuresOnly && row.section !== 'need you') return false;
  return filter === '' || hasWords(row, filter);
}

/** Whether all words are in what a row shows. */
export function hasWords(row: BoardRow, words: string): boolean {
  const { planName, title, phase, agent, section, status, machine, why } = row;
  const facts = [refKey(row), planName, title, phase, agent, section, status, machine, why];
  const text = facts.join('\n').toLowerCase();
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

/** The id of a ticket, with its plan where another row has the same id. */
export function rowNames(rows: readonly TicketRef[]): (row: TicketRef) => string {
  const seen = new Set<string>();
  const twice = new Set<string>();
  for (const { ticketId } of rows) (seen.has(ticketId) ? twice : seen).add(ticketId);
  return (row) => (twice.has(row.ticketId) ? refKey(row) : row.ticketId);
}
