import type { EngineContext } from '../engine/context.ts';
import { keepSummary, specResult } from '../features/spec-runs/spec-result.ts';
import type { Env } from '../machine/paths-and-user-home.ts';
import type { EngineEvent } from '../model/events.ts';
import type { Plan } from '../model/plan.ts';
import { isPlanAtRest } from '../model/state/next-step-or-rest.ts';
import { plansInTurn } from './gather-plans-and-write-reports.ts';
import { summaryFacts } from './spec-text.ts';
import { openTmuxView, type TmuxView } from './tmux/tmux-view.ts';

export interface SpecFollower {
  listen(event: EngineEvent): void;
  /** Waits until all windows and summaries are up to date. */
  close(): Promise<void>;
}

export interface FollowOptions {
  env: Env;
  cli: readonly string[];
  /** Called with problems of the windows; they do not stop the work. */
  onProblem(message: string): void;
}

/** Shows windows and keeps the summary of specs that an engine without a terminal runs. */
export function followSpecs(engine: EngineContext, options: FollowOptions): SpecFollower {
  const views = new Map<string, TmuxView | null>();
  const plans = plansInTurn(engine, 'the summary cannot be made', async (plan) => {
    if (plan.spec) await keepSummaryAtRest(engine, plan);
  });
  const view = (planId: string): TmuxView | null => {
    const known = views.get(planId);
    if (known !== undefined) return known;
    const plan = engine.store.hasPlan(planId) ? engine.store.plan(planId) : undefined;
    const made = plan?.spec ? windowsOf(engine, plan, options) : null;
    views.set(planId, made);
    return made;
  };
  return {
    listen(event) {
      if (event.type === 'problem') return;
      // Every run names its own windows.
      if (event.type === 'plan:status') views.delete(event.planId);
      if (event.type === 'attempt:start' || event.type === 'attempt:adopt' || event.type === 'ticket:status')
        view(event.planId)?.listen(event);
      if (event.type === 'ticket:status' || event.type === 'plan:status') plans.add(event.planId);
    },
    async close() {
      await plans.ended();
      await Promise.all([...views.values()].map((each) => each?.close()));
    },
  };
}

function windowsOf(
  engine: EngineContext,
  plan: Plan,
  { env, cli, onProblem }: FollowOptions,
): TmuxView | null {
  const wanted = plan.windows;
  if (!wanted) return null;
  const { TMUX: _, TMUX_TMPDIR: __, ...rest } = env;
  const { stateDir, configFile } = engine.settings;
  return openTmuxView({
    session: wanted.session,
    stateDir,
    repo: plan.repo,
    cwd: wanted.cwd,
    env: { ...rest, ...wanted.env, ...(configFile ? { SIGNALBOX_CONFIG: configFile } : {}) },
    cli,
    onProblem: (message) => onProblem(`${plan.id}: tmux: ${message}`),
  });
}

/** Keeps the summary when nothing moves any more. A run with a terminal does this itself. */
async function keepSummaryAtRest(engine: EngineContext, plan: Plan): Promise<void> {
  const own = engine.store.tickets(plan);
  if (plan.claim !== null || plan.status === 'archived' || !isPlanAtRest(plan, own)) return;
  const since = plan.starts?.since ?? plan.createdAt ?? engine.now();
  const ms = Math.max(0, Date.parse(engine.now()) - Date.parse(since));
  const result = await specResult(engine, plan.id, { since, ms });
  await keepSummary(engine, result, summaryFacts(result));
}
