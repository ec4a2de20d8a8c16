import { spawn } from 'node:child_process';
import type { Writable } from 'node:stream';
import {
  checkPhase,
  planSession,
  sessionsOf,
  withSessionClaim,
} from '../../engine/continue-session-by-hand.ts';
import { findExecutable } from '../../machine/find-and-probe-program.ts';
import { InputError } from '../../model/errors.ts';
import type { Attempt } from '../../model/ticket.ts';
import { oneLine, style } from '../../report/style-and-phrases.ts';
import { table } from '../../report/table.ts';
import { exitOf, type Io, inherited, outJson } from '../io.ts';
import {
  type GlobalOptions,
  openEngine,
  openState,
  ticketNamed,
} from '../open-state-and-find-named-tickets.ts';

interface Options extends GlobalOptions {
  phase?: string;
}

export async function listSessions(
  io: Io,
  options: Options,
  ...words: (string | undefined)[]
): Promise<void> {
  const { store } = await openState(io, options);
  const { ref } = ticketNamed(io, store, 'sessions', words);
  const { planId, ticketId } = ref;
  const ticket = store.ticket(ref);
  if (options.phase) checkPhase(store, ticket, options.phase);
  const found = sessionsOf(ticket, options.phase);
  if (options.json) return outJson(io, found.map(shape));
  if (found.length === 0)
    return io.out(
      `${planId}/${ticketId} has no sessions${options.phase ? ` of phase ${options.phase}` : ''} yet.`,
    );
  const rows = found.map(({ phase, status, agent, startedAt, sessionId }, index) =>
    [`${index + 1}.`, phase, status, agent ?? '', startedAt, sessionId ?? ''].map((cell) => oneLine(cell)),
  );
  io.out(table(['', 'phase', 'status', 'agent', 'started', 'session'], rows, style(io.color)));
  io.out(`Continue one with: signalbox resume-session ${planId} ${ticketId} <session>`);
}

function shape({ phase, visit, attempt, status, agent, startedAt, completedAt, sessionId, usage }: Attempt) {
  return { phase, visit, attempt, status, agent, startedAt, completedAt, sessionId, usage };
}

export async function resumeSession(
  io: Io,
  options: Options,
  planId: string,
  ticketId: string,
  session: string | undefined,
): Promise<void> {
  const parts = await openEngine(io, options, 'session');
  const launch = planSession(parts, { planId, ticketId }, session, options.phase);
  if (options.json) return outJson(io, { ...launch, env: masked(launch.env) });
  const [command = ''] = launch.argv;
  const env = { ...io.env, ...launch.env };
  // Checked before a worktree is created for it.
  if (!findExecutable(command, env)) throw notStarted(launch.agent, command);
  if (!io.stdin.isTTY())
    throw new InputError('usage', 'resume-session needs a terminal.', {
      hint: `Read the session here with: signalbox logs ${planId} ${ticketId} --phase ${launch.phase}`,
    });
  const code = await withSessionClaim(parts, { planId, ticketId }, launch, async (started) => {
    io.out(`Session ${launch.sessionId} of ${planId}/${ticketId} (${launch.phase}) in ${launch.cwd}`);
    const child = spawn('/bin/sh', ['-c', WAIT_UNTIL_RECORDED, ...launch.argv], {
      cwd: launch.cwd,
      env,
      stdio: [...inherited(io), 'pipe'],
    });
    // Ctrl-C is for the agent: the ticket stays held until it is gone.
    const unhook = io.signals.on(
      ['SIGINT', 'SIGTERM'],
      (signal) => void (signal === 'SIGINT' || child.kill(signal)),
    );
    const ended = exitOf(child)
      .catch((error: Error) => {
        throw notStarted(launch.agent, command, error);
      })
      .finally(unhook);
    const noted =
      child.pid === undefined
        ? undefined
        : continueAfterRecord(child.stdio[3] as Writable, started(child.pid));
    const [code, note] = await Promise.allSettled([ended, noted]);
    if (code.status === 'rejected') throw code.reason;
    if (note.status === 'rejected') throw note.reason;
    return code.value;
  });
  io.exit(code);
}

/** Waits until its process id is recorded, then becomes the agent: this process may be killed before it has recorded it. */
const WAIT_UNTIL_RECORDED = 'read -r _ <&3 && exec 3<&- && exec "$0" "$@"';

async function continueAfterRecord(agent: Writable, noted: Promise<void>): Promise<void> {
  // It may have ended meanwhile; then its exit code is reported.
  agent.on('error', () => undefined);
  try {
    await noted;
    agent.write('\n');
  } finally {
    agent.end();
  }
}

/** Masks the values of variables, which may be keys. */
function masked(env: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.keys(env).map((name) => [name, '***']));
}

export function notStarted(agent: string, command: string, cause?: Error): InputError {
  const why = cause?.message ?? 'there is no such program';
  return new InputError('agent/missing', `Agent "${agent}": ${command} cannot be started (${why}).`, {
    hint: 'See what is missing with: signalbox doctor',
    cause,
  });
}
