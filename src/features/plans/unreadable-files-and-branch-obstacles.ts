import type { EngineContext } from '../../engine/context.ts';
import { branchOf, repoOf, workspaceFor } from '../../engine/work-out-workspace-and-repository.ts';
import { scriptInstead } from '../../model/actions.ts';
import { ifUsable, orError, WorkspaceError } from '../../model/errors.ts';
import { cannotCoexist, defaultBranch, idProblem, refKey } from '../../model/ids-and-branch-names.ts';
import type { Plan } from '../../model/plan.ts';
import { hasBegun } from '../../model/plans/edit-rules.ts';
import { planOf, ticketsOf } from '../../model/plans/plans-view.ts';
import { saysStatus, type Ticket } from '../../model/ticket.ts';
import { actionOf, commandOf, type Workflow } from '../../model/workflow.ts';
import { inspectState } from '../../store/inspect-state-file.ts';
import type { StoreView } from '../../store/store-interface.ts';

/** What would keep a ticket's branch and worktree from being created. */
export async function obstacles(
  engine: EngineContext,
  plan: Plan,
  ticket: Ticket,
  view: StoreView,
): Promise<Finding[]> {
  const spec = workspaceFor(ticket, plan, engine.settings, view);
  const found = await engine.workspaces.findObstacles({ ...spec, stackOn: [] });
  const planFile = engine.store.location({ planId: plan.id, ticketId: null });
  const fetched =
    found.some(({ field }) => field === 'base') && (await engine.workspaces.hasRemote(spec.repo));
  return [
    ...sameBranch(engine, plan, ticket, view),
    ...found.map(({ field, message, hint }) => ({
      place: field,
      message,
      hint,
      // A branch that only origin has is fetched when the work begins.
      severity: field === 'base' && fetched ? ('warning' as const) : ('error' as const),
      ...(field === 'base' || (field === 'worktreeRoot' && plan.worktreeRoot !== null)
        ? { file: planFile }
        : {}),
    })),
  ];
}

/** Reports a missing merge target before agents do the work. */
export async function noMergeTarget(
  engine: EngineContext,
  plan: Plan,
  { workflow, ticket, view }: { workflow: Workflow; ticket: Ticket; view: StoreView },
): Promise<Finding[]> {
  const merges = workflow.phases.find(
    (phase) => actionOf(phase) === 'integrate' || commandOf(phase) === scriptInstead('integrate'),
  );
  if (!merges || ticket.skipPhases.includes(merges.id) || hasBegun(ticket)) return [];
  const spec = ifUsable(() => workspaceFor(ticket, plan, engine.settings, view));
  // A wrong base or repository is reported elsewhere.
  const target = spec && (await orError(WorkspaceError, () => engine.workspaces.mergeTarget(spec)));
  if (!spec || target !== undefined) return [];
  return [
    {
      place: 'base',
      file: engine.store.location({ planId: plan.id, ticketId: null }),
      message: `The work would start from a commit on no branch, and phase "${merges.id}" could not merge it.`,
      hint: 'Set `base` of the plan to a branch.',
    },
  ];
}

/** Unfinished tickets of other plans that work on the same branch. */
function sameBranch(engine: EngineContext, plan: Plan, ticket: Ticket, view: StoreView): Finding[] {
  const branch = branchOf(ticket);
  const repo = repoOf(ticket, plan, engine.settings);
  const own = ticket.supersedes ?? [];
  for (const other of view.plans) {
    if (other.id === plan.id || other.status === 'archived' || other.status === 'complete') continue;
    for (const found of ticketsOf(view, other)) {
      const name = refKey(found);
      if (found.status === 'complete' || own.includes(name)) continue;
      const theirs = found.branch ?? defaultBranch(found);
      if (theirs !== branch && !cannotCoexist(theirs, branch)) continue;
      if ((found.repo ?? other.repo) === null || repoOf(found, other, engine.settings) !== repo) continue;
      const message =
        theirs === branch
          ? `Branch "${branch}" is also the branch of ${name}, which ${saysStatus(found)}.`
          : `Git cannot have branch "${branch}" beside "${theirs}" of ${name}, which ${saysStatus(found)}.`;
      return [{ place: 'branch', message, hint: 'Give one of the two another branch.' }];
    }
  }
  return [];
}

export interface Problem {
  ticketId: string | null;
  /** In short: a field, a phase, or a file. */
  place: string;
  /** The file that has to be changed. */
  file: string;
  /** Where in that file, as `tickets[2].blockedBy[0]`; null for the file as a whole. */
  path: string | null;
  message: string;
  hint?: string | undefined;
  /** A warning does not keep the plan from running. */
  severity: 'error' | 'warning';
}

/** A problem before its ticket is filled in. Defaults: the ticket's file, `place` as the path, an error. */
export type Finding = Pick<Problem, 'place' | 'message'> &
  Partial<Pick<Problem, 'path' | 'hint' | 'severity' | 'file'>>;

/** Everything that makes files unreadable, and fields that look misspelt. */
export function fileProblems(engine: EngineContext, planId: string, view: StoreView): Problem[] {
  const { store } = engine;
  const found: Problem[] = [];
  const inspected = (ticketId: string | null, file: string) => {
    const issues = inspectState(store, { planId, ticketId });
    for (const { path, message, severity, at } of issues) {
      const where = at ? `${file}:${at.line}:${at.column}: ` : path === null ? `${file}: ` : '';
      found.push({ ticketId, place: path ?? file, file, path, message: `${where}${message}`, severity });
    }
    return issues.some(({ severity }) => severity === 'error');
  };
  const reported = new Set<string>();
  for (const { ticketId, path, message, planId: of } of view.problems) {
    if (of !== planId) continue;
    reported.add(path);
    const isOwn = [planId, ticketId ?? planId].every((id) => idProblem(id) === undefined);
    // A problem of a directory is reported as it is.
    if (!isOwn || store.location({ planId, ticketId }) !== path || !inspected(ticketId, path))
      found.push({ ticketId, place: path, file: path, path: null, message, severity: 'error' });
  }
  const plan = planOf(view, planId);
  const others = [...(plan ? [null] : []), ...(plan?.tickets ?? []).map(({ ticketId }) => ticketId)];
  for (const ticketId of others) {
    const file = store.location({ planId, ticketId });
    if (!reported.has(file)) inspected(ticketId, file);
  }
  return found;
}
