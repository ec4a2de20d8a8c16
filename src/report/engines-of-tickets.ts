import { comparableName } from '../issues/find-issue-checkouts.ts';
import { ifUsable } from '../model/errors.ts';
import { needsOf, whyNoWorker } from '../model/place-tickets-on-workers.ts';
import type { Plan } from '../model/plan.ts';
import { planOf } from '../model/plans/plans-view.ts';
import { lastInTree } from '../model/state/turns-in-shared-workspace-start-limit-and-pauses.ts';
import type { Ticket } from '../model/ticket.ts';
import type { Workflow } from '../model/workflow.ts';
import type { Fleet, Holder, Store } from '../store/store-interface.ts';
import { readPinned } from '../workflows/pin-workflow-and-render-prompts.ts';
import { MAY_START, type StatusInput } from './plan-and-ticket-status.ts';

/** Reads the workflows that tickets have started with, each once. */
export function pinnedIn(store: Pick<Store, 'pinned'>): (hash: string | null) => Workflow | undefined {
  const known = new Map<string | null, Workflow | undefined>();
  return (hash) => {
    const text = hash === null || known.has(hash) ? undefined : store.pinned(hash);
    if (text !== undefined)
      known.set(
        hash,
        ifUsable(() => readPinned(text).workflow),
      );
    return known.get(hash);
  };
}

/** Whether something drives tickets; on a fleet also why no worker can take one. */
export function enginesIn(
  store: Store,
  holder: Pick<Holder, 'daemon'>,
  workflowOf = pinnedIn(store),
): Pick<StatusInput, 'daemon' | 'whyNoWorker'> {
  const workers = store.fleet?.workers();
  if (!workers) return { daemon: holder.daemon() !== undefined };
  return {
    daemon: workers.some(({ leaseLeft }) => leaseLeft > 0),
    whyNoWorker: (plan, ticket) => missingWorker(store, workers, { plan, ticket, workflowOf }),
  };
}

function missingWorker(
  store: Store,
  workers: ReturnType<Fleet['workers']>,
  { plan, ticket, workflowOf }: { plan: Plan; ticket: Ticket; workflowOf: ReturnType<typeof pinnedIn> },
): string | undefined {
  const before = lastInTree(store.glance(), plan);
  const workflow = workflowOf(ticket.workflowHash);
  return whyNoWorker(workers, needsOf(plan, ticket, { workflow, repositoryName: comparableName, before }));
}

/** Makes tickets that no worker of a fleet can take say so as their hold. */
export function withMissingWorkers(
  store: Store,
  tickets: readonly Ticket[],
  workflowOf: ReturnType<typeof pinnedIn>,
): readonly Ticket[] {
  const workers = store.fleet?.workers();
  if (!workers) return tickets;
  const view = store.glance();
  return tickets.map((ticket) => {
    const plan = planOf(view, ticket.planId);
    if (plan?.status !== 'active' || !MAY_START.has(ticket.status) || ticket.hold || ticket.claim)
      return ticket;
    const reason = missingWorker(store, workers, { plan, ticket, workflowOf });
    return reason === undefined ? ticket : { ...ticket, hold: { kind: 'blocked', reason, until: null } };
  });
}
