import type { Plan } from '../model/plan.ts';
import { isAllComplete } from '../model/state/eligible.ts';
import { type EngineContext, emit } from './context.ts';

/** A plan is complete when all its tickets are; a planner may have added one since somebody looked. */
export async function completePlan(parts: EngineContext, planId: string): Promise<void> {
  const { store, now } = parts;
  const isDone = (latest: Plan) => latest.status === 'active' && isAllComplete(store.view(), latest);
  const plan = await store.updatePlan(planId, (latest) =>
    isDone(latest) ? { ...latest, status: 'complete', completedAt: now() } : latest,
  );
  if (plan.status === 'complete') emit(parts, { type: 'plan:status', planId, status: 'complete' });
}

/** Does so where no engine will: after what a person did. */
export async function completeUnwatched(parts: EngineContext, planId: string): Promise<void> {
  const { store, holder } = parts;
  const { claim, status } = store.plan(planId);
  if (status !== 'active' || (claim && holder.isLive(claim)) || holder.daemon()) return;
  if (isAllComplete(store.view(), store.plan(planId))) await completePlan(parts, planId);
}
