import {
  type EngineContext,
  type OpenOptions,
  openEngine as open,
  type PlanKind,
} from '../engine/context.ts';
import { issuesKind } from '../features/issue-runs/plan-kind.ts';
import { Notifier } from '../features/notifications/notify.ts';
import { specKind } from '../features/spec-runs/plan-kind.ts';
import type { PLAN_KINDS } from '../model/plan.ts';

/** Plans that people write, by hand or with a planner. */
const ticketsKind: PlanKind = { kind: null, hooks: () => ({}) };

/** Exhaustive: a kind without hooks does not compile. */
const KINDS: Record<'tickets' | (typeof PLAN_KINDS)[number], PlanKind> = {
  tickets: ticketsKind,
  run: issuesKind,
  spec: specKind,
};

/** Opens an engine with all features. `kinds` adds kinds of plans to the three that Signalbox has. */
export function openEngine({
  kinds = [],
  ...options
}: OpenOptions & { kinds?: readonly PlanKind[] }): EngineContext {
  return open(options, {
    kinds: [...Object.values(KINDS), ...kinds],
    notifications: (context) => new Notifier(context),
  });
}
