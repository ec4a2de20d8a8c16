import type { Plan, PlanEntry } from './plan-schema.ts';

export type { Plan, PlanEntry };

export const PLAN_STATUSES = ['draft', 'active', 'paused', 'complete', 'archived'] as const;

/** Values of `kind` in plan.json; a plan that a person wrote has none. */
export const PLAN_KINDS = ['run', 'spec'] as const;

/** Where tickets of a plan work. */
export const WORKSPACES = ['own', 'shared', 'checkout'] as const;

/** All tickets of such a plan work in one worktree, one after the other. */
export function sharesWorkspace({ workspace }: Pick<Plan, 'workspace'>): boolean {
  return workspace === 'shared' || workspace === 'checkout';
}

/** Ids of tickets that a plan had once: a shared worktree may still be recorded as theirs. */
export function removedTickets({ spec }: Plan): readonly string[] {
  return (spec as { gone?: readonly string[] } | undefined)?.gone ?? [];
}
