import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Argument, Command, Option } from 'commander';
import { InputError } from '../../model/errors.ts';
import { ISSUE_PHASES } from '../../model/issue-phases.ts';
import type { Plan } from '../../model/plan.ts';
import { LAST, latestFinished, latestPlan } from '../../model/plans/latest-plans-and-unknown-name-errors.ts';
import type { Ticket } from '../../model/ticket.ts';
import { safeJson } from '../../report/printable-text.ts';
import type { Store } from '../../store/store-interface.ts';
import { plansHere, READ_ONLY_COMMANDS } from '../find-named-plans-and-tickets.ts';
import { ASK, type Io } from '../io.ts';
import { openSettings, openState } from '../open-settings-store-and-engine.ts';

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

/** What to offer at a position of the command line: these words, or names of files, or names that the state or the settings have. */
interface Offer {
  words: string[];
  files: boolean;
  /** What the arguments are, in their order; the shell asks `completeNames` which there are. */
  names: Named[];
}

/**
 * `shown` and `merged` are plans, also finished ones; behind `merged` come complete tickets. `what` is a plan that has to be named:
 * all others may be `@last`.
 */
const NAMED = ['plan', 'shown', 'merged', 'ticket', 'phase', 'workflow', 'agent', 'what'] as const;
type Named = (typeof NAMED)[number];

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

const PATHS = /^(?:path|file|dir|directory|repo|worktree)s?$/i;
/** Flags whose value is a name. */
const FLAGS: Readonly<Record<string, Named>> = {
  '--agent': 'agent',
  '--backend': 'agent',
  '--assign-backend': 'agent',
  '--workflow': 'workflow',
  '--phase': 'phase',
  '--plan': 'what',
};
/** Arguments that name something new. */
const NEW: ReadonlySet<string> = new Set(['/plan/new plan', '/plan/add ticket']);
/** Arguments that are names, although they are called otherwise. */
const CALLED: Readonly<Record<string, Named>> = {
  '/workflow/show name': 'workflow',
  '/workflow/graph name': 'workflow',
  '/merge plan': 'merged',
  ...Object.fromEntries([...READ_ONLY_COMMANDS].map((name) => [`/${name} plan`, 'shown' as const])),
};
/** Commands that workflows call: they take neither `@last` nor a ticket without its plan. */
const STEPS = /^\/(?:workspace|forge|spec)\//;
/** With this flag a command takes plans alone. It is passed on among the arguments. */
const BULK = { at: '/retry', flag: '--failed' };
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
    rest: { words: names, files: false, names: [] },
  };
  const [root, ...others] = placesIn(program, '');
  return root ? [{ ...root, subcommands: [...root.subcommands, 'help'] }, ...others, help] : [];
}

function placesIn(command: Command, at: string): Place[] {
  const own = command.options.filter((option) => !option.hidden);
  const valued = own.filter((option) => option.required || option.optional);
  const place: Place = {
    at,
    subcommands: command.commands.map((each) => each.name()),
    flags: own.flatMap((option) => option.long ?? []),
    values: valued.map((option) => ({
      flags: [option.short, option.long].flatMap((flag) => flag ?? []),
      offer: valuesOf(option),
    })),
    rest: argumentsOf(at, command.registeredArguments),
  };
  return [place, ...command.commands.flatMap((each) => placesIn(each, `${at}/${each.name()}`))];
}

function valuesOf(option: Option): Offer {
  const [, called = ''] = /[<[]([^>\].]+)/.exec(option.flags) ?? [];
  const flag = option.long ?? '';
  const words = option.argChoices ?? (flag === '--phases' ? ISSUE_PHASES : []);
  const name = FLAGS[flag];
  return { words: [...words], files: words.length === 0 && PATHS.test(called), names: name ? [name] : [] };
}

function argumentsOf(at: string, all: readonly Argument[]): Offer | undefined {
  const [first] = all;
  if (!first) return undefined;
  const named = all.map((each) => {
    const name = STEPS.test(at) && each.name() === 'plan' ? 'what' : each.name();
    return CALLED[`${at} ${name}`] ?? name;
  });
  const isKnown = (name: string): name is Named =>
    NAMED.some((known) => known === name) && !NEW.has(`${at} ${name}`);
  // Up to the first that is no name: what comes behind it cannot be known.
  const end = named.findIndex((name) => !isKnown(name));
  return {
    words: at === '/completion' ? [...SHELLS] : [],
    files: PATHS.test(first.name()) || FILES.has(`${at} ${first.name()}`),
    names: named.slice(0, end < 0 ? named.length : end).filter(isKnown),
  };
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

/**
 * Runs in bash and zsh. Takes the words before the cursor and the one at it; leaves what to offer in `list`, `files` and `names`, and
 * for the names the arguments before the cursor in `args` and the config file in `config`.
 */
function walk(places: readonly Place[]): string {
  const set = ({ words, files, names }: Offer) =>
    `list="${words.join(' ')}" files=${files ? 'yes' : ''} names="${names.join(',')}"`;
  const values = places.flatMap((place) =>
    place.values
      .filter(({ offer }) => offer.files || offer.words.length > 0 || offer.names.length > 0)
      .map(({ flags, offer }) => `    ${flags.map((flag) => isOf(place, flag)).join('|')}) ${set(offer)} ;;`),
  );
  const rest = places.map((place) => {
    const { at, subcommands, flags } = place;
    const rest = place.rest ?? { words: subcommands.length > 0 ? [] : flags, files: false, names: [] };
    const first =
      subcommands.length > 0 ? `      "${at} 0") ${set({ ...rest, words: subcommands })} ;;\n` : '';
    return `${first}      "${at} "*) ${set(rest)} ;;`;
  });
  return `_signalbox_look() {
  local word at="" flag="" count=0
  list="" files="" names="" args="" config=""
  while [ $# -gt 1 ]; do
    word="$1"
    shift
    if [ -n "$flag" ]; then
      [ "$word" = "=" ] && continue
      case "$flag" in -C|--config) config="$word" ;; esac
      flag=""
      continue
    fi
    case "$word" in
      --config=*) config="\${word#--config=}" ;;
      --*=*) ;;
      -*) case "$at $word" in
        "${BULK.at} ${BULK.flag}") args="$args $word" ;;
        ${valued(places).join('|')}) flag="$word" ;;
      esac ;;
      *) case "$at/$word" in
        ${below(places).join('|')}) at="$at/$word" ;;
        *) count=$((count + 1)) args="$args $word" ;;
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

/** Bash breaks a word behind "@" into two, and replaces both. */
const BASH = `_signalbox() {
  local list files names args config word at="" cur="\${COMP_WORDS[COMP_CWORD]}"
  local before=()
  [ "$cur" = "=" ] && cur=""
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    if [ "$word" = "@" ]; then
      at="@"
    else
      before+=("$at$word")
      at=""
    fi
  done
  cur="$at$cur"
  _signalbox_look "\${before[@]}" "$cur"
  [ -n "$names" ] && list="$list $("\${COMP_WORDS[0]}" ${ASK} "$config" "$names" $args 2>/dev/null </dev/null)"
  COMPREPLY=($(compgen -W "$list" -- "$cur"))
  if [ -n "$files" ]; then
    local IFS=$'\\n'
    compopt -o filenames 2>/dev/null
    COMPREPLY+=($(compgen -f -- "$cur"))
  fi
}
complete -F _signalbox signalbox`;

const ZSH = `_signalbox() {
  local list files names args config
  _signalbox_look "\${(@)words[2,CURRENT-1]}" "\${words[CURRENT]}"
  [ -n "$names" ] && list="$list $("\${words[1]}" ${ASK} "$config" "$names" \${=args} 2>/dev/null </dev/null)"
  [ -n "\${list// /}" ] && compadd -- \${=list}
  [ -n "$files" ] && _files
}
if [ "\${funcstack[1]}" = "_signalbox" ]; then _signalbox "$@"; else compdef _signalbox signalbox; fi`;

function fish(places: readonly Place[]): string {
  const lines = places.flatMap((place) => {
    const here = `complete -c signalbox -n "__signalbox_at '${place.at}'"`;
    const anywhere = place.at === '' ? 'complete -c signalbox' : here;
    const plain = place.flags.filter((flag) => !place.values.some((each) => each.flags.includes(flag)));
    const words = [...place.subcommands, ...(place.rest?.words ?? [])];
    const names = place.rest?.names ?? [];
    return [
      ...(words.length > 0 ? [`${here} -a "${words.join(' ')}"`] : []),
      ...(names.length > 0 ? [`${here} -a "(__signalbox_names ${names.join(',')})"`] : []),
      ...(place.rest?.files ? [`${here} -F`] : []),
      ...plain.map((flag) => `${here} -l ${flag.slice(2)}`),
      ...place.values.map(({ flags, offer }) => {
        const names = flags.map((flag) =>
          flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`,
        );
        const [named] = offer.names;
        const choices = named ? `(__signalbox_names ${named})` : offer.words.join(' ');
        const list = choices ? ` -a "${choices}"` : '';
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
    set -g __signalbox_args
    set -g __signalbox_config ''
    for word in (commandline -opc)[2..]
        if test -n "$value"
            contains -- $value -C --config; and set __signalbox_config $word
            set value ''
            continue
        end
        switch $word
            case '--config=*'
                set __signalbox_config (string replace -- --config= '' $word)
            case '--*=*'
            case '-*'
                test "$at $word" = "${BULK.at} ${BULK.flag}"; and set -a __signalbox_args $word
                contains -- "$at $word" ${own.join(' ')}; and set value $word
                contains -- $word ${everywhere.join(' ')}; and set value $word
            case '*'
                if contains -- "$at/$word" ${below(places).join(' ')}
                    set at "$at/$word"
                else
                    set -a __signalbox_args $word
                end
        end
    end
    test "$at" = "$argv[1]"
end
function __signalbox_names
    set -l program (commandline -opc)[1]
    $program ${ASK} "$__signalbox_config" $argv[1] $__signalbox_args 2>/dev/null </dev/null
end
complete -c signalbox -f
${lines.join('\n')}`;
}

/** More are of no help when a word is completed. */
const MAX_NAMES = 500;
const MAX_FINISHED = 10;
/** Nothing that a shell would take for more than a word. */
const PLAIN = /^[\w@.:/+-]+$/;

/**
 * Prints what a completion script may offer: the names for the position behind the arguments. Loads neither the parser of commands nor
 * schemas, changes nothing, and prints nothing if something is wrong.
 */
export async function completeNames(
  io: Io,
  [config, kinds = '', ...words]: readonly string[],
): Promise<void> {
  const args = words.filter((word) => word !== BULK.flag);
  const known = kinds.split(',').flatMap((kind) => NAMED.find((name) => name === kind) ?? []);
  const named = args.length < words.length ? known.slice(0, 1) : known;
  const names = await namesAt(io, config ? { config } : {}, named, args).catch(() => []);
  const plain = [...new Set(names)].filter((name) => PLAIN.test(name)).slice(0, MAX_NAMES);
  if (plain.length > 0) io.out(plain);
}

async function namesAt(
  io: Io,
  options: { config?: string },
  kinds: readonly Named[],
  args: readonly string[],
): Promise<string[]> {
  const [first] = kinds;
  if (first === 'agent') return Object.keys((await openSettings(io, options)).agents);
  if (first === 'workflow')
    return workflowFiles((await openSettings(io, options)).searchPath.workflows).map(({ name }) => name);
  const { store, view } = await openState(io, options, (state) => state.glance());
  const [word = ''] = args;
  const isLast = word === LAST && first !== 'what';
  const latest = isLast ? latestPlan(view, plansHere(io, store)).latest : undefined;
  const plan = latest ?? (store.hasPlan(word) ? store.plan(word) : undefined);
  const isMerge = first === 'merged';
  if (first !== 'phase' && args.length === 0) {
    const finished = isMerge || first === 'shown' ? latestFinished(view).slice(0, MAX_FINISHED) : [];
    // `run` takes a ticket only behind its plan.
    const isWanted = (ticket: Ticket) => first !== 'what' && kinds.length > 1 && isOpen(ticket) !== isMerge;
    const tickets = [...view.tickets.values()].filter(isWanted);
    const plans = [...view.plans, ...finished].map(({ id }) => id);
    const last = first !== 'what' && plans.length > 0 ? [LAST] : [];
    return [...plans, ...last, ...tickets.map(({ ticketId }) => ticketId)];
  }
  // A unique ticket id stands for its plan, too.
  const behind = plan ? args.slice(1) : args;
  const isTicketNext = plan && behind.length === 0 && first !== 'phase';
  if (isTicketNext && isMerge)
    return store.tickets(plan).flatMap((ticket) => (isOpen(ticket) ? [] : ticket.ticketId));
  if (isTicketNext) return kinds.length > 1 || first === 'what' ? openTickets(store, plan) : [];
  if (first === 'what') return plan ? openTickets(store, plan) : [];
  if (!kinds.includes('phase') || (first !== 'phase' && behind.length !== 1)) return [];
  const [ticketId] = behind;
  const tickets = plan ? store.tickets(plan) : [...view.tickets.values()];
  const known = tickets.find((each) => ticketId === undefined || each.ticketId === ticketId);
  return known ? phasesOf(io, options, store, known) : [];
}

function isOpen({ status }: Ticket): boolean {
  return status !== 'complete';
}

/** All of them if none is open: `logs` and `diff` show finished work. */
function openTickets(store: Store, plan: Plan): string[] {
  const all = store.tickets(plan);
  const open = all.filter(isOpen);
  return (open.length > 0 ? open : all).map(({ ticketId }) => ticketId);
}

async function phasesOf(
  io: Io,
  options: { config?: string },
  store: Store,
  ticket: Ticket,
): Promise<string[]> {
  const text = ticket.workflowHash ? store.pinned(ticket.workflowHash) : undefined;
  if (text) {
    const { workflow } = JSON.parse(text) as { workflow: { phases: { id: string }[] } };
    return workflow.phases.map(({ id }) => id);
  }
  const { searchPath, defaultWorkflow } = await openSettings(io, options);
  const name = ticket.workflow ?? store.plan(ticket.planId).workflow ?? defaultWorkflow;
  const found = workflowFiles(searchPath.workflows).find((each) => each.name === name);
  return [...(found?.text ?? '').matchAll(ID_LINE)].map(([, id = '']) => id);
}

/** In the style of YAML and in that of JSON. */
const ID_LINE = /(?:^\s*(?:- +)?|[{,]\s*)["']?id["']?: *["']?([\w-]+)/gm;
const NAME_LINE = /(?:^|[{,]\s*)["']?name["']?: *["']?([\w-]+)/m;

/** Read by one line each: the parser of YAML would take longer than a person waits for a completion. */
function workflowFiles(dirs: readonly string[]): { name: string; text: string }[] {
  return dirs.filter(existsSync).flatMap((dir) =>
    readdirSync(dir)
      .filter((file) => /\.ya?ml$/.test(file))
      .map((file) => {
        const text = readFileSync(join(dir, file), 'utf8');
        const name = NAME_LINE.exec(text)?.[1];
        return { name: name ?? basename(file).replace(/\.ya?ml$/, ''), text };
      }),
  );
}
