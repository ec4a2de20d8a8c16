import type { EngineContext } from '../engine/context.ts';
import { workspaceSpec } from '../engine/ticket-defaults.ts';
import type { PreparedRun } from '../features/issue-runs/run.ts';
import { parseRef, refKey } from '../model/ids.ts';
import { issueName } from './issue-name.ts';

/** What a run would do with one issue. */
export interface PlannedIssue {
  /** Id of the issue; `number` is 0 for one without. */
  issue: string;
  issueNumber: number;
  title: string;
  /** It was complete before and would not be run again. */
  done: boolean;
  /** Phases it would go through when all goes well; none when it is done. */
  phases: string[];
  /** Ids of the issues that it would wait for. */
  after: string[];
  /** The same as people read them: `#12`. */
  afterNames: string[];
  /** Which group it is in, from 1; null without batches. */
  batch: number | null;
  branch: string;
  worktree: string;
  /** What is to be known of it before: its branch began elsewhere. */
  note?: string;
}

/** What would be done, out of what was found out. */
export function preview(parts: EngineContext, prepared: PreparedRun, batched: boolean): PlannedIssue[] {
  const { plan } = prepared;
  const tickets = new Map(prepared.tickets.map((ticket) => [refKey(ticket), ticket]));
  const earlier = parts.store.view().tickets;
  return prepared.tickets.map((ticket) => {
    const entry = plan.tickets.find((each) => each.ticketId === ticket.ticketId);
    const done = ticket.status === 'complete';
    const note = prepared.notes.get(ticket.ticketId);
    const after = done ? [] : (entry?.blockedBy ?? []).map((text) => parseRef(text, plan.id));
    const spec = workspaceSpec(ticket, plan, parts.settings, { plans: [plan], tickets });
    return {
      issue: ticket.ticketId,
      issueNumber: prepared.items.find((item) => item.id === ticket.ticketId)?.number ?? 0,
      title: ticket.title,
      done,
      phases: done ? [] : (prepared.phases.get(ticket.ticketId) ?? []),
      after: after.map(({ ticketId }) => ticketId),
      afterNames: after.map((ref) => {
        const before = tickets.get(refKey(ref)) ?? earlier.get(refKey(ref));
        return before ? issueName(before) : ref.ticketId;
      }),
      batch: batched ? (entry?.group ?? 0) + 1 : null,
      branch: spec.branch,
      worktree: spec.path,
      ...(note ? { note } : {}),
    };
  });
}
