import type {
  Board,
  BoardHead,
  BoardRow,
  Change,
  PlanRow,
} from '../../src/web/schemas-of-api-answers-events-and-bodies.ts';

/** The board as the page has it: a snapshot and all changes since. */
export interface BoardState {
  at: string;
  head: BoardHead;
  plans: ReadonlyMap<string, PlanRow>;
  /** By `plan/ticket`. */
  rows: ReadonlyMap<string, BoardRow>;
}

export const keyOf = ({ planId, ticketId }: { planId: string; ticketId: string }) => `${planId}/${ticketId}`;

export function fromSnapshot({ at, plans, rows, ...head }: Board): BoardState {
  return {
    at,
    head,
    plans: new Map(plans.map((plan) => [plan.id, plan])),
    rows: new Map(rows.map((row) => [keyOf(row), row])),
  };
}

export function withChange(state: BoardState, { at, head, plans, rows, gone }: Change): BoardState {
  const next = { at, head: head ?? state.head, plans: new Map(state.plans), rows: new Map(state.rows) };
  for (const plan of plans) next.plans.set(plan.id, plan);
  for (const row of rows) next.rows.set(keyOf(row), row);
  for (const key of gone) {
    next.plans.delete(key);
    next.rows.delete(key);
  }
  return next;
}

/** A snapshot again, for a reader that joins later. */
export function asSnapshot({ at, head, plans, rows }: BoardState): Board {
  return { at, ...head, plans: [...plans.values()], rows: [...rows.values()] };
}

/** Rows that ask for a person now and did not before. */
export function newlyAsking(before: BoardState | null, after: BoardState): BoardRow[] {
  if (!before) return [];
  return [...after.rows.values()].filter(
    (row) => row.section === 'need you' && before.rows.get(keyOf(row))?.section !== 'need you',
  );
}
