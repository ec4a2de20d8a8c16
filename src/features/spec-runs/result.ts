import type { EngineContext } from '../../engine/context.ts';
import { workspaceFor } from '../../engine/ticket-workspace.ts';
import { totalUsage } from '../../model/limits/usage.ts';
import type { Plan } from '../../model/plan.ts';
import { ticketsOf } from '../../model/plans/plans-view.ts';
import { isOverload } from '../../model/state/outcome.ts';
import type { Ticket, Usage } from '../../model/ticket.ts';
import { tickedUnchecked } from './checkpoints-without-checks.ts';
import { haltedTicket, haltReason, WORK_PHASES } from './state-files.ts';

export interface SpecResult {
  plan: Plan;
  tickets: Ticket[];
  /** 0: all complete; 1: the limit of units was reached; 2: a person is needed. */
  exitCode: 0 | 1 | 2;
  counts: {
    units: number;
    complete: number;
    /** Complete before the run. */
    before: number;
    failed: number;
    halted: number;
    /** Neither complete nor failed nor halted. */
    left: number;
    /** Open units that the run was not asked for. */
    unselected: number;
    attempts: number;
  };
  halted: { ticketId: string; reason: string } | null;
  /** Checkpoints that were ticked although there was nothing to run for them. */
  unchecked: string[];
  /** `git diff --stat` of the branch against where it began. */
  changes: string;
  /** The branch was deleted, for example after a merge. */
  branchGone: boolean;
  usage: Usage | null;
  ms: number;
}

/** The result of a run of a spec. */
export async function specResult(
  engine: EngineContext,
  planId: string,
  { since, ms }: { since: string; ms: number },
): Promise<SpecResult> {
  const plan = engine.store.plan(planId);
  const view = engine.store.view();
  const tickets = ticketsOf(view, plan);
  const during = tickets.flatMap(({ phaseHistory }) =>
    phaseHistory.filter(({ startedAt }) => Date.parse(startedAt) >= Date.parse(since)),
  );
  const halted = haltedTicket(tickets);
  const of = (status: Ticket['status']) => tickets.filter((ticket) => ticket.status === status);
  const complete = of('complete');
  const before = complete.filter((ticket) => Date.parse(ticket.since ?? since) < Date.parse(since));
  const failed = [...of('failed'), ...of('needs_attention').filter((ticket) => ticket.hold?.kind !== 'gate')];
  const counts = {
    units: tickets.length,
    complete: complete.length,
    before: before.length,
    failed: failed.length,
    halted: halted ? 1 : 0,
    left: tickets.length - complete.length - failed.length - (halted ? 1 : 0),
    unselected: plan.spec?.unselected ?? 0,
    attempts: during.filter(
      (entry) => WORK_PHASES.includes(entry.phase) && entry.status !== 'limit' && !isOverload(entry),
    ).length,
  };
  const paused = of('paused').length > 0;
  const limited = tickets.some((ticket) => ticket.hold?.kind === 'starts');
  const stopped = halted !== undefined || failed.length > 0 || paused || !limited;
  return {
    plan,
    tickets,
    exitCode: counts.complete === counts.units ? 0 : stopped ? 2 : 1,
    counts,
    halted: halted ? { ticketId: halted.ticketId, reason: haltReason(halted) } : null,
    unchecked: tickedUnchecked(tickets, since),
    ...(await changesOf(engine, plan, tickets)),
    usage: totalUsage(during.map(({ usage }) => usage)),
    ms,
  };
}

async function changesOf(
  engine: EngineContext,
  plan: Plan,
  tickets: readonly Ticket[],
): Promise<Pick<SpecResult, 'changes' | 'branchGone'>> {
  const base = plan.spec?.base;
  const [ticket] = tickets;
  if (!base || !ticket) return { changes: '', branchGone: false };
  const spec = workspaceFor(ticket, plan, engine.settings, engine.store.view());
  const found = await engine.workspaces.branchAhead({ ...spec, of: base });
  if (!found) return { changes: '', branchGone: true };
  return {
    changes: (await engine.workspaces.diff(spec, base, 'stat')).trimEnd(),
    branchGone: false,
  };
}
