import type { Plan, PlanEntry } from './plan-schema.ts';

export type { Plan, PlanEntry };

export const PLAN_STATUSES = ['draft', 'active', 'paused', 'complete', 'archived'] as const;

/** Where tickets of a plan work. */
export const WORKSPACES = ['own', 'shared', 'checkout'] as const;
