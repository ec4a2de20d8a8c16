import { IllegalMoveError, WorkspaceError } from '../model/errors.ts';
import type { Plan } from '../model/plan.ts';
import { entryOf, planOf, ticketsOf } from '../model/plans/view.ts';
import { blockedBy } from '../model/state/dependencies.ts';
import { firstFailure } from '../model/state/first-failure.ts';
import { isSuperseded, newerRunOf } from '../model/state/superseded.ts';
import { isOver, type Ticket } from '../model/ticket.ts';
import { type EngineContext, emit } from './context.ts';

/** Tickets that a person or the end of a run has stopped; those whose issue has a newer run stay as they are. */
export function stoppedIn(parts: Pick<EngineContext, 'store'>, planId: string): Ticket[] {
  return ticketsOf(parts.store.view(), planId).filter(
    (ticket) => ticket.status === 'paused' && !isSuperseded(ticket),
  );
}

/** The reason that tickets have which were stopped together with their plan; null where it was not stopped. */
export function stoppedTogether({ status, pausedBy }: Plan): string | null {
  return status === 'paused' ? `stopped by ${String(pausedBy)}` : null;
}

/** Who stopped a run, from the reason of its signal: a person at the terminal, or the code that called it. */
export function stopperOf(reason: unknown): string {
  if (reason === 'SIGINT') return 'Ctrl-C';
  if (reason === 'SIGTERM') return 'SIGTERM';
  return typeof reason === 'string' && reason !== '' ? `the caller: ${reason}` : 'the caller';
}

/** A run of which newer ones have all that is left rests: nothing in it will move. */
export async function restSuperseded(parts: EngineContext, planId: string): Promise<void> {
  const { store, holder, now } = parts;
  const before = planOf(store.view(), planId);
  if (before?.kind !== 'run' || before.status !== 'active') return;
  const tickets = ticketsOf(store.view(), planId);
  const left = tickets.filter(({ status }) => status !== 'complete');
  if (left.length === 0 || !left.every((each) => newerRunOf(each) !== undefined)) return;
  const plan = await store.updatePlan(planId, (latest) =>
    latest.status === 'active' && !(latest.claim && holder.isLive(latest.claim))
      ? { ...latest, status: 'paused', pausedBy: 'a newer run', pausedAt: now() }
      : latest,
  );
  if (plan.status === 'paused') emit(parts, { type: 'plan:status', planId, status: 'paused' });
}

/** The plan that was stopped last, or the run that nobody goes on with; inside a repository, of this one alone. */
export async function latestStopped(parts: EngineContext, cwd: string): Promise<string> {
  const found = parts.store
    .view()
    .plans.flatMap((plan) => {
      const at = stoppedAt(parts, plan);
      return at === null ? [] : [{ plan, at }];
    })
    .sort((a, b) => b.at.localeCompare(a.at));
  const here = await commonDirOf(parts, cwd);
  for (const { plan } of found)
    if (here === undefined || (await reposOf(parts, plan)).has(here)) return plan.id;
  const [other] = found;
  if (!other)
    throw new IllegalMoveError('plan/none', 'Nothing is paused or stopped.', {
      hint: 'See: signalbox status',
    });
  const { id, repo } = other.plan;
  throw new IllegalMoveError(
    'plan/elsewhere',
    `Nothing of this repository is paused or stopped; ${id} of ${repo ?? 'other repositories'} is.`,
    { hint: `Go on with that one: signalbox resume ${id}`, details: { planId: id, repo } },
  );
}

/** The repositories that tickets of a plan work in. */
async function reposOf(parts: EngineContext, plan: Plan): Promise<Set<string | undefined>> {
  const tickets = ticketsOf(parts.store.view(), plan.id);
  const paths = new Set(tickets.flatMap((ticket) => ticket.repo ?? plan.repo ?? []));
  return new Set(await Promise.all([...paths].map((path) => commonDirOf(parts, path))));
}

async function commonDirOf(
  { workspaces, settings }: EngineContext,
  path: string,
): Promise<string | undefined> {
  try {
    return (await workspaces.checkRepo(path.replace(/^~(?=\/)/, settings.userHome))).commonDir;
  } catch (error) {
    if (error instanceof WorkspaceError) return undefined;
    throw error;
  }
}

/** What would go on in a run if an engine had it: its daemon is gone, or somebody answered it since it ended. */
function leftAlone(parts: EngineContext, plan: Plan, tickets: readonly Ticket[]): Ticket[] {
  const { store, holder } = parts;
  if (plan.kind !== 'run' || plan.status !== 'active') return [];
  if ((plan.claim && holder.isLive(plan.claim)) || holder.daemon()) return [];
  const view = store.view();
  return tickets.filter(({ ticketId, status, claim, phaseHistory }) => {
    if (claim && holder.isLive(claim)) return false;
    if (status === 'running' || (status === 'ready' && phaseHistory.length > 0)) return true;
    const entry = entryOf(plan, { ticketId });
    if (!entry || (status !== 'queued' && status !== 'ready')) return false;
    return blockedBy(view, plan, entry) === null && firstFailure(view, plan) === undefined;
  });
}

function stoppedAt(parts: EngineContext, plan: Plan): string | null {
  const tickets = ticketsOf(parts.store.view(), plan.id);
  if (tickets.every((ticket) => isOver(ticket) || isSuperseded(ticket))) return null;
  const times = stoppedIn(parts, plan.id).map((ticket) => ticket.since ?? '');
  if (plan.kind === 'spec')
    for (const ticket of tickets) if (ticket.status === 'needs_attention') times.push(ticket.since ?? '');
  if (plan.status === 'paused') times.push(String(plan.pausedAt ?? plan.createdAt ?? ''));
  const left = plan.status === 'active' && plan.claim !== null && !parts.holder.isLive(plan.claim);
  if (left && plan.claim) times.push(plan.claim.renewedAt);
  times.push(...leftAlone(parts, plan, tickets).map((ticket) => ticket.since ?? ''));
  return times.sort().at(-1) ?? null;
}
