import type { EngineContext } from '../../../engine/context.ts';
import { messageOf } from '../../../model/errors.ts';
import type { EngineEvent } from '../../../model/events.ts';
import type { Plan } from '../../../model/plan.ts';
import { ticketsOf } from '../../../model/plans/view.ts';
import { storedRun } from '../results/stored-run.ts';
import { checkLogPlace } from './log-files.ts';
import { openRunLog, type RunLogWriter } from './run-log.ts';

/** Writes the logs of runs that a daemon continues. Takes every event; problems are reported as events. */
export function followLogs(
  parts: Pick<EngineContext, 'store' | 'now'>,
  tell: (event: EngineEvent) => void,
): (event: EngineEvent) => void {
  const logs = new Map<string, RunLogWriter | null>();
  return (event) => {
    if (event.type !== 'attempt:end' && event.type !== 'ticket:status') return;
    const { planId } = event;
    try {
      const plan = parts.store.plan(planId);
      if (!logs.has(planId)) logs.set(planId, open(parts, plan));
      const log = logs.get(planId);
      if (rests(parts, plan)) log?.finish({ aborted: false });
      else log?.update();
    } catch (error) {
      logs.set(planId, null);
      tell({
        type: 'problem',
        planId,
        ticketId: null,
        path: null,
        message: `the run's log: ${messageOf(error)}`,
      });
    }
  };
}

function open(parts: Pick<EngineContext, 'store' | 'now'>, plan: Plan): RunLogWriter | null {
  const run = storedRun(plan);
  if (!run?.log) return null;
  checkLogPlace(run.log, plan.repo ?? '/');
  return openRunLog(parts, { path: run.log, planId: plan.id, config: run.config });
}

/** Nothing of it moves by itself any more. */
function rests({ store }: Pick<EngineContext, 'store'>, plan: Plan): boolean {
  return !ticketsOf(store.view(), plan).some(
    ({ status, hold }) =>
      status === 'running' || status === 'ready' || (status === 'queued' && hold === null),
  );
}
