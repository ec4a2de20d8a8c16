import { isRunByDaemon } from '../engine/claim-and-complete-plan.ts';
import type { EngineContext } from '../engine/context.ts';
import { resumeAll, stoppedIn } from '../engine/control-tickets-and-plans.ts';
import type { Plan } from '../model/plan.ts';

/**
 * Continues a plan where an engine has it or will take it. Undefined for a run of issues or a spec that no daemon has: it
 * continues in a terminal.
 */
export async function resumeElsewhere(
  engine: EngineContext,
  planId: string,
  answer?: string,
): Promise<{ plan: Plan; resumed: string[] } | undefined> {
  const found = engine.store.plan(planId);
  if (found.kind !== undefined && !isRunByDaemon(engine, planId)) return undefined;
  if (found.kind === 'spec') {
    const { answerHalt, takeSpec } = await import('../features/spec-runs/start-or-resume-run.ts');
    if (answer !== undefined) await answerHalt(engine, planId, answer);
    return { plan: await takeSpec(engine, planId, { leave: true }), resumed: [] };
  }
  if (found.kind === 'run') {
    const { adoptFinished } = await import('../features/issue-runs/resume-run-and-handle-newer-runs.ts');
    await adoptFinished(engine, planId);
    if (found.status === 'active' && stoppedIn(engine, planId).length === 0)
      return { plan: found, resumed: [] };
  }
  const { plan, tickets } = await resumeAll(engine, planId);
  return { plan, resumed: tickets };
}
