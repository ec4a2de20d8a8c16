import { join } from 'node:path';
import { refOf } from '../../model/ids-and-branch-names.ts';
import type { Ticket } from '../../model/ticket.ts';
import { AGENT_HOME } from '../../phases/enter-sandbox.ts';
import { packHome, unpackHome } from '../../sandbox/pack-agent-home.ts';
import type { EngineContext } from '../context.ts';

/** The adapter of an agent that has a home of its own for each ticket. The sessions of others are in the user's home. */
function sandboxedAdapter({ settings }: EngineContext, agent: string): string | undefined {
  const { sandbox, adapter } =
    (Object.hasOwn(settings.agents, agent) ? settings.agents[agent] : undefined) ?? {};
  return sandbox === 'bwrap' ? adapter : undefined;
}

/** Stores the session of an attempt that has ended, so that another machine can continue it. */
export async function keepSession(
  engine: EngineContext,
  ticket: Ticket,
  { agent, session }: { agent: string | null; session: string | null },
): Promise<void> {
  const { store, machine, holder, redact } = engine;
  const adapter = agent ? sandboxedAdapter(engine, agent) : undefined;
  if (!store.sessions || !agent || !session || !adapter) return;
  const files = packHome(join(machine.jobsOf(ticket), AGENT_HOME), adapter, redact);
  if (!files) return;
  // Without it, another machine begins a new session.
  await store.sessions.keep(refOf(ticket), holder.token, { agent, session, files }).catch(() => false);
}

/** Brings sessions of another machine here, where the worktree has the same path. Returns the ids of those that can be continued. */
export async function restoreSessions(
  engine: EngineContext,
  ticket: Ticket,
  worktree: string,
): Promise<string[]> {
  const { store, machine } = engine;
  if (!store.sessions || ticket.worktree !== worktree) return [];
  const kept = await store.sessions.of(refOf(ticket)).catch(() => []);
  return kept.flatMap(({ agent, files }) => {
    const adapter = sandboxedAdapter(engine, agent);
    if (!adapter) return [];
    unpackHome(join(machine.jobsOf(ticket), AGENT_HOME), adapter, files);
    return ticket.phaseHistory.flatMap((each) =>
      each.agent === agent && each.sessionId ? [each.sessionId] : [],
    );
  });
}
