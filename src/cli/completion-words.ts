import type { Argument, Command, Option } from 'commander';
import { ADAPTERS } from '../config/builtin-agents.ts';

/** What may stand somewhere on the command line: these words, or names of files. */
export interface Offer {
  words: string[];
  files: boolean;
}

/** One command as a shell has to know it. */
export interface Place {
  /** `/plan/new`; empty before the first command. */
  at: string;
  subcommands: string[];
  flags: string[];
  /** What follows flags that take a value. Those of the first place may stand in all of them. */
  values: { flags: string[]; offer: Offer }[];
  /** What the arguments are; undefined where there are none. */
  rest: Offer | undefined;
}

export const SHELLS = ['bash', 'zsh', 'fish'] as const;

const AGENTS = ADAPTERS.filter((name) => name !== 'custom');
const PATHS = /^(?:path|file|dir|directory|repo|worktree)s?$/i;
const WITH_AGENT: ReadonlySet<string> = new Set(['--agent', '--backend', '--assign-backend']);
/** Arguments of commands that are files, or may be. */
const FILES: ReadonlySet<string> = new Set(['/run what', '/import source']);

/** Every command and subcommand, read off the program itself. */
export function placesOf(program: Command): Place[] {
  const names = program.commands.map((each) => each.name());
  const help: Place = {
    at: '/help',
    subcommands: [],
    flags: [],
    values: [],
    rest: { words: names, files: false },
  };
  const [root, ...others] = placesIn(program, '');
  return root ? [{ ...root, subcommands: [...root.subcommands, 'help'] }, ...others, help] : [];
}

function placesIn(command: Command, at: string): Place[] {
  const own = command.options.filter((option) => !option.hidden);
  const valued = own.filter((option) => option.required || option.optional);
  const [first] = command.registeredArguments;
  const place: Place = {
    at,
    subcommands: command.commands.map((each) => each.name()),
    flags: own.flatMap((option) => option.long ?? []),
    values: valued.map((option) => ({
      flags: [option.short, option.long].flatMap((flag) => flag ?? []),
      offer: valuesOf(option),
    })),
    rest: first && argumentsOf(at, first),
  };
  return [place, ...command.commands.flatMap((each) => placesIn(each, `${at}/${each.name()}`))];
}

function valuesOf(option: Option): Offer {
  const [, called = ''] = /[<[]([^>\].]+)/.exec(option.flags) ?? [];
  if (option.argChoices) return { words: [...option.argChoices], files: false };
  return { words: WITH_AGENT.has(option.long ?? '') ? [...AGENTS] : [], files: PATHS.test(called) };
}

function argumentsOf(at: string, argument: Argument): Offer {
  const words = at === '/completion' ? [...SHELLS] : [];
  return { words, files: PATHS.test(argument.name()) || FILES.has(`${at} ${argument.name()}`) };
}
