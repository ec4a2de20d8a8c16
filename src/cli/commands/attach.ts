import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import type { Command } from 'commander';
import type { TmuxRecord } from '../../machine/machine.ts';
import { exactly, socketOf } from '../../machine/tmux/names.ts';
import type { TmuxSession } from '../../machine/tmux/session.ts';
import { InputError } from '../../model/errors.ts';
import { type Io, inherited, outJson } from '../io.ts';
import { type GlobalOptions, openState } from '../open.ts';

export function registerAttach(program: Command, io: Io): void {
  program
    .command('attach')
    .argument('[plan]', 'default: the one whose run was shown last')
    .description('go to the tmux windows of a plan’s latest run')
    .option('--json', 'print the session and its windows instead')
    .addHelpText('after', '\nExamples:\n  $ signalbox attach\n  $ signalbox attach sprint-12')
    .action(async (plan: string | undefined, _options: unknown, command: Command) =>
      attach(plan, command.optsWithGlobals<GlobalOptions>(), io),
    );
}

async function attach(given: string | undefined, options: GlobalOptions, io: Io): Promise<void> {
  const [{ socketArgs, tmuxClient }, { readSession }, { Machine }] = await Promise.all([
    import('../../machine/tmux/tmux.ts'),
    import('../../machine/tmux/session.ts'),
    import('../../machine/machine.ts'),
  ]);
  const { stateDir, store, view } = await openState(io, options);
  const machine = new Machine(stateDir);
  if (given !== undefined) store.plan(given);
  const planId = given ?? machine.latestInTmux(view.plans.map(({ id }) => id));
  const record = planId === undefined ? undefined : machine.tmuxRecord(planId);
  if (planId === undefined || !record) throw nothing(given);
  const server = { env: io.env, cwd: io.cwd, socketPath: record.socket };
  const session = await readSession(tmuxClient(server), record.session);
  if (!session) throw gone(planId, record);
  if (options.json) return outJson(io, shape(planId, record, session));
  if (!io.tty)
    throw new InputError('tmux/terminal', 'attach needs a terminal.', {
      hint: `Look from here with: signalbox logs ${planId} --follow`,
    });
  io.exit(await go([...socketArgs(server), ...way(record, io)], io));
}

/** Inside tmux one switches; a session inside a session would be of no use to anybody. */
function way({ session, socket }: TmuxRecord, io: Io): string[] {
  const here = socketOf(io.env);
  if (here === undefined) return ['attach-session', '-t', exactly(session)];
  if (here === socket) return ['switch-client', '-t', exactly(session)];
  throw new InputError('tmux/nested', 'The session is in another tmux server than the one you are in.', {
    hint: `In a terminal outside tmux: tmux -S ${socket} attach -t '${exactly(session)}'`,
  });
}

async function go(args: string[], io: Io): Promise<number> {
  const child = spawn('tmux', args, { cwd: io.cwd, env: io.env, stdio: inherited(io) });
  // Keys are for tmux while it has the terminal.
  const unhook = io.signals.on(['SIGINT'], () => undefined);
  return new Promise<number>((done, failed) => {
    child.once('error', failed);
    child.once('exit', (code, signal) => done(code ?? 128 + (signal ? constants.signals[signal] : 1)));
  }).finally(unhook);
}

function shape(planId: string, { session, socket }: TmuxRecord, { panes, attached }: TmuxSession) {
  const windows = panes.flatMap(({ id, window, name, ticket, dead }) =>
    ticket === null ? [] : [{ window, pane: id, name, ticket, finished: dead }],
  );
  return { planId, session, socket, attached, windows };
}

function nothing(planId: string | undefined): InputError {
  const what = planId === undefined ? 'No run has' : `No run of plan "${planId}" has`;
  return new InputError('tmux/none', `${what} shown itself in tmux yet.`, {
    hint: `Watch one with: signalbox logs ${planId ?? '<plan>'} --follow`,
  });
}

function gone(planId: string, { session, socket }: TmuxRecord): InputError {
  return new InputError('tmux/gone', `The tmux session ${session} of plan "${planId}" is gone.`, {
    hint: `What it showed is kept: signalbox logs ${planId}`,
    details: { session, socket },
  });
}
