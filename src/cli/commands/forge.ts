import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Command, Option } from 'commander';
import type { ForgeStep } from '../../features/pull-requests/actions.ts';
import { type ActionInputs, EXIT, PULL_WAITS } from '../../model/actions.ts';
import { InputError } from '../../model/errors.ts';
import { type Io, outJson } from '../io.ts';
import { type GlobalOptions, openEngine, openSettings } from '../open.ts';
import { inPhase, outStep, ticketHere } from './checks.ts';

type Options = GlobalOptions & ActionInputs & { key?: string; bodyFile?: string };

interface TicketCommand {
  name: string;
  about: string;
  more: string;
  example: string;
  add?: (command: Command) => Command;
  step: ForgeStep | 'comment';
}

const COMMANDS: readonly TicketCommand[] = [
  {
    name: 'pr',
    about: 'push a ticket’s branch and open its pull request, or bring the open one up to date',
    more: 'Prints the address of the pull request and nothing else. Needs a remote called origin and the GitHub CLI.',
    example: 'pr sprint-12 PROJ-101',
    step: 'pull-request',
  },
  {
    name: 'review',
    about: 'tell whether a ticket’s pull request was approved',
    more: 'Prints approve or reject, then what the reviewers said. Ends with 1 while nobody has decided, with 2 when GitHub cannot be asked.',
    example: 'review sprint-12 PROJ-101',
    step: 'pull-request-review',
  },
  {
    name: 'poll',
    about: 'tell where a ticket’s pull request stands',
    more: 'Prints merged, unmerged, closed, deleted, moved, conflict, changes, red, approved or open in the first line and what was said below it. Ends with 1 while there is nothing new, with 2 when GitHub cannot be asked; in a phase with 75 where that passes by itself.',
    example: 'poll sprint-12 PROJ-101 --for review',
    add: (command) =>
      command.addOption(
        new Option('--for <event>', 'what is waited for').choices(PULL_WAITS).default('review'),
      ),
    step: 'pull-request-poll',
  },
  {
    name: 'push',
    about: 'push a ticket’s branch and nothing else',
    more: 'Prints the commit that origin has now. Never takes commits away from there, nor brings back what somebody took away.',
    example: 'push sprint-12 PROJ-101',
    step: 'push-branch',
  },
  {
    name: 'sync',
    about: 'take over what people pushed to a ticket’s branch, and fetch its base',
    more: 'Commits on top of ours are taken; what has to be merged is merged and pushed. Ends with 1 when that is not possible: theirs conflict with ours, or the branch was rewritten.',
    example: 'sync sprint-12 PROJ-101',
    add: (command) => command.option('--theirs', 'take a rewritten branch as it is; ours is kept on a ref'),
    step: 'sync-branch',
  },
  {
    name: 'answer',
    about: 'push what was done about feedback, comment on it, and remember that it was answered',
    more: 'The comment is the context value review_answer. Prints the address of the pull request.',
    example: 'answer sprint-12 PROJ-101',
    step: 'answer-review',
  },
  {
    name: 'comment',
    about: 'comment on a ticket’s pull request, once',
    more: 'A comment with the same key is made once, however often this is called. Prints its address.',
    example: 'comment sprint-12 PROJ-101 --key deployed --body-file note.md',
    add: (command) =>
      command
        .requiredOption('--key <key>', 'what tells this comment from others')
        .requiredOption('--body-file <file>', 'its text'),
    step: 'comment',
  },
  {
    name: 'merge',
    about: 'merge a ticket’s pull request on GitHub, as the setting merge.method says',
    more: 'Merges only the very commits that are here. Prints the address of the pull request.',
    example: 'merge sprint-12 PROJ-101',
    step: 'merge-pull-request',
  },
];

/** What workflows do on GitHub, as commands that can be repeated after a crash. */
export function registerForge(program: Command, io: Io): void {
  const forge = program
    .command('forge')
    .description('push a ticket’s branch, open its pull request and see what became of it')
    .addHelpText('after', '\nExamples:\n  $ signalbox forge pr sprint-12 PROJ-101');
  for (const { name, about, more, example, add, step } of COMMANDS) {
    const made = forge
      .command(name)
      .argument('[plan]', 'default: the plan of this phase')
      .argument('[ticket]', 'default: the ticket of this phase')
      .description(about)
      .option('--json', 'print JSON')
      .addHelpText('after', `\n${more}\n\nExamples:\n  $ signalbox forge ${example}`);
    (add ? add(made) : made).action(
      async (plan: string | undefined, ticket: string | undefined, _options: unknown, command: Command) =>
        run(step, [plan, ticket], command.optsWithGlobals<Options>(), io),
    );
  }
  forge
    .command('budget')
    .description('tell what is left of GitHub’s hourly budget, as of the last question')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nAsks nobody.\n\nExamples:\n  $ signalbox forge budget')
    .action(async (_options: unknown, command: Command) =>
      budget(command.optsWithGlobals<GlobalOptions>(), io),
    );
}

async function run(
  step: TicketCommand['step'],
  [plan, ticket]: [string | undefined, string | undefined],
  options: Options,
  io: Io,
): Promise<void> {
  const ref = ticketHere(io, plan, ticket);
  const parts = await openEngine(io, options, 'forge');
  const { forgeStep, waitingOut } = await import('../../features/pull-requests/actions.ts');
  const call = { parts, ref, inputs: options, inPhase: inPhase(io) };
  if (step !== 'comment') return outStep(io, options, await forgeStep(step, call));
  const { commentOnPull } = await import('../../features/pull-requests/answer-review.ts');
  const { key = '', bodyFile = '' } = options;
  const end = await waitingOut(call, async () => {
    const data = await commentOnPull(parts, ref, { key, text: textOf(bodyFile, io) });
    return { exit: EXIT.done, out: data.url, data };
  });
  outStep(io, options, end);
}

function textOf(file: string, { cwd }: Io): string {
  try {
    return readFileSync(resolve(cwd, file), 'utf8');
  } catch (error) {
    throw new InputError('forge/body', `${file} cannot be read: ${(error as Error).message}`);
  }
}

async function budget(options: GlobalOptions, io: Io): Promise<void> {
  const { stateDir } = await openSettings(io, options);
  const [{ BudgetBook }, { Machine }] = await Promise.all([
    import('../../github/rate-limit.ts'),
    import('../../machine/machine.ts'),
  ]);
  const known = new BudgetBook(new Machine(stateDir).githubCache).all();
  if (options.json) return outJson(io, known);
  if (known.length === 0) return io.out('GitHub has not been asked yet.');
  for (const { host, remaining, limit, cost, resetAt, at } of known)
    io.out(
      `${host}: ${remaining} of ${limit} points left until ${resetAt}; the last question cost ${cost} (${at})`,
    );
}
