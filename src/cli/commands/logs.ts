import { Machine } from '../../machine/machine.ts';
import { InputError } from '../../model/errors.ts';
import { rests } from '../../model/state/next-step-or-rest.ts';
import type { Redact } from '../../model/text/redact.ts';
import { createLog, restLine } from '../../report/plan-and-ticket-log.ts';
import { style } from '../../report/style-and-phrases.ts';
import { readerRedactor } from '../../sandbox/secret-fingerprints.ts';
import { loadSchemas } from '../../store/open-for-reading.ts';
import type { Io } from '../io.ts';
import { type GlobalOptions, openSettings, openState } from '../open-state-and-check-flags.ts';

interface Options extends GlobalOptions {
  phase?: string;
  follow?: boolean;
  untilRest?: boolean;
}

export async function logs(
  io: Io,
  options: Options,
  planId: string,
  ticketId: string | undefined,
): Promise<void> {
  if (options.untilRest && !(options.follow && ticketId))
    throw new InputError('usage', '--until-rest needs a ticket and --follow.');
  const { stateDir, store } = await openState(io, options);
  store.plan(planId);
  const seen = ticketId ? store.ticket({ planId, ticketId }).phaseHistory.map(({ phase }) => phase) : [];
  if (ticketId && options.phase && !options.follow && !seen.includes(options.phase))
    throw new InputError('logs/phase', `${ticketId} has no attempt of phase "${options.phase}".`, {
      hint:
        seen.length > 0 ? `It has attempts of: ${[...new Set(seen)].join(', ')}.` : 'It has not begun yet.',
    });
  const look = { json: options.json === true, style: style(io.color) };
  const machine = new Machine(stateDir);
  const redact = await redactorFor(io, options, machine.fingerprints);
  const about = { planId, ticketId: ticketId ?? null, phase: options.phase ?? null };
  const more = createLog(store, machine, { ...about, ...look, redact });
  /** Prints what is new; true when there is nothing to wait for any more. */
  const print = (): boolean => {
    const ticket = options.untilRest && ticketId ? store.ticket({ planId, ticketId }) : undefined;
    io.out(more());
    if (!ticket || !rests(ticket, new Date().toISOString())) return false;
    io.out(restLine(ticket, look));
    return true;
  };
  if (print() || !options.follow) return;
  await loadSchemas();
  let timer: NodeJS.Timeout | undefined;
  let unhook = (): void => undefined;
  const ended = new Promise<void>((resolve, reject) => {
    unhook = io.signals.on(['SIGINT', 'SIGTERM'], () => resolve());
    // The plan may be deleted meanwhile.
    timer = setInterval(() => {
      try {
        if (print()) resolve();
      } catch (error) {
        reject(error);
      }
    }, 200);
  });
  await ended.finally(() => {
    clearInterval(timer);
    unhook();
  });
}

/** Agents may print secrets that they were given. A config that cannot be read must not hide the log. */
async function redactorFor(io: Io, options: GlobalOptions, file: string): Promise<Redact> {
  const settings = await openSettings(io, options).catch(() => ({ agents: {}, mcpServers: {} }));
  return readerRedactor(settings, io.env, file);
}
