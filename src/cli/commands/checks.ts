import type { Command } from 'commander';
import type { StepEnd } from '../../engine/context.ts';
import { InputError } from '../../model/errors.ts';
import { type Io, outJson } from '../io.ts';
import { type GlobalOptions, openEngine, openSettings } from '../open.ts';

interface CheckOptions extends GlobalOptions {
  related?: boolean;
}

export function registerChecks(program: Command, io: Io): void {
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
      return checks(command.optsWithGlobals<CheckOptions>(), io);
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

async function checks(options: CheckOptions, io: Io): Promise<void> {
  const cwd = io.env.SIGNALBOX_WORKTREE ?? io.cwd;
  const { checks, notes } = options.related ? await related(cwd, io) : await whole(options, cwd, io);
  const { runChecks, reportChecks } = await import('../../features/checks/checks.ts');
  const stderr = io.stderr.fd;
  if (options.json) {
    const done = await reportChecks(checks, { cwd, env: io.env, stdout: stderr, stderr, notes });
    const ok = done.results.every(({ code }) => code === 0);
    outJson(io, options.related ? { ok, ...done } : { ok, results: done.results });
    if (!ok) io.exit(1);
  } else if (checks.length === 0) for (const note of notes) io.out(note);
  else io.exit(await runChecks(checks, { cwd, env: io.env, stdout: io.stdout.fd, stderr, notes }));
}

async function whole(options: GlobalOptions, cwd: string, io: Io) {
  const settings = await openSettings(io, options);
  const { checksOf, NO_CHECKS } = await import('../../features/checks/checks.ts');
  const checks = await checksOf(settings.checks, cwd);
  return { checks, notes: checks.length === 0 ? [NO_CHECKS] : [] };
}

async function related(cwd: string, { env }: Io) {
  const [{ relatedTests }, { createWorkspaces }] = await Promise.all([
    import('../../features/checks/related-tests.ts'),
    import('../../workspaces/index.ts'),
  ]);
  const base = (env.SIGNALBOX_WORKTREE !== undefined && env.SIGNALBOX_BASE) || null;
  return relatedTests(createWorkspaces({ env }), cwd, base);
}

async function integrate(
  planId: string | undefined,
  ticketId: string | undefined,
  options: GlobalOptions,
  io: Io,
): Promise<void> {
  const ref = ticketHere(io, planId, ticketId);
  const parts = await openEngine(io, options, 'integrate');
  const { integrateStep } = await import('../../features/integrate/integrate.ts');
  outStep(io, options, await integrateStep({ parts, ref, inPhase: inPhase(io) }));
}

/** Whether a script of a phase calls: it gets exit codes that the engine understands. */
export function inPhase({ env }: Io): boolean {
  return env.SIGNALBOX_JOB !== undefined;
}

/** Shows how a step ended. */
export function outStep(io: Io, { json }: GlobalOptions, { exit, out, err, data }: StepEnd): void {
  if (json && data !== null) outJson(io, data);
  else if (out) io.out(out);
  if (err && !(json && data !== null)) io.err(err);
  if (exit !== 0) io.exit(exit);
}

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
