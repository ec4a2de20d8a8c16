import { type Command, Option } from 'commander';
import { InputError } from '../model/errors.ts';
import { completionScripts } from './completion-scripts.ts';
import { placesOf, SHELLS } from './completion-words.ts';
import type { Io } from './io.ts';

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
      const known = SHELLS.find((name) => name === shell);
      if (known === undefined)
        throw new InputError('usage', `There is no completion for "${shell}".`, {
          hint: `Use one of: ${SHELLS.join(', ')}.`,
        });
      const places = placesOf(program);
      const words = places.map(({ at, subcommands, flags }) => [
        at.slice(1).replaceAll('/', ' '),
        [...subcommands, ...flags],
      ]);
      io.out(options.json ? JSON.stringify(Object.fromEntries(words)) : completionScripts(places)[known]);
    });
}
