import { IllegalMoveError, ignoring, WorkspaceError } from '../model/errors.ts';
import type { Plan } from '../model/plan.ts';
import { isOver, isSuperseded, type Ticket } from '../model/ticket.ts';
import { type EngineContext, hooksOf } from './context.ts';

/** Tickets that a person or the end of a run has stopped, except those that a newer run has taken over. */
export function stoppedIn(engine: Pick<EngineContext, 'store'>, planId: string): Ticket[] {
  return engine.store.tickets(planId).filter((ticket) => ticket.status === 'paused' && !isSuperseded(ticket));
}
/** The plan that stopped last; inside a repository, the one of this repository. */
export async function latestStopped(engine: EngineContext, cwd: string): Promise<string> {
  const found = engine.store
    .view()
    .plans.flatMap((plan) => {
      const at = stoppedAt(engine, plan);
      return at === null ? [] : [{ plan, at }];
    })
    .sort((a, b) => b.at.localeCompare(a.at));
  const here = await commonDirOf(engine, cwd);
  for (const { plan } of found)
    if (here === undefined || (await reposOf(engine, plan)).has(here)) return plan.id;
  const [other] = found;
  if (!other)
    throw new IllegalMoveError('plan/none', 'Nothing is paused or stopped.', {
      hint: 'See: signalbox status',
    });
  const { id, repo } = other.plan;
  throw new IllegalMoveError(
    'plan/elsewhere',
    `Nothing of this repository is paused or stopped; ${id} of ${repo ?? 'other repositories'} is.`,
    { hint: `Continue that one: signalbox resume ${id}`, details: { planId: id, repo } },
  );
}

/** The repositories that tickets of a plan work in. */
async function reposOf(engine: EngineContext, plan: Plan): Promise<Set<string | undefined>> {
  const tickets = engine.store.tickets(plan);
  const paths = new Set(tickets.flatMap((ticket) => ticket.repo ?? plan.repo ?? []));
  return new Set(await Promise.all([...paths].map((path) => commonDirOf(engine, path))));
}

async function commonDirOf({ workspaces, settings }: EngineContext, path: string) {
  const full = path.replace(/^~(?=\/)/, settings.userHome);
  return (await ignoring(WorkspaceError, () => workspaces.checkRepo(full)))?.commonDir;
}

/** When an unfinished plan stopped; null: it did not. */
function stoppedAt(engine: EngineContext, plan: Plan): string | null {
  const tickets = engine.store.tickets(plan);
  if (tickets.every((ticket) => isOver(ticket) || isSuperseded(ticket))) return null;
  const times = stoppedIn(engine, plan.id).map((ticket) => ticket.since ?? '');
  if (plan.status === 'paused') times.push(String(plan.pausedAt ?? plan.createdAt ?? ''));
  const left = plan.status === 'active' && plan.claim !== null && !engine.holder.isLive(plan.claim);
  if (left && plan.claim) times.push(plan.claim.renewedAt);
  times.push(...(hooksOf(engine, plan).stoppedAt?.(plan, tickets) ?? []));
  return times.sort().at(-1) ?? null;
}
