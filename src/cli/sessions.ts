import type { Command } from 'commander';
import type { Attempt } from '../model/ticket.ts';
import { type Io, outJson } from './io.ts';
import { type GlobalOptions, openEngine, openStore } from './open.ts';

interface Options extends GlobalOptions {
  phase?: string;
}

export function register(program: Command, io: Io): void {
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
  const { store } = await openStore(io, options);
  const { sessionsOf } = await import('../engine/sessions.ts');
  const found = sessionsOf(store.ticket({ planId, ticketId }), options.phase);
  if (options.json) return outJson(io, found.map(shape));
  if (found.length === 0)
    return io.out(
      `${planId}/${ticketId} has no sessions${options.phase ? ` of phase ${options.phase}` : ''} yet.`,
    );
  const [{ table }, { style }] = await Promise.all([
    import('../report/table.ts'),
    import('../report/style.ts'),
  ]);
  const rows = found.map((entry, index) => [
    `${index + 1}.`,
    entry.phase,
    entry.status,
    entry.agent ?? '',
    entry.startedAt,
    entry.sessionId ?? '',
  ]);
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
  const { planSession, inSession } = await import('../engine/sessions.ts');
  const launch = planSession(parts, { planId, ticketId }, session, options.phase);
  if (options.json) return outJson(io, launch);
  io.out(`Session ${launch.sessionId} of ${planId}/${ticketId} (${launch.phase}) in ${launch.cwd}`);
  const code = await inSession(parts, { planId, ticketId }, launch, async () => {
    const { spawn } = await import('node:child_process');
    const [command = '', ...args] = launch.argv;
    return new Promise<number>((done, failed) => {
      const child = spawn(command, args, {
        cwd: launch.cwd,
        env: { ...io.env, ...launch.env },
        stdio: 'inherit',
      });
      child.once('error', failed);
      child.once('exit', (status, signal) => done(status ?? (signal ? 128 : 1)));
    });
  });
  io.exit(code);
}
