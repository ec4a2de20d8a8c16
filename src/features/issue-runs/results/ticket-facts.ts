import { existsSync } from 'node:fs';
import type { Ticket } from '../../../model/ticket.ts';
import { notMerged, reservation } from '../../../model/verdict.ts';
import { NO_CHECKS } from '../../checks/checks.ts';
import type { WorktreeInfo } from '../types.ts';

export function numberOf(ticket: Ticket): number | null {
  return ticket.source?.number ?? null;
}

export function infoOf(ticket: Ticket): { title: string; labels: string[] } {
  return { title: ticket.title, labels: ticket.source?.labels ?? [] };
}

/** A ticket in the worktree that its caller has made for it, if he has. */
export function inWorktree(
  ticket: Ticket,
  worktrees: ReadonlyMap<number | string, WorktreeInfo> = new Map(),
): Ticket {
  const given = worktrees.get(numberOf(ticket) ?? 0);
  return given ? { ...ticket, worktree: given.path, branch: given.branch } : ticket;
}

/** Those that are there: what a finished issue had was given back. */
export function worktreesOf(tickets: readonly Ticket[]): Map<number | string, WorktreeInfo> {
  return new Map(
    tickets.flatMap((ticket) => {
      const { worktree: path, branch } = ticket;
      const issue = numberOf(ticket) ?? ticket.ticketId;
      return path && branch && existsSync(path) ? [[issue, { issue, path, branch }]] : [];
    }),
  );
}

/** How an issue is called where people read: `#100`, or its id. */
export function issueName({ ticketId, source }: Ticket): string {
  return String(source?.number) === ticketId ? `#${ticketId}` : ticketId;
}

/** What a tick alone would hide: of a phase of an issue, or of the issue. */
export function remarksOf(ticket: Ticket, phase: string | null): string[] {
  if (phase === null) return [reservation(ticket)].filter(Boolean);
  const last = ticket.phaseHistory.findLast((entry) => entry.phase === phase && entry.completedAt !== null);
  if (last?.output?.trim() === NO_CHECKS) return [NO_CHECKS];
  return [notMerged(last?.output) ?? ''].filter(Boolean);
}
