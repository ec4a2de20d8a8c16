import { createHash } from 'node:crypto';
import { lstatSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { type EngineContext, isFatal } from '../../engine/context.ts';
import { messageOf } from '../../model/errors.ts';
import type { Plan } from '../../model/plan.ts';
import { ticketsOf } from '../../model/plans/view.ts';
import { notOf, type TreeLeft } from '../../model/state/tree-left.ts';
import { attemptKey, isOver, openAttempt, type Ticket } from '../../model/ticket.ts';
import type { WorkspaceSpec } from '../../workspaces/index.ts';
import { lastJob, tracesOf } from './tree-traces.ts';

export function leftOf(ticket: Ticket): TreeLeft | undefined {
  return ticket.left as TreeLeft | undefined;
}

/** A checkout as it is: its commit, and what is not committed by what is in it. */
async function lookAtTree(parts: EngineContext, path: string): Promise<TreeLeft> {
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
export async function noteLeft(
  parts: EngineContext,
  plan: Plan,
  ticket: Ticket,
  spec: WorkspaceSpec,
): Promise<void> {
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

export interface PersonsFiles {
  files: string[];
  /** The unit whose work lies in the checkout as well. */
  owner: Ticket | undefined;
  /** Some may be what that unit left: its engine was killed, and nobody saw when its process ended. */
  unsure: boolean;
}

/** Files of a checkout that are not known to be a unit's; where there are any, what is known is noted. */
export async function personsFiles(
  parts: EngineContext,
  path: string,
  tickets: readonly Ticket[],
): Promise<PersonsFiles> {
  const owner = inCheckout(tickets);
  const now = await lookAtTree(parts, path);
  const left = owner && (await howLeft(parts, owner, path, now));
  const files = notOf(left, now);
  const unsure = owner !== undefined && wasKilled(owner) && lastJob(parts, owner)?.state === 'lost';
  if (owner && files.length > 0) await noteKnown(parts, owner, left ?? { head: now.head, files: {} });
  return { files, owner, unsure };
}

/** How a ticket left the tree: as its engine noted it, or as can be told of one whose engine was killed. */
async function howLeft(
  parts: EngineContext,
  ticket: Ticket,
  path: string,
  now: TreeLeft,
): Promise<TreeLeft | undefined> {
  const noted = leftOf(ticket);
  if (!wasKilled(ticket)) return noted;
  const traces = await tracesOf(parts, ticket, path, now);
  return traces ?? (noted?.after === lastKey(ticket) ? noted : undefined);
}

/** What a person does from now on is theirs, also where nobody can tell whose the rest is. */
async function noteKnown(parts: EngineContext, ticket: Ticket, left: TreeLeft): Promise<void> {
  const after = lastKey(ticket);
  if (leftOf(ticket)?.after === after || !wasKilled(ticket)) return;
  await parts.store.updateTicket(ticket, (latest) => ({ ...latest, left: { ...left, after } }));
}

function lastKey(ticket: Ticket): string {
  const last = ticket.phaseHistory.at(-1);
  return last ? attemptKey(last) : '';
}

/** Commits that a person made since a unit stopped are not that unit's, neither to count nor to take out: it goes on from them. */
export async function baseAfterPerson(
  parts: EngineContext,
  ticket: Ticket,
  path: string,
): Promise<Ticket['base'] | undefined> {
  if (!ticket.base) return undefined;
  const now = await lookAtTree(parts, path);
  const left = await howLeft(parts, ticket, path, now);
  return left && now.head !== left.head ? { ...ticket.base, commit: now.head } : undefined;
}

export async function keepPersonsCommits(parts: EngineContext, planId: string): Promise<void> {
  const plan = parts.store.plan(planId);
  const own = ticketsOf(parts.store.view(), plan);
  const owner = inCheckout(own);
  const base = owner && plan.repo ? await baseAfterPerson(parts, owner, plan.repo) : undefined;
  if (owner && base) await parts.store.updateTicket(owner, (latest) => ({ ...latest, base }));
}
