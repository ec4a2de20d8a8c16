import { existsSync } from 'node:fs';
import { adapterFor } from '../agents/adapters-and-agent-problems.ts';
import { processStart } from '../machine/process-identity-and-signals.ts';
import { IllegalMoveError, InputError } from '../model/errors.ts';
import { refKey, type TicketRef } from '../model/ids-and-branch-names.ts';
import type { Claim } from '../model/lease-and-claim-messages.ts';
import { type Attempt, isMadeAt, type Ticket } from '../model/ticket.ts';
import type { Store } from '../store/store-interface.ts';
import { readPinned } from '../workflows/pin-workflow-and-render-prompts.ts';
import { refuseHeldTicket } from './claim-and-complete-plan.ts';
import type { EngineContext } from './context.ts';
import { currentWorkspace, thisMachine } from './work-out-workspace-and-repository.ts';

/** Attempts with a session, oldest first. */
export function sessionsOf(ticket: Ticket, phase?: string): Attempt[] {
  return ticket.phaseHistory.filter((entry) => entry.sessionId !== null && (!phase || entry.phase === phase));
}

/**
 * Refuses a phase that is neither in the ticket's workflow nor in its history. Not checked before the ticket starts: its
 * workflow is not pinned yet.
 */
export function checkPhase(store: Pick<Store, 'pinned'>, ticket: Ticket, phase: string): void {
  const text = ticket.workflowHash && store.pinned(ticket.workflowHash);
  if (!text) return;
  const own = readPinned(text).workflow.phases.map(({ id }) => id);
  if ([...own, ...ticket.phaseHistory.map((entry) => entry.phase)].includes(phase)) return;
  throw noSessionOf(ticket, phase);
}

function noSessionOf(ticket: Ticket, phase: string): InputError {
  const phases = [...new Set(sessionsOf(ticket).map((entry) => entry.phase))];
  return new InputError('session/phase', `${refKey(ticket)} has no session of phase "${phase}".`, {
    hint: phases.length > 0 ? `It has sessions of: ${phases.join(', ')}.` : 'It has no sessions yet.',
  });
}

interface SessionLaunch {
  sessionId: string;
  phase: string;
  agent: string;
  argv: string[];
  env: Record<string, string>;
  cwd: string;
}

/** How a person continues a session: decided here, started by the caller. */
export function planSession(
  engine: EngineContext,
  ref: TicketRef,
  wanted: string | undefined,
  phase: string | undefined,
): SessionLaunch {
  const { store, settings } = engine;
  const ticket = store.ticket(ref);
  const all = sessionsOf(ticket, phase);
  const entry = wanted ? all.find((each) => each.sessionId === wanted) : all.at(-1);
  if (phase && all.length === 0 && sessionsOf(ticket).length > 0) throw noSessionOf(ticket, phase);
  if (!entry?.sessionId) {
    const known = all.map((each) => each.sessionId).join(', ');
    throw new InputError(
      'session/unknown',
      wanted ? `${refKey(ref)} has no session "${wanted}".` : `${refKey(ref)} has no session yet.`,
      { hint: known ? `Its sessions: ${known}.` : `See: signalbox status --plan ${ref.planId}` },
    );
  }
  const { machine } = ticket;
  if (machine && !isMadeAt(ticket, thisMachine(settings)))
    throw new IllegalMoveError(
      'session/elsewhere',
      `The sessions of ${refKey(ref)} are on ${machine.host}.`,
      { hint: `Run there: signalbox resume-session ${ref.planId} ${ref.ticketId}` },
    );
  const name = entry.agent ?? settings.defaultAgent;
  const agent = Object.hasOwn(settings.agents, name) ? settings.agents[name] : undefined;
  const argv = agent && adapterFor(agent.adapter).interactive(agent, entry.sessionId);
  const refused = (why: string) =>
    new IllegalMoveError('session/agent', `Agent "${name}" ${why}.`, {
      hint: `Read it instead: signalbox logs ${ref.planId} ${ref.ticketId} --phase ${entry.phase}`,
    });
  if (!agent || !argv) throw refused('cannot continue a session by hand');
  if (agent.sandbox === 'bwrap') throw refused('works in a sandbox, and its sessions stay there');
  const workspace = currentWorkspace(engine, ticket);
  return {
    sessionId: entry.sessionId,
    phase: entry.phase,
    agent: name,
    argv,
    env: agent.env,
    cwd: workspace.path,
  };
}

/**
 * Claims the ticket while a person is in one of its sessions or in its worktree, after path and branch are restored. `body` reports the process
 * that it starts, which waits until it is recorded: the claim lasts as long as that process.
 */
export async function withSessionClaim(
  engine: EngineContext,
  ref: TicketRef,
  launch: Pick<SessionLaunch, 'cwd'>,
  body: (started: (pid: number) => Promise<void>) => Promise<number>,
): Promise<number> {
  const { store, holder, workspaces } = engine;
  /** While the ticket has our claim. */
  const reclaim = (change: (claim: Claim) => Claim | null) =>
    store.updateTicket(ref, (latest) =>
      latest.claim?.token === holder.token ? { ...latest, claim: change(latest.claim) } : latest,
    );
  const ticket = await store.updateTicket(ref, (latest) => {
    refuseHeldTicket(engine, ref, latest.claim);
    return { ...latest, claim: holder.claim(engine.now()) };
  });
  await holder.start();
  const workspace = currentWorkspace(engine, ticket);
  const isNew = !existsSync(launch.cwd);
  try {
    // Keeps what a person installed by hand.
    const install = workspaces.isReady(launch.cwd) ? undefined : workspace.install;
    await workspaces.ensure({ ...workspace, path: launch.cwd, recordedBase: ticket.base, install });
    await workspaces.verify(workspace);
    return await body(async (pid) => {
      engine.crash('session:waits');
      const agent = { pid, started: processStart(pid) ?? '' };
      await reclaim((claim) => ({ ...claim, agent }));
    });
  } finally {
    // One that was made for the session is removed again, unless something in it exists nowhere else.
    if (isNew) await workspaces.release(workspace);
    await reclaim(() => null);
    await holder.stop();
  }
}
