import { createHash } from 'node:crypto';
import { lstatSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '../model/errors.ts';
import { refKey } from '../model/ids.ts';
import type { Plan } from '../model/plan.ts';
import { isOver, openAttempt, type Ticket } from '../model/ticket.ts';
import { notOf, type TreeLeft } from '../model/tree-left.ts';
import type { WorkspaceSpec } from '../workspaces/index.ts';
import { isFatal, type Parts } from './parts.ts';

export function leftOf(ticket: Ticket): TreeLeft | undefined {
  return ticket.left as TreeLeft | undefined;
}

/** A checkout as it is: its commit, and what is not committed by what is in it. */
async function lookAtTree(parts: Parts, path: string): Promise<TreeLeft> {
  const { commit } = await parts.workspaces.head(path);
  const { dirty } = await parts.workspaces.evidence(path, commit, { files: false });
  return { head: commit, files: Object.fromEntries(dirty.map((file) => [file, sumOf(join(path, file))])) };
}

function sumOf(path: string): string {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (!stat) return 'gone';
  if (stat.isSymbolicLink()) return `-> ${readlinkSync(path)}`;
  if (!stat.isFile()) return 'directory';
  return createHash('sha256').update(readFileSync(path)).digest('hex').slice(0, 16);
}

/** Notes how a ticket leaves the user's checkout, so that what comes after it can be told apart. */
export async function noteLeft(parts: Parts, plan: Plan, ticket: Ticket, spec: WorkspaceSpec): Promise<void> {
  if (plan.workspace !== 'checkout' || ticket.base === null || ticket.status === 'complete') return;
  try {
    const left = await lookAtTree(parts, spec.path);
    await parts.store.updateTicket(ticket, (latest) => (latest.claim ? latest : { ...latest, left }));
  } catch (error) {
    if (isFatal(error)) throw error;
    const { planId, ticketId } = ticket;
    const message = `what it left in ${spec.path} cannot be told: ${messageOf(error)}`;
    parts.listen({ type: 'problem', planId, ticketId, message, path: spec.path });
  }
}

/** An engine that was killed could not say what its agent left. */
function wasKilled(ticket: Ticket): boolean {
  return ticket.claim !== null || openAgentAttempt(ticket);
}

/** A unit that waits for an answer has an open attempt, too, and was left in order. */
function openAgentAttempt(ticket: Ticket): boolean {
  return openAttempt(ticket) !== undefined && ticket.hold?.kind !== 'gate';
}

/** The ticket whose work lies in a checkout between two runs. */
function inCheckout(tickets: readonly Ticket[]): Ticket | undefined {
  const left = tickets.filter(({ base, status }) => base !== null && status !== 'complete');
  return left.find((ticket) => !isOver(ticket)) ?? left.at(-1);
}

/** Files of a checkout that nobody but a person can have changed since the last run. */
export async function personsFiles(
  parts: Parts,
  path: string,
  tickets: readonly Ticket[],
): Promise<string[]> {
  const owner = inCheckout(tickets);
  if (owner && wasKilled(owner)) return [];
  return notOf(owner && leftOf(owner), await lookAtTree(parts, path));
}

/** Commits that a person made since a unit stopped are not that unit's, neither to count nor to take out. */
export async function keepPersonsCommits(parts: Parts, planId: string): Promise<void> {
  const plan = parts.store.plan(planId);
  const { tickets } = parts.store.view();
  const own = plan.tickets.flatMap(({ ticketId }) => tickets.get(refKey({ planId, ticketId })) ?? []);
  const owner = inCheckout(own);
  const left = owner && leftOf(owner);
  if (!owner?.base || !left || wasKilled(owner) || !plan.repo) return;
  const { commit } = await parts.workspaces.head(plan.repo);
  if (commit === left.head) return;
  const base = { ...owner.base, commit };
  await parts.store.updateTicket(owner, (latest) => ({ ...latest, base }));
}
