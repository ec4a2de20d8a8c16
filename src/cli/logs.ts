import type { Command } from 'commander';
import type { Io } from './io.ts';
import { type GlobalOptions, openState } from './open.ts';

interface Options extends GlobalOptions {
  phase?: string;
  follow?: boolean;
}

export function register(program: Command, io: Io): void {
  program
    .command('logs')
    .argument('<plan>')
    .argument('[ticket]')
    .description('show what happened: events of a plan, or everything a ticket’s attempts printed')
    .option('--phase <phase>', 'only of this phase')
    .option('-f, --follow', 'go on as more comes, until Ctrl-C')
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
  const { store } = await openState(io, options);
  store.plan(planId);
  if (ticketId) store.ticket({ planId, ticketId });
  const [{ createLog }, { style }] = await Promise.all([
    import('../report/log.ts'),
    import('../report/style.ts'),
  ]);
  const log = createLog(store, {
    planId,
    ticketId: ticketId ?? null,
    phase: options.phase ?? null,
    json: options.json === true,
    style: style(io.color),
  });
  const print = () => {
    for (const line of log.more()) io.out(line);
  };
  print();
  if (!options.follow) return;
  let timer: NodeJS.Timeout | undefined;
  const ended = new Promise<void>((resolve, reject) => {
    process.once('SIGINT', resolve);
    process.once('SIGTERM', resolve);
    // The plan may be deleted while somebody watches it.
    timer = setInterval(() => {
      try {
        print();
      } catch (error) {
        reject(error);
      }
    }, 200);
  });
  await ended.finally(() => clearInterval(timer));
}
