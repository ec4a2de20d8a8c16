import { WorkspaceError } from '../model/errors.ts';
import type { Ticket } from '../model/ticket.ts';
import type { WorkspaceSpec } from '../workspaces/index.ts';
import type { EngineContext } from './context.ts';

/** What a branch has; undefined where it or its repository is gone. */
export async function readTip(parts: EngineContext, spec: WorkspaceSpec): Promise<string | undefined> {
  try {
    return await parts.workspaces.tip(spec);
  } catch (error) {
    if (!(error instanceof WorkspaceError)) throw error;
    return undefined;
  }
}

/** Keeps with a complete ticket what its branch has: somebody may delete the branch. */
export async function recordTip(parts: EngineContext, ticket: Ticket, spec: WorkspaceSpec): Promise<void> {
  const tip = await readTip(parts, spec);
  if (tip === undefined || tip === tipOf(ticket)) return;
  await parts.store.updateTicket(ticket, (latest) => ({ ...latest, tip }));
}

/** The last commit of a complete ticket's work, where it is known. */
export function tipOf(ticket: Ticket): string | null {
  return typeof ticket.tip === 'string' ? ticket.tip : null;
}
