import { join } from 'node:path';
import type { EngineContext } from '../../engine/context.ts';
import { workspaceFor } from '../../engine/ticket-defaults.ts';
import { parseRemote } from '../../github/gh/repository-name.ts';
import { GhError, type GhFailure, type GhOptions } from '../../github/gh/run-gh.ts';
import { ForgeJournal } from '../../github/journal.ts';
import { KnownRepositories, ownRepository } from '../../github/own-repository.ts';
import { type Head, type OurWork, ourPull, type PullRequest } from '../../github/pull-request.ts';
import { BudgetBook, limitEnd } from '../../github/rate-limit.ts';
import { lastSeen } from '../../github/snapshot.ts';
import { MARKER } from '../../machine/jobs/job.ts';
import type { PullWait } from '../../model/actions.ts';
import { SignalboxError, WorkspaceError } from '../../model/errors.ts';
import type { TicketRef } from '../../model/ids.ts';
import type { Plan } from '../../model/plan.ts';
import { ticketOf } from '../../model/plans/view.ts';
import type { Ticket } from '../../model/ticket.ts';
import type { WorkspaceSpec } from '../../workspaces/index.ts';

/** What every deed on a forge for a ticket needs. */
export interface ForgeWork {
  ref: TicketRef;
  ticket: Ticket;
  plan: Plan;
  spec: WorkspaceSpec;
  head: Head;
  gh: GhOptions;
  journal: ForgeJournal;
  /** Where files of the ticket's work on the forge lie. */
  dir: string;
}

export async function forgeWork(
  parts: EngineContext,
  ref: TicketRef,
  signal?: AbortSignal,
): Promise<ForgeWork> {
  const { store, workspaces, settings } = parts;
  const view = store.view();
  const ticket = ticketOf(view, ref) ?? store.ticket(ref);
  const plan = store.plan(ref.planId);
  const spec = workspaceFor(ticket, plan, settings, view);
  const origin = parseRemote(await workspaces.pushUrl(spec.repo));
  const gh = { ...ghOptions(parts, spec.repo), ...(signal ? { signal } : {}) };
  const repository = await ownRepository(gh, new KnownRepositories(parts.machine.githubCache));
  const head: Head = { repository, branch: spec.branch, owner: origin?.owner ?? null };
  const dir = parts.machine.jobsOf(ref);
  return { ref, ticket, plan, spec, head, gh, journal: forgeJournal(parts, ref), dir };
}

/** How gh is run: in a phase it carries the mark of the phase's job, and ends with it. */
function ghOptions({ settings, env, job, signal }: EngineContext, cwd: string): GhOptions {
  const marked = job === undefined ? env : { ...env, [MARKER]: job };
  return { gh: settings.ghCommand, cwd, env: marked, ...(signal ? { signal } : {}) };
}

export function forgeJournal(parts: EngineContext, ref: TicketRef): ForgeJournal {
  const file = join(parts.machine.jobsOf(ref), 'forge.jsonl');
  return new ForgeJournal(
    file,
    () => parts.now(),
    (point) => parts.crash(point),
  );
}

/** The number in the address that the workflow captured as `pr_url`. */
export function pullNumberOf(ticket: Ticket): number | null {
  const { pr_url: url } = ticket.context;
  const [, number] = /\/pull\/(\d+)\s*$/.exec(typeof url === 'string' ? url : '') ?? [];
  return number === undefined ? null : Number(number);
}

/** The branch that the pull request is to be merged into, as far as it is known. */
export function pullBaseOf(parts: EngineContext, { ticket, head, spec }: ForgeWork): string | null {
  const seen = lastSeen({ cacheDir: parts.machine.githubCache, repository: head.repository }, spec.branch);
  return seen?.base || ownBaseOf(ticket, spec);
}

/** The branch that the ticket's work started from; null where that is no branch. */
export function ownBaseOf(ticket: Ticket, spec: Pick<WorkspaceSpec, 'base'>): string | null {
  const ref = ticket.base?.ref ?? '';
  return /^[0-9a-f]{40,64}$/.test(ref) ? spec.base : ref.replace(/^origin\//, '') || null;
}

/** Why nothing can be done on the forge now, and when to try again. */
interface Trouble {
  reason: string;
  until: string;
}

/** Troubles that pass by themselves. */
const PASSING = new Set<GhFailure>(['network', 'timeout', 'server', 'rate-limited']);
/** What git says when the other side cannot be reached. */
const UNREACHABLE =
  /could not resolve host|name resolution|connection (refused|reset|timed out|closed)|timed out|network is unreachable|no route to host|failed to connect|hung up unexpectedly|early EOF|HTTP 5\d\d|error: 5\d\d/i;
const PAUSE_MS = 60_000;

/** Somebody decided otherwise on the forge, and whoever tries again would only find that again. */
const FOR_GOOD = new Set([
  'forge/closed',
  'forge/nothing',
  'workspace/base-not-pushed',
  'workspace/branch-is-base',
  'workspace/push-deleted',
  'workspace/push-rejected',
]);

export function isForGood(error: unknown): error is SignalboxError {
  return error instanceof SignalboxError && FOR_GOOD.has(error.code);
}

/** What every deed and every look on a forge waits out instead of failing; undefined for what waiting does not mend. */
export async function troubleOf(parts: EngineContext, error: unknown): Promise<Trouble | undefined> {
  const soon = () => new Date(Date.parse(parts.now()) + PAUSE_MS).toISOString();
  if (error instanceof WorkspaceError) {
    const { stderr } = error.details;
    const unreachable = typeof stderr === 'string' && UNREACHABLE.test(stderr);
    return unreachable ? { reason: error.message, until: soon() } : undefined;
  }
  if (!(error instanceof GhError) || !PASSING.has(error.failure)) return undefined;
  if (error.failure !== 'rate-limited') return { reason: error.message, until: soon() };
  const { host } = error.details;
  const where = typeof host === 'string' ? host : 'github.com';
  const until = error.resetAt ?? (await endOfLimit(parts, where)) ?? soon();
  new BudgetBook(parts.machine.githubCache).exhausted(where, until, parts.now());
  return { reason: `GitHub takes no more questions until ${until}`, until };
}

async function endOfLimit(parts: EngineContext, host: string): Promise<string | undefined> {
  try {
    return await limitEnd(host, ghOptions(parts, parts.settings.packageDir));
  } catch (error) {
    // A gh that does not even answer this is asked again in a while.
    if (error instanceof GhError) return undefined;
    throw error;
  }
}

/** The commit that a ticket's branch has here; undefined before there is one. */
export async function localTip(
  parts: EngineContext,
  { ticket, spec }: ForgeWork,
): Promise<string | undefined> {
  if (!ticket.base) return undefined;
  const { repo, branch } = spec;
  return (await parts.workspaces.branchAhead({ repo, branch, of: ticket.base.commit }))?.tip;
}

/** What tells a ticket's pull request from others. Who waits for one to be opened means the work as it is now. */
export function ourWork(
  { ticket, journal }: ForgeWork,
  tip: string | undefined,
  awaited?: PullWait,
): OurWork {
  const heads = journal.heads();
  const counted = awaited === 'open' ? heads.slice(-1) : heads;
  return {
    number: awaited === 'open' ? null : pullNumberOf(ticket),
    commits: [...counted.map(({ commit }) => commit), ...(tip === undefined ? [] : [tip])],
    since: counted[0]?.at ?? null,
  };
}

/** A ticket's own pull request among those of its branch. */
export async function ticketPull(
  parts: EngineContext,
  work: ForgeWork,
  found: readonly PullRequest[],
): Promise<PullRequest | undefined> {
  return ourPull(found, ourWork(work, await localTip(parts, work)), ({ headRefOid }) => headRefOid);
}

/** The ticket's pull request among those of its branch, where it was merged with all that is here. */
export async function mergedPull(
  parts: EngineContext,
  work: ForgeWork,
  found: readonly PullRequest[],
): Promise<PullRequest | undefined> {
  const pull = await ticketPull(parts, work, found);
  if (pull?.state !== 'MERGED') return undefined;
  const merged = { head: pull.headRefOid, mergedAt: pull.mergedAt };
  return (await isLeftOver(parts, work, await localTip(parts, work), merged)) ? undefined : pull;
}

/** Whether commits are here that were not in a pull request when it was merged. */
export async function isLeftOver(
  parts: EngineContext,
  { spec, journal }: ForgeWork,
  tip: string | undefined,
  { head, mergedAt }: { head: string; mergedAt: string },
): Promise<boolean> {
  if (tip === undefined || tip === head) return false;
  if (await parts.workspaces.contains({ repo: spec.repo, commit: head, ancestor: tip })) return false;
  // What people saw on the branch and took out of it before they merged is theirs to decide.
  return !journal.heads().some(({ commit, at }) => commit === tip && Date.parse(at) <= Date.parse(mergedAt));
}
