import { existsSync, statSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, resolve } from 'node:path';
import type { Settings } from '../config/settings-table.ts';
import { parseRemote, parseRepository } from '../github/gh/repository-name.ts';
import { comparableName, mappedPath } from '../issues/find-issue-checkouts.ts';
import { readText, realOf, statIfVisible } from '../machine/files/read-and-remove-files.ts';
import { ownIdentity } from '../machine/process-identity-and-signals.ts';
import { InputError, ignoring, WorkspaceError } from '../model/errors.ts';
import { remembered } from '../model/group-and-remember.ts';
import { branchProblem, defaultBranch, digest, refKey } from '../model/ids-and-branch-names.ts';
import { type Plan, removedTickets, sharesWorkspace } from '../model/plan.ts';
import { blockersOf, endedInBase, type PlansView, planOf } from '../model/plans/plans-view.ts';
import { isMadeAt, type Ticket, tipOrHandedOver } from '../model/ticket.ts';
import type { WorkPlace } from '../model/ticket-schema.ts';
import type { Store } from '../store/store-interface.ts';
import type { WorkspaceSpec, Workspaces } from '../workspaces/workspaces.ts';

/** A ticket's workspace, and how it relates to those of the other tickets. */
export interface TicketWorkspace extends WorkspaceSpec {
  /** All tickets of the plan work in it, one after the other. */
  shared: boolean;
}

export function repoOf(ticket: Ticket, plan: Plan, settings: Settings): string {
  const repo = ticket.repo ?? plan.repo;
  if (!repo) {
    throw new InputError('ticket/repo', `Neither ticket ${refKey(ticket)} nor its plan names a repository.`, {
      hint: 'Set "repo" in plan.json to the path of a git repository.',
    });
  }
  const name = plan.repositories?.[repo] ?? null;
  const path = mappedPath(settings.repos, repo) ?? mappedPath(settings.repos, name) ?? expand(repo, settings);
  if (isNameOfRepository(repo) && !isAbsolute(path))
    throw new InputError(
      'ticket/repo',
      `The repository ${repo} of ${refKey(ticket)} is not in "repos" of this machine.`,
      {
        hint: `Say in the settings where its clone is, or is to be made:\nrepos:\n  ${repo}: /path/to/its/clone`,
      },
    );
  if (!isAbsolute(path)) {
    throw new InputError('ticket/repo', `The repository path "${repo}" of ${refKey(ticket)} is relative.`, {
      hint: 'Write it as an absolute path.',
    });
  }
  return resolve(path);
}

const keysOf = new WeakMap<Settings['repos'], Map<string, string>>();

/**
 * The same text for all names of one repository, to count its tickets: the path of its clone on this machine, else its address as
 * `owner/name`.
 */
export function repositoryKey(settings: Settings, named: string): string {
  const known = remembered(keysOf, settings.repos, () => new Map<string, string>());
  const before = known.get(named);
  if (before !== undefined) return before;
  const path = mappedPath(settings.repos, named) ?? expand(named, settings);
  const key = isAbsolute(path) ? (realOf(path) ?? resolve(path)) : comparableName(named);
  known.set(named, key);
  return key;
}

interface NamingContext {
  store: Store;
  settings: Settings;
  workspaces: Workspaces;
}

/** The plan with the names of its repositories, by which the other machines of a fleet find their own clones. */
export async function withRepositoryNames<P extends Plan>(
  context: NamingContext,
  plan: P,
  tickets: readonly Ticket[],
): Promise<P> {
  if (!context.store.fleet) return plan;
  const repositories: Record<string, string> = {};
  for (const path of new Set([plan.repo, ...tickets.map(({ repo }) => repo)])) {
    const name = path && !isNameOfRepository(path) ? await sharedName(context, path) : undefined;
    if (path && name !== undefined) repositories[path] = name;
  }
  return { ...plan, repositories: { ...plan.repositories, ...repositories } };
}

/** The address of a repository, or its name in the settings. */
export async function sharedName(
  { settings, workspaces }: NamingContext,
  path: string,
): Promise<string | undefined> {
  const own = expand(path, settings);
  const name = Object.entries(settings.repos).find(([, each]) => realOf(each) === realOf(own))?.[0];
  const address = await ignoring(WorkspaceError, () => workspaces.originAddress(own));
  if (name && address && comparableName(name) === comparableName(address)) return address;
  return name ?? (address && isNameOfRepository(address) ? address : undefined);
}

/** Whether a repository is named by its address or as `owner/name`, for many machines, and not by a path. */
export function isNameOfRepository(repo: string): boolean {
  return (
    parseRemote(repo) !== undefined || /^[a-z+]+:\/\//i.test(repo) || parseRepository(repo) !== undefined
  );
}

export function branchOf(ticket: Ticket): string {
  const branch = ticket.branch ?? defaultBranch(ticket);
  const problem = branchProblem(branch);
  if (problem)
    throw new InputError(
      'ticket/branch',
      `Branch ${JSON.stringify(branch)} of ${refKey(ticket)} ${problem}.`,
    );
  return branch;
}

/**
 * The workspace of a ticket. It starts from the branches of prerequisites in the same repository. Throws an InputError where it cannot
 * be known, such as in a plan that names no repository.
 */
export function workspaceFor(
  ticket: Ticket,
  plan: Plan,
  settings: Settings,
  view: PlansView,
): TicketWorkspace {
  const shared = sharesWorkspace(plan);
  const repo = repoOf(ticket, plan, settings);
  const branch = branchOf(ticket);
  const worktreeRoot = worktreeRootOf(plan, settings, repo);
  const before = shared ? [] : prerequisites(ticket, plan, repo, settings, view);
  const isHere = isMadeAt(ticket, thisMachine(settings)) || ticket.machine === undefined;
  const path =
    ticket.worktree && isHere
      ? resolve(repo, expand(ticket.worktree, settings))
      : freeOfOthers(repo, worktreeRoot, branch);
  return {
    repo,
    branch,
    path,
    base: plan.base,
    stackOn: before.flatMap(({ branch, merged }) => (merged ? [] : [branch])),
    mergedOn: before.flatMap(({ branch, merged }) => (merged ? [branch] : [])),
    stackTips: Object.fromEntries(before.flatMap(({ branch, tip }) => (tip ? [[branch, tip]] : []))),
    owner: refKey(ticket),
    takesOver: [...(ticket.supersedes ?? []), ...(shared ? otherTicketsOf(ticket, plan) : [])],
    shared,
    inPlace: plan.workspace === 'checkout',
    hooks: settings.hooks.afterCreate,
    install: installOf(plan, settings, repo),
    copy: settings.copy,
    caches: settings.caches,
    slots: settings.slots,
    worktreeRoot,
    recordedBase: ticket.base,
  };
}

/** The workspace of a ticket as things are now. */
export function currentWorkspace(
  { store, settings }: Pick<NamingContext, 'store' | 'settings'>,
  ticket: Ticket,
  plan: Plan = store.plan(ticket.planId),
): TicketWorkspace {
  return workspaceFor(ticket, plan, settings, store.glance());
}

/** This machine, as tickets of a fleet record it. */
export function thisMachine({ stateDir }: Pick<Settings, 'stateDir'>): WorkPlace {
  return { host: ownIdentity().host, state: stateDir };
}

/**
 * Repositories beside each other have one root: the second with the same branch gets a directory of its own there, and stays in it when
 * the other one is gone.
 */
function freeOfOthers(repo: string, worktreeRoot: string, branch: string): string {
  const path = join(worktreeRoot, branch);
  const own = join(worktreeRoot, `${basename(repo)}-${digest(repo, 8)}`, branch);
  return existsSync(own) || isOfAnother(repo, path) ? own : path;
}

/** Whether a path is a worktree of another repository, by the `.git` file in it. */
function isOfAnother(repo: string, path: string): boolean {
  if (!existsSync(path) || !statIfVisible(join(repo, '.git'))?.isDirectory()) return false;
  const [, gitDir] = /^gitdir: (\/.*)\/worktrees\/[^/]+\n$/.exec(readText(join(path, '.git')) ?? '') ?? [];
  return gitDir !== undefined && existsSync(gitDir) && !isSameFile(gitDir, join(repo, '.git'));
}

function isSameFile(a: string, b: string): boolean {
  const [one, other] = [statSync(a), statSync(b)];
  return one.ino === other.ino && one.dev === other.dev;
}

export function worktreeRootOf(
  { worktreeRoot }: Pick<Plan, 'worktreeRoot'>,
  settings: Settings,
  repo: string,
): string {
  const wanted = worktreeRoot ?? settings.worktreeRoot;
  return wanted ? resolve(repo, expand(wanted, settings)) : join(dirname(repo), 'worktrees');
}

/** Tickets that worked in the same worktree before, those that the plan no longer lists included. */
function otherTicketsOf(ticket: Ticket, plan: Plan): string[] {
  const ids = [...plan.tickets.map(({ ticketId }) => ticketId), ...removedTickets(plan)];
  return ids.flatMap((id) => (id === ticket.ticketId ? [] : refKey({ planId: plan.id, ticketId: id })));
}

/** Dependencies are installed unless the plan says no or the settings have commands of their own. */
function installOf(plan: Plan, settings: Settings, repo: string): WorkspaceSpec['install'] {
  if (settings.hooks.afterCreate.length > 0 || plan.install === false) return undefined;
  return { packageManager: repo === plan.repo ? (plan.packageManager ?? null) : null };
}

function expand(path: string, settings: Settings): string {
  return path.startsWith('~/') ? join(settings.userHome, path.slice(2)) : path;
}

/** Prerequisites in the same repository: their branches and last commits. */
function prerequisites(
  ticket: Ticket,
  plan: Plan,
  repo: string,
  settings: Settings,
  view: PlansView,
): { branch: string; tip: string | null; merged: boolean }[] {
  return blockersOf(view, ticket, plan).flatMap((blocker) => {
    const owner = planOf(view, blocker.planId);
    if (!blocker.branch || !owner || repoOf(blocker, owner, settings) !== repo) return [];
    return [{ branch: blocker.branch, tip: tipOrHandedOver(blocker), merged: endedInBase(blocker, view) }];
  });
}
