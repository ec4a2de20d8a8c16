import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Unit } from '../../kiro/group-tasks-into-units.ts';
import type { Spec } from '../../kiro/read-spec.ts';
import { inFile, type SpecProblem, warning } from '../../kiro/task-and-problem-types.ts';
import type { Ticket } from '../../model/ticket.ts';
import { whyUnchecked } from '../../model/verdict-criteria-and-missing-checks.ts';
import { checksOf } from '../checks/find-and-run-checks.ts';

/** Warns of open checkpoints when the project has no checks. `configured` is called only if there is a checkpoint. */
export async function emptyCheckpoints(
  { files }: Pick<Spec, 'files'>,
  units: readonly Unit[],
  root: string,
  configured: () => Promise<readonly string[] | null>,
): Promise<SpecProblem[]> {
  const open = units.filter(({ open }) => open.length > 0 && open.every(({ checkpoint }) => checkpoint));
  if (open.length === 0 || (await hasChecks(await configured(), root))) return [];
  const hint = 'Name the checks in the settings, for example: checks: [npm test]';
  return open.map(({ id, root: { line } }) => {
    const message = `checkpoint ${id} has nothing to run: neither the settings nor ${root} have checks, so it is ticked as it is`;
    return inFile(files.tasks, warning(line, 'spec/no-checks', message, hint));
  });
}

/** The checks themselves report a package.json that cannot be read. */
async function hasChecks(configured: readonly string[] | null, root: string): Promise<boolean> {
  try {
    return (await checksOf(configured, root)).length > 0;
  } catch {
    return true;
  }
}

/** The top of the repository that a directory is in, or the directory. */
export function projectOf(dir: string): string {
  for (let at = dir; dirname(at) !== at; at = dirname(at)) if (existsSync(join(at, '.git'))) return at;
  return dir;
}

/** Ids of checkpoints that a run has ticked although nothing was run for them. */
export function tickedUnchecked(tickets: readonly Ticket[], since: string): string[] {
  return tickets.flatMap(({ unit, status, phaseHistory }) => {
    const last = phaseHistory.findLast(({ phase }) => phase === 'checks');
    const empty = last && whyUnchecked(last) && Date.parse(last.startedAt) >= Date.parse(since);
    return unit?.checkpoint && status === 'complete' && empty ? [unit.id] : [];
  });
}
