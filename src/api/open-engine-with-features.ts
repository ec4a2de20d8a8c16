import type { Action, Actions, EngineContext, OpenOptions, PlanKind } from '../engine/context.ts';
import { openEngine as open } from '../engine/context.ts';
import { HandOverThroughGit } from '../engine/fleet/hand-over-through-git.ts';
import { issuesKind } from '../features/issue-runs/plan-kind.ts';
import { Notifier } from '../features/notifications/notify.ts';
import type { ForgeStep } from '../features/pull-requests/pull-request-actions.ts';
import { specKind } from '../features/spec-runs/plan-kind.ts';
import type { PlanKindName } from '../model/plan.ts';

/** Implementations of the bundled actions. Each is loaded when a ticket first needs it. */
const ACTIONS: Actions = {
  checks: async (call) => (await import('../features/checks/find-and-run-checks.ts')).checksAction(call),
  'related-tests': async (call) => (await import('../features/checks/related-tests.ts')).relatedAction(call),
  integrate: async (call) =>
    (await import('../features/integrate/integrate-ticket.ts')).integrateStep({ ...call, inPhase: true }),
  'spec-tick': async (call) =>
    (await import('../features/spec-runs/tick-unit.ts')).tickStep({ ...call, inPhase: true }),
  'push-branch': onGithub('push-branch'),
  'pull-request': onGithub('pull-request'),
  'sync-branch': onGithub('sync-branch'),
  'answer-review': onGithub('answer-review'),
  'merge-pull-request': onGithub('merge-pull-request'),
  'pull-request-poll': onGithub('pull-request-poll'),
  'pull-request-review': onGithub('pull-request-review'),
};

function onGithub(step: ForgeStep): Action {
  return async (call) =>
    (await import('../features/pull-requests/pull-request-actions.ts')).forgeStep(step, {
      ...call,
      inPhase: true,
    });
}

/** Plans that people write, by hand or with a planner. */
const ticketsKind: PlanKind = { kind: null, hooks: () => ({}) };

/** Exhaustive: a kind without hooks does not compile. */
const KINDS: Record<'tickets' | PlanKindName, PlanKind<never>> = {
  tickets: ticketsKind,
  run: issuesKind,
  spec: specKind,
};

/** Opens an engine with all features. `kinds` adds kinds of plans to the three that Signalbox has. */
export function openEngine({
  kinds = [],
  door = 'library',
  ...options
}: OpenOptions & { kinds?: readonly PlanKind<never>[] }): EngineContext {
  return open(
    { ...options, door },
    {
      kinds: [...Object.values(KINDS), ...kinds],
      notifications: (context) => new Notifier(context),
      actions: ACTIONS,
      ...(options.handsOver ? { handOver: (context: EngineContext) => new HandOverThroughGit(context) } : {}),
      preflight: async (context, request) =>
        (await import('../features/preflight/find-start-problems-and-forecast.ts')).preflight(
          context,
          request,
        ),
    },
  );
}
