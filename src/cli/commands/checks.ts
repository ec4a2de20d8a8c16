import type { Command } from 'commander';
import { InputError, SignalboxError } from '../../model/errors.ts';
import { type Io, outJson } from '../io.ts';
import { type GlobalOptions, openEngine, openSettings } from '../open.ts';

export function register(program: Command, io: Io): void {
  program
    .command('checks')
    .description(
      'run the project’s checks: `checks` of the settings, else its lint, typecheck, test and build scripts, and all tests of pytest, go and cargo',
    )
    .option('--related', 'only the tests that the files changed since the base touch')
    .option('--json', 'print the results as JSON at the end')
    .addHelpText(
      'after',
      '\nIn a phase it works on the ticket’s worktree, elsewhere on the current directory.\n\nExamples:\n  $ signalbox checks\n  $ signalbox checks --related',
    )
    .action(async (_options: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions & { related?: boolean }>();
      return options.related ? related(options, io) : checks(options, io);
    });
  program
    .command('integrate')
    .argument('[plan]', 'default: the plan of this phase')
    .argument('[ticket]', 'default: the ticket of this phase')
    .description('merge a ticket’s branch into its base; nobody’s checkout is touched')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExamples:\n  $ signalbox integrate sprint-12 PROJ-101')
    .action(
      async (plan: string | undefined, ticket: string | undefined, _options: unknown, command: Command) =>
        integrate(plan, ticket, command.optsWithGlobals<GlobalOptions>(), io),
    );
}

async function checks(options: GlobalOptions, io: Io): Promise<void> {
  const settings = await openSettings(io, options);
  const { checksOf, NO_CHECKS, runChecks } = await import('../../features/checks/checks.ts');
  const cwd = io.env.SIGNALBOX_WORKTREE ?? io.cwd;
  const commands = checksOf(settings.checks, cwd);
  const results = await runChecks(commands, { cwd, env: io.env, ...outputs(options, io) });
  const failed = results.find((result) => result.code !== 0);
  if (options.json) outJson(io, { ok: !failed, results });
  else if (commands.length === 0) io.out(NO_CHECKS);
  else if (failed) io.err(`✗ ${failed.command} exited with code ${failed.code}`);
  else io.out(`✓ ${results.length} passed`);
  if (failed) io.exit(1);
}

/** Commands are printed to the same stream as what they print: a log would show them in another order otherwise. */
function outputs({ json }: GlobalOptions, io: Io) {
  const { stdout, stderr } = io;
  return { say: json ? io.err : io.out, stdout: json ? stderr.fd : stdout.fd, stderr: stderr.fd };
}

async function related(options: GlobalOptions, io: Io): Promise<void> {
  const { runRelated } = await import('../../features/checks/related-tests.ts');
  const { SIGNALBOX_WORKTREE: worktree, SIGNALBOX_BASE: base } = io.env;
  const { results, notes } = await runRelated({
    cwd: worktree ?? io.cwd,
    base: (worktree !== undefined && base) || null,
    env: io.env,
    ...outputs(options, io),
  });
  const failed = results.find((result) => result.code !== 0);
  if (options.json) outJson(io, { ok: !failed, results, notes });
  else for (const note of notes) io.out(note);
  if (failed) {
    if (!options.json) io.err(`✗ ${failed.command} exited with code ${failed.code}`);
    io.exit(1);
  } else if (!options.json && results.length > 0) io.out(`✓ ${results.length} passed`);
}

async function integrate(
  planId: string | undefined,
  ticketId: string | undefined,
  options: GlobalOptions,
  io: Io,
): Promise<void> {
  const ref = ticketHere(io, planId, ticketId);
  const parts = await openEngine(io, options, 'integrate');
  const { integrateTicket, leftToVerify } = await import('../../features/integrate/integrate.ts');
  // By hand it is a person who merges.
  const left = io.env.SIGNALBOX_JOB === undefined ? undefined : await leftToVerify(parts, ref);
  if (left !== undefined) return options.json ? outJson(io, { left }) : io.out(left);
  const done = await refusing(io, () => integrateTicket(parts, ref));
  if (!done) return;
  if (options.json) outJson(io, done);
  if ('conflict' in done) {
    if (!options.json)
      io.err(
        `Conflict with the base in ${done.conflict.join(', ')}. Merge ${done.target} into ${done.branch}, resolve, and commit.`,
      );
    return io.exit(1);
  }
  if (options.json) return;
  io.out(`${done.target} is now at ${done.commit.slice(0, 10)}.`);
  if (done.fastForward) io.out(`To bring it into your checkout: ${done.fastForward}`);
}

/** In a phase, what no ticket is to blame for goes to a person: an agent that is sent back could mend nothing. */
async function refusing<T>(io: Io, act: () => Promise<T>): Promise<T | undefined> {
  try {
    return await act();
  } catch (error) {
    const isTheirs = error instanceof SignalboxError && NOBODYS_FAULT.has(error.code);
    if (!isTheirs || io.env.SIGNALBOX_JOB === undefined) throw error;
    io.err(`❌ ${error.message} ${error.hint ?? ''}`);
    io.exit(REFUSED);
    return undefined;
  }
}

const NOBODYS_FAULT = new Set(['merge/base-conflict', 'workspace/no-base-branch', 'workspace/target-busy']);
/** How a script says that trying again would change nothing. */
const REFUSED = 65;

/** The ticket named on the command line, or the one whose phase this runs in. */
export function ticketHere(
  io: Io,
  planId: string | undefined,
  ticketId: string | undefined,
): { planId: string; ticketId: string } {
  const plan = planId ?? io.env.SIGNALBOX_PLAN;
  const ticket = ticketId ?? io.env.SIGNALBOX_TICKET;
  if (plan && ticket) return { planId: plan, ticketId: ticket };
  throw new InputError('ticket/none', 'Which ticket?', {
    hint: 'Name a plan and a ticket, or call this from a phase.',
  });
}
