import { type Command, Option } from 'commander';
import { InputError } from '../model/errors.ts';
import type { Io } from './io.ts';

const SHELLS = ['bash', 'zsh', 'fish'] as const;

export function register(program: Command, io: Io): void {
  program
    .command('completion')
    .argument('<shell>', SHELLS.join(', '))
    .description('print a completion script for your shell')
    .addOption(new Option('--json', 'print the words as JSON'))
    .addHelpText(
      'after',
      '\nExamples:\n  $ signalbox completion bash >> ~/.bashrc\n  $ signalbox completion fish > ~/.config/fish/completions/signalbox.fish',
    )
    .action((shell: string, options: { json?: boolean }) => {
      const words = vocabulary(program);
      const script = SHELLS.some((name) => name === shell) ? scripts(words)[shell] : undefined;
      if (script === undefined)
        throw new InputError('usage', `There is no completion for "${shell}".`, {
          hint: `Use one of: ${SHELLS.join(', ')}.`,
        });
      io.out(options.json ? JSON.stringify(words) : script);
    });
}

/** Commands with their subcommands and flags, read off the program itself. */
function vocabulary(program: Command): Record<string, string[]> {
  const flags = (command: Command) => command.options.flatMap((option) => option.long ?? []);
  const entries = program.commands.map((command) => [
    command.name(),
    [...command.commands.map((each) => each.name()), ...flags(command)],
  ]);
  return {
    '': [...program.commands.map((command) => command.name()), ...flags(program)],
    ...Object.fromEntries(entries),
  };
}

function scripts(words: Record<string, string[]>): Record<string, string> {
  const cases = Object.entries(words).filter(([name]) => name !== '');
  const bash = `_signalbox() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" words
  if [ "$COMP_CWORD" -eq 1 ]; then words="${words['']?.join(' ')}"; else
    case "\${COMP_WORDS[1]}" in
${cases.map(([name, list]) => `      ${name}) words="${list.join(' ')}" ;;`).join('\n')}
      *) words="" ;;
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -F _signalbox signalbox`;
  const fish = [
    `complete -c signalbox -f -n __fish_use_subcommand -a "${words['']?.filter((word) => !word.startsWith('-')).join(' ')}"`,
    ...cases.map(
      ([name, list]) =>
        `complete -c signalbox -f -n "__fish_seen_subcommand_from ${name}" -a "${list.join(' ')}"`,
    ),
  ].join('\n');
  return { bash, zsh: `autoload -U +X bashcompinit && bashcompinit\n${bash}`, fish };
}
