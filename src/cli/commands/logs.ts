import type { Command } from 'commander';
import { InputError } from '../../model/errors.ts';
import type { Redact } from '../../model/text/redact.ts';
import type { Io } from '../io.ts';
import { type GlobalOptions, openSettings, openState } from '../open.ts';

interface Options extends GlobalOptions {
  phase?: string;
  follow?: boolean;
  untilRest?: boolean;
}

export function registerLogs(program: Command, io: Io): void {
  program
    .command('logs')
    .argument('<plan>')
    .argument('[ticket]')
    .description('show what happened: events of a plan, or everything a ticket’s attempts printed')
    .option('--phase <phase>', 'only of this phase')
    .option('-f, --follow', 'go on as more comes, until Ctrl-C')
    .option('--until-rest', 'with --follow: end when the ticket moves no more by itself')
    .option('--json', 'print JSON lines')
    .addHelpText(
      'after',
      '\nExamples:\n  $ signalbox logs sprint-12\n  $ signalbox logs sprint-12 PROJ-101 --phase implement\n  $ signalbox logs sprint-12 PROJ-101 -f',
    )
    .action(async (plan: string, ticket: string | undefined, _options: unknown, command: Command) =>
      show(plan, ticket, command.optsWithGlobals<Options>(), io),
    );
}

async function show(planId: string, ticketId: string | undefined, options: Options, io: Io): Promise<void> {
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
  const [{ createLog, restLine }, { style }, { rests }, { Machine }] = await Promise.all([
    import('../../report/log.ts'),
    import('../../report/style.ts'),
    import('../../model/state/next.ts'),
    import('../../machine/machine.ts'),
  ]);
  const look = { json: options.json === true, style: style(io.color) };
  const machine = new Machine(stateDir);
  const redact = await redactorFor(io, options, machine.fingerprints);
  const about = { planId, ticketId: ticketId ?? null, phase: options.phase ?? null };
  const log = createLog(store, machine, { ...about, ...look, redact });
  /** Prints what is new; true when there is nothing to wait for any more. */
  const print = (): boolean => {
    const ticket = options.untilRest && ticketId ? store.ticket({ planId, ticketId }) : undefined;
    for (const line of log.more()) io.out(line);
    if (!ticket || !rests(ticket, new Date().toISOString())) return false;
    io.out(restLine(ticket, look));
    return true;
  };
  if (print() || !options.follow) return;
  const { loadSchemas } = await import('../../store/open-for-reading.ts');
  await loadSchemas();
  let timer: NodeJS.Timeout | undefined;
  let unhook = (): void => undefined;
  const ended = new Promise<void>((resolve, reject) => {
    unhook = io.signals.on(['SIGINT', 'SIGTERM'], () => resolve());
    // The plan may be deleted while somebody watches it.
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

/** What agents printed may hold what they were given. A config that cannot be read must not hide the log. */
async function redactorFor(io: Io, options: GlobalOptions, file: string): Promise<Redact> {
  const [{ readerRedactor }, settings] = await Promise.all([
    import('../../sandbox/secrets.ts'),
    openSettings(io, options).catch(() => ({ agents: {}, mcpServers: {} })),
  ]);
  return readerRedactor(settings, io.env, file);
}
