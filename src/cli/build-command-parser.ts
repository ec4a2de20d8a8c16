import { Command, Option } from 'commander';
import type { CommandDefinition, OptionDefinition } from './definitions/command-definition.ts';
import { PLAN_COMMANDS } from './definitions/plan-commands.ts';
import { PROJECT_COMMANDS } from './definitions/project-commands.ts';
import { RUN_COMMANDS } from './definitions/run-commands.ts';
import { TICKET_COMMANDS } from './definitions/ticket-commands.ts';
import type { Io } from './io.ts';

/** Used if there is no terminal. */
const HELP_WIDTH = 80;

/** The parser of the command line. `quiet`: it does not print what is wrong with a command line. */
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
      writeOut: (text) => io.out(text.trimEnd().split('\n')),
      writeErr: (text) => options.quiet || io.err(text.trimEnd().split('\n')),
      getOutHelpWidth: () => io.columns?.() ?? HELP_WIDTH,
      getErrHelpWidth: () => io.stderr.terminal?.columns() ?? HELP_WIDTH,
      getOutHasColors: () => io.color,
      getErrHasColors: () => io.color,
    })
    .showHelpAfterError('(signalbox --help shows the commands)')
    .helpCommand('help [command]', 'show help for a command');
  const completion: CommandDefinition = {
    usage: 'completion <shell>',
    about: 'print a completion script for your shell',
    args: { shell: 'bash, zsh, fish' },
    json: 'print the words as JSON',
    examples: ['completion bash >> ~/.bashrc', 'completion fish > ~/.config/fish/completions/signalbox.fish'],
    load: async () => (await import('./commands/completion.ts')).completion(program),
  };
  const all = [...RUN_COMMANDS, ...TICKET_COMMANDS, ...PLAN_COMMANDS, ...PROJECT_COMMANDS, completion];
  for (const definition of all) addCommand(program, definition, io);
  return program;
}

/** Adds a command below the group that it belongs to, which must be defined before it. */
function addCommand(program: Command, definition: CommandDefinition, io: Io): void {
  const { usage, about, args = {}, options = {}, json = 'print JSON', notes, load } = definition;
  const words = usage.split(' ');
  const [path, names] = [words.filter(isName), words.filter((word) => !isName(word))];
  const group = path
    .slice(0, -1)
    .reduce((above, name) => above.commands.find((each) => each.name() === name) ?? above, program);
  const command = group.command(path.at(-1) ?? '').description(about);
  for (const name of names) command.argument(name, args[name.replace(/\W/g, '')]);
  for (const [flags, option] of Object.entries(options))
    command.addOption(optionOf(flags, typeof option === 'string' ? { about: option } : option));
  const { examples = [[...path, ...names.map((name) => SAMPLES[name.replace(/\W/g, '')])].join(' ')] } =
    definition;
  const lines = examples.map((line) => `\n  $ ${/\bsignalbox /.test(line) ? '' : 'signalbox '}${line}`);
  command.addHelpText('after', `${notes ? `\n${notes}\n` : ''}\nExamples:${lines.join('')}`);
  if (!load) return;
  command.option('--json', json).action(async () => {
    const run = (await load()) as (io: Io, options: object, ...args: unknown[]) => unknown;
    await run(io, command.optsWithGlobals(), ...command.processedArgs);
  });
}

const SAMPLES: Readonly<Record<string, string>> = { plan: 'sprint-12', ticket: 'PROJ-101' };

function isName(word: string): boolean {
  return /^\w/.test(word);
}

function optionOf(flags: string, definition: OptionDefinition): Option {
  const { about, hidden = false, repeat, required = false, choices, default: value } = definition;
  const option = new Option(flags, about).hideHelp(hidden).makeOptionMandatory(required);
  if (choices) option.choices(choices);
  if (repeat) option.argParser((text: string, before: string[] = []) => [...before, text]);
  return value === undefined ? option : option.default(value);
}
