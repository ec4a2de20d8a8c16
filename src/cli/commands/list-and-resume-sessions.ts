import { spawn } from 'node:child_process';
import type { Writable } from 'node:stream';
import type { EngineContext } from '../../engine/context.ts';
import {
  checkPhase,
  planSession,
  sessionsOf,
  withSessionClaim,
} from '../../engine/continue-session-by-hand.ts';
import { findExecutable } from '../../machine/find-and-probe-program.ts';
import { InputError } from '../../model/errors.ts';
import { refKey, type TicketRef } from '../../model/ids-and-branch-names.ts';
import type { Attempt } from '../../model/ticket.ts';
import { type Lines, oneLine } from '../../report/printable-text.ts';
import { table } from '../../report/tables-and-text-wrapping.ts';
import type { OptionsOf } from '../definitions/commands-and-their-options.ts';
import { ticketNamed } from '../find-named-plans-and-tickets.ts';
import { exitOf, type Io, inherited, outJson, outWrapped } from '../io.ts';
import { openEngine, openState } from '../open-settings-store-and-engine.ts';

type Options = OptionsOf<'sessions'>;

export async function listSessions(
  io: Io,
  options: Options,
  ...words: (string | undefined)[]
): Promise<void> {
  const { store, view: ticket } = await openState(io, options, (state) =>
    state.ticket(ticketNamed(io, state, 'sessions', words).ref),
  );
  const { planId, ticketId } = ticket;
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
  io.out(table(['', 'phase', 'status', 'agent', 'started', 'session'], rows, io.style));
  const next = `Continue one with: signalbox resume-session ${planId} ${ticketId} <session>`;
  outWrapped(io, [next]);
}

function shape({ phase, visit, attempt, status, agent, startedAt, completedAt, sessionId, usage }: Attempt) {
  return { phase, visit, attempt, status, agent, startedAt, completedAt, sessionId, usage };
}

export async function resumeSession(
  io: Io,
  options: Options,
  ...words: (string | undefined)[]
): Promise<void> {
  const parts = await openEngine(io, options, 'session');
  const { ref, rest } = ticketNamed(io, parts.store, 'resume-session', words);
  const { planId, ticketId } = ref;
  const launch = planSession(parts, ref, rest[0], options.phase);
  if (options.json) return outJson(io, { ...launch, env: masked(launch.env) });
  const [command = ''] = launch.argv;
  const env = { ...io.env, ...launch.env };
  // Checked before a worktree is created for it.
  if (!findExecutable(command, env)) throw notStarted(launch.agent, command);
  if (!io.stdin.isTTY())
    throw new InputError('usage', 'resume-session needs a terminal.', {
      hint: `Read the session here with: signalbox logs ${planId} ${ticketId} --phase ${launch.phase}`,
    });
  const says = `Session ${launch.sessionId} of ${planId}/${ticketId} (${launch.phase}) in ${launch.cwd}`;
  const waits = `${refKey(ref)} waits until you leave this session.`;
  const failed = (error: Error) => notStarted(launch.agent, command, error);
  io.exit(await runWithClaim(io, parts, ref, { ...launch, env, says: [says, waits], failed }));
}

interface ClaimedProgram {
  cwd: string;
  argv: readonly string[];
  env: NodeJS.ProcessEnv;
  /** Printed when it starts: nothing is announced that is refused. */
  says: Lines;
  failed(error: Error): Error;
}

/** Runs a program in a ticket's worktree, in this terminal. The ticket is held until the program has ended. */
export async function runWithClaim(
  io: Io,
  engine: EngineContext,
  ref: TicketRef,
  { cwd, argv, env, says, failed }: ClaimedProgram,
): Promise<number> {
  return withSessionClaim(engine, ref, { cwd }, async (started) => {
    io.out(says);
    const child = spawn('/bin/sh', ['-c', WAIT_UNTIL_RECORDED, ...argv], {
      cwd,
      env,
      stdio: [...inherited(io), 'pipe'],
    });
    // Ctrl-C is for the program: the ticket stays held until it is gone. A shell does not end at SIGTERM.
    const unhook = io.signals.on(['SIGINT', 'SIGTERM', 'SIGHUP'], (signal) => {
      if (signal === 'SIGINT') return;
      child.kill(signal);
      child.kill('SIGHUP');
    });
    const ended = exitOf(child)
      .catch((error: Error) => {
        throw failed(error);
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
}

/** Waits until its process id is recorded, then becomes the program: this process may be killed before it has recorded it. */
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
