import { BOARD_SECTIONS, type BoardSection } from '../../../src/report/plan-and-ticket-status.ts';
import type { Board, BoardRow } from '../../../src/report/view-schemas.ts';
import { NOW } from '../../model/build.ts';

/** A row of the plan `p`. */
export function row(ticketId: string, more: Partial<BoardRow> = {}): BoardRow {
  return {
    planId: 'p',
    ticketId,
    section: 'waiting',
    status: 'ready',
    title: 'Title',
    planName: 'p',
    why: '',
    next: '',
    hold: null,
    phase: null,
    visit: 1,
    attempt: 1,
    since: null,
    agent: null,
    action: null,
    printedAt: null,
    idleSeconds: null,
    usage: null,
    unpriced: 0,
    machine: null,
    pullRequest: null,
    decisions: [],
    legal: [],
    ...more,
  };
}

export function board(rows: readonly BoardRow[]): Board {
  const count = (section: BoardSection) => rows.filter((each) => each.section === section).length;
  return {
    at: NOW,
    engines: [],
    running: count('running'),
    maximum: 4,
    today: { usd: null, unpriced: 0, budgetUsd: null },
    limits: [],
    plans: [],
    counts: Object.fromEntries(BOARD_SECTIONS.map((each) => [each, count(each)])) as Board['counts'],
    rows: BOARD_SECTIONS.flatMap((section) => rows.filter((each) => each.section === section)),
    problems: [],
  };
}
