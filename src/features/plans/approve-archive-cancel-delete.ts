import { existsSync } from 'node:fs';
import { keepUsage } from '../../engine/claimed-tickets-and-counted-usage.ts';
import { decider, type EngineContext, emit, type TicketPlace } from '../../engine/context.ts';
import {
  carryOutCommand,
  pauseBriefly,
  pausePlan,
  refuseInSession,
  refuseInsideJob,
} from '../../engine/control-tickets-and-plans.ts';
import { readTip, releaseAndReport } from '../../engine/create-release-and-diff-ticket-workspace.ts';
import { type TicketWorkspace, workspaceFor } from '../../engine/work-out-workspace-and-repository.ts';
import { IllegalMoveError, ifUsable, ignoring, orError, WorkspaceError } from '../../model/errors.ts';
import { refKey, type TicketRef } from '../../model/ids-and-branch-names.ts';
import { howToFree } from '../../model/lease-and-claim-messages.ts';
import { CANCEL, isGivenUp, type Plan, sharesWorkspace } from '../../model/plan.ts';
import { plural } from '../../model/text/clean-escape-quote-plural.ts';
import {
  isCancelled,
  isOver,
  legalCommands,
  newerRunOf,
  openAttempt,
  saysStatus,
  type Ticket,
} from '../../model/ticket.ts';
import type { WorkspaceSpec } from '../../workspaces/workspaces.ts';
import { findLanded } from '../landed/find-landed-work.ts';
import { checkPlan } from './check-plan.ts';

/** Makes a draft active; refuses while the check finds an error. */
export async function approvePlan(engine: EngineContext, planId: string): Promise<Plan> {
  refuseInsideJob(engine);
  const before = engine.store.plan(planId);
  if (before.status !== 'draft') throw move(before, 'approve', ['draft']);
  const errors = (await checkPlan(engine, planId)).filter((problem) => problem.severity === 'error');
  if (errors.length > 0) {
    throw new IllegalMoveError(
      'plan/broken',
      `Plan "${planId}" has ${plural(errors.length, 'problem')}: ${errors[0]?.message}`,
      { hint: `See all of them with: signalbox plan check ${planId}`, details: { problems: errors } },
    );
  }
  return setStatus(engine, planId, 'active', ['draft'], 'approve');
}

export async function archivePlan(engine: EngineContext, planId: string): Promise<Plan> {
  refuseInsideJob(engine);
  for (const ticket of engine.store.tickets(planId)) assertFree(engine, ticket);
  return setStatus(engine, planId, 'archived', ['draft', 'active', 'paused', 'complete'], 'archive');
}

/** What is left of a ticket that was given up. */
export interface Remains {
  ticketId: string;
  repo: string | null;
  /** Its branch, if that exists; in a shared worktree, that of all tickets. */
  branch: string | null;
  /** Refs that keep its uncommitted work. */
  keptAt: string[];
  /** Its worktree, if that could not be released, and why. */
  worktree: { path: string; reason: string } | null;
  pullRequest: string | null;
}

/** Gives a ticket up that is not complete, and with it a plan whose other tickets are all cancelled: that would stay open for ever. */
export async function cancelTicket(engine: EngineContext, ref: TicketRef): Promise<Remains[]> {
  refuseInsideJob(engine);
  refuseComplete(engine, ref);
  const isOnly = isLastTicket(engine, ref);
  if (isOnly) refuseDraftOrComplete(engine, ref.planId);
  // First the ticket: where that is refused, its plan stays as it is.
  const remains = await giveUp(engine, ref);
  return isOnly ? (await cancelPlan(engine, ref.planId)).tickets : [remains];
}

/** Whether all other tickets of the plan are cancelled. */
export function isLastTicket({ store }: EngineContext, { planId, ticketId }: TicketRef): boolean {
  const cancelled = store.tickets(planId).filter(isCancelled);
  const isOpen = (id: string) => id !== ticketId && !cancelled.some((other) => other.ticketId === id);
  return !store.plan(planId).tickets.some((entry) => isOpen(entry.ticketId));
}

export function refuseDraftOrComplete({ store }: EngineContext, planId: string): void {
  const plan = store.plan(planId);
  if (plan.status === 'draft') throw draftNotCancelled(plan);
  if (plan.status === 'complete') throw move(plan, 'cancel', ['active', 'paused', 'archived']);
}

/** Finished work is not given up: what was offered for deletion would be its unmerged branch. */
export function refuseComplete({ store }: EngineContext, ref: TicketRef): void {
  const { status, base } = store.ticket(ref);
  if (status !== 'complete') return;
  const { planId, ticketId } = ref;
  const names = `${planId} ${ticketId}`;
  const merge = isGivenUp(store.plan(planId)) ? `integrate ${names}` : `merge ${planId}`;
  throw new IllegalMoveError(
    'ticket/illegal',
    `Cannot cancel ${refKey(ref)}: it is complete, and stays as it is.`,
    {
      hint: base ? `Look at its work: signalbox diff ${names}. To merge it: signalbox ${merge}` : undefined,
      details: { legal: [], status },
    },
  );
}

/**
 * Gives a ticket up: stops it, keeps what is uncommitted on a ref, records it, and only then releases its worktree. After a
 * crash at any point, calling it again does the rest.
 */
async function giveUp(engine: EngineContext, ref: TicketRef): Promise<Remains> {
  const { store, settings } = engine;
  const plan = store.plan(ref.planId);
  if (plan.status === 'draft') throw draftNotCancelled(plan);
  const found = store.ticket(ref);
  refuseInSession(engine, found);
  const canRun = found.claim !== null || openAttempt(found) !== undefined || found.base !== null;
  if (canRun && legalCommands(found).includes('pause')) await pauseBriefly(engine, ref, 'a person');
  engine.crash('cancel:stopped');
  const ticket = store.ticket(ref);
  const workspace = ifUsable(() => workspaceFor(ticket, plan, settings, store.glance()));
  // A complete ticket is only here for a worktree that it shares with others.
  const isOwn = workspace && !hasNewerRun(engine, ticket);
  const at = isOwn && existsSync(workspace.path) ? { engine, ticket, workspace } : undefined;
  const keep = at && (await setWorkAside(at));
  engine.crash('cancel:saved');
  if (ticket.status !== 'complete' && !isCancelled(ticket))
    await carryOutCommand(engine, ref, { type: 'cancel' }, 'a person');
  engine.crash('cancel:recorded');
  const reason = keep ?? (at && existsSync(at.workspace.path) ? await releaseAndReport(at) : undefined);
  engine.crash('cancel:released');
  return remainsOf(engine, ticket, isOwn ? workspace : undefined, reason);
}

/** Whether a newer run has its issue: branch and worktree are that run's. */
function hasNewerRun({ store }: EngineContext, ticket: Ticket): boolean {
  if (newerRunOf(ticket) !== undefined) return true;
  const { tickets, finished } = store.glance();
  const later = (finished?.named([ticket.ticketId]) ?? []).flatMap((ref) => finished?.ticket(ref) ?? []);
  return [...tickets.values(), ...later].some(({ supersedes }) => supersedes?.includes(refKey(ticket)));
}

/** Gives a plan up: everything in it that is not complete. */
export async function cancelPlan(
  engine: EngineContext,
  planId: string,
): Promise<{ plan: Plan; tickets: Remains[] }> {
  refuseInsideJob(engine);
  const { store } = engine;
  refuseDraftOrComplete(engine, planId);
  const before = store.plan(planId);
  for (const ticket of store.tickets(before)) refuseInSession(engine, ticket);
  if (before.status === 'active') await pausePlan(engine, planId, CANCEL);
  const remains: { status: Ticket['status']; left: Remains }[] = [];
  for (const { ticketId, status } of store.tickets(planId)) {
    if (status === 'complete' && !sharesWorkspace(before)) continue;
    remains.push({ status, left: await giveUp(engine, { planId, ticketId }) });
  }
  // A shared worktree is released with the last ticket that it belonged to.
  const tickets = remains
    .map(({ status, left }) => {
      const { worktree, repo } = left;
      const isLeft = worktree && (existsSync(worktree.path) || worktree.reason === missingWorktree(repo));
      return { status, left: isLeft ? left : { ...left, worktree: null } };
    })
    .filter(({ status, left }) => status !== 'complete' || left.worktree !== null)
    .map(({ left }) => left);
  const { status } = store.plan(planId);
  return { plan: status === 'archived' ? before : await archivePlan(engine, planId), tickets };
}

function draftNotCancelled({ id, status }: Plan): IllegalMoveError {
  return new IllegalMoveError('plan/illegal', `Plan "${id}" is a draft: nothing of it has started.`, {
    hint: `Delete it with: signalbox plan delete ${id}`,
    details: { status, legal: ['active', 'paused', 'archived'] },
  });
}

const keptBelow = ({ planId, ticketId }: Ticket) => `refs/signalbox/cancelled/${planId}/${ticketId}`;

/** Keeps uncommitted work on a ref. Returns why the worktree stays as it is. */
async function setWorkAside(at: TicketPlace): Promise<string | undefined> {
  const { engine, ticket, workspace } = at;
  const { path, inPlace } = workspace;
  if (inPlace) return 'it is your own checkout';
  if (isSharedWithOthers(at)) return 'other tickets of the plan work in it';
  const { unseen } =
    (workspace.shared && engine.store.tickets(ticket.planId).find((each) => each.unseen)) || {};
  if (unseen) return unseen;
  await engine.workspaces.endSetup(path);
  const spec = {
    ...workspace,
    to: ticket.base?.commit ?? null,
    keepAt: `${keptBelow(ticket)}/work`,
    message: `Uncommitted work of ${refKey(ticket)} when it was cancelled`,
  };
  // `cancel` works also if the repository is gone or broken; it names what it cannot release.
  const kept = await orError(WorkspaceError, () => engine.workspaces.setAside(spec));
  return kept instanceof WorkspaceError ? kept.message : kept;
}

/** A shared worktree stays while another ticket may still run in it. */
function isSharedWithOthers({ engine: { store }, ticket, workspace }: TicketPlace): boolean {
  if (!workspace.shared || store.plan(ticket.planId).status !== 'active') return false;
  return store.tickets(ticket.planId).some((other) => other.ticketId !== ticket.ticketId && !isOver(other));
}

async function remainsOf(
  engine: EngineContext,
  ticket: Ticket,
  workspace: TicketWorkspace | undefined,
  reason: string | undefined,
): Promise<Remains> {
  const { ticketId, context } = ticket;
  const pullRequest = typeof context.pr_url === 'string' ? context.pr_url : null;
  const none = { ticketId, repo: null, branch: null, keptAt: [], worktree: null, pullRequest };
  if (!workspace) return none;
  const { repo, branch, path, inPlace } = workspace;
  const isThere = !inPlace && (await readTip(engine, workspace)) !== undefined;
  // Git deletes no branch while a worktree is registered for it, also if its directory is gone.
  const isMissing = isThere && !existsSync(path) && (await isRegistered(engine, repo, path));
  const why = isMissing ? missingWorktree(repo) : reason;
  const worktree = why !== undefined && (isMissing || existsSync(path)) ? { path, reason: why } : null;
  const below = keptBelow(ticket);
  const keptAt = await ignoring(WorkspaceError, () => engine.workspaces.keptAt({ repo, below }));
  return { ...none, repo, branch: isThere ? branch : null, keptAt: keptAt ?? [], worktree };
}

/** It may be on a disk that is not mounted. */
const missingWorktree = (repo: string | null) =>
  `it does not exist; if it is gone for good: git -C ${repo} worktree prune`;

async function isRegistered({ workspaces }: EngineContext, repo: string, path: string): Promise<boolean> {
  const known = await ignoring(WorkspaceError, () => workspaces.list(repo));
  return known?.some((each) => each.path === path) === true;
}

/** Deletes a plan; refuses when work would be lost. */
export async function deletePlan(engine: EngineContext, planId: string, force: boolean): Promise<void> {
  refuseInsideJob(engine);
  const plan = engine.store.plan(planId);
  const view = engine.store.glance();
  for (const ticket of engine.store.tickets(planId)) {
    assertFree(engine, ticket);
    if (!ticket.base) continue;
    const spec = workspaceFor(ticket, plan, engine.settings, view);
    if (!force && (await isUnmerged(engine, ticket, spec))) {
      const state = isOver(ticket) ? '' : `, and ${ticket.ticketId} ${saysStatus(ticket)}`;
      throw new IllegalMoveError(
        'plan/unmerged',
        `Branch ${spec.branch} of ${ticket.ticketId} is not merged${state}.`,
        {
          hint: `Merge or delete the branch first, or use: ${plan.status === 'archived' ? '' : 'plan archive (keeps everything), or '}plan delete --force (keeps the branches).`,
        },
      );
    }
    const released = await engine.workspaces.release(spec);
    if (!released.released) {
      throw new IllegalMoveError(
        'plan/unmerged',
        `The worktree ${spec.path} of ${ticket.ticketId} is still needed: ${released.reason}`,
        { hint: 'Commit or move what is in it first.' },
      );
    }
  }
  await keepUsage(engine, engine.store.tickets(planId));
  await engine.store.deletePlan(planId);
  engine.machine.removeJobs(planId);
}

/** Whether a branch has unmerged work. A deleted branch has none. */
async function isUnmerged(engine: EngineContext, ticket: Ticket, spec: WorkspaceSpec): Promise<boolean> {
  const commit = await engine.workspaces.tip(spec);
  if (commit === undefined) return false;
  return (await findLanded(engine, { ...spec, tickets: [ticket], commit }, ['history'])) === null;
}

/** Refuses while an engine or a person's session has the ticket. */
function assertFree(engine: EngineContext, ticket: Ticket): void {
  const { claim, planId, ticketId } = ticket;
  if (!claim || !engine.holder.isLive(claim)) return;
  const inSession = claim.by === 'session';
  throw new IllegalMoveError(
    'plan/busy',
    inSession
      ? `A person is in a session of ${ticketId} of plan "${planId}".`
      : `Plan "${planId}" is at work on ${ticketId}.`,
    {
      hint: inSession ? howToFree(claim, ticket) : `Pause it first: signalbox pause-plan ${planId}`,
      details: { holder: claim },
    },
  );
}

async function setStatus(
  engine: EngineContext,
  planId: string,
  status: Plan['status'],
  from: Plan['status'][],
  verb: string,
): Promise<Plan> {
  const plan = await engine.store.updatePlan(planId, (latest) => {
    if (!from.includes(latest.status)) throw move(latest, verb, from);
    return { ...latest, status };
  });
  emit(engine, { type: 'plan:status', planId, status, ...decider(engine) });
  return plan;
}

function move(plan: Plan, verb: string, from: string[]): IllegalMoveError {
  return new IllegalMoveError('plan/illegal', `Cannot ${verb} plan "${plan.id}": it is ${plan.status}.`, {
    hint: `Possible for: ${from.join(', ')}.`,
    details: { status: plan.status, legal: from },
  });
}
