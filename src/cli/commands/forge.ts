import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Command, Option } from 'commander';
import type { EngineContext } from '../../engine/context.ts';
import { PULL_WAITS, type PullWait } from '../../github/pull-request-state.ts';
import { InputError, SignalboxError } from '../../model/errors.ts';
import type { TicketRef } from '../../model/ids.ts';
import { type Io, outJson } from '../io.ts';
import { type GlobalOptions, openEngine, openSettings } from '../open.ts';
import { ticketHere } from './checks.ts';

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
  registerTicketCommands(forge, io);
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
  const { reviewOf } = await import('../../features/pull-requests/review.ts');
  await lookOutside(io, async () => {
    const answer = await reviewOf(parts, ref);
    if (options.json) outJson(io, answer);
    else io.out('waiting' in answer ? answer.waiting : `${answer.decision}\n${answer.message}`);
    if ('waiting' in answer) io.exit(1);
  });
}

async function budget(options: GlobalOptions, io: Io): Promise<void> {
  const { stateDir } = await openSettings(io, options);
  const { BudgetBook } = await import('../../github/rate-limit.ts');
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
  const { openPullRequest } = await import('../../features/pull-requests/open.ts');
  await waitingOut(io, parts, async () => {
    const done = await openPullRequest(parts, ref);
    if (options.json) outJson(io, done);
    else io.out(done.url);
  });
}

interface TicketCall {
  parts: EngineContext;
  ref: TicketRef;
  options: GlobalOptions & { for?: PullWait; theirs?: boolean; key?: string; bodyFile?: string };
}

/** What the pull-request workflows do: each can be repeated after a crash and comes to the same end. */
function registerTicketCommands(forge: Command, io: Io): void {
  addTicketCommand(forge, io, {
    name: 'poll',
    about: 'tell where a ticket’s pull request stands',
    more: 'Prints merged, unmerged, closed, deleted, moved, conflict, changes, red, approved or open in the first line and what was said below it. Ends with 1 while there is nothing new, with 2 when GitHub cannot be asked; in a phase with 75 where that passes by itself.',
    example: 'poll sprint-12 PROJ-101 --for review',
    add: (command) =>
      command.addOption(
        new Option('--for <event>', 'what is waited for').choices(PULL_WAITS).default('review'),
      ),
    act: (each) => poll(each, io),
  });
  addTicketCommand(forge, io, {
    name: 'push',
    about: 'push a ticket’s branch and nothing else',
    more: 'Prints the commit that origin has now. Never takes commits away from there, nor brings back what somebody took away.',
    example: 'push sprint-12 PROJ-101',
    act: async ({ parts, ref, options }) => {
      const { pushTicket } = await import('../../features/pull-requests/commands.ts');
      const done = await pushTicket(parts, ref);
      if (options.json) outJson(io, done);
      else io.out(done.commit);
    },
  });
  addTicketCommand(forge, io, {
    name: 'sync',
    about: 'take over what people pushed to a ticket’s branch, and fetch its base',
    more: 'Commits on top of ours are taken; what has to be merged is merged and pushed. Ends with 1 when that is not possible: theirs conflict with ours, or the branch was rewritten.',
    example: 'sync sprint-12 PROJ-101',
    add: (command) => command.option('--theirs', 'take a rewritten branch as it is; ours is kept on a ref'),
    act: (each) => sync(each, io),
  });
  addTicketCommand(forge, io, {
    name: 'answer',
    about: 'push what was done about feedback, comment on it, and remember that it was answered',
    more: 'The comment is the context value review_answer. Prints the address of the pull request.',
    example: 'answer sprint-12 PROJ-101',
    act: async ({ parts, ref, options }) => {
      const { answerReview } = await import('../../features/pull-requests/answer-review.ts');
      const done = await answerReview(parts, ref);
      if (options.json) outJson(io, done);
      else io.out(done.url);
    },
  });
  addTicketCommand(forge, io, {
    name: 'comment',
    about: 'comment on a ticket’s pull request, once',
    more: 'A comment with the same key is made once, however often this is called. Prints its address.',
    example: 'comment sprint-12 PROJ-101 --key deployed --body-file note.md',
    add: (command) =>
      command
        .requiredOption('--key <key>', 'what tells this comment from others')
        .requiredOption('--body-file <file>', 'its text'),
    act: (each) => comment(each, io),
  });
  addTicketCommand(forge, io, {
    name: 'merge',
    about: 'merge a ticket’s pull request on GitHub, as the setting merge.method says',
    more: 'Merges only the very commits that are here. Prints the address of the pull request.',
    example: 'merge sprint-12 PROJ-101',
    act: async ({ parts, ref, options }) => {
      const { mergeTicketPull } = await import('../../features/pull-requests/commands.ts');
      const done = await mergeTicketPull(parts, ref);
      if (options.json) outJson(io, done);
      else io.out(done.url);
    },
  });
}

interface TicketCommand {
  name: string;
  about: string;
  more: string;
  example: string;
  add?: (command: Command) => Command;
  act: (call: TicketCall) => Promise<void>;
}

function addTicketCommand(
  forge: Command,
  io: Io,
  { name, about, more, example, add, act }: TicketCommand,
): void {
  const made = forge
    .command(name)
    .argument('[plan]', 'default: the plan of this phase')
    .argument('[ticket]', 'default: the ticket of this phase')
    .description(about)
    .option('--json', 'print JSON')
    .addHelpText('after', `\n${more}\n\nExamples:\n  $ signalbox forge ${example}`);
  (add ? add(made) : made).action(
    async (plan: string | undefined, ticket: string | undefined, _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<TicketCall['options']>();
      const ref = ticketHere(io, plan, ticket);
      const parts = await openEngine(io, options, 'forge');
      await waitingOut(io, parts, () => act({ ref, options, parts }));
    },
  );
}

/** What passes by itself is not a failure of the phase: its script says when it wants to be run again. */
async function waitingOut(io: Io, parts: EngineContext, act: () => Promise<void>): Promise<void> {
  try {
    await act();
  } catch (error) {
    if (io.env.SIGNALBOX_JOB === undefined) throw error;
    const { isForGood, troubleOf } = await import('../../features/pull-requests/errors.ts');
    if (isForGood(error)) {
      io.err(`❌ ${[error.message, ...(error.hint?.split('\n') ?? [])].join(' ')}`);
      return io.exit(NO_USE);
    }
    const trouble = await troubleOf(parts, error);
    if (!trouble) throw error;
    io.out(`${trouble.until}\n${trouble.reason}`);
    io.exit(NOT_NOW);
  }
}

/** What scripts of phases say: run me again later, and do not try that again. */
const NOT_NOW = 75;
const NO_USE = 65;

async function poll({ parts, ref, options }: TicketCall, io: Io): Promise<void> {
  const { watchPull } = await import('../../features/pull-requests/watch.ts');
  await lookOutside(io, async () => {
    const standing = await watchPull(parts, ref, options.for ?? 'review');
    // Whoever waits would only go round once more.
    if ('unsolved' in standing && standing.unsolved !== undefined && io.env.SIGNALBOX_JOB !== undefined)
      throw new SignalboxError('forge/unsolved', standing.unsolved, {
        hint: 'Merge the base into the branch by hand and push it.',
      });
    if (options.json) outJson(io, standing);
    else io.out('waiting' in standing ? standing.waiting : `${standing.outcome}\n${standing.message}`);
    if ('waiting' in standing) io.exit(standing.unseen && io.env.SIGNALBOX_JOB !== undefined ? NOT_NOW : 1);
  });
}

/** A look that fails ends with 2: 1 would say that there is nothing new. */
async function lookOutside(io: Io, look: () => Promise<void>): Promise<void> {
  try {
    await look();
  } catch (error) {
    if (!(error instanceof SignalboxError) || error instanceof InputError) throw error;
    io.err(`❌ ${[error.message, ...(error.hint?.split('\n') ?? [])].join('\n   ')}`);
    io.exit(2);
  }
}

async function sync({ parts, ref, options }: TicketCall, io: Io): Promise<void> {
  const { syncTicket } = await import('../../features/pull-requests/commands.ts');
  const done = await syncTicket(parts, ref, { takeTheirs: options.theirs === true });
  if (options.json) outJson(io, done);
  const say = options.json ? () => undefined : (line: string) => io.out(line);
  const no = io.env.SIGNALBOX_JOB === undefined ? 1 : NO_USE;
  switch (done.state) {
    case 'same':
      return say('Nobody else pushed.');
    case 'advanced':
      return say(`Took over ${done.by} commits that were pushed on top.`);
    case 'merged':
      return say(`Merged ${done.by} commits that were pushed meanwhile.`);
    case 'taken':
      return say(
        `Took the branch as it is on origin.${done.keptAt ? ` Ours is kept at ${done.keptAt}.` : ''}`,
      );
    case 'conflict':
      if (!options.json) io.err(`What was pushed conflicts with the work here in ${done.files.join(', ')}.`);
      return io.exit(no);
    case 'rewritten':
      if (!options.json)
        io.err(
          `Somebody rewrote the branch on origin: it is at ${done.there.slice(0, 10)} without our commits.`,
        );
      return io.exit(no);
  }
}

async function comment({ parts, ref, options }: TicketCall, io: Io): Promise<void> {
  const { commentOnPull } = await import('../../features/pull-requests/answer-review.ts');
  const { key = '', bodyFile = '' } = options;
  let text: string;
  try {
    text = readFileSync(resolve(io.cwd, bodyFile), 'utf8');
  } catch (error) {
    throw new InputError('forge/body', `${bodyFile} cannot be read: ${(error as Error).message}`);
  }
  const done = await commentOnPull(parts, ref, { key, text });
  if (options.json) outJson(io, done);
  else io.out(done.url);
}
