import type { Command } from 'commander';
import { ticketHere } from './checks.ts';
import { lookOutside, registerDeeds, waitingOut } from './forge-deeds.ts';
import { type Io, outJson } from './io.ts';
import { type GlobalOptions, openEngine, openSettings } from './open.ts';

/** What workflows do on GitHub, as commands that can be repeated after a crash. */
export function register(program: Command, io: Io): void {
  const forge = program
    .command('forge')
    .description('push a ticket’s branch, open its pull request and see what became of it')
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
  forge
    .command('review')
    .argument('[plan]', 'default: the plan of this phase')
    .argument('[ticket]', 'default: the ticket of this phase')
    .description('tell whether a ticket’s pull request was approved')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nPrints approve or reject, then what the reviewers said. Ends with 1 while nobody has decided, with 2 when GitHub cannot be asked.\n\nExamples:\n  $ signalbox forge review sprint-12 PROJ-101',
    )
    .action(
      async (plan: string | undefined, ticket: string | undefined, _options: unknown, command: Command) =>
        review(plan, ticket, command.optsWithGlobals<GlobalOptions>(), io),
    );
  registerDeeds(forge, io);
  forge
    .command('budget')
    .description('tell what is left of GitHub’s hourly budget, as of the last question')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nAsks nobody.\n\nExamples:\n  $ signalbox forge budget')
    .action(async (_options: unknown, command: Command) =>
      budget(command.optsWithGlobals<GlobalOptions>(), io),
    );
}

async function review(
  planId: string | undefined,
  ticketId: string | undefined,
  options: GlobalOptions,
  io: Io,
): Promise<void> {
  const ref = ticketHere(io, planId, ticketId);
  const parts = await openEngine(io, options, 'forge');
  const { reviewOf } = await import('../engine/review.ts');
  await lookOutside(io, async () => {
    const answer = await reviewOf(parts, ref);
    if (options.json) outJson(io, answer);
    else io.out('waiting' in answer ? answer.waiting : `${answer.decision}\n${answer.message}`);
    if ('waiting' in answer) io.exit(1);
  });
}

async function budget(options: GlobalOptions, io: Io): Promise<void> {
  const { stateDir } = await openSettings(io, options);
  const { BudgetBook } = await import('../forge/budget.ts');
  const known = new BudgetBook(stateDir).all();
  if (options.json) return outJson(io, known);
  if (known.length === 0) return io.out('GitHub has not been asked yet.');
  for (const { host, remaining, limit, cost, resetAt, at } of known)
    io.out(
      `${host}: ${remaining} of ${limit} points left until ${resetAt}; the last question cost ${cost} (${at})`,
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
  await waitingOut(io, parts, async () => {
    const done = await openPullRequest(parts, ref);
    if (options.json) outJson(io, done);
    else io.out(done.url);
  });
}
