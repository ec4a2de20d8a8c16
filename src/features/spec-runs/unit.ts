import type { EngineContext } from '../../engine/context.ts';
import { promptParts } from '../../kiro/prompt-parts.ts';
import type { Spec } from '../../kiro/read-spec.ts';
import { isWork, withDescendants } from '../../kiro/task.ts';
import { identityOf, type TaskIdentity } from '../../kiro/tick.ts';
import type { Unit } from '../../kiro/units.ts';
import { digest, idProblem, slug } from '../../model/ids.ts';
import type { Plan, SpecRunPlan } from '../../model/plan.ts';
import type { Ticket } from '../../model/ticket.ts';
import type { TicketUnit } from '../../model/ticket-schema.ts';

/** What the engine has done for a ticket: the latest of each task counts. */
export function ticksOf(ticket: Ticket): TaskIdentity[] {
  const unit = ticket.unit;
  const isDone = ({ id }: TaskIdentity) => ticket.status === 'complete' && !unit?.unticked?.includes(id);
  const now = (unit?.tasks ?? []).filter(isDone);
  return [...new Map([...(unit?.done ?? []), ...now].map((task) => [task.id, task])).values()];
}

/** Tasks that the engine itself knows to be done. */
export function engineTicks(plan: Plan, tickets: readonly Ticket[]): TaskIdentity[] {
  return [...(plan.spec?.aside ?? []), ...tickets].flatMap(ticksOf);
}

/** Changes the plan of a spec; any other plan stays as it is. */
export function updateSpecPlan(
  { store }: Pick<EngineContext, 'store'>,
  planId: string,
  change: (plan: SpecRunPlan) => SpecRunPlan,
): Promise<Plan> {
  return store.updatePlan(planId, (latest) => (latest.kind === 'spec' ? change(latest) : latest));
}

/** A unit as its ticket stores it. */
export function describeUnit(spec: Spec, unit: Unit): TicketUnit {
  const { work, context, requirements, design, verify, checkpoint } = promptParts(spec, unit);
  const unticked = unit.work.filter(
    (task) => task.box && task.mark !== 'done' && !task.optional && !unit.open.includes(task),
  );
  return {
    id: unit.id,
    tasks: (unit.open.length > 0 ? unit.open : unit.work).map(identityOf),
    ids: idsOf(unit),
    ...(unit.leftOut.length > 0 ? { leftOut: unit.leftOut.map(({ id }) => id) } : {}),
    ...(unticked.length > 0 ? { unticked: unticked.map(({ id }) => id) } : {}),
    work,
    context,
    requirements,
    design,
    verify,
    checkpoint,
    hash: unitHash(unit),
  };
}

/** Of each parent that is ticked with its last child: its open children. */
export function openParents({ all }: Pick<Spec, 'all'>): Record<string, string[]> {
  const parents = all.filter((task) => task.box !== null && task.children.length > 0 && !isWork(task));
  return Object.fromEntries(
    parents.flatMap(({ id, done, optional, children }) => {
      const left = children.filter((child) => !child.done && (!child.optional || optional));
      return done || left.length > 0 ? [[id, left.map((child) => child.id)]] : [];
    }),
  );
}

/** Identifies the text of a unit's tasks. */
export function unitHash({ work }: Unit): string {
  const identity = work.map(({ id, title, details }) => [id, title, details]);
  return digest(JSON.stringify(identity));
}

/** All ids that are done with a unit. A parent with tasks that are left out is not done with the others. */
function idsOf({ id, root, work, leftOut }: Unit): string[] {
  const own = new Set(work.map((task) => task.id));
  const inside = withDescendants(root).flatMap((task) => (own.has(task.id) ? [task.id] : []));
  return [...new Set(leftOut.length > 0 ? inside : [id, ...inside])];
}

/** An id that may be a file name; other ids get a few digits of their hash. */
export function ticketIdOf(id: string): string {
  if (idProblem(id) === undefined) return id;
  return `${slug(id, 60)}-${digest(id, 8)}`;
}
