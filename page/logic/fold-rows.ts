import { groupBy } from '../../src/model/group-and-remember.ts';
import { questionsFirst } from '../../src/report/board/make-board.ts';
import { BOARD_SECTIONS, type BoardSection } from '../../src/report/plan-and-ticket-status.ts';
import type { BoardRow, PlanRow } from '../../src/web/schemas-of-api-answers-events-and-bodies.ts';

/** Rows by section, questions first, then by plan, the newest first. Tickets of a plan stay in its order, as in `top`: the server sends rows in it. */
export function bySection(
  rows: Iterable<BoardRow>,
  plans: ReadonlyMap<string, PlanRow>,
  isShown: (row: BoardRow) => boolean = () => true,
): Record<BoardSection, BoardRow[]> {
  const sections: Record<BoardSection, BoardRow[]> = { 'need you': [], running: [], waiting: [], done: [] };
  for (const row of rows) if (isShown(row)) sections[row.section].push(row);
  const born = (row: BoardRow) => plans.get(row.planId)?.createdAt ?? '';
  const order = (a: BoardRow, b: BoardRow) =>
    questionsFirst(a, b) || compare(born(b), born(a)) || compare(a.planId, b.planId);
  for (const section of BOARD_SECTIONS) sections[section].sort(order);
  return sections;
}

const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);

/** From this number on, rows with one reason are one line. */
const FOLD_FROM = 4;

/** The lines of a section: questions first, and many tickets with one reason together. What runs or is done is shown one by one. */
export function linesOf(
  section: BoardSection,
  rows: readonly BoardRow[],
): { why: string; rows: BoardRow[] }[] {
  const alone = (row: BoardRow) => ({ why: row.why, rows: [row] });
  if (section === 'running' || section === 'done') return rows.map(alone);
  const isQuestion = ({ decisions }: BoardRow) => decisions.length > 0;
  return [...rows.filter(isQuestion).map(alone), ...byReason(rows.filter((row) => !isQuestion(row)))];
}

/** Rows with the same reason, together; the largest groups first, then single ones. */
function byReason(rows: readonly BoardRow[]): { why: string; rows: BoardRow[] }[] {
  const groups = groupBy(rows, ({ why }) => why);
  const folded = [...groups].filter(([, all]) => all.length >= FOLD_FROM);
  const single = rows.filter(({ why }) => (groups.get(why)?.length ?? 0) < FOLD_FROM);
  return [
    ...folded.sort(([, a], [, b]) => b.length - a.length).map(([why, all]) => ({ why, rows: all })),
    ...single.map((row) => ({ why: row.why, rows: [row] })),
  ];
}
