import { readJob } from '../machine/jobs/start-and-read-job.ts';
import { refOf, type TicketRef } from '../model/ids-and-branch-names.ts';
import type { Plan } from '../model/plan.ts';
import { openAttempt, type Ticket } from '../model/ticket.ts';
import type { Place } from '../phases/perform-phase.ts';
import { type EngineContext, emit, hooksOf, type TicketPlace } from './context.ts';
import { giveSharedWorktree, putBack } from './share-worktree-between-tickets.ts';
import type { TicketWorkspace } from './work-out-workspace-and-repository.ts';

/**
 * The worktree of a process that an earlier engine started. It is checked only after the process has ended: during a rebase,
 * for example, it is on no branch, and refusing it then would leave the process running unwatched.
 */
export function adoptedPlace({ engine, ticket, workspace }: TicketPlace): Place | undefined {
  const open = openAttempt(ticket);
  if (!open || !ticket.base || ticket.worktree !== workspace.path) return undefined;
  const { state } = readJob(engine.machine.job(ticket, open));
  if (state !== 'running' && state !== 'ended') return undefined;
  return placeOf(workspace, ticket.base);
}

/** Prepares the ticket's worktree on its branch. Throws if the directory is something else, so that no phase runs in it. */
export async function preparePlace(plan: Plan, at: TicketPlace): Promise<Place> {
  const fetched = await at.engine.handOver?.fetch(plan, at);
  const place = await prepare(plan, at);
  await fetched?.finish();
  return place;
}

async function prepare(plan: Plan, at: TicketPlace): Promise<Place> {
  const { engine, ticket, workspace } = at;
  const { workspaces } = engine;
  const { shared, inPlace, path } = workspace;
  if (shared && workspaces.isReady(path)) await putBack(at);
  const moved = inPlace ? null : await hooksOf(engine, plan).startFrom?.(plan, ticket, workspace);
  const known = !moved && ticket.worktree === path ? ticket.base : null;
  if (known && (await workspaces.verifyReady(workspace))) {
    await catchUp(plan, at);
    return placeOf(workspace, known);
  }
  if (inPlace) {
    await workspaces.verify(workspace);
    return placeOf(workspace, await giveSharedWorktree(plan, at));
  }
  const made = await create(engine, ticket, moved ?? workspace, moved !== null && moved !== undefined);
  await catchUp(plan, at);
  const base = shared ? await giveSharedWorktree(plan, at) : made.base;
  return placeOf(workspace, base);
}

function placeOf({ repo, branch, path: worktree, inPlace }: TicketWorkspace, base: Place['base']): Place {
  return { repo, branch, worktree, inPlace, base };
}

/** Creates the worktree, or finds it. `moved`: it starts from something else than what the ticket has recorded. */
async function create(engine: EngineContext, ticket: Ticket, workspace: TicketWorkspace, moved: boolean) {
  const made = await engine.workspaces.ensure({
    ...workspace,
    onInstall: reportInstall(engine, ticket),
    ...(moved ? { recordedBase: null, formerBase: ticket.base } : { recordedBase: ticket.base }),
  });
  await engine.workspaces.verify(workspace);
  const about = { ...refOf(ticket), path: made.path, branch: made.branch };
  if (made.created || made.reused) emit(engine, { type: 'workspace:ready', reused: made.reused, ...about });
  for (const message of made.notes) emit(engine, { type: 'problem', message, path: null, ...refOf(ticket) });
  return made;
}

/** Brings the worktree up to date before an attempt. After the first successful one, agents install packages themselves. */
async function catchUp(plan: Plan, { engine, ticket, workspace }: TicketPlace): Promise<void> {
  await hooksOf(engine, plan).catchUp?.(plan, ticket, workspace);
  if (ticket.phaseHistory.some(({ status }) => status === 'success')) return;
  await engine.workspaces.refresh({ ...workspace, onInstall: reportInstall(engine, ticket) });
}

/** Reports that packages are installed: until that ends, nothing else happens. */
export function reportInstall(engine: EngineContext, { planId, ticketId }: TicketRef) {
  return (command: string) =>
    engine.listen({ type: 'preflight', planId, message: `${ticketId}: installing packages (${command})` });
}
