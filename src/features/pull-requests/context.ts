import { join } from 'node:path';
import type { EngineContext } from '../../engine/context.ts';
import { workspaceFor } from '../../engine/ticket-defaults.ts';
import { parseRemote } from '../../github/gh/repository-name.ts';
import type { GhOptions } from '../../github/gh/run-gh.ts';
import { ForgeJournal } from '../../github/journal.ts';
import { KnownRepositories } from '../../github/known-repositories.ts';
import type { Head } from '../../github/pull-request.ts';
import { lastSeen } from '../../github/snapshot.ts';
import { ownRepository } from '../../issues/repository.ts';
import { MARKER } from '../../machine/jobs/job.ts';
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
export function ghOptions({ settings, env, job, signal }: EngineContext, cwd: string): GhOptions {
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
