import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { SpecProblem } from '../../kiro/task.ts';
import type { Unit } from '../../kiro/units.ts';
import type { Ticket } from '../../model/ticket.ts';
import { checksOf, NO_CHECKS } from '../checks/checks.ts';

/** Checkpoints that nothing would be run for: they would be ticked as they are. */
export async function emptyCheckpoints(
  units: readonly Unit[],
  { configured, root, file }: { configured: readonly string[] | null; root: string; file: string },
): Promise<SpecProblem[]> {
  const open = units.filter(({ open }) => open.length > 0 && open.every(({ checkpoint }) => checkpoint));
  if (open.length === 0 || (await hasChecks(configured, root))) return [];
  return open.map(({ id, root: { line } }) => ({
    file,
    line,
    column: 1,
    code: 'spec/no-checks',
    severity: 'warning',
    message: `checkpoint ${id} has nothing to run: neither the settings nor ${root} have checks, so it is ticked as it is`,
    hint: 'Say what has to pass, for example: checks: [npm test]',
  }));
}

/** A package.json that cannot be read is told by the checks themselves. */
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
  return tickets.flatMap((ticket) => {
    const unit = ticket.unit;
    const last = ticket.phaseHistory.findLast(({ phase }) => phase === 'checks');
    const empty = last?.output?.trim() === NO_CHECKS && Date.parse(last.startedAt) >= Date.parse(since);
    return unit?.checkpoint && ticket.status === 'complete' && empty ? [unit.id] : [];
  });
}
