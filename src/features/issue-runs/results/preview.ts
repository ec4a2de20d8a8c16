import type { EngineContext } from '../../../engine/context.ts';
import { workspaceFor } from '../../../engine/ticket-defaults.ts';
import { parseRef, refKey } from '../../../model/ids.ts';
import { entryOf, ticketOf } from '../../../model/plans/view.ts';
import type { PreparedRun } from '../request.ts';
import type { PlannedIssue } from '../types.ts';
import { issueName } from './ticket-facts.ts';

/** What would be done, out of what was found out. */
export function preview(parts: EngineContext, prepared: PreparedRun, batched: boolean): PlannedIssue[] {
  const { plan } = prepared;
  const tickets = new Map(prepared.tickets.map((ticket) => [refKey(ticket), ticket]));
  const earlier = parts.store.view();
  return prepared.tickets.map((ticket) => {
    const entry = entryOf(plan, ticket);
    const done = ticket.status === 'complete';
    const note = prepared.notes.get(ticket.ticketId);
    const after = done ? [] : (entry?.blockedBy ?? []).map((text) => parseRef(text, plan.id));
    const spec = workspaceFor(ticket, plan, parts.settings, { plans: [plan], tickets });
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
