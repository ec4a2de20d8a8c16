import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { EngineContext } from '../../engine/context.ts';
import { releaseWorkspace } from '../../engine/prepare-workspace.ts';
import { putBack } from '../../engine/shared-tree.ts';
import { workspaceFor } from '../../engine/ticket-defaults.ts';
import { mergedTasks } from '../../kiro/tick.ts';
import type { Plan, PlanSpec } from '../../model/plan.ts';
import { ticketsOf } from '../../model/plans/view.ts';
import { ticketInTree } from '../../model/state/turns.ts';
import type { Ticket } from '../../model/ticket.ts';
import { bringSpec, excludeFiles } from './tree.ts';
import { besideSpec, engineTicks, updateSpecPlan } from './unit.ts';

/** Makes the tree and brings the spec into it, unless a unit's work lies in it. */
export async function prepareTree(parts: EngineContext, planId: string): Promise<void> {
  const { store, workspaces, settings } = parts;
  const plan = store.plan(planId);
  const kept = plan.spec;
  const view = store.view();
  const tickets = ticketsOf(view, plan);
  const open = tickets.find((ticket) => ticket.status !== 'complete');
  const ticket = open ?? tickets[0];
  if (!kept || !plan.repo || !ticket) return;
  if (!open && !(await hasNews(parts, plan, kept, tickets))) return;
  const { root, commonDir } = await workspaces.checkRepo(plan.repo);
  excludeFiles(commonDir, root, besideSpec(kept));
  if (ticketInTree(view, plan)) {
    const pending = readFileSync(join(kept.dir, kept.files.tasks), 'utf8');
    await updateSpecPlan(parts, planId, (latest) => ({ ...latest, spec: { ...kept, pending } }));
    return;
  }
  const spec = workspaceFor(ticket, plan, settings, view);
  if (plan.workspace !== 'checkout' && workspaces.isReady(spec.path)) await putBack(parts, ticket, spec);
  const made = plan.workspace === 'checkout' ? null : await workspaces.ensure(spec);
  const base = kept.base ?? made?.base.commit ?? (await workspaces.head(spec.path)).commit;
  const brought = await bringSpec(parts, spec, kept, engineTicks(plan, tickets));
  const now = { ...brought, base, pending: undefined };
  await updateSpecPlan(parts, planId, (latest) => ({ ...latest, spec: now }));
  if (!open) await releaseWorkspace(parts, ticket, spec);
}

/** Whether the branch of a spec that is complete lacks something of the user's copy; a branch that is gone lacks nothing. */
async function hasNews(
  parts: EngineContext,
  plan: Plan,
  kept: PlanSpec,
  tickets: readonly Ticket[],
): Promise<boolean> {
  const branch = tickets[0]?.branch;
  if (!branch || !plan.repo || plan.workspace === 'checkout' || kept.text === '') return false;
  const file = kept.list ?? join(kept.inTree, kept.files.tasks);
  const found = await parts.workspaces.readCommitted({ repo: plan.repo, branch, file });
  if (found === null) return false;
  const mine = readFileSync(join(kept.dir, kept.files.tasks), 'utf8');
  return mergedTasks({ was: kept.text, mine, branch: found }, engineTicks(plan, tickets)) !== found;
}
