import type { Command } from 'commander';
import { ticketHere } from './checks.ts';
import { type Io, outJson } from './io.ts';
import { type GlobalOptions, openEngine } from './open.ts';

/** What workflows do on GitHub, as commands that can be repeated after a crash. */
export function register(program: Command, io: Io): void {
  const forge = program
    .command('forge')
    .description('push a ticket’s branch and open its pull request')
    .addHelpText('after', '\nExamples:\n  $ signalbox forge pr sprint-12 PROJ-101');
  forge
    .command('pr')
    .argument('[plan]', 'default: the plan of this phase')
    .argument('[ticket]', 'default: the ticket of this phase')
    .description('push a ticket’s branch and open its pull request, or bring the open one up to date')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nPrints the address of the pull request and nothing else. Needs a remote called origin and the GitHub CLI.\n\nExamples:\n  $ signalbox forge pr sprint-12 PROJ-101',
    )
    .action(
      async (plan: string | undefined, ticket: string | undefined, _options: unknown, command: Command) =>
        openPr(plan, ticket, command.optsWithGlobals<GlobalOptions>(), io),
    );
}

async function openPr(
  planId: string | undefined,
  ticketId: string | undefined,
  options: GlobalOptions,
  io: Io,
): Promise<void> {
  const ref = ticketHere(io, planId, ticketId);
  const parts = await openEngine(io, options, 'forge');
  const { openPullRequest } = await import('../engine/pull-request.ts');
  const done = await openPullRequest(parts, ref);
  if (options.json) outJson(io, done);
  else io.out(done.url);
}
