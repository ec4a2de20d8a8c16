import { join } from 'node:path';
import type { EngineContext } from '../../engine/context.ts';
import { workspaceFor } from '../../engine/work-out-workspace-and-repository.ts';
import { KnownRepositories, ownRepository } from '../../github/find-own-repository.ts';
import { parseRemote } from '../../github/gh/repository-name.ts';
import type { GhOptions } from '../../github/gh/run-gh.ts';
import { ForgeJournal } from '../../github/journal-of-changes-on-github.ts';
import type { Head, OwnWork, PullRequest } from '../../github/pull-request.ts';
import { findPullRequests, ownPullRequest } from '../../github/pull-request.ts';
import { forgetPull } from '../../github/pull-request-cache.ts';
import { MARKER } from '../../machine/jobs/start-and-read-job.ts';
import type { PullWait } from '../../model/actions.ts';
import type { TicketRef } from '../../model/ids-and-branch-names.ts';
import { snapshotOf, ticketOf } from '../../model/plans/plans-view.ts';
import type { Ticket } from '../../model/ticket.ts';
import type { StoreView } from '../../store/store-interface.ts';
import type { WorkspaceSpec } from '../../workspaces/workspaces.ts';

/** A ticket with its branch. */
interface LocalWork {
  engine: EngineContext;
  view: StoreView;
  ticket: Ticket;
  spec: WorkspaceSpec;
}

export function localWork(engine: EngineContext, ref: TicketRef): LocalWork {
  const { store, settings } = engine;
  const view = snapshotOf(store.glance());
  const ticket = ticketOf(view, ref) ?? store.ticket(ref);
  return { engine, view, ticket, spec: workspaceFor(ticket, store.plan(ref.planId), settings, view) };
}

/** A ticket with its branch, its repository on GitHub and what was done there for it. */
export interface ForgeWork extends LocalWork {
  head: Head;
  gh: GhOptions;
  journal: ForgeJournal;
  /** Directory for files of the ticket's pull request. */
  dir: string;
  /** The commit that Signalbox last pushed or took over; null before the first push. */
  known(): string | null;
  /** Drops what is cached of the branch's pull request, after a change to it. */
  forget(): Promise<void>;
}

export async function forgeWork(engine: EngineContext, ref: TicketRef): Promise<ForgeWork> {
  const { workspaces, machine } = engine;
  const local = localWork(engine, ref);
  const { repo, branch } = local.spec;
  const origin = parseRemote(await workspaces.pushUrl(repo));
  const gh = ghOptions(engine, repo);
  const repository = await ownRepository(gh, new KnownRepositories(machine.githubCache));
  const head: Head = { repository, branch, owner: origin?.owner ?? null };
  const journal = forgeJournal(engine, ref);
  const known = () => journal.heads().at(-1)?.commit ?? null;
  const forget = () => forgetPull({ cacheDir: machine.githubCache, repository }, branch);
  return { ...local, head, gh, journal, dir: machine.jobsOf(ref), known, forget };
}

/** How gh is run: in a phase it carries the mark of the phase's job, and ends with it. */
export function ghOptions({ settings, env, job, signal }: EngineContext, cwd: string): GhOptions {
  const marked = job === undefined ? env : { ...env, [MARKER]: job };
  return { gh: settings.ghCommand, cwd, env: marked, ...(signal ? { signal } : {}) };
}

export function forgeJournal(engine: EngineContext, ref: TicketRef): ForgeJournal {
  const { now, crash, mayAct } = engine;
  return new ForgeJournal(join(engine.machine.jobsOf(ref), 'forge.jsonl'), { now, crash, mayAct });
}

/** The number in the address that the workflow captured as `pr_url`. */
export function pullNumberOf(ticket: Ticket): number | null {
  const { pr_url: url } = ticket.context;
  const [, number] = /\/pull\/(\d+)\s*$/.exec(typeof url === 'string' ? url : '') ?? [];
  return number === undefined ? null : Number(number);
}

/** The branch that the ticket's work started from; null where that is no branch. */
export function ownBaseOf({ ticket, spec }: Pick<ForgeWork, 'ticket' | 'spec'>): string | null {
  const ref = ticket.base?.ref ?? '';
  return /^[0-9a-f]{40,64}$/.test(ref) ? spec.base : ref.replace(/^origin\//, '') || null;
}

/** The commit that a ticket's branch has here; undefined before there is one. */
export async function localTip({ engine, ticket, spec }: ForgeWork): Promise<string | undefined> {
  if (!ticket.base) return undefined;
  const { repo, branch } = spec;
  return (await engine.workspaces.branchAhead({ repo, branch, of: ticket.base.commit }))?.tip;
}

/** What identifies a ticket's pull request. For one that is still to be opened, only the work as it is now counts. */
export function ownWork(
  { ticket, journal }: ForgeWork,
  tip: string | undefined,
  awaited?: PullWait,
): OwnWork {
  const heads = awaited === 'open' ? journal.heads().slice(-1) : journal.heads();
  return {
    number: awaited === 'open' ? null : pullNumberOf(ticket),
    commits: [...heads.map(({ commit }) => commit), ...(tip === undefined ? [] : [tip])],
    since: heads[0]?.at ?? null,
  };
}

/** A ticket's own pull request among those of its branch. */
export async function ticketPull(
  work: ForgeWork,
  found?: readonly PullRequest[],
): Promise<PullRequest | undefined> {
  const all = found ?? (await findPullRequests(work.head, work.gh));
  return ownPullRequest(all, ownWork(work, await localTip(work)), ({ headRefOid }) => headRefOid);
}

/** The ticket's pull request, if it was merged with all commits that are here. */
export async function mergedPull(
  work: ForgeWork,
  found?: readonly PullRequest[],
): Promise<PullRequest | undefined> {
  const pull = await ticketPull(work, found);
  return pull?.state !== 'MERGED' || (await isLeftOver(work, pull)) ? undefined : pull;
}

/** Whether commits are here that were not in a pull request when it was merged. */
export async function isLeftOver(
  work: ForgeWork,
  { headRefOid: head, mergedAt }: Pick<PullRequest, 'headRefOid' | 'mergedAt'>,
): Promise<boolean> {
  const tip = await localTip(work);
  if (tip === undefined || tip === head) return false;
  const { repo } = work.spec;
  if (await work.engine.workspaces.contains({ repo, commit: head, ancestor: tip })) return false;
  // Commits that people saw on the branch and removed before the merge were removed on purpose.
  const heads = work.journal.heads();
  return !heads.some(({ commit, at }) => commit === tip && Date.parse(at) <= Date.parse(mergedAt));
}
