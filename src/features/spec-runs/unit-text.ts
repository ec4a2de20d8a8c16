import { createHash } from 'node:crypto';
import { promptParts } from '../../kiro/prompt-parts.ts';
import type { Spec } from '../../kiro/read-spec.ts';
import { isWork, withDescendants } from '../../kiro/task.ts';
import { identityOf } from '../../kiro/tick.ts';
import type { Unit } from '../../kiro/units.ts';
import { idProblem, slug } from '../../model/ids.ts';
import type { TicketUnit } from '../../model/spec-run-schema.ts';

/** A unit as its ticket keeps it. */
export function describeUnit(spec: Spec, unit: Unit): TicketUnit {
  const parts = promptParts(spec, unit);
  const work = unit.open.length > 0 ? unit.open : unit.work;
  return {
    id: unit.id,
    tasks: work.map(identityOf),
    ids: idsOf(unit),
    ...(unit.leftOut.length > 0 ? { leftOut: unit.leftOut.map(({ id }) => id) } : {}),
    work: parts.work,
    context: parts.context,
    requirements: parts.requirements,
    design: parts.design,
    verify: parts.verify,
    checkpoint: parts.checkpoint,
    hash: unitHash(unit),
  };
}

/** Of each parent that is ticked with its last child: the children that it still needs. */
export function openParents({ all }: Pick<Spec, 'all'>): Record<string, string[]> {
  return Object.fromEntries(
    all
      .filter((task) => task.box !== null && task.children.length > 0 && !isWork(task))
      .map(({ id, done, optional, children }) => {
        const left = children.filter((child) => !child.done && (!child.optional || optional));
        return { id, done, left: left.map((child) => child.id) };
      })
      .filter(({ done, left }) => done || left.length > 0)
      .map(({ id, left }) => [id, left]),
  );
}

/** What a unit is known by besides its id: the text of its tasks. */
export function unitHash({ work }: Unit): string {
  const identity = work.map(({ id, title, details }) => [id, title, details]);
  return createHash('sha256').update(JSON.stringify(identity)).digest('hex').slice(0, 16);
}

/** A parent of which something is left out is not done with the rest. */
function idsOf(unit: Unit): string[] {
  const inside = withDescendants(unit.root).flatMap(({ id }) => inUnit(unit, id));
  return [...new Set(unit.leftOut.length > 0 ? inside : [unit.id, ...inside])];
}

function inUnit(unit: Unit, id: string): string[] {
  return unit.work.some((task) => task.id === id) ? [id] : [];
}

/** An id that may be a file name; units whose ids cannot be one are told apart by a few digits. */
export function ticketIdOf(id: string): string {
  if (idProblem(id) === undefined) return id;
  const digits = createHash('sha256').update(id).digest('hex').slice(0, 8);
  return `${slug(id, 60)}-${digits}`;
}
