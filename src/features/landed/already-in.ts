import type { EngineContext } from '../../engine/context.ts';
import { findPullRequests } from '../../github/index.ts';
import { SignalboxError } from '../../model/errors.ts';
import type { Ticket } from '../../model/ticket.ts';
import type { WorkspaceSpec } from '../../workspaces/index.ts';
import { forgeJournal, forgeWork } from '../pull-requests/context.ts';
import { mergedPull } from '../pull-requests/find.ts';

interface Work {
  spec: WorkspaceSpec;
  tickets: readonly Ticket[];
  base: string;
}

/**
 * Where the work of complete tickets came by other commits than theirs, in words; undefined where it is still to be merged.
 * A pull request that somebody squashed leaves nothing of the branch in the base's history.
 */
export async function alreadyIn(
  parts: EngineContext,
  { spec, tickets, base }: Work,
): Promise<string | undefined> {
  if (tickets.some(({ status }) => status !== 'complete')) return undefined;
  const place = await takenIn(parts, spec, base);
  if (place !== null) return place;
  // Where pull requests are merged, each is looked up anyway.
  if (parts.settings.merge.pr) return undefined;
  for (const ticket of tickets) {
    const number = await mergedOnForge(parts, ticket, base);
    if (number !== undefined) return byPull(base, number);
  }
  return undefined;
}

export function byPull(base: string, number: number): string {
  return `${base} by pull request #${number}`;
}

async function takenIn(
  parts: EngineContext,
  { repo, branch }: WorkspaceSpec,
  base: string,
): Promise<string | null> {
  // It has to merge to know, and what that makes is nobody's.
  const trains = await parts.workspaces.trains(repo, { dry: true });
  try {
    return await trains.takenIn({ base, branch });
  } finally {
    trains.close();
  }
}

/** The number of the pull request that brought a ticket's work into the base, as far as GitHub can be asked. */
async function mergedOnForge(
  parts: EngineContext,
  ticket: Ticket,
  base: string,
): Promise<number | undefined> {
  if (forgeJournal(parts, ticket).heads().length === 0) return undefined;
  try {
    const work = await forgeWork(parts, ticket);
    const merged = await mergedPull(parts, work, await findPullRequests(work.head, work.gh));
    return merged?.baseRefName === base ? merged.number : undefined;
  } catch (error) {
    // Branches are merged without a forge, too.
    if (error instanceof SignalboxError) return undefined;
    throw error;
  }
}
