import { existsSync } from 'node:fs';
import { endedBefore } from '../../../engine/admission.ts';
import type { EngineContext } from '../../../engine/context.ts';
import { workspaceFor } from '../../../engine/ticket-workspace.ts';
import { sayItem } from '../../../issues/work-item.ts';
import { readJob } from '../../../machine/jobs/job.ts';
import { parseRef, refKey } from '../../../model/ids.ts';
import type { Plan } from '../../../model/plan.ts';
import type { ExecutionConfig, IssueRun } from '../../../model/plan-schema.ts';
import { entryOf, ticketOf, ticketsOf } from '../../../model/plans/plans-view.ts';
import type { Attempt, Ticket } from '../../../model/ticket.ts';
import { notMerged, reservation } from '../../../model/verdict.ts';
import type { PlannedIssue, PreparedRun, WorktreeInfo } from '../types.ts';

/** The phase of the issue workflow that waits for a person. */
export const GATE = 'qa_gate';

/** Undefined for plans that are no runs of issues, and for runs whose configuration is not known. */
export function storedRun(
  plan: Plan,
): (IssueRun & { config: ExecutionConfig; batched: boolean }) | undefined {
  if (plan.kind !== 'run' || !plan.run.config) return undefined;
  const { config, batched = Boolean(plan.run.options?.batch) } = plan.run;
  return { ...plan.run, config, batched };
}

/** Seconds that a run took so far: its finished parts, and a killed one up to its last activity. */
export function spentOn(engine: EngineContext, planId: string): number {
  const { store, holder } = engine;
  const plan = store.plan(planId);
  const spent = storedRun(plan)?.spentSeconds ?? 0;
  if (!plan.claim || holder.isLive(plan.claim)) return spent;
  const began = Date.parse(plan.claim.renewedAt);
  const signs = ticketsOf(store.view(), planId).flatMap((ticket) =>
    ticket.phaseHistory.map((attempt) => Date.parse(signOf(engine, ticket, attempt))),
  );
  return spent + Math.max(0, ...signs.map((sign) => sign - began)) / 1000;
}

/** When an attempt was last active. Its agent may continue after the run was killed; a gate only waits. */
function signOf({ machine, now }: EngineContext, ticket: Ticket, attempt: Attempt): string {
  const { phase, startedAt, completedAt } = attempt;
  if (phase === GATE) return startedAt;
  if (completedAt !== null) return completedAt;
  const dir = machine.job(ticket, attempt);
  return readJob(dir).state === 'none' ? startedAt : (endedBefore(dir) ?? now());
}

export function numberOf(ticket: Ticket): number | null {
  return ticket.source?.number ?? null;
}

export function infoOf(ticket: Ticket): { title: string; labels: string[] } {
  return { title: ticket.title, labels: ticket.source?.labels ?? [] };
}

/** A ticket in the worktree that the caller made for it, if there is one. */
export function inWorktree(
  ticket: Ticket,
  worktrees: ReadonlyMap<number | string, WorktreeInfo> = new Map(),
): Ticket {
  const given = worktrees.get(numberOf(ticket) ?? 0);
  return given ? { ...ticket, worktree: given.path, branch: given.branch } : ticket;
}

/** Worktrees that still exist: that of a finished issue was removed. */
export function worktreesOf(tickets: readonly Ticket[]): Map<number | string, WorktreeInfo> {
  return new Map(
    tickets.flatMap((ticket) => {
      const { worktree: path, branch } = ticket;
      const issue = numberOf(ticket) ?? ticket.ticketId;
      return path && branch && existsSync(path) ? [[issue, { issue, path, branch }]] : [];
    }),
  );
}

/** An issue's name for people: `#100`, or its id. */
export function issueName(ticket: Ticket): string {
  return sayItem({ id: ticket.ticketId, number: numberOf(ticket) });
}

/** What a tick alone would hide: of a phase of an issue, or of the issue. */
export function remarksOf(ticket: Ticket, phase: string | null): string[] {
  if (phase === null) return [reservation(ticket)].filter(Boolean);
  const last = ticket.phaseHistory.findLast((entry) => entry.phase === phase && entry.completedAt !== null);
  return [notMerged(last?.output) ?? ''].filter(Boolean);
}

/** What would be done, out of what was found out. */
export function preview(engine: EngineContext, prepared: PreparedRun, batched: boolean): PlannedIssue[] {
  const { plan } = prepared;
  const tickets = new Map(prepared.tickets.map((ticket) => [refKey(ticket), ticket]));
  const earlier = engine.store.view();
  return prepared.tickets.map((ticket) => {
    const entry = entryOf(plan, ticket);
    const done = ticket.status === 'complete';
    const note = prepared.notes.get(ticket.ticketId);
    const after = done ? [] : (entry?.blockedBy ?? []).map((text) => parseRef(text, plan.id));
    const spec = workspaceFor(ticket, plan, engine.settings, { plans: [plan], tickets });
    return {
      issue: ticket.ticketId,
      issueNumber: prepared.items.find((item) => item.id === ticket.ticketId)?.number ?? 0,
      title: ticket.title,
      done,
      phases: done ? [] : (prepared.phases.get(ticket.ticketId) ?? []),
      after: after.map(({ ticketId }) => ticketId),
      afterNames: after.map((ref) => {
        const before = ticketOf({ tickets }, ref) ?? ticketOf(earlier, ref);
        return before ? issueName(before) : ref.ticketId;
      }),
      batch: batched ? (entry?.group ?? 0) + 1 : null,
      branch: spec.branch,
      worktree: spec.path,
      ...(note ? { note } : {}),
    };
  });
}
