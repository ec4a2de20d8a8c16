import type { Plan } from '../model/plan.ts';
import { ticketsIn } from '../report/live-state.ts';
import { oneLine, type Style } from '../report/style.ts';
import { cells, spread } from '../report/width.ts';
import type { Store } from '../store/port.ts';
import { issueName } from './issue-name.ts';
import { modeOf } from './run-log.ts';
import { storedRun } from './stored-run.ts';

const LONGEST_TITLE = 100;

/** What a live view begins with: the run, its mode, and which issues it has. */
export function runHeader(store: Store, planId: string, look: Style): string[] {
  const plan = store.plan(planId);
  const tickets = ticketsIn(store.view(), { planId });
  const count = tickets.length === 1 ? '1 issue' : `${tickets.length} issues`;
  const names = tickets.map(issueName);
  const width = Math.max(...names.map(cells));
  return [
    `${look.bold(plan.id)}: ${count}, ${modeText(plan)}`,
    ...tickets.map(
      ({ title }, at) => `  ${spread(names[at] ?? '', width)}  ${look.dim(oneLine(title, LONGEST_TITLE))}`,
    ),
  ];
}

/** `parallel (concurrency 3)`, `batch of 2 groups (concurrency 3)`, `chain`. */
function modeText(plan: Plan): string {
  const config = storedRun(plan)?.config;
  if (!config) return 'parallel';
  const { concurrency } = config;
  const mode = modeOf(plan, config);
  const groups = new Set(plan.tickets.map(({ group }) => group)).size;
  const name = mode === 'batch' ? `batch of ${groups} ${groups === 1 ? 'group' : 'groups'}` : mode;
  return concurrency > 1 ? `${name} (concurrency ${concurrency})` : name;
}
