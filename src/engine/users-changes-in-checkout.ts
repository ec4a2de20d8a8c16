import { existsSync, lstatSync, readFileSync, readlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { InputError, messageOf } from '../model/errors.ts';
import { digest } from '../model/ids-and-branch-names.ts';
import type { Plan } from '../model/plan.ts';
import { attemptKey, isOver, openAttempt, type Ticket } from '../model/ticket.ts';
import type { CheckoutState } from '../model/ticket-schema.ts';
import { type EngineContext, isFatal, type TicketPlace } from './context.ts';
import { lastJob } from './jobs-of-ticket.ts';
import type { TicketWorkspace } from './work-out-workspace-and-repository.ts';
import type { TicketWriter } from './write-tickets-and-reports-of-attempts.ts';

// Distinguishes the user's files and commits from an agent's, for tickets that work in the user's checkout.

/** Files that changed since the ticket stopped. */
export function filesChangedSince(left: CheckoutState | undefined, now: CheckoutState): string[] {
  return Object.entries(now.files).flatMap(([file, sum]) => (left?.files[file] === sum ? [] : [file]));
}

/** Reads a checkout's commit, and the hashes of its uncommitted files. */
async function readCheckout(engine: EngineContext, path: string): Promise<CheckoutState> {
  const { commit } = await engine.workspaces.head(path);
  const { dirty } = await engine.workspaces.evidence(path, commit, { files: false });
  return { head: commit, files: Object.fromEntries(dirty.map((file) => [file, sumOf(join(path, file))])) };
}

function sumOf(path: string): string {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (!stat) return 'gone';
  if (stat.isSymbolicLink()) return `-> ${readlinkSync(path)}`;
  if (!stat.isFile()) return 'directory';
  return digest(readFileSync(path));
}

/** Records how a ticket leaves the checkout, so that later changes are known to be the user's. */
export async function recordCheckoutState({ engine, ticket, workspace }: TicketPlace): Promise<void> {
  const { path, inPlace } = workspace;
  if (!inPlace || ticket.base === null || ticket.status === 'complete') return;
  try {
    const left = await readCheckout(engine, path);
    await engine.store.updateTicket(ticket, (latest) => (latest.claim ? latest : { ...latest, left }));
  } catch (error) {
    if (isFatal(error)) throw error;
    const { planId, ticketId } = ticket;
    const message = `the files that it left in ${path} could not be read: ${messageOf(error)}`;
    engine.listen({ type: 'problem', planId, ticketId, message, path });
  }
}

/** Whether its engine was killed before it recorded what the agent left. A ticket at a gate has an open attempt, too. */
function wasKilled(ticket: Ticket): boolean {
  return ticket.claim !== null || (openAttempt(ticket) !== undefined && ticket.hold?.kind !== 'gate');
}

/** The ticket whose work is in the checkout between two runs. */
function ticketInCheckout(tickets: readonly Ticket[]): Ticket | undefined {
  const left = tickets.filter(({ base, status }) => base !== null && status !== 'complete');
  return left.find((ticket) => !isOver(ticket)) ?? left.at(-1);
}

interface UsersChanges {
  /** What is in the way, in one sentence. */
  message: string;
  files: string[];
  /** The ticket whose work is in the checkout as well. */
  owner: Ticket | undefined;
}

/** Uncommitted files of a plan's checkout that are not known to be an agent's; null: there are none. */
export async function usersChanges(
  engine: EngineContext,
  plan: Plan,
  tickets: readonly Ticket[],
): Promise<UsersChanges | null> {
  const path = plan.repo ?? '';
  const owner = ticketInCheckout(tickets);
  const now = await readCheckout(engine, path);
  const left = owner && (await lastKnownState(engine, owner, path, now));
  const files = filesChangedSince(left, now);
  if (files.length === 0) return null;
  // The agent's process may have ended after its engine was killed, and nothing recorded when.
  const unsure = owner !== undefined && wasKilled(owner) && lastJob(engine, owner)?.state === 'lost';
  if (owner) await recordKnown(engine, owner, left ?? { head: now.head, files: {} });
  const named = `${files.slice(0, 5).join(', ')}${files.length > 5 ? ', …' : ''}`;
  const what = unsure
    ? `has changes that may be yours or belong to ${owner.ticketId}, which was interrupted`
    : 'has changes that are not committed';
  return { message: `The checkout ${path} ${what}: ${named}.`, files, owner };
}

/** How a ticket left the checkout: as its engine recorded it, or as job times show it if the engine was killed. */
async function lastKnownState(
  engine: EngineContext,
  ticket: Ticket,
  path: string,
  now: CheckoutState,
): Promise<CheckoutState | undefined> {
  const recorded = ticket.left;
  if (!wasKilled(ticket)) return recorded;
  const traces = await stateAfterKilledEngine(engine, ticket, path, now);
  return traces ?? (recorded?.after === lastKey(ticket) ? recorded : undefined);
}

/** Records the current state: later changes are the user's, even if the origin of earlier ones is unknown. */
async function recordKnown(engine: EngineContext, ticket: Ticket, left: CheckoutState): Promise<void> {
  const after = lastKey(ticket);
  if (ticket.left?.after === after || !wasKilled(ticket)) return;
  await engine.store.updateTicket(ticket, (latest) => ({ ...latest, left: { ...left, after } }));
}

function lastKey(ticket: Ticket): string {
  const last = ticket.phaseHistory.at(-1);
  return last ? attemptKey(last) : '';
}

/** Refuses to work on top of the user's uncommitted changes. The user's commits become the ticket's new base. */
export async function checkCheckout(
  engine: EngineContext,
  plan: Plan,
  { found, writer, workspace }: { found: Ticket; writer: TicketWriter; workspace: TicketWorkspace },
): Promise<void> {
  const others = engine.store.tickets(plan).filter(({ ticketId }) => ticketId !== found.ticketId);
  const changes = await usersChanges(engine, plan, [found, ...others]);
  if (changes)
    throw new InputError('workspace/dirty', changes.message, {
      hint: `Commit or stash them, then continue with: signalbox resume ${plan.id}`,
      details: { files: changes.files },
    });
  const base = await baseAfterUser(engine, found, workspace.path);
  const { branch, path: worktree } = workspace;
  if (base) await writer.apply({ type: 'base', base, branch, worktree });
}

/** The ticket's base after the user's commits: they are not its work, and it continues from them. */
async function baseAfterUser(
  engine: EngineContext,
  ticket: Ticket,
  path: string,
): Promise<Ticket['base'] | undefined> {
  if (!ticket.base) return undefined;
  const now = await readCheckout(engine, path);
  const left = await lastKnownState(engine, ticket, path, now);
  return left && now.head !== left.head ? { ...ticket.base, commit: now.head } : undefined;
}

/** Lets the ticket in a plan's checkout continue from the user's commits. */
export async function keepUsersCommits(engine: EngineContext, planId: string): Promise<void> {
  const plan = engine.store.plan(planId);
  const owner = ticketInCheckout(engine.store.tickets(plan));
  const base = owner && plan.repo ? await baseAfterUser(engine, owner, plan.repo) : undefined;
  if (owner && base) await engine.store.updateTicket(owner, (latest) => ({ ...latest, base }));
}
/**
 * What a ticket provably left in the checkout when its engine was killed. While its process runs, that is everything; after
 * that, what was last changed before the process ended; where that time is unknown, nothing.
 */
async function stateAfterKilledEngine(
  engine: EngineContext,
  ticket: Ticket,
  path: string,
  now: CheckoutState,
): Promise<CheckoutState | undefined> {
  const job = lastJob(engine, ticket);
  if (job?.state === 'running') return now;
  if (job?.state === 'lost' || job?.state === 'unknown') return undefined;
  if (job?.state !== 'ended') return { head: ticket.base?.commit ?? now.head, files: {} };
  const files: Record<string, string> = {};
  for (const [file, sum] of Object.entries(now.files))
    if (await isUntouched(engine, path, file, job.endedAt)) files[file] = sum;
  return { head: (await engine.workspaces.headAt(path, job.endedAt)) ?? now.head, files };
}
/**
 * Uses change times, which only the kernel sets. A deleted file changed its directory; a file that was moved here with its
 * directory keeps its own time, but the directory's is new.
 */
async function isUntouched(engine: EngineContext, root: string, file: string, since: Date): Promise<boolean> {
  const isOld = (name: string) => {
    const stat = lstatSync(join(root, name), { throwIfNoEntry: false });
    return stat !== undefined && Math.floor(stat.ctimeMs) <= since.getTime();
  };
  const stat = lstatSync(join(root, file), { throwIfNoEntry: false });
  if (!stat) {
    let above = dirname(file);
    while (!existsSync(join(root, above))) above = dirname(above);
    return isOld(above);
  }
  if (stat.isDirectory() || !isOld(file)) return false;
  for (let above = dirname(file); above !== '.'; above = dirname(above))
    if (!isOld(above) && !(await engine.workspaces.isTracked(root, above))) return false;
  return true;
}
