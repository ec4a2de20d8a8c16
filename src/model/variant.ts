import type { Phase, Workflow } from './workflow.ts';

/** What one run asks of a workflow, beyond what its file says. */
export interface Wishes {
  /** By phase; `*` is every agent phase that has none of its own. */
  models: Record<string, string>;
  efforts: Record<string, string>;
  /** Wall-clock limit of agent phases. */
  timeoutSeconds: number | null;
  /** False: one attempt of everything, and no turn that puts a result right. */
  retry: boolean;
  /** How often work may come back to a phase that loops; 1 means that nothing comes back. */
  loops: { phase: string; visits: number } | null;
  /** False: gates ask a person alone and look nowhere else. */
  looks?: boolean;
}

/** The workflow as this run wants it. It is pinned like any other, so it stays what it was when the run is resumed. */
export function specialise(workflow: Workflow, wishes: Wishes): Workflow {
  return { ...workflow, phases: workflow.phases.map((phase) => adapt(phase, wishes)) };
}

function adapt(phase: Phase, wishes: Wishes): Phase {
  const visits = wishes.loops?.phase === phase.id ? { maxVisits: wishes.loops.visits } : {};
  if (phase.type === 'terminal') return phase;
  if (phase.type === 'gate') {
    const nowhere = { command: undefined, args: undefined, action: undefined, with: undefined };
    return wishes.looks === false ? { ...phase, ...nowhere, intervalSeconds: undefined } : phase;
  }
  const once = wishes.retry ? {} : { retry: undefined, maxRetries: undefined };
  if (phase.type === 'script' || phase.type === 'action')
    return { ...phase, ...once, ...(wishes.retry ? {} : { waits: false }), ...visits };
  if (phase.type !== 'agent') return { ...phase, ...once, ...visits };
  const model = wishes.models[phase.id] ?? wishes.models['*'];
  const effort = (wishes.efforts[phase.id] ?? wishes.efforts['*']) as typeof phase.effort;
  return {
    ...phase,
    ...once,
    ...(wishes.retry ? {} : { repair: false }),
    ...visits,
    ...(model ? { model } : {}),
    ...(effort ? { effort } : {}),
    ...(wishes.timeoutSeconds ? { timeoutSeconds: wishes.timeoutSeconds } : {}),
  };
}
