import type { EngineContext } from '../../engine/context.ts';
import type { UnitOptions } from '../../kiro/group-tasks-into-units.ts';
import type { TaskIdentity } from '../../kiro/tick-and-merge-tasks.ts';
import type { Plan, SpecRunPlan } from '../../model/plan.ts';
import type { Ticket } from '../../model/ticket.ts';

/** What a person asks for with `signalbox spec`. */
export interface SpecRunRequest {
  /** The spec directory, or its tasks.md. */
  dir: string;
  /** Where the repository is; null: where the spec is, else `cwd`. */
  workdir: string | null;
  cwd: string;
  units: UnitOptions;
  backend: string | null;
  assignBackend: string | null;
  base: string | null;
  delaySeconds: number;
  maxIterations: number;
  maxAttempts: number;
  /** Wall-clock limit of one attempt of an agent; null: the setting's. */
  timeoutSeconds: number | null;
  stopOnFailure: boolean;
  inPlace: boolean;
  fresh: boolean;
  /** One agent assigns all units at once, instead of each before its work. */
  assignAll: boolean;
}

/** An earlier run of the same spec that this one continues. */
export interface EarlierRun {
  plan: Plan;
  tickets: readonly Ticket[];
}

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

/** Phases in which an agent does a unit's work. */
export const WORK_PHASES: readonly string[] = ['implement', 'review'];

/** The ticket that waits for an answer, if one does. */
export function haltedTicket(tickets: readonly Ticket[]): Ticket | undefined {
  return tickets.find((ticket) => ticket.status === 'needs_attention' && ticket.hold?.kind === 'gate');
}

export function haltReason(ticket: Ticket): string {
  const { halt_reason } = ticket.context;
  return typeof halt_reason === 'string' ? halt_reason : (ticket.hold?.reason ?? '');
}
