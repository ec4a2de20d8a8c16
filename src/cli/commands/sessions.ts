import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import type { Writable } from 'node:stream';
import type { Command } from 'commander';
import { findExecutable } from '../../machine/programs.ts';
import { InputError } from '../../model/errors.ts';
import type { Attempt } from '../../model/ticket.ts';
import { type Io, inherited, outJson } from '../io.ts';
import { type GlobalOptions, openEngine, openState } from '../open.ts';

interface Options extends GlobalOptions {
  phase?: string;
}

export function registerSessions(program: Command, io: Io): void {
  program
    .command('sessions')
    .argument('<plan>')
    .argument('<ticket>')
    .description('list the agent sessions of a ticket')
    .option('--phase <phase>', 'only of this phase')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExamples:\n  $ signalbox sessions sprint-12 PROJ-101 --phase implement')
    .action(async (plan: string, ticket: string, _options: unknown, command: Command) =>
      list(plan, ticket, command.optsWithGlobals<Options>(), io),
    );
  program
    .command('resume-session')
    .argument('<plan>')
    .argument('<ticket>')
    .argument('[session]', 'default: the latest')
    .description('go on in an agent session yourself; the ticket waits meanwhile')
    .option('--phase <phase>', 'the latest session of this phase')
    .option('--json', 'print what would be started, and start nothing')
    .addHelpText(
      'after',
      '\nExamples:\n  $ signalbox resume-session sprint-12 PROJ-101\n  $ signalbox resume-session sprint-12 PROJ-101 --phase self_review',
    )
    .action(
      async (
        plan: string,
        ticket: string,
        session: string | undefined,
        _options: unknown,
        command: Command,
      ) => resume(plan, ticket, session, command.optsWithGlobals<Options>(), io),
    );
}

async function list(planId: string, ticketId: string, options: Options, io: Io): Promise<void> {
  const { store } = await openState(io, options);
  const { checkPhase, sessionsOf } = await import('../../engine/sessions.ts');
  const ticket = store.ticket({ planId, ticketId });
  if (options.phase) checkPhase(store, ticket, options.phase);
  const found = sessionsOf(ticket, options.phase);
  if (options.json) return outJson(io, found.map(shape));
  if (found.length === 0)
    return io.out(
      `${planId}/${ticketId} has no sessions${options.phase ? ` of phase ${options.phase}` : ''} yet.`,
    );
  const [{ table }, { style, oneLine }] = await Promise.all([
    import('../../report/table.ts'),
    import('../../report/style.ts'),
  ]);
  const rows = found.map(({ phase, status, agent, startedAt, sessionId }, index) =>
    [`${index + 1}.`, phase, status, agent ?? '', startedAt, sessionId ?? ''].map((cell) => oneLine(cell)),
  );
  io.out(table(['', 'phase', 'status', 'agent', 'started', 'session'], rows, style(io.color)));
  io.out(`Go on in one with: signalbox resume-session ${planId} ${ticketId} <session>`);
}

function shape({ phase, visit, attempt, status, agent, startedAt, completedAt, sessionId, usage }: Attempt) {
  return { phase, visit, attempt, status, agent, startedAt, completedAt, sessionId, usage };
}

async function resume(
  planId: string,
  ticketId: string,
  session: string | undefined,
  options: Options,
  io: Io,
): Promise<void> {
  const parts = await openEngine(io, options, 'session');
  const { planSession, inSession } = await import('../../engine/sessions.ts');
  const launch = planSession(parts, { planId, ticketId }, session, options.phase);
  if (options.json) return outJson(io, { ...launch, env: masked(launch.env) });
  const code = await inSession(parts, { planId, ticketId }, launch, async (started) => {
    const [command = ''] = launch.argv;
    const env = { ...io.env, ...launch.env };
    if (!findExecutable(command, env)) throw notStarted(launch.agent, command);
    io.out(`Session ${launch.sessionId} of ${planId}/${ticketId} (${launch.phase}) in ${launch.cwd}`);
    const child = spawn('/bin/sh', ['-c', ONCE_NOTED, ...launch.argv], {
      cwd: launch.cwd,
      env,
      stdio: [...inherited(io), 'pipe'],
    });
    // Ctrl-C is for the agent: the ticket stays held until it is gone.
    const unhook = io.signals.on(
      ['SIGINT', 'SIGTERM'],
      (signal) => void (signal === 'SIGINT' || child.kill(signal)),
    );
    const ended = new Promise<number>((done, failed) => {
      child.once('error', (error) => failed(notStarted(launch.agent, command, error)));
      child.once('exit', (status, signal) => done(status ?? 128 + (signal ? constants.signals[signal] : 1)));
    }).finally(unhook);
    const noted = child.pid === undefined ? undefined : letGo(child.stdio[3] as Writable, started(child.pid));
    const [code, note] = await Promise.allSettled([ended, noted]);
    if (code.status === 'rejected') throw code.reason;
    if (note.status === 'rejected') throw note.reason;
    return code.value;
  });
  io.exit(code);
}

/** Becomes the agent when it is told that it is known; whoever would tell it may be killed before. */
const ONCE_NOTED = 'read -r _ <&3 && exec 3<&- && exec "$0" "$@"';

async function letGo(agent: Writable, noted: Promise<void>): Promise<void> {
  // It may have been ended meanwhile, which its exit tells.
  agent.on('error', () => undefined);
  try {
    await noted;
    agent.write('\n');
  } finally {
    agent.end();
  }
}

/** Names of variables help, their values may be keys. */
function masked(env: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.keys(env).map((name) => [name, '***']));
}

function notStarted(agent: string, command: string, cause?: Error): InputError {
  const why = cause?.message ?? 'there is no such program';
  return new InputError('agent/missing', `Agent "${agent}": ${command} cannot be started (${why}).`, {
    hint: 'See what is missing with: signalbox doctor',
    cause,
  });
}
