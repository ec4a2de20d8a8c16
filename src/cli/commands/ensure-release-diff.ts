import { diffTicket, ensureFor, releaseFor } from '../../engine/prepare-and-release-workspace.ts';
import { answer, type Io } from '../io.ts';
import { type GlobalOptions, openEngine } from '../open-state-and-check-flags.ts';
import { inPhase, ticketHere } from './checks-and-integrate.ts';

type Done = Awaited<ReturnType<typeof ensureFor>> | Awaited<ReturnType<typeof releaseFor>>;

/** Creates a worktree by hand, or for the setup script of a workflow. */
export async function workspaceEnsure(io: Io, options: GlobalOptions, plan?: string, ticket?: string) {
  const ref = ticketHere(io, plan, ticket);
  report(io, options, await ensureFor(await openEngine(io, options, 'workspace'), ref));
}

export async function workspaceRelease(io: Io, options: GlobalOptions, plan?: string, ticket?: string) {
  const ref = ticketHere(io, plan, ticket);
  report(io, options, await releaseFor(await openEngine(io, options, 'workspace'), ref, inPhase(io)));
}

function report(io: Io, options: GlobalOptions, done: Done): void {
  answer(io, options, done, done.message.split('\n'));
  if (!done.ok) io.exit(1);
}

export async function diff(
  io: Io,
  options: GlobalOptions & { stat?: boolean },
  planId: string,
  ticketId: string,
): Promise<void> {
  const engine = await openEngine(io, options, 'diff');
  // A program gets the patch as it is, so that `git apply` takes it.
  const as = options.stat ? 'stat' : options.json || io.tty ? undefined : 'patch';
  const changes = await diffTicket(engine, { planId, ticketId }, as);
  const { text } = changes;
  if (!options.json && text === '') io.err(`${planId}/${ticketId} has changed nothing yet.`);
  else if (as === 'patch') io.stdout.write(Buffer.from(text, 'latin1'));
  else answer(io, options, changes, text.trimEnd().split('\n'));
}
