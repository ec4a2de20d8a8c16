import type { Plan } from './plan-schema.ts';

export type { CommonPlan, IssueRunPlan, Plan, PlanEntry, PlanSpec, SpecRunPlan } from './plan-schema.ts';

/** A value of `kind` in plan.json; a plan that a person wrote has none. */
export type PlanKindName = NonNullable<Plan['kind']>;

const NAMES: Record<PlanKindName, true> = { run: true, spec: true };
export const PLAN_KINDS: readonly string[] = Object.keys(NAMES);

/** All tickets of such a plan work in one worktree, one after the other. */
export function sharesWorkspace({ workspace }: Pick<Plan, 'workspace'>): boolean {
  return workspace === 'shared' || workspace === 'checkout';
}

/** Says in the plan of a run whether a daemon continues it. */
export function withDetached<P extends Plan>(plan: P, detached: boolean): P {
  return plan.run ? { ...plan, run: { ...plan.run, detached } } : plan;
}

/** Ids of tickets that a plan had once: a shared worktree may still be recorded as theirs. */
export function removedTickets({ spec }: Plan): readonly string[] {
  return spec?.gone ?? [];
}

/** The reason of tickets that were stopped together with their plan; null where the plan was not stopped. */
export function stoppedTogether({ status, pausedBy }: Plan): string | null {
  return status === 'paused' ? `stopped by ${String(pausedBy)}` : null;
}

/** Whether a plan is not to continue: it is archived, or about to be because it is being cancelled. */
export function isGivenUp({ status, pausedBy }: Plan): boolean {
  return status === 'archived' || (status === 'paused' && pausedBy === CANCEL);
}

/** Who paused a plan that is being cancelled. */
export const CANCEL = 'cancel';

/** Who stopped a run, from the reason of its signal: a person at the terminal, or the code that called it. */
export function stopperOf(reason: unknown): string {
  if (reason === 'SIGINT') return 'Ctrl-C';
  if (reason === 'SIGTERM') return 'SIGTERM';
  return typeof reason === 'string' && reason !== '' ? `the caller: ${reason}` : 'the caller';
}
