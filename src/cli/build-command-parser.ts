import { Command, Option } from 'commander';
import { InputError } from '../model/errors.ts';
import { nearest } from '../model/text/nearest-word.ts';
import { FUNCTIONS } from './command-functions.ts';
import type { CommandDefinition, OptionDefinition } from './definitions/command-definition.ts';
import { COMMANDS } from './definitions/commands-and-their-options.ts';
import { type Io, wordsOf } from './io.ts';

/** Used if there is no terminal. */
const HELP_WIDTH = 80;

/** The commands that people use, as the help lists them. The others are steps of workflows and scripts: `help --all`. */
const GROUPS = {
  Start: ['init', 'doctor', 'interactive'],
  Run: ['run', 'spec', 'daemon', 'resume', 'stop', 'cancel'],
  Look: ['status', 'top', 'web', 'logs', 'diff', 'attach', 'sessions', 'report', 'stats'],
  Decide: ['respond', 'retry', 'skip', 'pause', 'merge', 'resume-session'],
  Plan: ['plan', 'workflow', 'import'],
  'Set up': ['config', 'skills', 'notify', 'clean', 'fleet', 'worker', 'completion'],
};
const GROUP_OF = new Map(
  Object.entries(GROUPS).flatMap(([group, names]) => names.map((name) => [name, group])),
);
const OTHERS = 'Steps of workflows and scripts';

const ABOUT = `Drives tickets through YAML workflows with headless coding agents, each in its
own git worktree.

Examples:
  $ signalbox run --task "Fix the typo in README"
  $ signalbox run 100 101 102            # issues, in parallel
  $ signalbox spec .kiro/specs/limits    # a Kiro spec, task by task
  $ signalbox status                     # what needs you, and why`;

/** A command whose errors look like all others. */
class Parser extends Command {
  override createCommand(name?: string): Command {
    return new Parser(name);
  }

  override error(message: string): never {
    throw usageError(this, message);
  }
}

/** The parser of the command line. */
export function createProgram(io: Io, version: string): Command {
  const program = new Parser('signalbox')
    .description(ABOUT)
    .usage('<command> [options]')
    .version(version, '-V, --version', 'print the version')
    .option('-C, --config <path>', 'use this config file')
    .option('--store <address>', 'use the store of a fleet: postgres://user@host/database')
    .option('--debug', 'show stack traces')
    .helpOption('-h, --help', 'show help; signalbox help --all shows every command')
    .helpCommand(false)
    .exitOverride()
    .showSuggestionAfterError(false)
    .configureHelp({ subcommandTerm: (command) => command.name() })
    .configureOutput({
      writeOut: (text) => io.out(text.trimEnd().split('\n')),
      writeErr: (text) => io.err(text.trimEnd().split('\n')),
      getOutHelpWidth: () => io.columns?.() ?? HELP_WIDTH,
      getErrHelpWidth: () => io.stderr.terminal?.columns() ?? HELP_WIDTH,
      getOutHasColors: () => io.color,
      getErrHasColors: () => io.color,
    });
  const completion: CommandDefinition = {
    about: 'print a completion script for your shell',
    args: { shell: 'bash, zsh, fish' },
    json: 'print the words as JSON',
    examples: ['completion bash >> ~/.bashrc', 'completion fish > ~/.config/fish/completions/signalbox.fish'],
  };
  const load = async () => (await import('./commands/completion.ts')).completion(program);
  const functions: Functions = { ...FUNCTIONS, completion: load };
  const all = Object.entries<CommandDefinition>({ ...COMMANDS, 'completion <shell>': completion }).map(
    ([usage, definition]) => ({ words: usage.split(' '), definition }),
  );
  const inHelp = [...GROUP_OF.keys()];
  const place = ({ words: [name = ''] }: (typeof all)[number]) => [...inHelp, name].indexOf(name);
  for (const { words, definition } of all.sort((a, b) => place(a) - place(b)))
    addCommand(program, words, definition, { io, functions, heading: GROUP_OF.get(words[0] ?? '') });
  return program;
}

/** Refuses `--help` of a command that does not exist. */
export function refuseUnknownCommand(program: Command, argv: readonly string[]): void {
  let command = program;
  for (const word of wordsOf(argv)) {
    const next = command.commands.find((each) => each.name() === word);
    if (!next && (command.commands.length === 0 || command.registeredArguments.length > 0)) return;
    command = next ?? command.error(`unknown command '${word}'`);
  }
}

/** What the parser has found to be wrong, in our form: a sentence, what was probably meant, and where the help is. */
function usageError(command: Command, found: string): InputError {
  const text =
    unknownSubcommand(command, found) ??
    found
      .replace(/^error: /, '')
      .replaceAll("'", '"')
      .replace(/^option (".*") argument missing$/, 'option $1 needs a value');
  const sentence = `${text.charAt(0).toUpperCase()}${text.slice(1)}${text.endsWith('.') ? '' : '.'}`;
  const [, kind, word = ''] = /^unknown (option|command) "([^"=]*)/.exec(text) ?? [];
  const meant = kind && suggestion(command, word);
  const help = `Help: ${fullName(command)} --help`;
  return new InputError('usage', sentence, { hint: meant ? `Did you mean: ${meant}\n${help}` : help });
}

/** `config trsut`: the parser takes the misspelt subcommand of a command that also works alone for an argument. */
function unknownSubcommand(command: Command, found: string): string | undefined {
  const [word = ''] = command.args;
  if (!found.startsWith('error: too many arguments') || command.commands.length === 0) return undefined;
  const isMeant = command.registeredArguments.length === 0 || suggestion(command, word) !== undefined;
  return isMeant ? `unknown command "${word}"` : undefined;
}

/** Commands for specs and for issues have two names for one flag. */
const OTHER_NAME: Readonly<Record<string, string>> = { '--agent': '--backend', '--backend': '--agent' };

/** The flag or command that is like a word; a flag may have been meant as a command. */
function suggestion(command: Command, word: string): string | undefined {
  const commands = (group: Command) => group.commands.map((each) => each.name());
  if (!word.startsWith('-')) {
    const near = nearest(word, commands(command));
    return near && `${fullName(command)} ${near}`;
  }
  const name = word.replace(/^-+/, '');
  const root = rootOf(command);
  const flags = [command, root].flatMap(({ options }) => options.flatMap(({ long }) => long ?? []));
  const other = flags.find((each) => each === OTHER_NAME[word]);
  const flag = commands(root).includes(name) ? undefined : (other ?? nearest(word, flags));
  const near = flag ? undefined : nearest(name, commands(root));
  return flag ?? (near && `${fullName(root)} ${near}`);
}

function rootOf(command: Command): Command {
  return command.parent ? rootOf(command.parent) : command;
}

function fullName(command: Command): string {
  return command.parent ? `${fullName(command.parent)} ${command.name()}` : command.name();
}

type Functions = Readonly<Record<string, (() => Promise<unknown>) | undefined>>;

/** Adds a command below the group that it belongs to, which must be defined before it. */
function addCommand(
  program: Command,
  words: readonly string[],
  { about, args = {}, options = {}, json = 'print JSON', notes, ...given }: CommandDefinition,
  { io, functions, heading }: { io: Io; functions: Functions; heading: string | undefined },
): void {
  const [path, names] = [words.filter(isName), words.filter((word) => !isName(word))];
  const group = path
    .slice(0, -1)
    .reduce((above, name) => above.commands.find((each) => each.name() === name) ?? above, program);
  const hidden = heading === undefined && group === program && !io.argv.includes('--all');
  const { examples = [[...path, ...names.map((name) => SAMPLES[name.replace(/\W/g, '')])].join(' ')] } =
    given;
  const lines = examples.map((line) => `\n  $ ${/\bsignalbox /.test(line) ? '' : 'signalbox '}${line}`);
  const command = group
    .command(path.at(-1) ?? '', { hidden })
    .summary(about)
    .description(
      [about, `Examples:${lines.join('')}`, notes?.replaceAll('\n', ' ') ?? []].flat().join('\n\n'),
    )
    .helpOption('-h, --help', 'show this help')
    .helpCommand(false);
  if (group === program) command.helpGroup(`${heading ?? OTHERS}:`);
  for (const name of names) command.argument(name, args[name.replace(/\W/g, '')]);
  for (const [flags, option] of Object.entries(options))
    command.addOption(optionOf(flags, typeof option === 'string' ? { about: option } : option));
  const load = functions[path.join(' ')];
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
