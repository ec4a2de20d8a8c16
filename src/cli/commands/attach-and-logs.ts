import { spawn } from 'node:child_process';
import { machineIn, type TmuxRecord } from '../../machine/machine-files-and-locks.ts';
import { socketArgs, socketOf, tmuxClient } from '../../machine/tmux/run-tmux.ts';
import {
  readSession,
  type TmuxPane,
  type TmuxSession,
} from '../../machine/tmux/session-windows-and-panes.ts';
import { exactSession } from '../../machine/tmux/tmux-names-and-escapes.ts';
import { InputError } from '../../model/errors.ts';
import { latestFinished } from '../../model/plans/latest-plans-and-unknown-name-errors.ts';
import { rests } from '../../model/state/next-step-or-rest.ts';
import type { Redact } from '../../model/text/find-and-redact-secrets.ts';
import { createLog, restLine } from '../../report/plan-ticket-and-attempt-log.ts';
import { wrapLines } from '../../report/tables-and-text-wrapping.ts';
import { readerRedactor } from '../../sandbox/secret-redactors-and-fingerprints.ts';
import { loadSchemas } from '../../store/open-for-reading.ts';
import type { Store } from '../../store/store-interface.ts';
import type { OptionsOf } from '../definitions/commands-and-their-options.ts';
import { planOrTicketNamed, plansHere } from '../find-named-plans-and-tickets.ts';
import { exitOf, type Io, inherited, outJson, untilSignal } from '../io.ts';
import { type GlobalOptions, openSettings, openState } from '../open-settings-store-and-engine.ts';

export async function attach(io: Io, options: GlobalOptions, word: string | undefined): Promise<void> {
  const { stateDir, store, view } = await openState(io, options, (state) => state.glance());
  const named = word === undefined ? undefined : planOrTicketNamed(io, store, 'attach', [word]);
  const given = named?.planId;
  const machine = machineIn(stateDir);
  if (given !== undefined) store.plan(given);
  const isHere = plansHere(io, store) ?? (() => true);
  const here = [...view.plans, ...latestFinished(view)].filter(isHere).map(({ id }) => id);
  const planId =
    given ??
    machine.latestInTmux(here) ??
    machine.latestInTmux([...view.plans.map(({ id }) => id), ...(view.finished?.ids() ?? [])]);
  const record = planId === undefined ? undefined : machine.tmuxRecord(planId);
  if (planId === undefined || !record) {
    const what = given === undefined ? 'No run has' : `No run of plan "${given}" has`;
    throw new InputError('tmux/none', `${what} opened tmux windows yet.`, {
      hint: `Watch one with: signalbox logs ${given ?? '<plan>'} --follow`,
    });
  }
  const server = { env: io.env, cwd: io.cwd, socketPath: record.socket };
  const session = await readSession(tmuxClient(server), record.session);
  if (!session)
    throw new InputError('tmux/gone', `The tmux session ${record.session} of plan "${planId}" is gone.`, {
      hint: `What it showed is kept: signalbox logs ${planId}`,
      details: { session: record.session, socket: record.socket },
    });
  if (options.json) return outJson(io, shape(planId, record, session));
  if (!io.tty)
    throw new InputError('tmux/terminal', 'attach needs a terminal.', {
      hint: `Watch it here with: signalbox logs ${planId} --follow`,
    });
  const isNamed = ({ ticket }: TmuxPane) => ticket !== null && ticket === `${planId}/${named?.ticketId}`;
  const pane = session.panes.find(isNamed)?.id;
  const args = [...socketArgs(server), ...attachCommand(record, io, pane)];
  const child = spawn('tmux', args, { cwd: io.cwd, env: io.env, stdio: inherited(io) });
  // Keys are for tmux while it has the terminal.
  const unhook = io.signals.on(['SIGINT'], () => undefined);
  io.exit(await exitOf(child).finally(unhook));
}

/** Inside tmux, switch: sessions cannot be nested. With a pane, to its window. */
function attachCommand({ session, socket }: TmuxRecord, io: Io, pane = exactSession(session)): string[] {
  const here = socketOf(io.env);
  if (here === undefined) return ['attach-session', '-t', pane];
  if (here === socket) return ['switch-client', '-t', pane];
  throw new InputError('tmux/nested', 'The session is in another tmux server than the one you are in.', {
    hint: `In a terminal outside tmux: tmux -S ${socket} attach -t '${exactSession(session)}'`,
  });
}

function shape(planId: string, { session, socket }: TmuxRecord, { panes, attached }: TmuxSession) {
  const windows = panes.flatMap(({ id, window, name, ticket, dead }) =>
    ticket === null ? [] : [{ window, pane: id, name, ticket, finished: dead }],
  );
  return { planId, session, socket, attached, windows };
}

type Options = OptionsOf<'logs'>;

export async function logs(
  io: Io,
  options: Options,
  first: string | undefined,
  second: string | undefined,
): Promise<void> {
  const { stateDir, store, view } = await openState(io, options, (state) => {
    const named = planOrTicketNamed(io, state, 'logs', [first, second]);
    state.tickets(named.planId);
    return named;
  });
  return (options.failed ? showFailed : showLogs)(io, options, { stateDir, store }, view);
}

/** The last failed attempt of a ticket, or of each ticket of a plan that needs a person. */
async function showFailed(
  io: Io,
  options: Options,
  state: { stateDir: string; store: Store },
  { planId, ticketId }: { planId: string; ticketId?: string },
): Promise<void> {
  const { store } = state;
  if (options.follow) throw new InputError('usage', '--failed shows what has ended; leave out --follow.');
  const asked =
    ticketId === undefined ? store.tickets(store.plan(planId)) : [store.ticket({ planId, ticketId })];
  const open = asked.filter(
    ({ status }) => ticketId !== undefined || status === 'failed' || status === 'needs_attention',
  );
  const failed = open.filter(({ phaseHistory }) =>
    phaseHistory.some((attempt) => attempt.status === 'failure'),
  );
  if (failed.length === 0)
    throw new InputError(
      'logs/failed',
      open.length === 0
        ? `No ticket of ${planId} is failed now.`
        : `${ticketId ? `${planId}/${ticketId}` : planId} has no failed attempt.`,
      { hint: `See all of it: signalbox logs ${planId}${ticketId ? ` ${ticketId}` : ''}` },
    );
  for (const each of failed) {
    if (ticketId === undefined && !options.json) io.out(io.style.bold(`${planId}/${each.ticketId}`));
    await showLogs(io, options, state, { planId, ticketId: each.ticketId });
  }
}

async function showLogs(
  io: Io,
  options: Options,
  { stateDir, store }: { stateDir: string; store: Store },
  { planId, ticketId }: { planId: string; ticketId?: string },
): Promise<void> {
  if (options.untilRest && !(options.follow && ticketId))
    throw new InputError('usage', '--until-rest needs a ticket and --follow.');
  store.plan(planId);
  const seen = ticketId ? store.ticket({ planId, ticketId }).phaseHistory.map(({ phase }) => phase) : [];
  if (ticketId && options.phase && !options.follow && !seen.includes(options.phase))
    throw new InputError('logs/phase', `${ticketId} has no attempt of phase "${options.phase}".`, {
      hint:
        seen.length > 0 ? `It has attempts of: ${[...new Set(seen)].join(', ')}.` : 'It has not started yet.',
    });
  const { failed = false, full = false } = options;
  const columns = io.columns?.();
  const shown = { json: options.json === true, style: io.style, columns, failed, full };
  const machine = machineIn(stateDir);
  const redact = await redactorFor(io, options, machine.fingerprints);
  const about = { planId, ticketId: ticketId ?? null, phase: options.phase ?? null };
  const more = createLog(store, machine, { ...about, ...shown, redact });
  /** Prints what is new; true when there is nothing to wait for any more. */
  const print = (): boolean => {
    const ticket = options.untilRest && ticketId ? store.ticket({ planId, ticketId }) : undefined;
    // What agents printed is not broken.
    io.out(ticketId || options.json ? more() : wrapLines(more(), columns));
    if (!ticket || !rests(ticket, new Date().toISOString())) return false;
    io.out(restLine(ticket, shown));
    return true;
  };
  if (print() || !options.follow) return;
  await loadSchemas();
  // A store on another computer is asked for changes only while it is watched.
  const unwatch = store.watch(() => undefined);
  await untilSignal(io, 200, print).finally(unwatch);
}

/** Agents may print secrets that they were given. A config that cannot be read must not hide the log. */
async function redactorFor(io: Io, options: GlobalOptions, file: string): Promise<Redact> {
  const settings = await openSettings(io, options).catch(() => ({ agents: {}, mcpServers: {} }));
  return readerRedactor(settings, io.env, file);
}
