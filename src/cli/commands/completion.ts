import type { Argument, Command, Option } from 'commander';
import { ADAPTERS } from '../../config/settings-table.ts';
import { InputError } from '../../model/errors.ts';
import { safeJson } from '../../report/style-and-phrases.ts';
import type { Io } from '../io.ts';

export function completion(program: Command) {
  return (io: Io, options: { json?: boolean }, shell: string): void => {
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
    io.out(options.json ? safeJson(Object.fromEntries(words)) : completionScripts(places)[known].split('\n'));
  };
}

/** What to offer at a position of the command line: these words, or names of files. */
interface Offer {
  words: string[];
  files: boolean;
}

/** One command as a shell has to know it. */
interface Place {
  /** `/plan/new`; empty before the first command. */
  at: string;
  subcommands: string[];
  flags: string[];
  /** What follows flags that take a value. Those of the first place are valid in all of them. */
  values: { flags: string[]; offer: Offer }[];
  /** What the arguments are; undefined if there are none. */
  rest: Offer | undefined;
}

const SHELLS = ['bash', 'zsh', 'fish'] as const;

const AGENTS = ADAPTERS.filter((name) => name !== 'custom');
const PATHS = /^(?:path|file|dir|directory|repo|worktree)s?$/i;
const WITH_AGENT: ReadonlySet<string> = new Set(['--agent', '--backend', '--assign-backend']);
/** Arguments of commands that are files, or may be. */
const FILES: ReadonlySet<string> = new Set(['/run what', '/import source']);

/** Every command and subcommand, from the parser. */
function placesOf(program: Command): Place[] {
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

/** The script for each shell. All of them walk over the words before the cursor in the same way. */
function completionScripts(places: readonly Place[]): { bash: string; zsh: string; fish: string } {
  const wordFinder = walk(places);
  return {
    bash: `${wordFinder}\n${BASH}`,
    zsh: `#compdef signalbox\n${wordFinder}\n${ZSH}`,
    fish: fish(places),
  };
}

/** A pattern for bash and zsh. */
const isOf = ({ at }: Place, flag: string) => (at === '' ? `*" ${flag}"` : `"${at} ${flag}"`);
const valued = (places: readonly Place[]) =>
  places.flatMap((place) => place.values.flatMap(({ flags }) => flags.map((flag) => isOf(place, flag))));
const below = (places: readonly Place[]) => places.map(({ at }) => at).filter(Boolean);

/** Runs in bash and zsh. Takes the words before the cursor and the one at it; leaves what to offer in `list` and `files`. */
function walk(places: readonly Place[]): string {
  const set = ({ words, files }: Offer) => `list="${words.join(' ')}" files=${files ? 'yes' : ''}`;
  const values = places.flatMap((place) =>
    place.values
      .filter(({ offer }) => offer.files || offer.words.length > 0)
      .map(({ flags, offer }) => `    ${flags.map((flag) => isOf(place, flag)).join('|')}) ${set(offer)} ;;`),
  );
  const rest = places.map((place) => {
    const { at, subcommands, flags } = place;
    const { words, files } = place.rest ?? { words: place.subcommands.length > 0 ? [] : flags, files: false };
    const first =
      subcommands.length > 0
        ? `      "${at} 0") list="${subcommands.join(' ')}" files=${files ? 'yes' : ''} ;;\n`
        : '';
    return `${first}      "${at} "*) ${set({ words, files })} ;;`;
  });
  return `_signalbox_look() {
  local word at="" flag="" count=0
  list="" files=""
  while [ $# -gt 1 ]; do
    word="$1"
    shift
    if [ -n "$flag" ]; then
      [ "$word" = "=" ] || flag=""
      continue
    fi
    case "$word" in
      --*=*) ;;
      -*) case "$at $word" in
        ${valued(places).join('|')}) flag="$word" ;;
      esac ;;
      *) case "$at/$word" in
        ${below(places).join('|')}) at="$at/$word" ;;
        *) count=$((count + 1)) ;;
      esac ;;
    esac
  done
  if [ -n "$flag" ]; then
    case "$at $flag" in
${values.join('\n')}
    esac
    return
  fi
  case "$1" in
    -*) case "$at" in
${places.map(({ at, flags }) => `      "${at}") list="${flags.join(' ')}" ;;`).join('\n')}
    esac ;;
    *) case "$at $count" in
${rest.join('\n')}
    esac ;;
  esac
}`;
}

const BASH = `_signalbox() {
  local list files cur="\${COMP_WORDS[COMP_CWORD]}"
  [ "$cur" = "=" ] && cur=""
  _signalbox_look "\${COMP_WORDS[@]:1:COMP_CWORD-1}" "$cur"
  COMPREPLY=($(compgen -W "$list" -- "$cur"))
  if [ -n "$files" ]; then
    local IFS=$'\\n'
    compopt -o filenames 2>/dev/null
    COMPREPLY+=($(compgen -f -- "$cur"))
  fi
}
complete -F _signalbox signalbox`;

const ZSH = `_signalbox() {
  local list files
  _signalbox_look "\${(@)words[2,CURRENT-1]}" "\${words[CURRENT]}"
  [ -n "$list" ] && compadd -- \${=list}
  [ -n "$files" ] && _files
}
if [ "\${funcstack[1]}" = "_signalbox" ]; then _signalbox "$@"; else compdef _signalbox signalbox; fi`;

function fish(places: readonly Place[]): string {
  const lines = places.flatMap((place) => {
    const here = `complete -c signalbox -n "__signalbox_at '${place.at}'"`;
    const anywhere = place.at === '' ? 'complete -c signalbox' : here;
    const plain = place.flags.filter((flag) => !place.values.some((each) => each.flags.includes(flag)));
    const words = [...place.subcommands, ...(place.rest?.words ?? [])];
    return [
      ...(words.length > 0 ? [`${here} -a "${words.join(' ')}"`] : []),
      ...(place.rest?.files ? [`${here} -F`] : []),
      ...plain.map((flag) => `${here} -l ${flag.slice(2)}`),
      ...place.values.map(({ flags, offer }) => {
        const names = flags.map((flag) =>
          flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`,
        );
        const list = offer.words.length > 0 ? ` -a "${offer.words.join(' ')}"` : '';
        return `${anywhere} ${names.join(' ')} ${offer.files ? '-r -F' : '-x'}${list}`;
      }),
    ];
  });
  const everywhere = places.flatMap(({ at, values }) =>
    at === '' ? values.flatMap(({ flags }) => flags) : [],
  );
  const own = valued(places.filter(({ at }) => at !== ''));
  return `function __signalbox_at
    set -l at ''
    set -l value ''
    for word in (commandline -opc)[2..]
        if test -n "$value"
            set value ''
            continue
        end
        switch $word
            case '--*=*'
            case '-*'
                contains -- "$at $word" ${own.join(' ')}; and set value yes
                contains -- $word ${everywhere.join(' ')}; and set value yes
            case '*'
                contains -- "$at/$word" ${below(places).join(' ')}; and set at "$at/$word"
        end
    end
    test "$at" = "$argv[1]"
end
complete -c signalbox -f
${lines.join('\n')}`;
}
