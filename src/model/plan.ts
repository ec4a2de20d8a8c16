import type { Plan, PlanEntry } from './plan-schema.ts';

export type { Plan, PlanEntry };

export const PLAN_STATUSES = ['draft', 'active', 'paused', 'complete', 'archived'] as const;
