import { realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { parseTasks } from '../../kiro/parse-tasks.ts';
import type { Spec } from '../../kiro/read-spec.ts';
import { takeBack, tickedIn, withTicks } from '../../kiro/tick.ts';
import type { PlanSpec } from '../../model/plan.ts';
import type { Ticket } from '../../model/ticket.ts';
import type { EarlierRun, SpecLocation } from './places.ts';
import { placeInTree } from './tree.ts';
import { engineTicks } from './unit.ts';

/** What the plan stores of the spec, with what earlier runs stored. */
export function keptOf(
  spec: Spec,
  { dir, root, before: earlier }: Pick<SpecLocation, 'dir' | 'root' | 'before'>,
  now: string,
): PlanSpec {
  const before = earlier?.plan.spec;
  const linked = join(realpathSync.native(dirname(spec.dir)), basename(spec.dir));
  const beside = linked === dir ? before?.beside : dirname(linked);
  const others = [spec.files.requirements, spec.files.design].flatMap((file) =>
    file ? [basename(file)] : [],
  );
  return {
    name: spec.name,
    dir,
    ...(beside ? { beside } : {}),
    inTree: placeInTree(dir, root),
    tracked: before?.tracked ?? false,
    files: { tasks: basename(spec.files.tasks), others },
    text: before?.text ?? '',
    base: before?.base ?? null,
    startedAt: before?.startedAt ?? now,
    ...(before?.list ? { list: before.list } : {}),
    ...(before?.brought ? { brought: before.brought } : {}),
    ...(before?.aside ? { aside: before.aside } : {}),
    ...(before?.gone ? { gone: before.gone } : {}),
  };
}

/**
 * The user's tasks.md with the tasks that the engine knows to be done; ticks of an agent on the branch do not count. A checkout
 * has one copy for both: there, the ticks count that were there before the unit whose work is in it.
 */
export function tasksAsKnown({
  original,
  kept,
  before,
  inPlace,
}: {
  original: Spec;
  kept: PlanSpec;
  before: EarlierRun | null;
  inPlace: boolean;
}): string {
  if (!before) return original.text;
  const engine = engineTicks(before.plan, before.tickets);
  if (!inPlace) return withTicks(original.text, { engine });
  const isOpen = before.tickets.some(
    (ticket) =>
      ticket.phaseHistory.length > 0 &&
      ticket.status !== 'complete' &&
      ticket.base !== null &&
      !isUntickable(ticket),
  );
  if (!isOpen || kept.text === '') return original.text;
  return takeBack(original.text, { engine: [...tickedIn(kept.text), ...engine] }).text;
}

/** Its work is done and its boxes could not be ticked: a person has to do that. */
function isUntickable({ status, currentPhase }: Ticket): boolean {
  return currentPhase === 'attention' || (status === 'failed' && currentPhase === 'tick');
}

/** A spec with another text of its tasks. */
export function withTasks(spec: Spec, text: string) {
  const parsed = parseTasks(text, { file: spec.files.tasks });
  const others = spec.problems.filter(({ file }) => file !== spec.files.tasks);
  return { ...parsed, text, problems: [...parsed.problems, ...others] };
}
