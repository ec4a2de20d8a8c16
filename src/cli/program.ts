import { Command } from 'commander';
import * as checks from './checks.ts';
import * as clean from './clean.ts';
import * as completion from './completion.ts';
import * as config from './config.ts';
import * as daemon from './daemon.ts';
import * as diff from './diff.ts';
import * as doctor from './doctor.ts';
import * as forge from './forge.ts';
import * as init from './init.ts';
import type { Io } from './io.ts';
import * as logs from './logs.ts';
import * as plan from './plan.ts';
import * as run from './run.ts';
import * as sessions from './sessions.ts';
import * as stats from './stats.ts';
import * as status from './status.ts';
import * as ticket from './ticket.ts';
import * as workflow from './workflow.ts';
import * as workspace from './workspace.ts';

const COMMANDS = [
  init,
  run,
  daemon,
  status,
  logs,
  diff,
  ticket,
  sessions,
  plan,
  workflow,
  config,
  doctor,
  stats,
  clean,
  workspace,
  checks,
  forge,
  completion,
];

/** All commands. Each file says what it takes and shows; the work is behind `import()`. `quiet`: wrong words are not explained here. */
export function createProgram(io: Io, version: string, options: { quiet: boolean }): Command {
  const program = new Command('signalbox')
    .description(
      'Drives tickets through YAML workflows with headless coding agents, each in its own git worktree.',
    )
    .version(version, '-V, --version')
    .option('-C, --config <path>', 'use this config file')
    .option('--debug', 'show stack traces')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => io.out(text.trimEnd()),
      writeErr: (text) => options.quiet || io.err(text.trimEnd()),
    })
    .showHelpAfterError('(signalbox --help shows the commands)')
    .helpCommand('help [command]', 'show help for a command');
  for (const module of COMMANDS) module.register(program, io);
  for (const each of program.commands) inherit(program, each);
  return program;
}

/** Subcommands made before exitOverride was known throw like their parent. */
function inherit(parent: Command, child: Command): void {
  child.copyInheritedSettings(parent);
  for (const each of child.commands) inherit(child, each);
}
