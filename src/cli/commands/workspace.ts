import type { Command } from 'commander';
import { type Io, outJson } from '../io.ts';
import { type GlobalOptions, openEngine } from '../open.ts';
import { ticketHere } from './checks.ts';

/** Worktrees by hand, and for the setup and cleanup scripts of workflows. */
export function registerWorkspace(program: Command, io: Io): void {
  const workspace = program
    .command('workspace')
    .description('make or give back a ticket’s worktree')
    .addHelpText('after', '\nExamples:\n  $ signalbox workspace ensure sprint-12 PROJ-101');
  const add = (name: 'ensure' | 'release', about: string) =>
    workspace
      .command(name)
      .argument('[plan]', 'default: the plan of this phase')
      .argument('[ticket]', 'default: the ticket of this phase')
      .description(about)
      .option('--json', 'print JSON')
      .addHelpText('after', `\nExamples:\n  $ signalbox workspace ${name} sprint-12 PROJ-101`)
      .action(
        async (plan: string | undefined, ticket: string | undefined, _options: unknown, command: Command) =>
          act(name, plan, ticket, command.optsWithGlobals<GlobalOptions>(), io),
      );
  add('ensure', 'make the worktree and branch of a ticket, or find them as they are');
  add('release', 'give the worktree back if nothing in it would be lost; the branch stays');
}

async function act(
  what: 'ensure' | 'release',
  planId: string | undefined,
  ticketId: string | undefined,
  options: GlobalOptions,
  io: Io,
): Promise<void> {
  const ref = ticketHere(io, planId, ticketId);
  const parts = await openEngine(io, options, 'workspace');
  const { ensureFor, releaseFor } = await import('../../engine/workspace-commands.ts');
  const done =
    what === 'ensure'
      ? await ensureFor(parts, ref)
      : await releaseFor(parts, ref, io.env.SIGNALBOX_JOB !== undefined);
  if (options.json) outJson(io, done);
  else io.out(done.message);
  if (!done.ok) io.exit(1);
}
