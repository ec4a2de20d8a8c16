import type { Command } from 'commander';
import type { Io } from '../io.ts';
import { outJson } from '../io.ts';
import { type GlobalOptions, openEngine } from '../open.ts';

export function registerDiff(program: Command, io: Io): void {
  program
    .command('diff')
    .argument('<plan>')
    .argument('<ticket>')
    .description('show a ticket’s work against its base, uncommitted changes included')
    .option('--stat', 'only the files and how much changed')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nExamples:\n  $ signalbox diff sprint-12 PROJ-101\n  $ signalbox diff sprint-12 PROJ-101 --stat',
    )
    .action(async (planId: string, ticketId: string, _options: unknown, command: Command) =>
      show(planId, ticketId, command.optsWithGlobals(), io),
    );
}

async function show(
  planId: string,
  ticketId: string,
  options: GlobalOptions & { stat?: boolean },
  io: Io,
): Promise<void> {
  const parts = await openEngine(io, options, 'diff');
  const { diffTicket } = await import('../../engine/workspace-commands.ts');
  const diff = await diffTicket(parts, { planId, ticketId }, options.stat === true);
  if (options.json) outJson(io, diff);
  else io.out(diff.text.trimEnd() || `${planId}/${ticketId} has changed nothing yet.`);
}
