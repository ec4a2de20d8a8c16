import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { makeDirectory } from '../../machine/files/make-directory-and-handle-storage-errors.ts';
import { writeAtomic } from '../../machine/files/write-atomic-and-note-facts.ts';
import { refOf } from '../../model/ids-and-branch-names.ts';
import type { Ticket } from '../../model/ticket.ts';
import { AGENT_HOME } from '../../phases/enter-sandbox.ts';
import { packHome, unpackHome } from '../../sandbox/agent-home.ts';
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

/** Stands for an agent, where sessions are kept. */
const FORGE = '@forge';
/** What was done on GitHub for a ticket, and which feedback its texts are about. */
const FORGE_FILES = /^(forge\.jsonl|feedback-[0-9a-f]{16}\.json)$/;
const MAX_BYTES = 16 * 1024 * 1024;

/** Stores what an attempt has recorded of GitHub, so that another machine does not answer the same feedback again. */
export async function keepForgeRecord(engine: EngineContext, ticket: Ticket): Promise<void> {
  const { store, machine, holder, redact } = engine;
  const { sessions } = store;
  const dir = machine.jobsOf(ticket);
  const names = sessions && existsSync(dir) ? readdirSync(dir).filter((name) => FORGE_FILES.test(name)) : [];
  if (!sessions || names.length === 0) return;
  const texts = names.map((name) => [name, redact(readFileSync(join(dir, name), 'utf8'))] as const);
  const files = gzipSync(JSON.stringify(Object.fromEntries(texts)));
  const kept = { agent: FORGE, session: FORGE, files };
  await machine.storage.write(() => sessions.keep(refOf(ticket), holder.token, kept));
}

/** Brings what was recorded on another machine here, in place of an older state. */
export async function restoreForgeRecord({ store, machine }: EngineContext, ticket: Ticket): Promise<void> {
  const { sessions } = store;
  const all = sessions ? await machine.storage.write(() => sessions.of(refOf(ticket))) : [];
  const packed = all.find(({ agent }) => agent === FORGE)?.files;
  if (!packed) return;
  const text = gunzipSync(packed, { maxOutputLength: MAX_BYTES }).toString('utf8');
  const dir = machine.jobsOf(ticket);
  makeDirectory(dir);
  for (const [name, content] of Object.entries(JSON.parse(text) as Record<string, string>))
    if (FORGE_FILES.test(name)) writeAtomic(join(dir, name), content);
}
