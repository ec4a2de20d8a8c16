import { rmSync } from 'node:fs';
import { openEngine } from '../engine/open.ts';
import { workspaceSpec } from '../engine/ticket-defaults.ts';
import { explained } from '../model/errors.ts';
import type { RunInput } from './run-issues.ts';

/** Deletes state that nobody goes on with. Worktrees with work in them stay, and the next run of their issue has them. */
export async function forgetRun(
  { settings, env }: Pick<RunInput, 'settings' | 'env'>,
  tell: (planId: string, message: string) => void,
): Promise<void> {
  const { store, workspaces } = openEngine({ settings, env, by: 'run' });
  try {
    const view = store.view();
    for (const ticket of view.tickets.values()) {
      const plan = view.plans.find(({ id }) => id === ticket.planId);
      if (!plan) continue;
      try {
        await workspaces.giveUp(workspaceSpec(ticket, plan, settings, view));
      } catch (error) {
        tell(plan.id, explained(error));
      }
    }
  } finally {
    rmSync(settings.stateDir, { recursive: true, force: true });
  }
}
