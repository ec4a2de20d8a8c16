import { existsSync } from 'node:fs';
import { makeDirectory } from '../machine/files/directory.ts';
import { refKey } from '../model/ids.ts';
import type { Ticket } from '../model/ticket.ts';
import type { WorkspaceSpec } from '../workspaces/index.ts';
import type { EngineContext } from './context.ts';
import { ifKnown, workspaceSpec } from './ticket-defaults.ts';

/** Repositories, git directories and worktrees of everything that is known, but for the ticket's own worktree. */
export async function neighbours(parts: EngineContext, own: Ticket): Promise<string[]> {
  const view = parts.store.glance();
  const plans = new Map(view.plans.map((plan) => [plan.id, plan]));
  const repos = new Set<string>();
  const trees = new Set<string>();
  for (const [key, ticket] of view.tickets) {
    const plan = plans.get(ticket.planId);
    const spec = plan && ifKnown(() => workspaceSpec(ticket, plan, parts.settings, view));
    if (!spec) continue;
    repos.add(spec.repo);
    if (isMade(spec)) trees.add(spec.worktreeRoot);
    if (key !== refKey(own)) trees.add(spec.path);
  }
  const roots = [...repos].filter((path) => existsSync(path));
  const gitDirs = (await Promise.all(roots.map((repo) => parts.workspaces.gitDirs(repo)))).flat();
  return [...roots, ...gitDirs, ...[...trees].filter((path) => existsSync(path))];
}

/** Only what is there can be hidden, so that the place of worktrees to come has to be there. */
function isMade({ repo, worktreeRoot }: WorkspaceSpec): boolean {
  if (existsSync(worktreeRoot)) return true;
  if (!existsSync(repo)) return false;
  try {
    makeDirectory(worktreeRoot, 0o777);
    return true;
  } catch {
    // Then nobody can make a worktree there either.
    return false;
  }
}
